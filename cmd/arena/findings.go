package main

import (
	"fmt"
	"path"
	"slices"

	"github.com/posttrainarena/arena/gates/report"
	"github.com/posttrainarena/arena/protocol/api"
)

// maxFindings bounds how many findings a summary lists; the JSON has them all.
const maxFindings = 40

// validationLines says whether a collection is valid, and lists what was found
// with what to do about it: what stops it first.
func validationLines(v api.Validation) []string {
	word := "Valid"
	if !v.Valid {
		word = "NOT valid"
	}
	lines := []string{
		fmt.Sprintf("%s: %s, %d eligible", word, counted(v.TaskCount, "task"), v.EligibleTasks),
		fmt.Sprintf("  read at %s", v.Revision),
	}
	gates := v.QualityGates.Static
	if len(gates.Problems) == 0 {
		// Problems say the same as errors, with a place and a fix.
		for _, e := range v.Errors {
			lines = append(lines, "  error: "+e)
		}
	}
	lines = append(lines, findingLines(slices.Concat(gates.Problems, gates.Findings))...)
	for _, w := range v.Warnings {
		lines = append(lines, "  warning: "+w)
	}
	if s := gates.Summary; s.Tasks > 0 {
		lines = append(lines, report.Headline(s))
	}
	if v.Valid && v.EligibleTasks == 0 {
		lines = append(lines, "No task is eligible, so a run would have nothing to train on.")
	}
	return lines
}

// findingLines lists findings, the strongest first, each with its fix.
func findingLines(all []report.Finding) []string {
	order := []report.Severity{report.Error, report.Block, report.Reject, report.Controls, report.Warning, report.Review}
	slices.SortStableFunc(all, func(a, b report.Finding) int {
		return slices.Index(order, a.Severity) - slices.Index(order, b.Severity)
	})
	var lines []string
	for i, f := range all {
		if i == maxFindings {
			lines = append(lines, fmt.Sprintf("  … and %s more; the JSON has them all", counted(len(all)-i, "finding")))
			break
		}
		lines = append(lines, fmt.Sprintf("  %s %s: %s", f.Severity, f.Code, f.Message))
		if where := place(f); where != "" {
			lines = append(lines, "    at  "+where)
		}
		if f.Fix != "" {
			lines = append(lines, "    fix "+f.Fix)
		}
	}
	return lines
}

// place is where a finding is: task, path and line.
func place(f report.Finding) string {
	where := f.Path
	if f.Task != "" {
		where = path.Join("envs", f.Task, f.Path)
	}
	if where != "" && f.Line > 0 {
		where += fmt.Sprintf(":%d", f.Line)
	}
	return where
}

// environmentLines says what was registered and how to run it.
func environmentLines(e api.Environment, pinned string) []string {
	first := fmt.Sprintf("Registered as %s.", e.ID)
	if e.Existing {
		first = fmt.Sprintf("%s was registered before; its first title, notes and agent are kept.", e.ID)
	}
	lines := []string{first, "The request at its commit is in " + pinned + "; repeat an uncertain submission with it."}
	challenge := "CHALLENGE"
	if e.TargetChallengeID != nil {
		challenge = *e.TargetChallengeID
	}
	if e.PerHour != nil {
		lines = append(lines, hourLines(*e.PerHour)...)
	}
	return append(lines, next("run", "--challenge", challenge, "--id", e.ID))
}
