package arena

import (
	"context"
	"errors"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/leaderboard"
)

// ViewReader answers the questions of pages that show many things at once.
type ViewReader interface {
	CollectionBriefs(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) ([]protocol.CollectionBrief, string, error) // newest first
	CollectionTallies(ctx context.Context, collections []string) (map[string]protocol.CollectionTally, error)
	RunCounts(ctx context.Context, challenge string) ([]protocol.RunCount, error)                // an empty challenge means every one
	DailySpend(ctx context.Context, challenge string, days int) ([]protocol.DaySpend, error)     // oldest first
	ScorePoints(ctx context.Context, challenge string, limit int) ([]protocol.ScorePoint, error) // the newest, oldest first
}

// Entry is a collection in one line: what it is, what became of its runs, and
// where it stands.
type Entry struct {
	Collection protocol.CollectionBrief
	Tally      protocol.CollectionTally
	// Row is its place on the leaderboard of the challenge that it was submitted
	// to; nil while it has none.
	Row *leaderboard.Row
}

// Entries lists collections, newest first.
func (s *Service) Entries(ctx context.Context, f protocol.CollectionFilter, page protocol.Page) ([]Entry, string, error) {
	briefs, next, err := s.CollectionBriefs(ctx, f, page)
	if err != nil {
		return nil, "", err
	}
	entries, err := s.entries(ctx, briefs)
	return entries, next, err
}

// entries adds to collections what became of them.
func (s *Service) entries(ctx context.Context, briefs []protocol.CollectionBrief) ([]Entry, error) {
	ids := make([]string, len(briefs))
	for i, b := range briefs {
		ids[i] = b.ID
	}
	tallies, err := s.CollectionTallies(ctx, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]Entry, len(briefs))
	for i, b := range briefs {
		entries[i] = Entry{Collection: b, Tally: tallies[b.ID]}
		if entries[i].Row, err = s.rowOf(ctx, b.TargetChallenge, b.ID); err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// rowOf is a collection's row on a leaderboard, nil when there is none.
func (s *Service) rowOf(ctx context.Context, challenge, collection string) (*leaderboard.Row, error) {
	if _, known := s.byChallenge[challenge]; !known {
		return nil, nil
	}
	board, err := s.Leaderboard(ctx, challenge)
	if err != nil {
		return nil, err
	}
	for i := range board.Rows {
		if board.Rows[i].Collection == collection {
			return &board.Rows[i], nil
		}
	}
	return nil, nil
}

// maxPageRuns is how many runs a collection's page shows.
const maxPageRuns = 50

// Page is everything about one collection.
type Page struct {
	Entry      Entry
	Collection protocol.Collection
	Verdict    *protocol.Verdict          // on the challenge that it was submitted to; nil before any
	Runs       []protocol.Run             // the newest, newest first
	Results    map[string]protocol.Result // of those runs, by run
	Rows       []leaderboard.Board        // the boards that it is on, each with its own row only
	Commands   protocol.CommandBlock
	NoOracle   int
}

// CollectionPage reads everything about one collection.
func (s *Service) CollectionPage(ctx context.Context, id string) (Page, error) {
	col, verdict, err := s.verdictOn(ctx, id)
	if err != nil {
		return Page{}, err
	}
	p := Page{Collection: col, Verdict: verdict, Commands: protocol.PostTrain(col), NoOracle: protocol.NoOracle(col)}
	entries, err := s.entries(ctx, []protocol.CollectionBrief{brief(col)})
	if err != nil {
		return p, err
	}
	p.Entry = entries[0]
	if p.Runs, _, err = s.Runs(ctx, protocol.RunFilter{Collection: id}, protocol.Page{Limit: maxPageRuns}); err != nil {
		return p, err
	}
	if p.Results, err = s.resultsOf(ctx, p.Runs); err != nil {
		return p, err
	}
	for _, c := range s.Challenges {
		row, err := s.rowOf(ctx, c.ID, id)
		if err != nil {
			return p, err
		}
		if row != nil {
			p.Rows = append(p.Rows, leaderboard.Board{Challenge: c.ID, Rows: []leaderboard.Row{*row}})
		}
	}
	return p, nil
}

// verdictOn is a collection with the verdict on the challenge that it was
// submitted to.
func (s *Service) verdictOn(ctx context.Context, id string) (protocol.Collection, *protocol.Verdict, error) {
	col, err := s.Collection(ctx, id)
	if err != nil || col.TargetChallenge == "" {
		return col, nil, err
	}
	v, err := s.Verdict(ctx, id, col.TargetChallenge)
	switch {
	case err == nil:
		return col, &v, nil
	case errors.Is(err, protocol.ErrNotFound):
		return col, nil, nil
	default:
		return col, nil, err
	}
}

// brief is a collection as lists show it.
func brief(c protocol.Collection) protocol.CollectionBrief {
	return protocol.CollectionBrief{
		ID: c.ID, Author: c.Author, AgentID: c.AgentID, Track: c.Track, TargetChallenge: c.TargetChallenge, Source: c.Source, Title: c.Title,
		TeamName: c.TeamName, TaskCount: c.TaskCount, Summary: c.Static.Summary, CreatedAt: c.CreatedAt,
	}
}

// resultsOf reads the results of runs that have one.
func (s *Service) resultsOf(ctx context.Context, runs []protocol.Run) (map[string]protocol.Result, error) {
	results := map[string]protocol.Result{}
	for _, r := range runs {
		if r.State != protocol.RunScored {
			continue
		}
		result, err := s.Result(ctx, r.ID)
		switch {
		case err == nil:
			results[r.ID] = result
		case !errors.Is(err, protocol.ErrNoResult):
			return nil, err
		}
	}
	return results, nil
}

// RunPage is everything that everybody may know about one run.
type RunPage struct {
	Run    protocol.Run
	Result *protocol.Result // nil before it is collected
	Entry  Entry            // its collection
	Row    *leaderboard.Row // the collection's place on the run's challenge; nil while it has none
	Others []protocol.Run   // the collection's other newest runs
	Cause  Cause
}

// Cause explains why a run stopped. It is empty when nobody knows, or when the
// run did not stop.
type Cause struct {
	Sentence string
	Advice   string
}

// RunPage reads everything about one run, of whatever challenge.
func (s *Service) RunPage(ctx context.Context, id string) (RunPage, error) {
	run, err := s.Run(ctx, id)
	if err != nil {
		return RunPage{}, err
	}
	p := RunPage{Run: run, Cause: s.explain(run)}
	results, err := s.resultsOf(ctx, []protocol.Run{run})
	if err != nil {
		return p, err
	}
	if r, ok := results[run.ID]; ok {
		p.Result = &r
	}
	col, err := s.Collection(ctx, run.Collection)
	if err != nil {
		return p, err
	}
	entries, err := s.entries(ctx, []protocol.CollectionBrief{brief(col)})
	if err != nil {
		return p, err
	}
	p.Entry = entries[0]
	if p.Row, err = s.rowOf(ctx, run.Challenge, run.Collection); err != nil {
		return p, err
	}
	all, _, err := s.Runs(ctx, protocol.RunFilter{Collection: run.Collection}, protocol.Page{Limit: maxPageRuns})
	for _, r := range all {
		if r.ID != run.ID {
			p.Others = append(p.Others, r)
		}
	}
	return p, err
}

// explain finds the known issue that stopped a run: the one whose sentence its
// reason was given when it ended, else the first that fits the reason.
func (s *Service) explain(run protocol.Run) Cause {
	if run.State != protocol.RunFailed || run.Reason == "" {
		return Cause{}
	}
	for _, k := range s.Issues {
		if strings.HasSuffix(run.Reason, k.Sentence) {
			return Cause{k.Sentence, k.Advice}
		}
	}
	for _, k := range s.Issues {
		if (k.Stage == "" || k.Stage == run.Stage) && k.Pattern.MatchString(run.Reason) {
			return Cause{k.Sentence, k.Advice}
		}
	}
	return Cause{}
}

// Bounds of what metrics look at.
const (
	metricsRuns   = 1000 // newest runs, for durations and causes
	metricsScores = 500  // newest results
	metricsDays   = 366
)

// Metrics adds up the runs of a challenge, or of every one when it is empty. What
// was added up is kept until something has happened in the arena.
func (s *Service) Metrics(ctx context.Context, challenge string) (protocol.Metrics, error) {
	if challenge != "" {
		if _, err := s.Challenge(challenge); err != nil {
			return protocol.Metrics{}, err
		}
	}
	return s.metrics.get(ctx, s, challenge, func() (protocol.Metrics, error) { return s.measure(ctx, challenge) })
}

// measure reads what runs add up to.
func (s *Service) measure(ctx context.Context, challenge string) (protocol.Metrics, error) {
	facts := protocol.MetricsFacts{Explain: func(r protocol.Run) (string, string) { c := s.explain(r); return c.Sentence, c.Advice }}
	var err error
	if facts.Counts, err = s.RunCounts(ctx, challenge); err != nil {
		return protocol.Metrics{}, err
	}
	if facts.Scores, err = s.ScorePoints(ctx, challenge, metricsScores); err != nil {
		return protocol.Metrics{}, err
	}
	if facts.Days, err = s.DailySpend(ctx, challenge, metricsDays); err != nil {
		return protocol.Metrics{}, err
	}
	page := protocol.Page{Limit: protocol.MaxPage}
	for len(facts.Recent) < metricsRuns {
		runs, next, err := s.Runs(ctx, protocol.RunFilter{Challenge: challenge}, page)
		if err != nil {
			return protocol.Metrics{}, err
		}
		facts.Recent = append(facts.Recent, runs...)
		if page.Cursor = next; next == "" {
			break
		}
	}
	return protocol.Measure(facts), nil
}
