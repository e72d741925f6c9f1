package screen

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// kind is a kind of request.
type kind int

const (
	kindVersion kind = iota
	kindReady
	kindWhoami
	kindChallenges
	kindBudget
	kindJobs
	kindRuns
	kindRun
	kindAttempts
	kindAttempt
	kindLeaderboard
	kindCollections
	kindGates
	kindCatalogue
	kindMessages
	kindMetrics
	kindDoctor
	kinds
)

// VersionQuery asks for the build fingerprint of the arena.
func VersionQuery() Query[api.Version] { return Query[api.Version]{Key{kind: kindVersion}} }

// ReadyQuery asks whether the arena takes writes.
func ReadyQuery() Query[api.HealthStatus] { return Query[api.HealthStatus]{Key{kind: kindReady}} }

// WhoamiQuery asks who the arena sees behind the token.
func WhoamiQuery() Query[api.Whoami] { return Query[api.Whoami]{Key{kind: kindWhoami}} }

// ChallengesQuery asks for every challenge with its health.
func ChallengesQuery() Query[[]api.Challenge] {
	return Query[[]api.Challenge]{Key{kind: kindChallenges}}
}

// BudgetQuery asks for the compute budget.
func BudgetQuery() Query[api.Budget] { return Query[api.Budget]{Key{kind: kindBudget}} }

// JobsQuery asks for every job, newest first.
func JobsQuery() Query[Rows[api.Job]] { return Query[Rows[api.Job]]{Key{kind: kindJobs}} }

// RunsQuery asks for the runs of a challenge, newest first.
func RunsQuery(challenge string) Query[Rows[api.Run]] {
	return Query[Rows[api.Run]]{Key{kind: kindRuns, Challenge: challenge}}
}

// RunQuery asks for one run, with its result once it is collected.
func RunQuery(challenge, run string) Query[api.Run] {
	return Query[api.Run]{Key{kind: kindRun, Challenge: challenge, ID: run}}
}

// AttemptsQuery asks for a run's gate and training attempts.
func AttemptsQuery(challenge, run string) Query[api.Attempts] {
	return Query[api.Attempts]{Key{kind: kindAttempts, Challenge: challenge, ID: run}}
}

// AttemptQuery asks for one attempt with its transcript.
func AttemptQuery(challenge, run string, n int) Query[api.Attempt] {
	return Query[api.Attempt]{Key{kind: kindAttempt, Challenge: challenge, ID: run, N: n}}
}

// LeaderboardQuery asks for the ranking of a challenge.
func LeaderboardQuery(challenge string) Query[api.Leaderboard] {
	return Query[api.Leaderboard]{Key{kind: kindLeaderboard, Challenge: challenge}}
}

// CollectionsQuery asks for the registered collections, newest first.
func CollectionsQuery() Query[Rows[api.Environment]] {
	return Query[Rows[api.Environment]]{Key{kind: kindCollections}}
}

// GatesQuery asks what the gates say about a collection.
func GatesQuery(challenge, collection string) Query[api.Gates] {
	return Query[api.Gates]{Key{kind: kindGates, Challenge: challenge, ID: collection}}
}

// CatalogueQuery asks what each static gate means.
func CatalogueQuery() Query[api.Catalogue] { return Query[api.Catalogue]{Key{kind: kindCatalogue}} }

// MessagesQuery asks for the board, newest first.
func MessagesQuery() Query[Rows[api.Message]] {
	return Query[Rows[api.Message]]{Key{kind: kindMessages}}
}

// MetricsQuery asks what all runs add up to.
func MetricsQuery() Query[api.RunMetrics] { return Query[api.RunMetrics]{Key{kind: kindMetrics}} }

// DoctorQuery asks what the arena finds when it looks at itself; editors only.
func DoctorQuery() Query[api.Doctor] { return Query[api.Doctor]{Key{kind: kindDoctor}} }

// source is how one kind of request is answered.
type source struct {
	// fetch asks. before is the value that is kept now, nil for none.
	fetch func(ctx context.Context, a API, k Key, before any) (any, error)
	// every is how old a value may get while it is shown; 0 is as old as it likes.
	every func(value any) time.Duration
	// touched reports whether an event says that the value changed.
	touched func(k Key, ev api.Event) bool
	// partial reports whether more of the value is to be asked for at once.
	partial func(value any) bool
}

// sources is the table of everything that the dashboard reads.
func sources() map[kind]source {
	return map[kind]source{
		kindVersion: one(time.Minute, nil, func(ctx context.Context, a API, _ Key) (client.Answer[api.Version], error) { return a.Version(ctx) }),
		kindReady:   one(15*time.Second, nil, func(ctx context.Context, a API, _ Key) (client.Answer[api.HealthStatus], error) { return a.Readyz(ctx) }),
		kindWhoami:  one(5*time.Minute, nil, func(ctx context.Context, a API, _ Key) (client.Answer[api.Whoami], error) { return a.Whoami(ctx) }),
		kindBudget: one(15*time.Second, on(protocol.EventRunState), func(ctx context.Context, a API, _ Key) (client.Answer[api.Budget], error) {
			return a.ArenaBudget(ctx)
		}),
		kindMetrics: one(time.Minute, on(protocol.EventRunState, protocol.EventResult), func(ctx context.Context, a API, _ Key) (client.Answer[api.RunMetrics], error) {
			return a.RunMetrics(ctx, "")
		}),
		kindDoctor: one(time.Minute, nil, func(ctx context.Context, a API, _ Key) (client.Answer[api.Doctor], error) { return a.Doctor(ctx) }),
		kindChallenges: {
			fetch: func(ctx context.Context, a API, _ Key, _ any) (any, error) {
				ans, err := a.ListChallenges(ctx)
				return ans.Value.Challenges, err
			},
			every: period(15 * time.Second), partial: complete,
			touched: on(protocol.EventRunState, protocol.EventResult, protocol.EventCollection),
		},
		kindRun: {
			fetch: func(ctx context.Context, a API, k Key, _ any) (any, error) {
				ans, err := a.GetRun(ctx, k.Challenge, k.ID)
				return ans.Value, err
			},
			every: func(value any) time.Duration {
				if r, ok := value.(api.Run); ok && !r.State.Ended() {
					return 2 * time.Second // counts move without an event
				}
				return time.Minute
			},
			partial: complete,
			touched: func(k Key, ev api.Event) bool { return ev.RunID != nil && *ev.RunID == k.ID },
		},
		kindAttempts: one(30*time.Second, ofRun, func(ctx context.Context, a API, k Key) (client.Answer[api.Attempts], error) {
			return a.ListAttempts(ctx, k.Challenge, k.ID)
		}),
		kindAttempt: one(0, nil, func(ctx context.Context, a API, k Key) (client.Answer[api.Attempt], error) {
			return a.GetAttempt(ctx, k.Challenge, k.ID, k.N)
		}),
		kindLeaderboard: one(30*time.Second, on(protocol.EventResult), func(ctx context.Context, a API, k Key) (client.Answer[api.Leaderboard], error) {
			return a.Leaderboard(ctx, k.Challenge)
		}),
		kindGates: one(5*time.Minute, func(k Key, ev api.Event) bool {
			return ev.Kind == protocol.EventVerdict && ev.EnvironmentID != nil && *ev.EnvironmentID == k.ID
		}, func(ctx context.Context, a API, k Key) (client.Answer[api.Gates], error) {
			return a.GetGates(ctx, k.Challenge, k.ID)
		}),
		kindCatalogue: one(0, nil, func(ctx context.Context, a API, _ Key) (client.Answer[api.Catalogue], error) {
			return a.GatesCatalogue(ctx)
		}),

		kindRuns: list(15*time.Second, func(k Key, ev api.Event) bool {
			return ev.ChallengeID != nil && *ev.ChallengeID == k.Challenge && ev.RunID != nil
		}, func(ctx context.Context, a API, k Key, page protocol.Page) ([]api.Run, *string, error) {
			ans, err := a.ListRuns(ctx, k.Challenge, "", page)
			return ans.Value.Runs, ans.Value.Next, err
		}, func(r api.Run) (string, time.Time) { return r.RunID, r.CreatedAt }),
		kindJobs: list(15*time.Second, on(protocol.EventRunState), func(ctx context.Context, a API, _ Key, page protocol.Page) ([]api.Job, *string, error) {
			ans, err := a.ListJobs(ctx, page)
			return ans.Value.Jobs, ans.Value.Next, err
		}, func(j api.Job) (string, time.Time) { return j.RunID, j.CreatedAt }),
		kindCollections: list(30*time.Second, on(protocol.EventCollection), func(ctx context.Context, a API, _ Key, page protocol.Page) ([]api.Environment, *string, error) {
			ans, err := a.ListEnvironments(ctx, protocol.CollectionFilter{}, page)
			return ans.Value.Environments, ans.Value.Next, err
		}, func(e api.Environment) (string, time.Time) { return e.ID, e.CreatedAt }),
		kindMessages: list(15*time.Second, on(protocol.EventMessage), func(ctx context.Context, a API, _ Key, page protocol.Page) ([]api.Message, *string, error) {
			ans, err := a.ListMessages(ctx, page)
			return ans.Value.Messages, ans.Value.Next, err
		}, func(m api.Message) (string, time.Time) { return m.Filename, m.CreatedAt }),
	}
}

// one is a source whose answer is one value.
func one[T any](every time.Duration, touched func(Key, api.Event) bool, ask func(context.Context, API, Key) (client.Answer[T], error)) source {
	if touched == nil {
		touched = func(Key, api.Event) bool { return false }
	}
	return source{
		fetch: func(ctx context.Context, a API, k Key, _ any) (any, error) {
			ans, err := ask(ctx, a, k)
			return ans.Value, err
		},
		every: period(every), touched: touched, partial: complete,
	}
}

func period(d time.Duration) func(any) time.Duration { return func(any) time.Duration { return d } }

func complete(any) bool { return false }

// on is touched by events of some kinds, whatever they are about.
func on(kinds ...protocol.EventKind) func(Key, api.Event) bool {
	return func(_ Key, ev api.Event) bool { return slices.Contains(kinds, ev.Kind) }
}

// ofRun is touched by events about the key's run.
func ofRun(k Key, ev api.Event) bool { return ev.RunID != nil && *ev.RunID == k.ID }

// Rows is a list that was read page by page, newest first.
type Rows[T any] struct {
	All    []T
	cursor string // where to read on; empty when everything is here
}

// Whole reports whether the list has been read to its end.
func (r Rows[T]) Whole() bool { return r.cursor == "" }

// How many rows the first read and later looks at the head of a list ask for,
// and the most that are kept.
const (
	wholePage = protocol.MaxPage
	headPage  = 25
	maxRows   = 20_000
)

// list is a source that is read in pages. The first read walks to the end, a page
// a request, so that the newest rows show at once. Later reads look at the head
// and walk on only while a page holds nothing that is known.
func list[T any](every time.Duration, touched func(Key, api.Event) bool,
	ask func(context.Context, API, Key, protocol.Page) ([]T, *string, error), name func(T) (id string, created time.Time),
) source {
	return source{
		fetch: func(ctx context.Context, a API, k Key, before any) (any, error) {
			known, _ := before.(Rows[T])
			page := protocol.Page{Limit: wholePage, Cursor: known.cursor}
			if before != nil && known.Whole() {
				page.Limit = headPage
			}
			rows, next, err := ask(ctx, a, k, page)
			if err != nil {
				return nil, err
			}
			return mergeRows(known, rows, next, name), nil
		},
		every: period(every), touched: touched,
		partial: func(value any) bool {
			r, ok := value.(Rows[T])
			return ok && !r.Whole()
		},
	}
}

// mergeRows puts a page into a list. A row that was known is replaced.
func mergeRows[T any](known Rows[T], page []T, next *string, name func(T) (string, time.Time)) Rows[T] {
	fresh := make(map[string]bool, len(page))
	for _, row := range page {
		id, _ := name(row)
		fresh[id] = true
	}
	all, overlap := slices.Clone(page), false
	for _, row := range known.All {
		if id, _ := name(row); fresh[id] {
			overlap = true
		} else {
			all = append(all, row)
		}
	}
	newest := func(a, b T) int {
		idA, at := name(a)
		idB, bt := name(b)
		return cmp.Or(bt.Compare(at), cmp.Compare(idB, idA))
	}
	if !slices.IsSortedFunc(all, newest) {
		slices.SortStableFunc(all, newest)
	}
	merged := Rows[T]{All: all}
	if next != nil && len(page) > 0 && !overlap && len(all) < maxRows {
		merged.cursor = *next
	}
	return merged
}
