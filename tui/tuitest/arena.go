package tuitest

import (
	"context"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/tui/screen"
)

var _ screen.API = (*Arena)(nil)

// Arena answers the dashboard from memory. Its fields are the answers; tests may
// change them between keys, under Change.
type Arena struct {
	mu sync.Mutex

	Now          time.Time
	Me           api.Whoami
	Build        api.Version
	Ready        error
	Diagnoses    []protocol.Diagnosis // what the doctor finds
	Down         error                // the answer to everything, as when the arena cannot be reached
	Challenges   []api.Challenge
	Budget       api.Budget
	Runs         []api.Run // newest first
	Jobs         []api.Job
	Collections  []api.Environment
	Gates        map[string]api.Gates // by collection
	Catalogue    api.Catalogue
	Boards       map[string]api.Leaderboard // by challenge
	Attempts     []api.Attempt              // of the run that has any
	AttemptsOf   string
	Messages     []api.Message
	LogLength    int64
	LogLine      func(n int64) protocol.LogLine
	LogEnded     bool
	MaxRows      int // rows of a page, whatever is asked for; 0 for no bound
	events       chan api.Event
	lines        chan protocol.LogLine
	Calls        []string // what was called, in order; reads of data that is polled are left out
	RefuseReview error
	RefuseClaim  error
	RefuseAttach error
	Judged       api.Verdict // what results of gates come to
	Explode      any         // what following a log panics with; nil for not
}

// Change changes answers while the dashboard may be asking.
func (a *Arena) Change(f func(*Arena)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f(a)
}

// Happen sends an event to whoever follows them.
func (a *Arena) Happen(ev api.Event) { a.events <- ev }

// Print adds a line to the log, for whoever follows it.
func (a *Arena) Print(text string) {
	a.mu.Lock()
	a.LogLength++
	line := protocol.LogLine{N: a.LogLength, At: a.Now, Text: text}
	before := a.LogLine
	a.LogLine = func(n int64) protocol.LogLine {
		if n == line.N {
			return line
		}
		return before(n)
	}
	a.mu.Unlock()
	a.lines <- line
}

// Pour adds lines to the log as LogLine makes them, for whoever follows it.
func (a *Arena) Pour(n int64) {
	for range n {
		a.mu.Lock()
		a.LogLength++
		line := a.LogLine(a.LogLength)
		a.mu.Unlock()
		a.lines <- line
	}
}

// Length is how long the log is by now.
func (a *Arena) Length() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.LogLength
}

// answer is the common part of every answer.
func answer[T any](a *Arena, get func() (T, error)) (client.Answer[T], error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.Down != nil {
		return client.Answer[T]{}, a.Down
	}
	v, err := get()
	return client.Answer[T]{Value: v, Status: 200}, err
}

func (a *Arena) called(what string) { a.Calls = append(a.Calls, what) }

// page cuts a page out of rows. The cursor is the id of the last row before it.
func page[T any](a *Arena, rows []T, p protocol.Page, id func(T) string) ([]T, *string) {
	from := 0
	if p.Cursor != "" {
		from = slices.IndexFunc(rows, func(r T) bool { return id(r) == p.Cursor }) + 1
	}
	n := p.Rows()
	if a.MaxRows > 0 {
		n = min(n, a.MaxRows)
	}
	to := min(from+n, len(rows))
	if to == len(rows) {
		return slices.Clone(rows[from:to]), nil
	}
	next := id(rows[to-1])
	return slices.Clone(rows[from:to]), &next
}

// Version answers Build.
func (a *Arena) Version(context.Context) (client.Answer[api.Version], error) {
	return answer(a, func() (api.Version, error) { return a.Build, nil })
}

// Readyz answers Ready.
func (a *Arena) Readyz(context.Context) (client.Answer[api.HealthStatus], error) {
	return answer(a, func() (api.HealthStatus, error) { return api.HealthStatus{OK: a.Ready == nil}, a.Ready })
}

// Doctor answers Diagnoses, to editors.
func (a *Arena) Doctor(context.Context) (client.Answer[api.Doctor], error) {
	return answer(a, func() (api.Doctor, error) {
		if !a.Me.Editor {
			return api.Doctor{}, protocol.ErrEditorOnly
		}
		ok := !slices.ContainsFunc(a.Diagnoses, func(d protocol.Diagnosis) bool { return d.Status == protocol.DiagnosisFail })
		return api.Doctor{OK: ok, Checks: slices.Clone(a.Diagnoses)}, nil
	})
}

// Whoami answers Me.
func (a *Arena) Whoami(context.Context) (client.Answer[api.Whoami], error) {
	return answer(a, func() (api.Whoami, error) {
		if a.Me.Name == "" {
			return a.Me, protocol.ErrSignedOut
		}
		return a.Me, nil
	})
}

// Events yields what Happen sends, until ctx ends.
func (a *Arena) Events(ctx context.Context, _ int64) iter.Seq2[api.Event, error] {
	return follow(ctx, a.events)
}

// FollowLog yields what Print prints, until ctx ends; at once nothing when the
// log has ended.
func (a *Arena) FollowLog(ctx context.Context, _, _ string, _ int64) iter.Seq2[protocol.LogLine, error] {
	if a.Explode != nil {
		return func(func(protocol.LogLine, error) bool) { panic(a.Explode) }
	}
	if a.LogEnded {
		return func(func(protocol.LogLine, error) bool) {}
	}
	return follow(ctx, a.lines)
}

func follow[T any](ctx context.Context, from chan T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for {
			select {
			case v, ok := <-from:
				if !ok || !yield(v, nil) {
					return
				}
			case <-ctx.Done():
				var zero T
				yield(zero, ctx.Err())
				return
			}
		}
	}
}

// ListChallenges answers Challenges.
func (a *Arena) ListChallenges(context.Context) (client.Answer[api.Challenges], error) {
	return answer(a, func() (api.Challenges, error) { return api.Challenges{Challenges: slices.Clone(a.Challenges)}, nil })
}

// ArenaBudget answers Budget.
func (a *Arena) ArenaBudget(context.Context) (client.Answer[api.Budget], error) {
	return answer(a, func() (api.Budget, error) { return a.Budget, nil })
}

// ListJobs answers a page of Jobs.
func (a *Arena) ListJobs(_ context.Context, p protocol.Page) (client.Answer[api.Jobs], error) {
	return answer(a, func() (api.Jobs, error) {
		rows, next := page(a, a.Jobs, p, func(j api.Job) string { return j.RunID })
		return api.Jobs{Jobs: rows, Budget: a.Budget, Next: next}, nil
	})
}

// ListRuns answers a page of a challenge's Runs, without their results.
func (a *Arena) ListRuns(_ context.Context, challenge, _ string, p protocol.Page) (client.Answer[api.Runs], error) {
	return answer(a, func() (api.Runs, error) {
		mine := slices.DeleteFunc(slices.Clone(a.Runs), func(r api.Run) bool { return r.ChallengeID != challenge })
		for i := range mine {
			mine[i].Result = nil
		}
		rows, next := page(a, mine, p, func(r api.Run) string { return r.RunID })
		return api.Runs{Runs: rows, Next: next}, nil
	})
}

// find is one of Runs. The caller holds the lock.
func (a *Arena) find(run string) (*api.Run, error) {
	i := slices.IndexFunc(a.Runs, func(r api.Run) bool { return r.RunID == run })
	if i < 0 {
		return &api.Run{}, protocol.ErrNoRun
	}
	return &a.Runs[i], nil
}

// GetRun answers one of Runs.
func (a *Arena) GetRun(_ context.Context, _, run string) (client.Answer[api.Run], error) {
	return answer(a, func() (api.Run, error) {
		r, err := a.find(run)
		return *r, err
	})
}

// Cancel asks for the end of one of Runs.
func (a *Arena) Cancel(_ context.Context, _, run string) (client.Answer[api.Run], error) {
	return answer(a, func() (api.Run, error) {
		a.called("cancel " + run)
		r, err := a.find(run)
		if err == nil {
			at := a.Now
			r.CancelRequested = &at
		}
		return *r, err
	})
}

// Collect stores the result of one of Runs.
func (a *Arena) Collect(_ context.Context, _, run string) (client.Answer[api.Result], error) {
	return answer(a, func() (api.Result, error) {
		a.called("collect " + run)
		r, err := a.find(run)
		if err != nil {
			return api.Result{}, err
		}
		stage := protocol.StageCollect
		r.Stage, r.Result = &stage, resultOf(*r, 5, 6, protocol.Pending, a.Now)
		return *r.Result, nil
	})
}

// Claim notes who reviews the result of one of Runs.
func (a *Arena) Claim(_ context.Context, _, run string, req api.ClaimRequest) (client.Answer[api.Result], error) {
	return answer(a, func() (api.Result, error) {
		a.called(map[bool]string{false: "claim ", true: "release "}[req.Release] + run)
		r, err := a.find(run)
		switch {
		case err != nil:
			return api.Result{}, err
		case r.Result == nil:
			return api.Result{}, protocol.ErrNoResult
		case a.RefuseClaim != nil:
			return api.Result{}, a.RefuseClaim
		}
		res := *r.Result
		res.Claim = &api.Claim{By: a.Me.Name, At: a.Now, ExpiresAt: a.Now.Add(protocol.ClaimFor)}
		if req.Release {
			res.Claim.ExpiresAt = a.Now
		}
		r.Result = &res
		return res, nil
	})
}

// RunMetrics adds Runs up.
func (a *Arena) RunMetrics(context.Context, string) (client.Answer[api.RunMetrics], error) {
	return answer(a, func() (api.RunMetrics, error) { return metricsOf(a), nil })
}

// Review judges the result of one of Runs, once.
func (a *Arena) Review(_ context.Context, _, run string, req api.ReviewRequest) (client.Answer[api.Result], error) {
	return answer(a, func() (api.Result, error) {
		a.called("review " + run + " " + map[bool]string{true: "accept", false: "reject"}[req.Accepted] + ": " + req.Note)
		r, err := a.find(run)
		switch {
		case err != nil:
			return api.Result{}, err
		case a.RefuseReview != nil:
			return api.Result{}, a.RefuseReview
		case r.Result == nil:
			return api.Result{}, protocol.ErrNoResult
		case r.Result.Verification != protocol.Pending:
			return api.Result{}, protocol.ErrReviewed
		}
		res, by, at := *r.Result, a.Me.Name, a.Now
		res.Verification, res.VerificationNote, res.ReviewedBy, res.ReviewedAt = protocol.Rejected, req.Note, &by, &at
		if req.Accepted {
			res.Verification = protocol.Valid
		}
		r.Result = &res
		for i, c := range a.Challenges {
			if c.ID == r.ChallengeID && c.Health != nil {
				h := *c.Health
				h.PendingReviews--
				a.Challenges[i].Health = &h
			}
		}
		return res, nil
	})
}

// ReadLog answers lines of the log.
func (a *Arena) ReadLog(_ context.Context, _, run string, after int64, limit int) (client.Answer[api.Log], error) {
	return answer(a, func() (api.Log, error) {
		l := api.Log{RunID: run, Next: after, Total: a.LogLength, Ended: a.LogEnded, Lines: []protocol.LogLine{}}
		for n := after + 1; n <= min(after+int64(limit), a.LogLength); n++ {
			l.Lines = append(l.Lines, a.LogLine(n))
			l.Next = n
		}
		return l, nil
	})
}

// ListAttempts answers Attempts.
func (a *Arena) ListAttempts(_ context.Context, _, run string) (client.Answer[api.Attempts], error) {
	return answer(a, func() (api.Attempts, error) { return a.attemptsOf(run), nil })
}

// GetAttempt answers one of Attempts.
func (a *Arena) GetAttempt(_ context.Context, _, run string, n int) (client.Answer[api.Attempt], error) {
	return answer(a, func() (api.Attempt, error) {
		if run != a.AttemptsOf || n < 1 || n > len(a.Attempts) {
			return api.Attempt{}, protocol.ErrNoAttempt
		}
		return a.Attempts[n-1], nil
	})
}

// Leaderboard answers one of Boards.
func (a *Arena) Leaderboard(_ context.Context, challenge string) (client.Answer[api.Leaderboard], error) {
	return answer(a, func() (api.Leaderboard, error) { return a.Boards[challenge], nil })
}

// ListEnvironments answers a page of Collections.
func (a *Arena) ListEnvironments(_ context.Context, _ protocol.CollectionFilter, p protocol.Page) (client.Answer[api.Environments], error) {
	return answer(a, func() (api.Environments, error) {
		rows, next := page(a, a.Collections, p, func(e api.Environment) string { return e.ID })
		return api.Environments{Environments: rows, Next: next}, nil
	})
}

// GetEnvironment answers one of Collections.
func (a *Arena) GetEnvironment(_ context.Context, id string) (client.Answer[api.Environment], error) {
	return answer(a, func() (api.Environment, error) {
		for _, e := range a.Collections {
			if e.ID == id {
				return e, nil
			}
		}
		return api.Environment{}, protocol.ErrNoCollection
	})
}

// GetGates answers one of Gates.
func (a *Arena) GetGates(_ context.Context, _, id string) (client.Answer[api.Gates], error) {
	return answer(a, func() (api.Gates, error) { return a.Gates[id], nil })
}

// AttachGates answers Judged, and stores it as a verdict unless it is a dry run.
func (a *Arena) AttachGates(_ context.Context, challenge, id string, req api.AttachGates) (client.Answer[api.AttachedGates], error) {
	return answer(a, func() (api.AttachedGates, error) {
		a.called(map[bool]string{false: "attach to ", true: "judge for "}[req.DryRun] + id)
		if a.RefuseAttach != nil {
			return api.AttachedGates{}, a.RefuseAttach
		}
		g := a.Gates[id]
		v := a.Judged
		v.Version, v.AttachedBy, v.AttachedAt, v.PlanDigest, v.Revision, v.GateSet = 1, a.Me.Name, a.Now, req.PlanDigest, req.Revision, req.GateSet
		if g.Verdict != nil {
			v.Version = g.Verdict.Version + 1
		}
		if !req.DryRun {
			g.Verdict = &v
			a.Gates[id] = g
		}
		n := protocol.CountDecisions(v.Tasks)
		return api.AttachedGates{EnvironmentID: id, ChallengeID: challenge, DryRun: req.DryRun, Verdict: v, Decisions: api.Decisions{
			Accepted: n[protocol.TaskAccepted], Rejected: n[protocol.TaskRejected], Inconclusive: n[protocol.TaskInconclusive],
		}}, nil
	})
}

// GatesCatalogue answers Catalogue.
func (a *Arena) GatesCatalogue(context.Context) (client.Answer[api.Catalogue], error) {
	return answer(a, func() (api.Catalogue, error) { return a.Catalogue, nil })
}

// ListMessages answers a page of Messages.
func (a *Arena) ListMessages(_ context.Context, p protocol.Page) (client.Answer[api.Messages], error) {
	return answer(a, func() (api.Messages, error) {
		rows, next := page(a, a.Messages, p, func(m api.Message) string { return m.Filename })
		return api.Messages{Messages: rows, Next: next}, nil
	})
}

// PostMessage adds to Messages, the same request only once.
func (a *Arena) PostMessage(_ context.Context, req api.PostMessage) (client.Answer[api.Message], error) {
	return answer(a, func() (api.Message, error) {
		a.called("post " + req.Body)
		for _, m := range a.Messages {
			if m.RequestID == req.RequestID {
				m.Existing = true
				return m, nil
			}
		}
		m := api.Message{Filename: "posted-" + req.RequestID[len(req.RequestID)-6:], RequestID: req.RequestID, Author: a.Me.Name, Body: req.Body, Refs: req.Refs, CreatedAt: a.Now}
		a.Messages = append([]api.Message{m}, a.Messages...)
		return m, nil
	})
}
