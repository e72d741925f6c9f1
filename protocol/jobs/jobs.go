// Package jobs is the conversation with whoever runs GPU jobs: what the arena
// asks of a provider and what it must be able to rely on.
//
// A provider is outside the arena's transactions, so the interface is shaped by
// what may be lost: Start may have happened although no answer came (ErrUnknown),
// jobs carry the run's id as a label so that Find can prove what exists, and Logs
// resumes from a position. Every provider passes the suite in jobstest.
package jobs

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"

	"github.com/posttrainarena/arena/protocol"
)

// Status is a provider's word for where a job is.
type Status string

// The words that every provider maps its own onto. Completed only means that
// the command exited with 0: whether the run scored is for its report to say.
const (
	Scheduling Status = "SCHEDULING"
	Running    Status = "RUNNING"
	Completed  Status = "COMPLETED"
	Failed     Status = "ERROR"
	Canceled   Status = "CANCELED"
	TimedOut   Status = "TIMED_OUT" // the hard limit was reached
	Deleted    Status = "DELETED"
)

// Ended reports whether a job in this status will do nothing more.
func (s Status) Ended() bool { return s != Scheduling && s != Running }

// Spec is what a job should be.
type Spec struct {
	Run     string // the label by which Find knows the job again
	Flavor  string
	Timeout time.Duration
	// Config is the run's rendered pipeline config (TOML). It holds no secrets.
	Config []byte
	// Files lie beside the config, by their relative paths: the task lists that it
	// names. They name sealed tasks, so they are for the job alone and never part
	// of what is stored of a spec.
	Files map[string][]byte `json:"-"`
	// Collection holds the files to train on when no code host has them, because
	// they were uploaded; nil otherwise, when the config says where they are.
	Collection fs.FS `json:"-"`
	// Image is the container image that the command runs in; providers that run
	// processes ignore it.
	Image string
	// Command and Env are what the job executes; secrets go by name, never value.
	Command []string
	Env     map[string]string
	// Secrets are given to the job alone, by name, in the way in which its service
	// keeps secrets: those that the arena made for this run. They are never part of
	// what is stored or shown of a spec.
	Secrets map[string]string `json:"-"`
	// Simulation is what the simulated provider plays; other providers ignore it.
	Simulation Simulation
}

// Simulation describes a run to a provider that only plays one: which tasks
// there are and how hard they are is derived from names and the seed.
type Simulation struct {
	Challenge protocol.Challenge
	Revision  string   // the collection's commit
	Source    string   // what the snapshot stage names as its source
	Train     []string // eligible training tasks, sorted
	Prompts   map[string]string
	Sealed    map[string][]string // suite id → evaluated sealed task names, sorted
}

// Job is what a provider says about one job.
type Job struct {
	ID        string
	Run       string // the label
	Status    Status
	Message   string // the provider's explanation, when it gives one
	URL       string
	CreatedAt time.Time
	StartedAt time.Time // zero until it runs
	EndedAt   time.Time // zero until it ended
	// Billed is the time that costs money so far; the final one once it ended.
	Billed time.Duration
}

// Line is one line of a job's log. Position is what Logs resumes after: it
// grows strictly within one job and means nothing else.
type Line struct {
	Position int64
	At       time.Time
	Text     string
}

// Flavor is a kind of hardware and its price.
type Flavor struct {
	Name         string
	Description  string
	PricePerHour protocol.Micros
}

// The failures of a provider that decide what the arena does next. A provider
// wraps exactly one of them; any other error means the same as ErrUnreachable, and
// of Start as ErrUnknown.
var (
	// ErrRefused: the provider understood and said no. Nothing was started.
	ErrRefused = errors.New("the provider refused")
	// ErrUnknown: the call may have taken effect. Only Find can tell.
	ErrUnknown = errors.New("the provider did not confirm")
	// ErrUnreachable: the call had no effect, or only read; try again later.
	ErrUnreachable = errors.New("the provider cannot be reached")
	// ErrNoJob: there is no such job.
	ErrNoJob = errors.New("the provider has no such job")
)

// Mirror is a provider whose jobs read collections from a place of its own.
type Mirror interface {
	// Mirror copies a collection: the files at these paths, as of the commit that
	// its source names, without the source's entry path. It says where the job finds the copy, at a commit. Repeating it copies
	// nothing. It starts no job, so an error other than ErrRefused means: try again.
	Mirror(ctx context.Context, collection string, source protocol.Source, paths []string, files fs.FS) (protocol.Source, error)
}

// Provider runs jobs.
type Provider interface {
	// Name is the provider's name in configuration and records.
	Name() string
	// Hardware lists the flavors and their prices.
	Hardware(ctx context.Context) ([]Flavor, error)
	// Start asks for a job. A nil error means that the job exists. ErrRefused and
	// ErrUnreachable mean that none does; every other error leaves it open.
	Start(ctx context.Context, spec Spec) (Job, error)
	// Inspect returns what is known of a job. ErrNoJob when it is gone.
	Inspect(ctx context.Context, id string) (Job, error)
	// Find lists the jobs labelled with a run. An empty list with a nil error is
	// proof that there is none.
	Find(ctx context.Context, run string) ([]Job, error)
	// Cancel asks for a job to stop. Repeating it, or canceling a job that has
	// ended, does nothing.
	Cancel(ctx context.Context, id string) error
	// Logs yields the job's lines after a position, following it until it ends
	// or ctx does. It yields an error at most once, as the last thing.
	Logs(ctx context.Context, id string, after int64) iter.Seq2[Line, error]
	// Artifacts opens what the job has uploaded, in the pipeline's layout
	// (PROTOCOL §10). A job that uploaded nothing has an empty tree.
	Artifacts(ctx context.Context, id string) (fs.FS, error)
}
