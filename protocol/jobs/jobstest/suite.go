package jobstest

import (
	"context"
	"testing"

	"github.com/posttrainarena/arena/protocol/jobs"
)

// Harness says how to exercise one provider. Fields that may be nil say what is
// skipped without them.
type Harness struct {
	// New returns a provider whose service has no jobs. It is called once a
	// check.
	New func(t testing.TB) jobs.Provider
	// Short returns a spec for a run whose job prints at least MinLines lines,
	// uploads the files of Uploads, and completes.
	Short func(run string) jobs.Spec
	// Uploads are some of the files that a Short job uploads.
	Uploads []string
	// Long returns a spec for a run whose job prints a line and then does not
	// end while a check looks at it.
	Long func(run string) jobs.Spec
	// Bad returns a spec that the service refuses.
	Bad func(run string) jobs.Spec
	// Around runs the body of a check; with synctest.Test the checks take no
	// time. nil runs it as it is.
	Around func(t *testing.T, body func(t *testing.T))
	// Reopen returns another provider for the service of the one that New
	// returned, as after a restart of the arena. nil skips what needs it.
	Reopen func(t testing.TB, old jobs.Provider) jobs.Provider
	// Lost returns a provider whose first Start makes the job and loses the
	// answer. nil skips the check.
	Lost func(t testing.TB) jobs.Provider
	// Away returns a provider whose service cannot be reached. nil skips the
	// check.
	Away func(t testing.TB) jobs.Provider
}

// MinLines is how many lines a Short job prints at least.
const MinLines = 3

// Check is one promise of a provider.
type Check struct {
	Name string // a sentence about the provider
	// Run returns an error that says how the promise was broken.
	Run func(ctx context.Context, t testing.TB, h Harness) error
	// Needs reports whether the harness can make the check.
	Needs func(h Harness) bool
}

// Run makes every check as a test of its own.
func Run(t *testing.T, h Harness) {
	for _, c := range Checks() {
		t.Run(c.Name, func(t *testing.T) {
			if c.Needs != nil && !c.Needs(h) {
				t.Skip("the harness does not provide what this check needs")
			}
			around(h, t, func(t *testing.T) {
				if err := c.Run(t.Context(), t, h); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// around runs a body the way the harness asks.
func around(h Harness, t *testing.T, body func(t *testing.T)) {
	if h.Around == nil {
		body(t)
		return
	}
	h.Around(t, body)
}

// Checks lists the promises.
func Checks() []Check {
	return []Check{
		{Name: "it has a name and prices", Run: checkHardware},
		{Name: "a started job is found by id and by label", Run: checkStart},
		{Name: "jobs of different runs do not mix", Run: checkLabels},
		{Name: "an unknown job is ErrNoJob", Run: checkUnknown},
		{Name: "a refused job does not exist", Run: checkRefused},
		{Name: "a log is whole and ends with its job", Run: checkLog},
		{Name: "a log resumes strictly after any position", Run: checkResume},
		{Name: "a log that was left while the job runs resumes without a gap", Run: checkLeave},
		{Name: "a log ends with its context", Run: checkContext},
		{Name: "canceling stops a job and may be repeated", Run: checkCancel},
		{Name: "canceling an ended job does nothing", Run: checkCancelEnded},
		{Name: "a job that uploaded nothing has an empty tree", Run: checkEmpty},
		{Name: "a completed job has its uploads", Run: checkUploads},
		{Name: "a call whose context is done does not say refused", Run: checkDone},
		{Name: "jobs and logs outlive the provider", Run: checkReopen, Needs: func(h Harness) bool { return h.Reopen != nil }},
		{Name: "a lost answer is ErrUnknown and the job is found", Run: checkLost, Needs: func(h Harness) bool { return h.Lost != nil }},
		{Name: "a service out of reach is ErrUnreachable", Run: checkAway, Needs: func(h Harness) bool { return h.Away != nil }},
	}
}
