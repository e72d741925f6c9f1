package gates

import (
	"fmt"
	"strings"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/gates/task"
)

// creditWarnings sums up missing and invalid credit fields: one warning a field, in a fixed order.
func creditWarnings(subjects []*subject, defaults task.Defaults) []report.CreditWarning {
	type tally struct {
		missing, invalid int
		example          string
	}
	order := []string{"author_name", "author_email", "license", "category", "origin", "origin_url"}
	tallies := map[string]*tally{}
	for _, field := range order {
		tallies[field] = &tally{}
	}
	for _, s := range subjects {
		for _, issue := range s.Credit.With(defaults).Check() {
			t := tallies[issue.Field]
			if issue.Missing {
				t.missing++
				continue
			}
			if t.invalid++; t.invalid == 1 {
				t.example = fmt.Sprintf("task %s: %s", s.Name, issue.Detail)
			}
		}
	}
	var warnings []report.CreditWarning
	for _, field := range order {
		t := tallies[field]
		var parts []string
		if t.missing > 0 {
			parts = append(parts, fmt.Sprintf("missing in %d of %d tasks", t.missing, len(subjects)))
		}
		if t.invalid > 0 {
			parts = append(parts, fmt.Sprintf("invalid in %d of %d tasks (%s)", t.invalid, len(subjects), t.example))
		}
		if len(parts) > 0 {
			warnings = append(warnings, report.CreditWarning{Field: field, Missing: t.missing, Invalid: t.invalid, Message: "metadata." + field + ": " + strings.Join(parts, "; ")})
		}
	}
	return warnings
}
