package screen

import (
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
)

// mark is how a state is shown: always a shape and a word, and a tone where the
// terminal has colours.
type mark struct {
	shape string
	word  string
	tone  look.Tone
}

// cell is the mark as one piece of text.
func (m mark) cell() cell { return cell{m.shape + " " + m.word, m.tone} }

// runMark is the state of a run.
func runMark(t look.Theme, r api.Run) mark {
	switch {
	case r.Status == protocol.NotLaunched && r.State.Ended():
		return mark{t.Absent, "no job", look.Dim}
	case r.State == protocol.RunQueued:
		return mark{t.Waiting, "queued", look.Warn}
	case r.State == protocol.RunRunning && r.CancelRequested != nil:
		return mark{t.Working, "canceling", look.Warn}
	case r.State == protocol.RunRunning:
		return mark{t.Working, "running", look.Accent}
	case r.State == protocol.RunScored:
		return mark{t.Done, "scored", look.Good}
	case r.State == protocol.RunFailed && r.PlatformFault:
		return mark{t.Alarm, "failed", look.Bad}
	case r.State == protocol.RunFailed:
		return mark{t.Failed, "failed", look.Bad}
	case r.State == protocol.RunCanceled:
		return mark{t.Stopped, "canceled", look.Dim}
	default:
		return mark{t.Absent, string(r.State), look.Plain}
	}
}

// resultMark is where a result stands in review.
func resultMark(t look.Theme, v protocol.Verification) mark {
	switch v {
	case protocol.Pending:
		return mark{t.Pending, "pending", look.Warn}
	case protocol.Valid:
		return mark{t.Done, "accepted", look.Good}
	case protocol.Rejected:
		return mark{t.Failed, "rejected", look.Bad}
	default:
		return mark{t.Absent, string(v), look.Plain}
	}
}

// outcomeMark is how one attempt ended.
func outcomeMark(t look.Theme, o protocol.Outcome) mark {
	switch o {
	case protocol.OutcomePass:
		return mark{t.Done, "pass", look.Good}
	case protocol.OutcomeFail:
		return mark{t.Failed, "fail", look.Bad}
	case protocol.OutcomeTimeout:
		return mark{t.TimedOut, "timeout", look.Warn}
	case protocol.OutcomeError:
		return mark{t.Alarm, "error", look.Bad}
	default:
		return mark{t.Absent, string(o), look.Plain}
	}
}

// severityMark is what a gate's finding does to its task (PROTOCOL §6).
func severityMark(t look.Theme, severity string) mark {
	switch severity {
	case "block", "error":
		return mark{t.Alarm, severity, look.Bad}
	case "reject":
		return mark{t.Failed, severity, look.Bad}
	case "controls":
		return mark{t.Pending, severity, look.Warn}
	case "review", "warning":
		return mark{t.Waiting, severity, look.Dim}
	default:
		return mark{t.Absent, severity, look.Plain}
	}
}

// decisionMark is what the dynamic gates say about a task.
func decisionMark(t look.Theme, d protocol.Decision) mark {
	switch d {
	case protocol.TaskAccepted:
		return mark{t.Done, string(d), look.Good}
	case protocol.TaskRejected:
		return mark{t.Failed, string(d), look.Bad}
	case protocol.TaskInconclusive:
		return mark{t.Pending, string(d), look.Warn}
	default:
		return mark{t.Absent, string(d), look.Plain}
	}
}
