package screen

import (
	"context"
	"iter"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// API is what the dashboard calls of an arena. *client.Client satisfies it.
type API interface {
	Version(ctx context.Context) (client.Answer[api.Version], error)
	Readyz(ctx context.Context) (client.Answer[api.HealthStatus], error)
	Doctor(ctx context.Context) (client.Answer[api.Doctor], error)
	Whoami(ctx context.Context) (client.Answer[api.Whoami], error)
	Events(ctx context.Context, after int64) iter.Seq2[api.Event, error]

	ListChallenges(ctx context.Context) (client.Answer[api.Challenges], error)
	ArenaBudget(ctx context.Context) (client.Answer[api.Budget], error)
	RunMetrics(ctx context.Context, challenge string) (client.Answer[api.RunMetrics], error)
	ListJobs(ctx context.Context, page protocol.Page) (client.Answer[api.Jobs], error)

	ListRuns(ctx context.Context, challenge, collection string, page protocol.Page) (client.Answer[api.Runs], error)
	GetRun(ctx context.Context, challenge, run string) (client.Answer[api.Run], error)
	Cancel(ctx context.Context, challenge, run string) (client.Answer[api.Run], error)
	ReadLog(ctx context.Context, challenge, run string, after int64, limit int) (client.Answer[api.Log], error)
	FollowLog(ctx context.Context, challenge, run string, after int64) iter.Seq2[protocol.LogLine, error]
	ListAttempts(ctx context.Context, challenge, run string) (client.Answer[api.Attempts], error)
	GetAttempt(ctx context.Context, challenge, run string, n int) (client.Answer[api.Attempt], error)

	Collect(ctx context.Context, challenge, run string) (client.Answer[api.Result], error)
	Claim(ctx context.Context, challenge, run string, req api.ClaimRequest) (client.Answer[api.Result], error)
	Review(ctx context.Context, challenge, run string, req api.ReviewRequest) (client.Answer[api.Result], error)
	Leaderboard(ctx context.Context, challenge string) (client.Answer[api.Leaderboard], error)

	ListEnvironments(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) (client.Answer[api.Environments], error)
	GetEnvironment(ctx context.Context, id string) (client.Answer[api.Environment], error)
	GetGates(ctx context.Context, challenge, id string) (client.Answer[api.Gates], error)
	AttachGates(ctx context.Context, challenge, id string, req api.AttachGates) (client.Answer[api.AttachedGates], error)
	GatesCatalogue(ctx context.Context) (client.Answer[api.Catalogue], error)

	ListMessages(ctx context.Context, page protocol.Page) (client.Answer[api.Messages], error)
	PostMessage(ctx context.Context, req api.PostMessage) (client.Answer[api.Message], error)
}

var _ API = (*client.Client)(nil)
