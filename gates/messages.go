package gates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// Messages turns a report and the structural problems into the sentences of a validation's answer. Errors make the
// collection invalid: structural errors, one sentence each, and blocking findings. Warnings are everything else,
// summed up by code so that their number stays small whatever the collection's size. Both lists are never nil.
func Messages(r report.Report, problems []task.Problem) (errors, warnings []string) {
	errors, warnings = []string{}, []string{}
	for _, p := range problems {
		if p.Severity == report.Error {
			errors = append(errors, problemSentence(p))
		} else {
			warnings = append(warnings, problemSentence(p))
		}
	}
	for _, group := range groupByCode(r.Findings) {
		sentence := group.sentence(r.RequireOracle)
		if group.severity == report.Block {
			errors = append(errors, sentence)
		} else {
			warnings = append(warnings, sentence)
		}
	}
	for _, c := range r.CreditWarnings {
		warnings = append(warnings, c.Message)
	}
	return errors, warnings
}

// WithProblems returns the report with the structural problems added, for encoders that should show both.
func WithProblems(r report.Report, problems []task.Problem) report.Report {
	r.Problems = nil
	for _, p := range problems {
		r.Problems = append(r.Problems, p.Finding())
	}
	r.Findings = slices.Clone(r.Findings)
	r.Tally()
	return r
}

func problemSentence(p task.Problem) string {
	f := p.Finding()
	place := report.TaskPath(f)
	if f.Line > 0 {
		place = fmt.Sprintf("%s:%d", place, f.Line)
	}
	sentence := f.Message
	if place != "" {
		sentence = place + ": " + sentence
	}
	if f.Fix != "" {
		sentence += " (" + f.Fix + ")"
	}
	return sentence
}

// group is all findings of one code.
type group struct {
	code     string
	severity report.Severity
	fix      string
	findings int
	tasks    []string
}

// groupByCode groups findings by code, strongest severity first as in the catalogue.
func groupByCode(findings []report.Finding) []group {
	var groups []group
	for _, rule := range Catalogue() {
		g := group{code: rule.Code, severity: rule.Severity, fix: rule.Fix}
		for _, f := range findings {
			if f.Code != rule.Code {
				continue
			}
			g.findings++
			if n := len(g.tasks); n == 0 || g.tasks[n-1] != f.Task {
				g.tasks = append(g.tasks, f.Task)
			}
		}
		if g.findings > 0 {
			groups = append(groups, g)
		}
	}
	return groups
}

func (g group) sentence(requireOracle bool) string {
	const shown = 5
	names := strings.Join(g.tasks[:min(shown, len(g.tasks))], ", ")
	if more := len(g.tasks) - shown; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	effect := map[report.Severity]string{
		report.Block:    "blocks the collection",
		report.Reject:   "excludes the task",
		report.Controls: "counts only with passing controls",
		report.Review:   "for review",
	}[g.severity]
	if g.severity == report.Controls && requireOracle {
		effect = "excludes the task"
	}
	return fmt.Sprintf("%s (%s) in %s: %s. %s", g.code, effect, plural(len(g.tasks), "task"), names, g.fix)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
