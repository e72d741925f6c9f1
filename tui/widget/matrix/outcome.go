package matrix

// Outcome is how one trial of a task ended. Each has a shape of its own.
type Outcome int

// The outcomes of a trial.
const (
	Missing Outcome = iota // there was none
	Pass
	Fail
	Timeout
	Error // of the infrastructure; says nothing about the task
	outcomes
)

// String is the word for the outcome.
func (o Outcome) String() string {
	words := [...]string{"missing", "passed", "failed", "timed out", "error"}
	if o < 0 || o >= outcomes {
		return words[Missing]
	}
	return words[o]
}

// Flip is how a task turned.
type Flip int

// The ways in which a task turns.
const (
	Same    Flip = iota
	Gained       // passes more often than before
	Lost         // passes less often than before
	Unknown      // one side has no trial that says anything
	flips
)

// String is the word for the flip.
func (f Flip) String() string { return [...]string{"same", "gained", "lost", "unknown"}[f] }

// Row is one task. Before and After are its trials in order; the i-th of both are
// a pair.
type Row struct {
	Task          string
	Before, After []Outcome
}

// Flip compares the shares of trials that passed. A pair of which either trial was
// an infrastructure error or is missing is left out on both sides, as the score
// leaves it out.
func (r Row) Flip() Flip {
	pairs, change := 0, 0
	for i := range min(len(r.Before), len(r.After)) {
		before, after := r.Before[i], r.After[i]
		if !says(before) || !says(after) {
			continue
		}
		pairs++
		if after == Pass {
			change++
		}
		if before == Pass {
			change--
		}
	}
	switch {
	case pairs == 0:
		return Unknown
	case change > 0:
		return Gained
	case change < 0:
		return Lost
	default:
		return Same
	}
}

// says reports whether a trial says anything about the task.
func says(o Outcome) bool { return o == Pass || o == Fail || o == Timeout }
