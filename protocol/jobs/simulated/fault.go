package simulated

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Fault is one way in which a simulated job or the service around it goes
// wrong. Its value is the word that people write (ParseFault).
type Fault string

// FaultNone is the absence of a fault.
const FaultNone Fault = ""

// Faults of the call to Start.
const (
	FaultRefuse        Fault = "refuse"            // jobs.ErrRefused, no job
	FaultLostReply     Fault = "lost-reply"        // the job is created, then jobs.ErrUnknown
	FaultTimeoutBefore Fault = "timeout-before"    // jobs.ErrUnknown, no job
	FaultKillBefore    Fault = "kill-before-start" // Options.Kill before the job is created
	FaultKillAfter     Fault = "kill-after-start"  // Options.Kill after the job is created
)

// Faults of the job itself. Those that begin with stage= stop the pipeline in
// that stage, for a reason from the catalogue of known platform issues.
const (
	FaultSetup           Fault = "stage=setup"      // the model server does not come up
	FaultSnapshot        Fault = "stage=snapshot"   // the training tasks cannot be pinned
	FaultBaseline        Fault = "stage=baseline"   // more errored tasks than tolerated
	FaultGate            Fault = "stage=gate"       // likewise
	FaultRollout         Fault = "stage=training"   // every attempt of one rollout times out
	FaultHeldout         Fault = "stage=heldout"    // more errored tasks than tolerated
	FaultZeroVariance    Fault = "zero-variance"    // all rollouts score the same
	FaultNoReport        Fault = "no-report"        // COMPLETED, attempts uploaded, no reports
	FaultWrongReport     Fault = "wrong-report"     // the score report disagrees with the outcomes
	FaultNoOutcomes      Fault = "no-outcomes"      // the per-task outcomes are not uploaded
	FaultMissingOutcomes Fault = "missing-outcomes" // one held-out task has no outcome after training
	FaultJobTimeout      Fault = "job-timeout"      // the job hangs until its hard limit
	FaultDeleted         Fault = "deleted"          // halfway the job is DELETED; its uploads are lost
)

// Faults of the service while the job runs.
const (
	FaultGone         Fault = "gone"          // halfway the service forgets the job: jobs.ErrNoJob
	FaultUnreachable  Fault = "unreachable"   // for half an hour of the job's time every call fails
	FaultDuplicateLog Fault = "duplicate-log" // Logs delivers chunks of lines twice
	FaultReorderLog   Fault = "reorder-log"   // Logs delivers neighbouring chunks in the wrong order
)

// scope is what a fault happens to. One Start takes at most one of each of the
// first two, because each of them decides how the call or the job ends.
type scope int

const (
	scopeCall scope = iota
	scopePlay
	scopeService
)

// scope returns what f happens to.
func (f Fault) scope() scope {
	switch f {
	case FaultRefuse, FaultLostReply, FaultTimeoutBefore, FaultKillBefore, FaultKillAfter:
		return scopeCall
	case FaultGone, FaultUnreachable, FaultDuplicateLog, FaultReorderLog:
		return scopeService
	default:
		return scopePlay
	}
}

// Faults lists every fault: those of the call, of the job, of the service.
func Faults() []Fault {
	return []Fault{
		FaultRefuse, FaultLostReply, FaultTimeoutBefore, FaultKillBefore, FaultKillAfter,
		FaultSetup, FaultSnapshot, FaultBaseline, FaultGate, FaultRollout, FaultHeldout,
		FaultZeroVariance, FaultNoReport, FaultWrongReport, FaultNoOutcomes, FaultMissingOutcomes,
		FaultJobTimeout, FaultDeleted,
		FaultGone, FaultUnreachable, FaultDuplicateLog, FaultReorderLog,
	}
}

// ParseFault reads one fault by its word. The error lists the words.
func ParseFault(word string) (Fault, error) {
	if f := Fault(word); slices.Contains(Faults(), f) {
		return f, nil
	}
	words := make([]string, 0, len(Faults()))
	for _, f := range Faults() {
		words = append(words, string(f))
	}
	return FaultNone, fmt.Errorf("fault %q is not known; use one of %s", word, strings.Join(words, ", "))
}

// Planned is a fault and the Start that it happens to.
type Planned struct {
	Fault Fault
	// Start is the number of the Start, counted from 1 over the life of the
	// provider's directory. 0 means every Start.
	Start int
}

// Plan says which faults happen. The zero value is a world without any. Where
// several would decide how one call or one job ends, the first of them does.
type Plan []Planned

// ParsePlan reads faults separated by commas. WORD happens to every Start,
// WORD@N to the Nth only: "refuse@1,stage=baseline". An empty text is an empty
// plan.
func ParsePlan(text string) (Plan, error) {
	var plan Plan
	for part := range strings.SplitSeq(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		word, number, numbered := strings.Cut(part, "@")
		fault, err := ParseFault(word)
		if err != nil {
			return nil, err
		}
		planned := Planned{Fault: fault}
		if numbered {
			planned.Start, err = strconv.Atoi(number)
			if err != nil || planned.Start < 1 {
				return nil, fmt.Errorf("fault %q: %q is not the number of a Start; write %s@1 for the first only, or %s for every one", part, number, word, word)
			}
		}
		plan = append(plan, planned)
	}
	return plan, nil
}

// String returns the text that ParsePlan reads.
func (p Plan) String() string {
	parts := make([]string, 0, len(p))
	for _, planned := range p {
		part := string(planned.Fault)
		if planned.Start > 0 {
			part += "@" + strconv.Itoa(planned.Start)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}

// faults are those that happen to one Start.
type faults []Fault

// at returns the faults of the nth Start.
func (p Plan) at(n int) faults {
	var found faults
	for _, planned := range p {
		if planned.Start == 0 || planned.Start == n {
			found = append(found, planned.Fault)
		}
	}
	return found
}

// first returns the first fault of a scope, or FaultNone.
func (f faults) first(of scope) Fault {
	for _, one := range f {
		if one.scope() == of {
			return one
		}
	}
	return FaultNone
}

// has reports whether one of the faults is wanted.
func (f faults) has(wanted Fault) bool { return slices.Contains(f, wanted) }
