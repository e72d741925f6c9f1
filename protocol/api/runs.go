package api

import (
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/artifacts"
)

// LaunchRequest asks for a run.
type LaunchRequest struct {
	RequestID     string  `json:"request_id" doc:"8 to 120 characters of A-Z a-z 0-9 . _ -; repeating the identical request never starts a second run"`
	EnvironmentID string  `json:"environment_id"`
	AgentID       *string `json:"agent_id,omitempty" doc:"A registered agent of yours, or null to act as yourself"`
}

// Preflight is every check that a launch would make. It reserves nothing.
type Preflight struct {
	Allowed       bool             `json:"allowed"`
	ChallengeID   string           `json:"challenge_id"`
	EnvironmentID string           `json:"environment_id"`
	Checks        []protocol.Check `json:"checks" doc:"In the order in which a launch makes them; ok is null when an earlier failure makes the check moot"`
	MaxComputeUSD *protocol.Micros `json:"max_compute_usd" doc:"What the run would reserve; null when no price is known"`
	EligibleTasks int              `json:"eligible_tasks"`
	ResetsAt      *time.Time       `json:"resets_at" doc:"When the daily limit frees a slot; null when it does not bind"`

	Limits   protocol.LaunchLimits `json:"limits" doc:"How much of what bounds launches is used, and which of it binds"`
	Forecast *artifacts.Forecast   `json:"forecast" doc:"How much groups of rollouts on these tasks can be expected to teach, from the attempts of earlier runs of the collection; null when there are none"`
}

// PreflightFrom maps the checks to the wire.
func PreflightFrom(challenge, collection string, p protocol.Preflight, now time.Time) Preflight {
	out := Preflight{
		Allowed: p.Allowed(), ChallengeID: challenge, EnvironmentID: collection, Checks: p.Checks, EligibleTasks: p.Eligible, Limits: p.Limits,
	}
	if p.Priced {
		out.MaxComputeUSD = &p.Reservation
	}
	if wait := p.DailyWait(); wait > 0 {
		at := now.Add(wait).UTC().Truncate(time.Second)
		out.ResetsAt = &at
	}
	return out
}

// Run is one run request and what became of it. It never names a sealed task.
type Run struct {
	RunID               string                   `json:"run_id"`
	RequestKey          string                   `json:"request_key" doc:"The request_id that asked for it"`
	ChallengeID         string                   `json:"challenge_id"`
	EnvironmentID       string                   `json:"environment_id"`
	EnvironmentRevision string                   `json:"environment_revision"`
	Author              string                   `json:"author" doc:"The collection's author"`
	LaunchedBy          string                   `json:"launched_by"`
	AgentID             *string                  `json:"agent_id"`
	State               protocol.RunState        `json:"state" enum:"queued,running,scored,failed,canceled"`
	Stage               *protocol.Stage          `json:"stage" doc:"The last stage the run reached"`
	Reason              *string                  `json:"reason" doc:"Why it stopped, or what happens at the moment"`
	PlatformFault       bool                     `json:"platform_fault" doc:"It stopped on the arena's side, not the collection's"`
	Fault               *protocol.FaultClass     `json:"fault" doc:"platform, collection, limit or canceled"`
	Status              string                   `json:"status" doc:"The job's own status, or: not launched"`
	JobStatus           *string                  `json:"job_status"`
	JobID               *string                  `json:"job_id"`
	JobURL              *string                  `json:"job_url,omitempty" doc:"Editors only"`
	Since               time.Time                `json:"since" doc:"When the state was reached"`
	BlockedBy           *string                  `json:"blocked_by" doc:"What a run that has not ended waits for"`
	Stalled             bool                     `json:"stalled" doc:"It has waited for that for longer than expected; nothing is done about it by itself"`
	StalledBecause      *string                  `json:"stalled_because" doc:"What takes too long, and since when"`
	StallsAt            *time.Time               `json:"stalls_at" doc:"When a run that has not ended counts as stalled unless something changes"`
	NextCheckAt         *time.Time               `json:"next_check_at" doc:"When the arena looks at a run that has not ended next by itself, at the latest"`
	LastLineAt          *time.Time               `json:"last_line_at" doc:"When the newest line of its log arrived"`
	CancelRequested     *time.Time               `json:"cancel_requested_at" doc:"When somebody asked for it to stop"`
	CancelAcknowledged  *time.Time               `json:"cancel_acknowledged_at" doc:"When the provider took the cancel; null until it did"`
	UnreachableSince    *time.Time               `json:"unreachable_since" doc:"Since when the provider does not answer"`
	Provider            string                   `json:"provider"`
	Simulated           bool                     `json:"simulated"`
	Image               *string                  `json:"image" doc:"The container image that the job was asked for with; null where there is none, and for runs from before it was kept"`
	Flavor              string                   `json:"flavor"`
	TimeoutSeconds      int64                    `json:"timeout_seconds"`
	RecipeID            string                   `json:"recipe_id"`
	TrainTaskCount      int                      `json:"train_task_count"`
	ExcludedTaskCount   int                      `json:"excluded_task_count"`
	EvalTaskCount       int                      `json:"eval_task_count"`
	MaxComputeUSD       protocol.Micros          `json:"max_compute_usd"`
	SettledUSD          *protocol.Micros         `json:"settled_usd" doc:"What was billed; null while the reservation is live"`
	CreatedAt           time.Time                `json:"created_at"`
	StartedAt           *time.Time               `json:"started_at"`
	EndedAt             *time.Time               `json:"ended_at"`
	Stages              []protocol.StageProgress `json:"stages"`
	Training            []protocol.TrainingStep  `json:"training"`
	LogLines            int64                    `json:"log_lines"`
	LastLines           []string                 `json:"last_lines,omitempty" doc:"The end of the log of a failed or canceled run, for the collection's author and editors. Of sealed stages only the shape of the evaluation is left, and no sealed task is named"`
	Forecast            *artifacts.Forecast      `json:"forecast,omitempty" doc:"How much groups of rollouts can be expected to teach, from the run's own attempts; task by task for the collection's author"`
	Relay               *Relay                   `json:"relay,omitempty" doc:"Editors only: the tunnel to the run's model"`
	Result              *Result                  `json:"result" doc:"The collected result; null until it is collected, and in lists"`
	Existing            bool                     `json:"existing,omitempty" doc:"The request_id was used before; this is its run"`
}

// RunPlan is what the job of a run executes. It holds no secret and no sealed task.
type RunPlan struct {
	RunID     string         `json:"run_id"`
	Provider  string         `json:"provider"`
	Flavor    string         `json:"flavor"`
	Timeout   int64          `json:"timeout_seconds"`
	Config    string         `json:"config" doc:"The pipeline's config, TOML; before a provider's copy of the collection takes the place of its source"`
	TaskLists map[string]int `json:"task_lists" doc:"How many tasks each list beside the config names"`
	Job       *RunPlanJob    `json:"job" doc:"What runs on another machine; null where the pipeline's command is started directly, or nothing is"`
}

// RunPlanJob is the job of a run on another machine.
type RunPlanJob struct {
	Image   string            `json:"image"`
	Command []string          `json:"command"`
	Env     map[string]string `json:"env"`
	Secrets []string          `json:"secrets" doc:"Names; the values are the job's alone"`
}

// Relay is the tunnel between a run's job and the arena, and what went through.
type Relay struct {
	State          protocol.RelayState `json:"state" enum:"never,connected,reconnecting,lost,closed"`
	Requests       int64               `json:"requests" doc:"Calls with the right key"`
	Succeeded      int64               `json:"succeeded" doc:"Answered 2xx by the job"`
	Rejected       int64               `json:"rejected" doc:"Answered otherwise below 500, or refused by a limit"`
	Failed         int64               `json:"failed" doc:"Answered 5xx, by the job or for want of it"`
	Aborted        int64               `json:"aborted" doc:"Broken off within the answer, or left by whoever asked"`
	BytesIn        int64               `json:"bytes_in"`
	BytesOut       int64               `json:"bytes_out"`
	Connections    int64               `json:"connections" doc:"How often the job connected"`
	ConnectedSince *time.Time          `json:"connected_since" doc:"When the newest connection began"`
	LastSeen       *time.Time          `json:"last_seen" doc:"When the job was last known to be there"`
	LostAt         *time.Time          `json:"lost_at" doc:"When the newest connection broke; null while it holds"`
	InFlight       int64               `json:"in_flight" doc:"Calls under way"`
}

// RelayFrom maps a tunnel to the wire.
func RelayFrom(r protocol.Relay) *Relay {
	return &Relay{
		State: r.State, Requests: r.Requests, Succeeded: r.Succeeded, Rejected: r.Rejected, Failed: r.Failed, Aborted: r.Aborted,
		BytesIn: r.BytesIn, BytesOut: r.BytesOut, Connections: r.Connections, ConnectedSince: r.ConnectedSince, LastSeen: r.LastSeen,
		LostAt: r.LostAt, InFlight: r.InFlight,
	}
}

// Runs is a page of runs, newest first.
type Runs struct {
	Runs []Run   `json:"runs"`
	Next *string `json:"next_cursor"`
}

// RunFrom maps a run to what a caller may see: its job link is for editors. w
// explains a run that has not ended, and is nil for one that has.
func RunFrom(r protocol.Run, w *protocol.Waiting, who protocol.Identity) Run {
	out := Run{
		RunID: r.ID, RequestKey: r.RequestID, ChallengeID: r.Challenge, EnvironmentID: r.Collection, EnvironmentRevision: r.Revision,
		Author: r.Author, LaunchedBy: r.LaunchedBy, AgentID: Optional(r.AgentID), State: r.State, Reason: Optional(r.Reason),
		PlatformFault: r.Fault == protocol.FaultPlatform, Status: r.Status(), JobStatus: Optional(r.JobStatus), JobID: Optional(r.JobID),
		Since: r.Since, LastLineAt: r.Progress.LastLineAt, CancelRequested: r.CancelAsked, CancelAcknowledged: r.CancelTaken, UnreachableSince: r.UnreachableFrom,
		Provider: r.Provider, Simulated: r.Provider == SimulatedProvider, Image: Optional(r.Image), Flavor: r.Flavor, TimeoutSeconds: int64(r.Timeout / time.Second),
		RecipeID: r.RecipeID, TrainTaskCount: r.TrainTasks, ExcludedTaskCount: r.ExcludedTasks, EvalTaskCount: r.EvalTasks,
		MaxComputeUSD: r.Reserved, SettledUSD: r.Settled, CreatedAt: r.CreatedAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt,
		Stages: append([]protocol.StageProgress{}, r.Progress.Stages...), Training: append([]protocol.TrainingStep{}, r.Progress.Training...),
		LogLines: r.LogLines,
	}
	if w != nil {
		out.Reason, out.BlockedBy = &w.Reason, &w.BlockedBy
		out.Stalled, out.StalledBecause, out.StallsAt, out.NextCheckAt = w.Stalled, Optional(w.Cause), w.Due, w.NextCheck
	}
	if r.Stage != "" {
		out.Stage = &r.Stage
	}
	if r.Fault != protocol.FaultNone {
		out.Fault = &r.Fault
	}
	if who.Editor {
		out.JobURL = Optional(r.JobURL)
	}
	return out
}

// Log is a piece of a run's log.
type Log struct {
	RunID string             `json:"run_id"`
	Lines []protocol.LogLine `json:"lines"`
	Next  int64              `json:"next_after" doc:"Pass it as after to read on"`
	Total int64              `json:"total" doc:"Lines stored so far"`
	Ended bool               `json:"ended" doc:"No further line will come"`
}

// LogEnd is the last event of a followed log.
type LogEnd struct {
	State protocol.RunState `json:"state"`
	Lines int64             `json:"lines"`
}
