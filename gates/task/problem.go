package task

import "github.com/posttrainarena/arena/gates/report"

// Problem is one structural defect of a collection, or one warning about it. Errors make the collection invalid;
// the static gates of package gates speak about single tasks and use findings instead.
type Problem struct {
	Severity report.Severity `json:"severity"` // report.Error or report.Warning
	Code     string          `json:"code"`     // stable word, such as "dockerfile-no-from"
	Task     string          `json:"task"`     // the package's directory name; empty for the collection itself
	Path     string          `json:"path"`     // relative to the package, or to the collection when Task is empty
	Line     int             `json:"line"`     // 1-based; 0 when there is no line
	Field    string          `json:"field"`    // path of the field, such as "environment.cpus"; empty when none is meant
	Message  string          `json:"message"`  // what is wrong
	Fix      string          `json:"fix"`      // what to do
}

// Finding is the problem in the form in which reports show it.
func (p Problem) Finding() report.Finding {
	message := p.Message
	if p.Field != "" {
		message = p.Field + ": " + message
	}
	return report.Finding{Code: p.Code, Severity: p.Severity, Task: p.Task, Path: p.Path, Line: p.Line, Message: message, Fix: p.Fix}
}

// problems collects what is found about one package, or about the collection when task is empty.
type problems struct {
	task string
	list []Problem
}

func (ps *problems) fail(p Problem) { ps.add(report.Error, p) }

func (ps *problems) warn(p Problem) { ps.add(report.Warning, p) }

func (ps *problems) add(severity report.Severity, p Problem) {
	p.Severity, p.Task = severity, ps.task
	ps.list = append(ps.list, p)
}
