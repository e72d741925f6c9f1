package score

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/posttrainarena/arena/protocol"
)

// Report is what a pipeline's report (reports/score.json, reference/pipeline.md
// §4.4) claims about a run. Numbers that it leaves out are nil.
type Report struct {
	RunName             string   // empty when it does not say
	EvalTasks           []string // nil when it does not say; names sealed tasks
	Baseline            *float64 // pass rate before training, a share
	After               *float64 // pass rate after training
	Delta               *float64 // After − Baseline, a share
	GRPORan             bool     // the trainer ran
	GRPOEffectiveUpdate bool     // a group's rewards differed and the weights changed
	V2                  *V2      // nil when the recipe has one suite and one trial
	problems            []protocol.FieldError
}

// V2 is the part of a report about several suites or trials
// (reference/pipeline.md §9, answer 7).
type V2 struct {
	DeltaPP       *float64
	StderrPP      *float64
	Trials        *float64
	PairedCells   *float64
	ExcludedCells *float64
	Suites        map[string]SuiteV2
}

// SuiteV2 is what a report claims about one suite.
type SuiteV2 struct {
	BaselinePassRate *float64
	AfterPassRate    *float64
	DeltaPP          *float64
	StderrPP         *float64
	NTasks           *float64
}

// ParseReport reads a report. It fails with protocol.ErrEvidence on something
// that is not a JSON object; members of a wrong type are left out, and Collect
// names them.
func ParseReport(data []byte) (Report, error) {
	var o members
	if err := json.Unmarshal(data, &o); err != nil || o == nil {
		return Report{}, protocol.ErrEvidence.Detailf("The run's report is not a JSON object.")
	}
	p := parser{}
	r := Report{
		Baseline: p.number(o, "report", "baseline_score"),
		After:    p.number(o, "report", "score_after_posttrain"),
		Delta:    p.number(o, "report", "delta_score"),
	}
	if v := p.number(o, "report", "schema_version"); v == nil || *v != 1 {
		p.problem("report.schema_version", "The report's schema_version is not 1.")
	}
	decode(&p, o, "report", "run_name", &r.RunName)
	decode(&p, o, "report", "eval_task_ids", &r.EvalTasks)
	decode(&p, o, "report", "grpo_ran", &r.GRPORan)
	decode(&p, o, "report", "grpo_effective_update", &r.GRPOEffectiveUpdate)
	var v2 members
	if decode(&p, o, "report", "score_v2", &v2); v2 != nil {
		r.V2 = p.v2(v2)
	}
	r.problems = p.problems
	return r, nil
}

// members is a JSON object whose members are decoded one by one.
type members map[string]json.RawMessage

// parser collects what is wrong with a report while it is read.
type parser struct{ problems []protocol.FieldError }

func (p *parser) problem(field, format string, args ...any) {
	p.problems = append(p.problems, protocol.FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// decode reads a member into a value, unless it is missing or null. Of a member
// of a wrong type nothing is kept.
func decode[T any](p *parser, o members, where, name string, into *T) {
	raw, ok := o[name]
	if !ok || string(raw) == "null" {
		return
	}
	var value T
	if json.Unmarshal(raw, &value) != nil {
		p.problem(where+"."+name, "%s in the report has the wrong type.", name)
		return
	}
	*into = value
}

// number reads a member that is a finite number.
func (p *parser) number(o members, where, name string) *float64 {
	var n *float64
	decode(p, o, where, name, &n)
	if n != nil && (math.IsNaN(*n) || math.IsInf(*n, 0)) {
		return nil
	}
	return n
}

func (p *parser) v2(o members) *V2 {
	const at = "report.score_v2"
	v := &V2{
		DeltaPP: p.number(o, at, "delta_pp"), StderrPP: p.number(o, at, "stderr_pp"), Trials: p.number(o, at, "trials"),
		PairedCells: p.number(o, at, "paired_cells"), ExcludedCells: p.number(o, at, "excluded_cells"),
	}
	var suites map[string]members
	if decode(p, o, at, "suites", &suites); suites != nil {
		v.Suites = map[string]SuiteV2{}
	}
	for id, s := range suites {
		const at = at + ".suites"
		v.Suites[id] = SuiteV2{
			BaselinePassRate: p.number(s, at, "baseline_pass_rate"), AfterPassRate: p.number(s, at, "after_pass_rate"),
			DeltaPP: p.number(s, at, "delta_pp"), StderrPP: p.number(s, at, "stderr_pp"), NTasks: p.number(s, at, "n_tasks"),
		}
	}
	return v
}
