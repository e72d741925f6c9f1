package protocol

import (
	"fmt"
	"slices"
	"time"
)

// RunState is where a run is in its life.
type RunState string

// The states of a run (PROTOCOL §8).
const (
	RunQueued   RunState = "queued"   // reserved; its job is being started or has not begun
	RunRunning  RunState = "running"  // its job has printed something
	RunScored   RunState = "scored"   // its job ended with a report
	RunFailed   RunState = "failed"   // it stopped without one
	RunCanceled RunState = "canceled" // somebody stopped it
)

// RunStates lists every state.
func RunStates() []RunState {
	return []RunState{RunQueued, RunRunning, RunScored, RunFailed, RunCanceled}
}

// Ended reports whether nothing more can happen to a run in this state.
func (s RunState) Ended() bool { return s == RunScored || s == RunFailed || s == RunCanceled }

// RunMove is something that happens to a run and may change its state.
type RunMove string

// Every move of a run.
const (
	MoveStarted  RunMove = "job-started"    // the provider has a job for it
	MoveRefused  RunMove = "launch-refused" // the provider refused, or was proved to have no job
	MoveRunning  RunMove = "job-running"    // the job printed its first line
	MoveScored   RunMove = "job-scored"     // the job ended and its report was read
	MoveFailed   RunMove = "job-failed"     // the job ended without a usable report
	MoveCanceled RunMove = "job-canceled"   // the provider confirmed that it was stopped
)

// runMoves is the one transition table: from a state, by a move, to a state.
// What it does not list is illegal.
func runMoves(from RunState) map[RunMove]RunState {
	switch from {
	case RunQueued:
		return map[RunMove]RunState{
			MoveStarted:  RunQueued,
			MoveRefused:  RunFailed,
			MoveRunning:  RunRunning,
			MoveScored:   RunScored,
			MoveFailed:   RunFailed,
			MoveCanceled: RunCanceled,
		}
	case RunRunning:
		return map[RunMove]RunState{
			MoveRunning:  RunRunning,
			MoveScored:   RunScored,
			MoveFailed:   RunFailed,
			MoveCanceled: RunCanceled,
		}
	default:
		return nil
	}
}

// Next returns the state after a move, or ErrIllegalMove when the state does
// not allow it. Ended runs allow nothing.
func (s RunState) Next(m RunMove) (RunState, error) {
	next, ok := runMoves(s)[m]
	if !ok {
		return s, ErrIllegalMove.Detailf("A run that is %s cannot take the move %s.", s, m)
	}
	return next, nil
}

// Stage is a part of a run. Stages follow each other in this order.
type Stage string

// The stages of a run (PROTOCOL §8).
const (
	StageSetup    Stage = "setup"    // the job starts the model server and connects to the arena
	StageSnapshot Stage = "snapshot" // pins the training and held-out tasks
	StageBaseline Stage = "baseline" // held-out before
	StageGate     Stage = "gate"     // the base model on some training tasks
	StageTraining Stage = "training"
	StageHeldout  Stage = "heldout" // held-out after
	StageCollect  Stage = "collect" // the result was collected
)

// Stages lists the stages in order.
func Stages() []Stage {
	return []Stage{StageSetup, StageSnapshot, StageBaseline, StageGate, StageTraining, StageHeldout, StageCollect}
}

// Sealed reports whether the stage runs held-out tasks, whose names only
// editors may see.
func (s Stage) Sealed() bool { return s == StageBaseline || s == StageHeldout }

// Index is the stage's place in the order, or -1 for an unknown one.
func (s Stage) Index() int { return slices.Index(Stages(), s) }

// FaultClass says whose fault it was that a run stopped.
type FaultClass string

// The classes of a failure (reference/rivals.md R13).
const (
	FaultNone       FaultClass = ""
	FaultPlatform   FaultClass = "platform"   // serving, sandboxes, the provider: the arena's side
	FaultCollection FaultClass = "collection" // the tasks
	FaultLimit      FaultClass = "limit"      // a time or size limit
	FaultCanceled   FaultClass = "canceled"
)

// FaultIn says whose fault it is when a run stops in a stage and nothing is known
// about the reason: that of whoever's code ran. In gate and training that is the
// collection's tasks and their verifiers. Everywhere else only the arena's own
// machinery and the organizers' sealed tasks run, so it is the platform's: a
// participant is not blamed for what nothing of theirs had a part in.
func FaultIn(stage Stage) FaultClass {
	if stage == StageGate || stage == StageTraining {
		return FaultCollection
	}
	return FaultPlatform
}

// NotLaunched is the status of a request that never got a job.
const NotLaunched = "not launched"

// Run is one request to measure a collection, and what became of it.
type Run struct {
	ID         string // challenge- and 12 hex digits
	RequestID  string
	Challenge  string
	Collection string
	Revision   string // the collection's pinned commit
	Author     string // the collection's author
	LaunchedBy string
	AgentID    string // empty when the person launched it

	State  RunState
	Stage  Stage // empty until the job printed something
	Reason string
	Fault  FaultClass
	Since  time.Time // when the state was reached

	Provider  string
	Image     string // of the container that the job runs in; empty where there is none
	Flavor    string
	Price     Micros // per hour
	Timeout   time.Duration
	JobID     string // empty until the provider named one
	JobStatus string // the provider's own word
	JobURL    string // editors only
	RecipeID  string

	TrainTasks    int
	ExcludedTasks int
	EvalTasks     int

	Reserved        Micros
	Settled         *Micros // nil while the reservation is live
	CreatedAt       time.Time
	StartedAt       *time.Time // when the provider took the job
	EndedAt         *time.Time
	SettledAt       *time.Time
	CancelAsked     *time.Time // when somebody asked to cancel it
	CancelAskedBy   string
	CancelTaken     *time.Time // when the provider took the cancel; nil until it did
	UnreachableFrom *time.Time // since when the provider does not answer; nil while it does
	LogLines        int64

	// A job that turned up after its launch was given up has a bill and an end of its
	// own; nil for every other run, whose job ended and was billed with it.
	LateBill *Micros
	LateEnd  *time.Time

	Progress Progress
}

// Status is the provider's word for the job, or NotLaunched.
func (r Run) Status() string {
	if r.JobID == "" {
		return NotLaunched
	}
	return r.JobStatus
}

// Counts reports whether the run uses up its collection's daily allowance:
// failed and canceled runs do not (PROTOCOL §8).
func (r Run) Counts() bool { return r.State != RunFailed && r.State != RunCanceled }

// NewRunID derives a run's id from the request that made it, so that a repeated
// request cannot name a second run.
func NewRunID(requestID string) string { return "challenge-" + digest12("run", requestID) }

// Progress is what a run's log has said so far.
type Progress struct {
	Stages       []StageProgress `json:"stages"`
	Training     []TrainingStep  `json:"training"`
	Unrecognised int             `json:"unrecognised"` // verdict lines about tasks that the stage does not have
	// LastLineAt is when the arena received the newest line, by its own clock.
	LastLineAt *time.Time `json:"last_line_at,omitempty"`
}

// StageProgress is the state of one stage. Counts are of tasks; the training
// stage counts rollouts.
type StageProgress struct {
	Stage     Stage      `json:"stage"`
	StartedAt *time.Time `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at"` // nil while the stage runs
	Total     int        `json:"total"`    // 0 when not known
	Done      int        `json:"done"`
	Passed    int        `json:"passed"`
	Failed    int        `json:"failed"` // timeouts included
	Errors    int        `json:"errors"`
	Timeouts  int        `json:"timeouts"`
}

// TrainingStep is one optimizer step as the trainer logged it: every numeric key.
type TrainingStep struct {
	Step      int                `json:"step"` // counted from 1
	At        time.Time          `json:"at"`
	Values    map[string]float64 `json:"values"`
	NotFinite []string           `json:"not_finite,omitempty" doc:"The keys whose value was nan or infinite, which JSON cannot say"`
}

// The names of the preflight checks, in the order in which they are made
// (PROTOCOL §8).
const (
	CheckChallengeOpen  = "challenge_open"
	CheckSignedIn       = "signed_in"
	CheckAuthorOrEditor = "author_or_editor"
	CheckDailyLimit     = "daily_limit"
	CheckJobLayout      = "job_layout"
	CheckNoActiveJob    = "no_active_job"
	CheckCap            = "cap"
	CheckEligibleTask   = "eligible_task"
	CheckNoSealedName   = "no_sealed_name"
)

// Check is one line of the preflight list.
type Check struct {
	Name   string `json:"name"`
	OK     *bool  `json:"ok"` // nil when an earlier failure makes it moot
	Detail string `json:"detail"`
	err    error  // what a launch answers when this check fails
}

// LaunchFacts is everything that decides whether a run may start.
type LaunchFacts struct {
	Challenge   Challenge
	Collection  Collection
	SealedNames int         // training tasks whose name is that of an evaluated sealed task
	Counted     []time.Time // launch times of the collection's counted runs on this challenge, any order
	ActiveRun   string      // id of the run that is active in the arena; empty when none
	Ledger      Ledger
	Price       Micros // of the flavor, per hour
	PriceError  error  // why no price is known; nil when it is
}

// Reservation is what the run would reserve: price × timeout.
func (f LaunchFacts) Reservation() Micros { return Cost(f.Price, f.Challenge.Compute.Timeout()) }

// Preflight is the answer to "may this run start?".
type Preflight struct {
	Checks []Check
	// Reservation is what the run would reserve, 0 when no price is known.
	Reservation Micros
	Priced      bool // a price is known; it may be 0
	Eligible    int
	Limits      LaunchLimits
}

// Allowed reports whether every check holds.
func (p Preflight) Allowed() bool { return p.Refusal() == nil }

// Refusal returns the error of the first check that fails, or nil.
func (p Preflight) Refusal() error {
	for _, c := range p.Checks {
		if c.OK == nil || !*c.OK {
			return c.err
		}
	}
	return nil
}

// RunTally is what a challenge's runs and results add up to.
type RunTally struct {
	ActiveRun      string           // the run that is active in the arena, of any challenge; empty when none
	Runs           map[RunState]int // launched runs of the challenge, those without a job left out
	LastLaunched   *time.Time       // when a provider last took a job of the challenge
	LastCollected  *time.Time
	PendingReviews int
	OldestQueued   *time.Time // since when the longest waiting run is queued; nil when none is
}

// CheckOpenings makes the checks of CheckLaunch that do not depend on a
// collection or a caller, and returns the first that fails: it says whether the
// challenge would take a run now.
func CheckOpenings(f LaunchFacts) error {
	for _, check := range []func() error{
		f.Challenge.AcceptsRuns,
		func() error { return checkLayout(f) },
		func() error { return checkActive(f) },
		func() error { return checkCap(f) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// DailyWindow is how far back counted runs are looked for.
const DailyWindow = 24 * time.Hour

// CheckLaunch makes the ordered list of checks (PROTOCOL §8). It is evaluated
// for preflight and, on the same facts read inside the transaction that
// reserves, for launch, so that the two can never disagree.
func CheckLaunch(f LaunchFacts, who Identity, now time.Time) Preflight {
	p := Preflight{
		Eligible: f.Collection.Static.Summary.Eligible, Reservation: f.Reservation(), Priced: f.PriceError == nil, Limits: f.Limits(now),
	}
	add := func(name string, err error, pass string) bool {
		ok, detail := err == nil, pass
		if !ok {
			detail = AsError(err).Detail
		}
		p.Checks = append(p.Checks, Check{Name: name, OK: &ok, Detail: detail, err: err})
		return ok
	}
	moot := func(name string, err error, because string) {
		p.Checks = append(p.Checks, Check{Name: name, Detail: "not checked: " + because, err: err})
	}

	add(CheckChallengeOpen, f.Challenge.AcceptsRuns(), f.Challenge.ID+" is open and takes runs")
	if add(CheckSignedIn, RoleSignedIn.Admits(who), "signed in as "+who.Name) {
		add(CheckAuthorOrEditor, checkAuthor(f, who), who.Name+" may launch this collection")
	} else {
		moot(CheckAuthorOrEditor, ErrSignedOut, "nobody is signed in")
	}
	add(CheckDailyLimit, checkDaily(f, now), "no counted run of this collection in the last 24 hours")
	layout := add(CheckJobLayout, checkLayout(f), fmt.Sprintf("%s for at most %s at $%s an hour", f.Challenge.Compute.Flavor, f.Challenge.Compute.Timeout(), f.Price))
	add(CheckNoActiveJob, checkActive(f), "no other run is active")
	if layout {
		add(CheckCap, checkCap(f), fmt.Sprintf("$%s of the $%s cap remain, the run reserves $%s", f.Ledger.Remaining(), f.Ledger.Cap, f.Reservation()))
	} else {
		moot(CheckCap, ErrJobLayout, "the job layout does not hold, so its price is not known")
	}
	add(CheckEligibleTask, checkEligible(f), fmt.Sprintf("%d of %d tasks are eligible", p.Eligible, f.Collection.Static.Summary.Tasks))
	add(CheckNoSealedName, checkSealedNames(f), "no training task has the name of a sealed task")
	return p
}

func checkAuthor(f LaunchFacts, who Identity) error {
	if !who.MayAct(f.Collection.Author) {
		return ErrNotAuthor.Detailf("%s is %s's collection; only its author or an editor may run it.", f.Collection.ID, f.Collection.Author)
	}
	return nil
}

func checkDaily(f LaunchFacts, now time.Time) error {
	recent, limit := f.counted(now)
	if len(recent) < limit {
		return nil
	}
	// The slot frees when enough of the counted runs have left the window.
	free := recent[len(recent)-limit].Add(DailyWindow)
	return ErrDailyLimit.After(free.Sub(now)).
		Detailf("%s has %d counted run(s) on %s in the last 24 hours, and %d a day is the limit. The next may start at %s. Failed and canceled runs do not count.",
			f.Collection.ID, len(recent), f.Challenge.ID, limit, free.UTC().Format(time.RFC3339))
}

func checkLayout(f LaunchFacts) error {
	if f.Challenge.LayoutProblem != "" {
		return ErrJobLayout.Detailf("The job layout of %s cannot work: %s", f.Challenge.ID, f.Challenge.LayoutProblem)
	}
	return f.PriceError
}

func checkActive(f LaunchFacts) error {
	if f.ActiveRun != "" {
		return ErrJobActive.Detailf("Run %s is active. One runs at a time across the arena; try again when it has ended.", f.ActiveRun)
	}
	return nil
}

func checkCap(f LaunchFacts) error {
	if !f.Ledger.Covers(f.Reservation()) {
		return ErrCap.Detailf("A run reserves $%s, but only $%s of the $%s cap remain. Only the organizers can raise it.",
			f.Reservation(), max(0, f.Ledger.Remaining()), f.Ledger.Cap)
	}
	return nil
}

func checkEligible(f LaunchFacts) error {
	if f.Collection.Static.Summary.Eligible == 0 {
		return ErrNoEligible
	}
	return nil
}

func checkSealedNames(f LaunchFacts) error {
	if f.SealedNames > 0 {
		return ErrSealedName.Detailf("%d training task(s) have the name of a sealed task. Rename them and submit again.", f.SealedNames)
	}
	return nil
}

// RunFilter selects runs. Empty fields select everything.
type RunFilter struct {
	Challenge  string
	Collection string
	Author     string
	Live       bool // only runs that have not ended
}

// Reservation is a launch as the store needs it to decide and to write in one
// transaction. Everything that needs the network was read before.
type Reservation struct {
	RequestID   string
	AgentID     string // empty when the person launches it
	Who         Identity
	Collection  string
	Challenge   Challenge
	Provider    string
	Image       string // of the container that the job runs in; empty where there is none
	Price       Micros // per hour
	PriceError  error  // why no price is known; nil when it is
	SealedNames int
	Cap, Prior  Micros
}

// SameLaunch reports whether a repeated request id asks for what the run of its
// first use is: same owner, collection, challenge and agent.
func (r Reservation) SameLaunch(run Run) bool {
	return run.LaunchedBy == r.Who.Name && run.Collection == r.Collection && run.Challenge == r.Challenge.ID && run.AgentID == r.AgentID
}

// Job is what a provider says about a job, as far as a run records it.
type Job struct {
	ID        string
	Status    string // the provider's word
	URL       string
	StartedAt time.Time
}

// LogBatch is a piece of a run's log together with what the fold made of it.
type LogBatch struct {
	Lines    []LogLine // N is ignored; the store numbers the lines
	Position int64     // the provider's position after the last line
	Fold     []byte    // the log fold's saved state after the last line
	Progress Progress
	Stage    Stage
	Status   string // the provider's word for the job
}

// LogCursor is where the arena stands in a job's log.
type LogCursor struct {
	Position int64  // the provider's position after the last stored line
	Fold     []byte // the saved fold state there; nil at the start
}

// Ending is how a job ended.
type Ending struct {
	Move     RunMove // MoveScored, MoveFailed or MoveCanceled
	Reason   string
	Fault    FaultClass
	Status   string // the provider's word
	EndedAt  time.Time
	Billed   Micros
	Progress Progress
	Stage    Stage
}

// DailyWait is how long until the daily limit frees a slot, 0 when it does not
// bind.
func (p Preflight) DailyWait() time.Duration {
	for _, c := range p.Checks {
		if e, ok := c.err.(*Error); ok && c.Name == CheckDailyLimit {
			return e.RetryAfter
		}
	}
	return 0
}
