package api

import (
	"time"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
	"github.com/posttrainarena/arena/protocol/leaderboard"
)

// Submission is a collection in one line of a page: what it is, what became of
// its runs, and where it stands.
type Submission struct {
	ID                string                    `json:"id"`
	Title             string                    `json:"title"`
	Author            string                    `json:"author"`
	AgentID           *string                   `json:"agent_id"`
	TeamName          string                    `json:"team_name"`
	ChallengeID       string                    `json:"challenge_id" doc:"The track"`
	TargetChallengeID *string                   `json:"target_challenge_id"`
	RepoType          protocol.RepoType         `json:"repo_type"`
	RepoID            string                    `json:"repo_id"`
	Revision          string                    `json:"revision"`
	SourceURL         *string                   `json:"source_url"`
	TaskCount         int                       `json:"task_count"`
	Static            report.Summary            `json:"static" doc:"What the static gates say, in numbers"`
	CreatedAt         time.Time                 `json:"created_at"`
	Runs              map[protocol.RunState]int `json:"runs" doc:"Its run requests by state"`
	LatestRun         *RunLine                  `json:"latest_run"`
	Results           ResultCounts              `json:"results"`
	Standing          *StandingLine             `json:"standing" doc:"Its place on the leaderboard of its target challenge; null while it has none"`
}

// RunLine is a run in one line.
type RunLine struct {
	RunID       string            `json:"run_id"`
	ChallengeID string            `json:"challenge_id"`
	State       protocol.RunState `json:"state"`
	Stage       *protocol.Stage   `json:"stage"`
	CreatedAt   time.Time         `json:"created_at"`
}

// ResultCounts counts collected results by what review said.
type ResultCounts struct {
	Pending  int `json:"pending"`
	Valid    int `json:"valid"`
	Rejected int `json:"rejected"`
}

// StandingLine is a place on a leaderboard.
type StandingLine struct {
	ChallengeID  string  `json:"challenge_id"`
	Rank         int     `json:"rank"`
	DeltaPP      float64 `json:"delta_pp"`
	StderrPP     float64 `json:"stderr_pp"`
	VerifiedRuns int     `json:"verified_runs"`
}

// Submissions is a page of collections, newest first.
type Submissions struct {
	Submissions []Submission `json:"submissions"`
	Next        *string      `json:"next_cursor"`
}

// SubmissionFrom maps a collection, what became of it, and its row on the board
// of its target challenge (nil when it has none) to one line.
func SubmissionFrom(c protocol.CollectionBrief, t protocol.CollectionTally, row *leaderboard.Row) Submission {
	out := Submission{
		ID: c.ID, Title: c.Title, Author: c.Author, AgentID: Optional(c.AgentID), TeamName: c.TeamName, ChallengeID: c.Track,
		TargetChallengeID: Optional(c.TargetChallenge), RepoType: c.Source.RepoType, RepoID: c.Source.RepoID, Revision: c.Source.Revision,
		SourceURL: sourceURL(c.Source), TaskCount: c.TaskCount, Static: c.Summary, CreatedAt: c.CreatedAt, Runs: t.Runs,
		Results: ResultCounts{t.Pending, t.Valid, t.Rejected},
	}
	if l := t.Latest; l != nil {
		out.LatestRun = &RunLine{RunID: l.ID, ChallengeID: l.Challenge, State: l.State, CreatedAt: l.CreatedAt}
		if l.Stage != "" {
			out.LatestRun.Stage = &l.Stage
		}
	}
	if row != nil {
		out.Standing = &StandingLine{c.TargetChallenge, row.Rank, row.DeltaPP, row.StderrPP, row.VerifiedRuns}
	}
	return out
}

// SubmissionPage is everything about one collection.
type SubmissionPage struct {
	Submission  Submission            `json:"submission"`
	Environment Environment           `json:"environment" doc:"The record with its static report"`
	Verdict     *Verdict              `json:"verdict" doc:"Null until an editor attached gate results"`
	Runs        []Run                 `json:"runs" doc:"Its newest runs with their results, newest first"`
	Standings   []StandingRow         `json:"standings" doc:"Its row on every leaderboard that it is on"`
	PostTrain   protocol.CommandBlock `json:"posttrain" doc:"How to use the collection outside the arena"`
	NoOracle    int                   `json:"no_oracle" doc:"Tasks without a reference solution"`
	Forecast    *artifacts.Forecast   `json:"forecast" doc:"How much groups of rollouts on its tasks can be expected to teach, from the attempts of its runs on the target challenge; task by task for its author"`
	Simulated   bool                  `json:"simulated"`
}

// StandingRow is a collection's row on the leaderboard of a challenge.
type StandingRow struct {
	ChallengeID string `json:"challenge_id"`
	leaderboard.Row
}

// AppRun is everything that everybody may know about one run.
type AppRun struct {
	Run         Run              `json:"run" doc:"With its result once collected"`
	Timeline    []StageTime      `json:"timeline" doc:"Its stages with how long each took"`
	Explanation *Explanation     `json:"explanation" doc:"Why it stopped, in words, when that is a known issue"`
	Submission  Submission       `json:"submission" doc:"The collection that it trained on"`
	Standing    *leaderboard.Row `json:"standing" doc:"The collection's place on the run's challenge"`
	Others      []RunLine        `json:"other_runs" doc:"The collection's other newest runs"`
}

// StageTime is how long a stage took.
type StageTime struct {
	Stage     protocol.Stage `json:"stage"`
	StartedAt *time.Time     `json:"started_at"`
	EndedAt   *time.Time     `json:"ended_at" doc:"Null while the stage runs"`
	Seconds   *float64       `json:"seconds" doc:"Null while the stage runs"`
}

// Explanation says why a run stopped and what to do.
type Explanation struct {
	Sentence string `json:"sentence"`
	Advice   string `json:"advice"`
}

// TimelineFrom maps a run's stages to how long each took.
func TimelineFrom(r protocol.Run) []StageTime {
	return each(r.Progress.Stages, func(s protocol.StageProgress) StageTime {
		t := StageTime{Stage: s.Stage, StartedAt: s.StartedAt, EndedAt: s.EndedAt}
		if s.StartedAt != nil && s.EndedAt != nil {
			seconds := s.EndedAt.Sub(*s.StartedAt).Seconds()
			t.Seconds = &seconds
		}
		return t
	})
}

// RunLineFrom maps a run to one line.
func RunLineFrom(r protocol.Run) RunLine {
	l := RunLine{RunID: r.ID, ChallengeID: r.Challenge, State: r.State, CreatedAt: r.CreatedAt}
	if r.Stage != "" {
		l.Stage = &r.Stage
	}
	return l
}

// AppMeta is what the submissions pages need to know of the arena itself.
type AppMeta struct {
	Name          string                  `json:"name"`
	BaseURL       string                  `json:"base_url"`
	Version       Version                 `json:"version"`
	Basis         []string                `json:"basis" doc:"What is invented in this arena, in sentences"`
	Challenges    []ChallengeLine         `json:"challenges"`
	Tracks        []Track                 `json:"tracks"`
	RepoTypes     []protocol.RepoType     `json:"repo_types" doc:"Where collections may be: an upload always, and the hosts this arena is connected to"`
	Categories    []string                `json:"categories" doc:"Of tasks"`
	Limits        Limits                  `json:"limits"`
	Gates         []GateLine              `json:"gates" doc:"Every static gate by code; /api/gates/catalogue explains them"`
	States        []protocol.RunState     `json:"run_states"`
	Stages        []protocol.Stage        `json:"stages" doc:"Of a run, in order"`
	Verifications []protocol.Verification `json:"verifications" doc:"Where a result can stand in review"`
}

// ChallengeLine is a challenge in one line.
type ChallengeLine struct {
	ID        string                   `json:"id"`
	Title     string                   `json:"title"`
	Status    protocol.ChallengeStatus `json:"status" enum:"open,planned,closed"`
	Track     string                   `json:"track"`
	Accepting bool                     `json:"accepting_runs" doc:"A run would be accepted right now"`
	Reason    *string                  `json:"reason" doc:"Why not"`
}

// GateLine is a static gate in one line.
type GateLine struct {
	Code     string          `json:"code"`
	Severity report.Severity `json:"severity"`
	Title    string          `json:"title"`
}

// Limits are what a request, a message or a collection may hold.
type Limits struct {
	Tasks           int   `json:"tasks"`
	FilesPerTask    int   `json:"files_per_task"`
	TextBytes       int64 `json:"text_bytes" doc:"Of a file that gates read"`
	TotalBytes      int64 `json:"total_bytes" doc:"Of a collection"`
	BundleBytes     int64 `json:"bundle_bytes" doc:"Of an uploaded directory"`
	MessageChars    int   `json:"message_chars"`
	TitleChars      int   `json:"title_chars"`
	NotesChars      int   `json:"notes_chars"`
	ReviewNoteChars int   `json:"review_note_min_chars"`
	PageRows        int   `json:"page_rows" doc:"The most rows of one answer"`
}
