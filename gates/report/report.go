package report

import (
	"cmp"
	"maps"
	"slices"
)

// Severity says what a finding does to its task (PROTOCOL §6), or to the whole collection for structural problems.
type Severity string

// The severities of gate findings, strongest first, and the two of structural problems.
const (
	Block    Severity = "block"    // validation of the collection fails
	Reject   Severity = "reject"   // the task is excluded
	Controls Severity = "controls" // the task counts only if its dynamic controls pass
	Review   Severity = "review"   // for a person to look at

	Error   Severity = "error"   // structure: the collection is invalid
	Warning Severity = "warning" // structure or credit: validation still passes
)

// rank orders severities for display: what stops a collection comes first.
func (s Severity) rank() int {
	switch s {
	case Error:
		return 0
	case Block:
		return 1
	case Reject:
		return 2
	case Controls:
		return 3
	case Warning:
		return 4
	default:
		return 5
	}
}

// Finding is one thing that a gate saw, in one place.
type Finding struct {
	Code     string   `json:"code"`             // stable word of the catalogue, such as "no-oracle"
	Severity Severity `json:"severity"`         // what it does to the task
	Task     string   `json:"task"`             // the task's directory name; empty for the collection itself
	Path     string   `json:"path,omitempty"`   // slash path relative to the task (or to the collection when Task is empty)
	Line     int      `json:"line,omitempty"`   // 1-based; 0 when the finding has no line
	Column   int      `json:"column,omitempty"` // 1-based, in Unicode code points; 0 when unknown
	Message  string   `json:"message,omitempty"`
	Fix      string   `json:"fix,omitempty"`
}

// Summary counts tasks, except ByCode, which counts findings. Blocked + Rejected + Eligible = Tasks; NeedsControls,
// Review and Clean describe eligible tasks, and one task can be in both of the first two.
type Summary struct {
	Tasks         int            `json:"tasks"`
	Blocked       int            `json:"blocked"`
	Rejected      int            `json:"rejected"`
	Eligible      int            `json:"eligible"`
	NeedsControls int            `json:"needs_controls"`
	Review        int            `json:"review"`
	Clean         int            `json:"clean"`
	ByCode        map[string]int `json:"by_code"`
}

// Identity names exactly which content a task had, with the credit that it declares (PROTOCOL §5). The author's
// e-mail address is deliberately not part of it.
type Identity struct {
	ContentHash string `json:"content_hash"` // "sha256:" and 64 hex digits
	AuthorName  string `json:"author_name,omitempty"`
	License     string `json:"license,omitempty"`
	Category    string `json:"category,omitempty"`
	Origin      string `json:"origin,omitempty"`
	OriginURL   string `json:"origin_url,omitempty"`
}

// CreditWarning says for one metadata field how many tasks leave it out or fill it wrongly.
type CreditWarning struct {
	Field   string `json:"field"`
	Missing int    `json:"missing"`
	Invalid int    `json:"invalid"`
	Message string `json:"message"`
}

// Report is the outcome of the static gates for a set of tasks. It contains no time and no machine state: the same
// files, sealed suites and options give the same bytes.
type Report struct {
	GateSet        string              `json:"gate_set"`       // which set of rules, such as "gates-v2"
	Version        string              `json:"version"`        // which implementation of that set
	PolicyDigest   string              `json:"policy_digest"`  // "sha256:" over rules, severities and options
	RequireOracle  bool                `json:"require_oracle"` // tasks without a working reference solution are excluded
	Summary        Summary             `json:"summary"`
	Findings       []Finding           `json:"findings,omitzero"`      // this and the next two: left out of a brief report
	Excluded       map[string][]string `json:"excluded,omitzero"`      // task → the codes that exclude it, sorted
	TaskIdentity   map[string]Identity `json:"task_identity,omitzero"` // every task that was looked at
	CreditWarnings []CreditWarning     `json:"credit_warnings"`
	Problems       []Finding           `json:"problems,omitempty"` // structural problems, when the caller adds them
}

// Tally sorts the findings and derives Summary and Excluded from TaskIdentity, Findings and RequireOracle.
// A blocked task counts as blocked only, whatever else was found in it. Lists that are nil become empty, so that they
// are lists on the wire as well.
func (r *Report) Tally() {
	if r.Findings == nil {
		r.Findings = []Finding{}
	}
	if r.CreditWarnings == nil {
		r.CreditWarnings = []CreditWarning{}
	}
	slices.SortStableFunc(r.Findings, compareFindings)
	slices.SortStableFunc(r.Problems, compareFindings)
	marks := r.marks()
	r.Excluded = map[string][]string{}
	r.Summary = Summary{Tasks: len(r.TaskIdentity), ByCode: map[string]int{}}
	for _, f := range r.Findings {
		r.Summary.ByCode[f.Code]++
	}
	for task := range r.TaskIdentity {
		m := marks[task]
		if len(m.excluding) > 0 {
			r.Excluded[task] = slices.Compact(slices.Sorted(slices.Values(m.excluding)))
		}
		r.Summary.count(m)
	}
}

// mark is what the findings of one task add up to.
type mark struct {
	blocked, controls, review, any bool
	excluding                      []string
}

func (r *Report) marks() map[string]mark {
	marks := map[string]mark{}
	for _, f := range r.Findings {
		m := marks[f.Task]
		m.any = true
		switch f.Severity {
		case Block:
			m.blocked = true
			m.excluding = append(m.excluding, f.Code)
		case Reject:
			m.excluding = append(m.excluding, f.Code)
		case Controls:
			m.controls = true
			if r.RequireOracle {
				m.excluding = append(m.excluding, f.Code)
			}
		case Review:
			m.review = true
		}
		marks[f.Task] = m
	}
	return marks
}

func (s *Summary) count(m mark) {
	switch {
	case m.blocked:
		s.Blocked++
		return
	case len(m.excluding) > 0:
		s.Rejected++
		return
	}
	s.Eligible++
	if m.controls {
		s.NeedsControls++
	}
	if m.review {
		s.Review++
	}
	if !m.any {
		s.Clean++
	}
}

// Eligible returns the sorted names of the tasks that no gate excludes.
func (r Report) Eligible() []string {
	names := []string{}
	for _, name := range slices.Sorted(maps.Keys(r.TaskIdentity)) {
		if _, out := r.Excluded[name]; !out {
			names = append(names, name)
		}
	}
	return names
}

// Brief returns a copy for lists, without anything that is said task by task. What it lacks is nil, which JSON leaves
// out, so that nobody takes it for a report without findings.
func (r Report) Brief() Report {
	r.Findings, r.Excluded, r.TaskIdentity, r.Problems = nil, nil, nil, nil
	return r
}

// Compact returns a copy for storage: findings and problems keep code, severity, task and place, and lose their
// message and fix, which the catalogue can explain again.
func (r Report) Compact() Report {
	r.Findings = withoutBodies(r.Findings)
	r.Problems = withoutBodies(r.Problems)
	return r
}

func withoutBodies(findings []Finding) []Finding {
	if findings == nil {
		return nil
	}
	short := make([]Finding, len(findings))
	for i, f := range findings {
		f.Message, f.Fix, f.Column = "", "", 0
		short[i] = f
	}
	return short
}

func compareFindings(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Task, b.Task),
		cmp.Compare(a.Severity.rank(), b.Severity.rank()),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Path, b.Path),
		cmp.Compare(a.Line, b.Line),
		cmp.Compare(a.Column, b.Column),
		cmp.Compare(a.Message, b.Message),
	)
}

// all returns problems and findings in display order.
func (r Report) all() []Finding {
	list := slices.Concat(r.Problems, r.Findings)
	slices.SortStableFunc(list, compareFindings)
	return list
}

// Rule is one row of the catalogue: what a code means and what to do about it.
type Rule struct {
	Code     string   `json:"code"`
	Severity Severity `json:"severity"`
	Title    string   `json:"title"`   // a few words
	Meaning  string   `json:"meaning"` // when the rule fires
	Why      string   `json:"why"`     // why the arena cares
	Example  string   `json:"example"` // a short case that fires
	Fix      string   `json:"fix"`     // what an author should do
}
