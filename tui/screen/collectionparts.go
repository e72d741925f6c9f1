package screen

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/tui/look"
	"github.com/posttrainarena/arena/tui/nav"
)

func (s *collectionScreen) columns() []column {
	switch s.part {
	case partVerdicts:
		return verdictColumns()
	case partRuns:
		return []column{{title: "State", width: 10}, {title: "Run", width: 12}, {title: "Challenge", width: 13}, {title: "Result", width: 18, flex: 1}, {title: "Age", width: 4, right: true}}
	case partIdentity:
		return []column{{title: "Gates", width: 12}, {title: "Task", width: 22, flex: 2}, {title: "License", width: 12, flex: 1, keep: 3}, {title: "Category", width: 16, flex: 1, keep: 2}, {title: "Origin", width: 9, keep: 1}, {title: "Content", width: 19}}
	default:
		return []column{{title: "Severity", width: 10}, {title: "Code", width: 20, flex: 1}, {title: "Where", width: 36, flex: 3}}
	}
}

// finding is a gate's finding, as far as it is shown.
type finding struct {
	code, severity, task, path string
	line                       int
	message, fix               string
}

// place is where a finding is, as an editor can open it.
func (f finding) place() string {
	where := f.path
	if f.task != "" {
		where = path.Join("envs", f.task, f.path)
	}
	if where != "" && f.line > 0 {
		where += fmt.Sprintf(":%d", f.line)
	}
	return where
}

// findingsOf are a collection's findings, grouped by code, the strongest first.
func (s *collectionScreen) findingsOf(w World) []finding {
	report := s.report(w)
	var all []finding
	for _, f := range slices.Concat(report.Static.Problems, report.Static.Findings) {
		all = append(all, finding{f.Code, string(f.Severity), f.Task, f.Path, f.Line, f.Message, f.Fix})
	}
	order := []string{"error", "block", "reject", "controls", "warning", "review"}
	slices.SortStableFunc(all, func(a, b finding) int {
		return cmp.Or(
			cmp.Compare(slices.Index(order, a.severity), slices.Index(order, b.severity)), cmp.Compare(a.code, b.code),
			cmp.Compare(a.task, b.task), cmp.Compare(a.path, b.path), cmp.Compare(a.line, b.line),
		)
	})
	return all
}

// report is what the gates say: as they were asked, else as the record has it.
func (s *collectionScreen) report(w World) api.Gates {
	if g, ok := Read(w.Data, GatesQuery(s.challenge(w), s.route.Collection)); ok {
		return g
	}
	e, _ := s.environment(w)
	return api.Gates{Static: e.QualityGates.Static}
}

func (s *collectionScreen) findings(w World) ([]string, map[string]item, func(int) Fields) {
	all := s.findingsOf(w)
	count := map[string]int{}
	for _, f := range all {
		count[f.code]++
	}
	catalogue, _ := Read(w.Data, CatalogueQuery())
	var ids []string
	items := map[string]item{}
	before := ""
	for i, f := range all {
		id := fmt.Sprintf("%s %s %d", f.code, f.place(), i)
		m := severityMark(w.Theme, f.severity)
		code := cell{"", look.Dim}
		if f.code != before { // the first of a group carries its name
			code = cell{f.code, look.Strong}
			if n := count[f.code]; n > 1 {
				code.text += fmt.Sprintf(" %s%d", w.Theme.Times, n)
			}
			before = f.code
		}
		it := item{cells: []cell{m.cell(), code, text(or(f.place(), "the collection"))}, value: f.json()}
		for _, rule := range catalogue.Rules {
			if rule.Code == f.code {
				it.detail = []string{rule.Title + ". " + or(f.message, rule.Meaning), "Why: " + rule.Why, "Fix: " + or(f.fix, rule.Fix)}
			}
		}
		if it.detail == nil && f.message != "" {
			it.detail = []string{f.message, f.fix}
		}
		ids = append(ids, id)
		items[id] = it
	}
	return ids, items, func(i int) Fields {
		f := all[i]
		return Fields{Text: strings.Join([]string{f.code, f.severity, f.place(), f.message}, "\n"), Named: map[string]string{"code": f.code, "severity": f.severity, "task": f.task}}
	}
}

func (f finding) json() any {
	return map[string]any{"code": f.code, "severity": f.severity, "task": f.task, "path": f.path, "line": f.line, "message": f.message, "fix": f.fix}
}

func (s *collectionScreen) verdicts(w World) ([]string, map[string]item, func(int) Fields) {
	g, _ := Read(w.Data, GatesQuery(s.challenge(w), s.route.Collection))
	var all []protocol.TaskVerdict
	if g.Verdict != nil {
		all = byDecision(g.Verdict.Tasks)
	}
	var ids []string
	items := map[string]item{}
	for _, v := range all {
		ids = append(ids, v.Task)
		items[v.Task] = item{
			cells: verdictCells(w.Theme, v), value: v,
			detail: append(verdictDetail(v), fmt.Sprintf("Attached %s ago by %s, version %d, of commit %s.", Ago(w.Now, g.Verdict.AttachedAt), g.Verdict.AttachedBy, g.Verdict.Version, or(short(g.Verdict.Revision), "unknown"))),
		}
	}
	return ids, items, func(i int) Fields {
		v := all[i]
		return Fields{Text: v.Task + "\n" + string(v.Decision) + "\n" + strings.Join(v.Reasons, "\n"), Named: map[string]string{"task": v.Task, "decision": string(v.Decision)}}
	}
}

func (s *collectionScreen) runs(w World) ([]string, map[string]item, func(int) Fields) {
	var mine []*api.Run
	for _, r := range allRuns(w.Data) {
		if r.EnvironmentID == s.route.Collection {
			mine = append(mine, r)
		}
	}
	known := results(w.Data)
	var ids []string
	items := map[string]item{}
	for _, r := range mine {
		result := cell{sentence(deref(r.Reason)), look.Dim}
		if m, ok := known[r.RunID]; ok {
			k := resultMark(w.Theme, m.verification)
			result = cell{fmt.Sprintf("%s %s pp %s", k.shape, points(m.delta), k.word), k.tone}
		}
		ids = append(ids, r.RunID)
		items[r.RunID] = item{
			cells: []cell{runMark(w.Theme, *r).cell(), text(shortID(r.RunID)), {r.ChallengeID, look.Dim}, result, {Ago(w.Now, r.CreatedAt), look.Dim}},
			route: nav.Route{Place: nav.Run, Challenge: r.ChallengeID, Run: r.RunID}, value: *r,
		}
	}
	return ids, items, func(i int) Fields {
		r := mine[i]
		return Fields{Text: r.RunID + "\n" + string(r.State) + "\n" + deref(r.Reason), Named: map[string]string{"state": string(r.State)}, Age: w.Now.Sub(r.CreatedAt), HasAge: true}
	}
}

// identity are the tasks with their content and the credit they declare.
func (s *collectionScreen) identity(w World) ([]string, map[string]item, func(int) Fields) {
	static := s.report(w).Static
	ids := sortedKeys(static.TaskIdentity)
	items := map[string]item{}
	for _, task := range ids {
		id := static.TaskIdentity[task]
		gates := mark{w.Theme.Done, "eligible", look.Good}
		if len(static.Excluded[task]) > 0 {
			gates = mark{w.Theme.Failed, "excluded", look.Bad}
		}
		items[task] = item{
			cells: []cell{gates.cell(), text(task), {or(id.License, "none"), look.Dim}, {or(id.Category, "none"), look.Dim}, {id.Origin, look.Dim}, {id.ContentHash, look.Dim}},
			value: id,
		}
	}
	return ids, items, func(i int) Fields {
		id := static.TaskIdentity[ids[i]]
		return Fields{
			Text:  strings.Join([]string{ids[i], id.License, id.Category, id.Origin, id.ContentHash, strings.Join(static.Excluded[ids[i]], " ")}, "\n"),
			Named: map[string]string{"task": ids[i], "license": id.License, "category": id.Category, "origin": id.Origin},
		}
	}
}
