package artifacts

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/posttrainarena/arena/protocol"
)

// The files that collecting a result reads.
const (
	reportFile = "reports/score.json"
	// OutcomesFile holds the outcomes of the sealed tasks; see ReadOutcomes.
	OutcomesFile = "reports/eval_task_outcomes.json"
)

// Evidence lists the files that collecting a result reads, when the pipeline
// writes both.
func Evidence() []string { return []string{reportFile, OutcomesFile} }

// MaxEvidence is the size of the largest of these files that is read, in bytes.
const MaxEvidence = maxReport

// The sides of an evaluation, as the outcomes file names them.
const (
	Baseline  = "baseline"
	Posttrain = "posttrain"
)

// Outcomes holds the outcomes of the sealed tasks: suite → Baseline or Posttrain →
// task → one outcome a trial. It names sealed tasks, so it is for editors only.
type Outcomes = map[string]map[string]map[string][]protocol.Outcome

// Report returns the pipeline's report as strict JSON: values that JSON does not
// have, such as NaN, are strings in it. It fails with protocol.ErrEvidence when
// there is none or it is not a JSON object.
func Report(fsys fs.FS) ([]byte, error) {
	data, err := read(fsys, reportFile, maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, protocol.ErrEvidence.Detailf("The run uploaded no report (%s).", reportFile)
	}
	if err == nil {
		_, err = decode(data)
	}
	if err != nil {
		return nil, protocol.ErrEvidence.Detailf("The run's report (%s) cannot be used: %v.", reportFile, err)
	}
	return strict(data), nil
}

// ReadOutcomes returns the outcomes of the sealed tasks. They are in one file,
//
//	{"schema_version": 1, "suites": {SUITE: {"baseline": {TASK: ["pass", …]}, "posttrain": …}}}
//
// with one outcome a trial. Older pipelines write none and upload the attempts
// themselves; their outcomes come under the suite "", one trial, the newest
// healthy attempt of each task (reference/pipeline.md §9, answers 7 and 36). The
// problems say what was ambiguous, without naming a sealed task. It fails with
// protocol.ErrEvidence when there are no outcomes or they cannot be read.
func ReadOutcomes(fsys fs.FS) (Outcomes, []Problem, error) {
	data, err := read(fsys, OutcomesFile, maxReport)
	if errors.Is(err, fs.ErrNotExist) {
		return sealedAttempts(fsys)
	}
	var o Outcomes
	var problems []Problem
	if err == nil {
		o, problems, err = parseOutcomes(data)
	}
	if err != nil {
		return nil, nil, protocol.ErrEvidence.Detailf("The per-task outcomes (%s) cannot be used: %v.", OutcomesFile, err)
	}
	return o, problems, nil
}

// derived is the outcomes file that SealedOutcomes makes.
type derived struct {
	SchemaVersion int       `json:"schema_version"`
	DerivedFrom   string    `json:"derived_from"` // "attempts"
	Evidence      string    `json:"evidence"`     // Digest of what it was made of
	Problems      []Problem `json:"problems"`
	Suites        Outcomes  `json:"suites"`
}

// SealedOutcomes makes the outcomes file of a pipeline that wrote none but
// uploaded the attempts at sealed tasks, which are not kept: it holds what
// ReadOutcomes says of them, with the digest of what that was read from. It
// returns nil when there is nothing to make it of, or no need to.
func SealedOutcomes(fsys fs.FS) ([]byte, error) {
	if _, err := fs.Lstat(fsys, OutcomesFile); !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	o, problems, err := sealedAttempts(fsys)
	if errors.Is(err, protocol.ErrEvidence) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d := derived{SchemaVersion: 1, DerivedFrom: "attempts", Problems: problems, Suites: o}
	if d.Evidence, err = Digest(fsys); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// parseOutcomes reads the outcomes file. Its errors never quote it.
func parseOutcomes(data []byte) (Outcomes, []Problem, error) {
	file, err := decode(data)
	if err != nil {
		return nil, nil, plain(err, "a member of the file")
	}
	o, err := outcomesIn(file)
	if err != nil {
		return nil, nil, err
	}
	var problems []Problem
	if json.Unmarshal(file["problems"], &problems) != nil {
		problems = nil // a pipeline's own; those that SealedOutcomes writes can be read
	}
	return o, problems, nil
}

// outcomesIn reads the outcomes in the file.
func outcomesIn(file object) (Outcomes, error) {
	if v := file.number("schema_version"); v == nil || *v != 1 {
		return nil, errors.New("its schema_version is not 1")
	}
	suites, err := decode(file["suites"])
	if err != nil {
		return nil, plain(err, "a suite")
	}
	out := Outcomes{}
	for suite, raw := range suites {
		sides, err := decode(raw)
		if err != nil {
			return nil, plain(err, "a side of a suite")
		}
		out[suite] = map[string]map[string][]protocol.Outcome{}
		for side, raw := range sides {
			tasks, err := decode(raw)
			if err != nil {
				return nil, plain(err, "a sealed task")
			}
			byTask := map[string][]protocol.Outcome{}
			for task, raw := range tasks {
				var trials []protocol.Outcome
				if err := json.Unmarshal(raw, &trials); err != nil {
					return nil, errors.New("the outcomes of a sealed task are not a list of words")
				}
				byTask[task] = trials
			}
			out[suite][side] = byTask
		}
	}
	return out, nil
}

// plain says what is wrong without the text of a JSON error, which may quote the
// file.
func plain(err error, what string) error {
	if errors.Is(err, errTwice) {
		return fmt.Errorf("%s occurs twice", what)
	}
	return errors.New("it is not complete JSON of the agreed form")
}

// sealedDirs are where older pipelines upload attempts at sealed tasks.
func sealedDirs() map[string]string {
	return map[string]string{Baseline: "jobs/baseline", Posttrain: "jobs/posttrain"}
}

// sealedAttempts makes the outcomes of attempts at sealed tasks.
func sealedAttempts(fsys fs.FS) (Outcomes, []Problem, error) {
	out := map[string]map[string][]protocol.Outcome{}
	var problems []Problem
	for _, side := range [...]string{Baseline, Posttrain} {
		w := walk{fsys: fsys}
		best := map[string]Attempt{}
		several := map[string]bool{}
		for _, a := range w.trials(sealedDirs()[side], Attempt{}) {
			if old, ok := best[a.Task]; ok {
				several[a.Task] = true
				if !newer(a, old) {
					continue
				}
			}
			best[a.Task] = a
		}
		byTask := map[string][]protocol.Outcome{}
		for task, a := range best {
			byTask[task] = []protocol.Outcome{a.Outcome}
		}
		out[side] = byTask
		if n := len(several); n > 0 {
			problems = append(problems, Problem{"", fmt.Sprintf("%d sealed task(s) had several attempts %s training; the newest without an infrastructure error counts.", n, when(side))})
		}
		if n := len(w.problems); n > 0 {
			problems = append(problems, Problem{"", fmt.Sprintf("%d thing(s) about the attempts %s training are not as they should be; an attempt without a usable reward counts as an infrastructure error.", n, when(side))})
		}
	}
	if len(out[Baseline]) == 0 && len(out[Posttrain]) == 0 {
		return nil, nil, protocol.ErrEvidence.Detailf("The run uploaded no per-task outcomes (%s) and no attempts at sealed tasks.", OutcomesFile)
	}
	return Outcomes{"": out}, problems, nil
}

func when(side string) string {
	if side == Baseline {
		return "before"
	}
	return "after"
}

// newer reports whether a counts rather than b: one without an infrastructure
// error before one with, then the later one. Times are the harness's local time,
// so they order attempts of one job only; jobs are ordered by name.
func newer(a, b Attempt) bool {
	if healthy := a.Outcome != protocol.OutcomeError; healthy != (b.Outcome != protocol.OutcomeError) {
		return healthy
	}
	if jobA, jobB := path.Dir(a.Path), path.Dir(b.Path); jobA != jobB {
		return jobA > jobB
	}
	if a.finished != b.finished {
		return a.finished > b.finished
	}
	return a.Path > b.Path
}

// Digest identifies what Report and ReadOutcomes read: "sha256:" and the SHA-256
// over the files sorted by path, each as its path, NUL, the hex SHA-256 of its
// content, LF.
func Digest(fsys fs.FS) (string, error) {
	files := []string{reportFile, OutcomesFile}
	if _, err := fs.Lstat(fsys, OutcomesFile); errors.Is(err, fs.ErrNotExist) {
		for _, dir := range sealedDirs() {
			w := walk{fsys: fsys}
			for _, a := range w.trials(dir, Attempt{}) {
				for _, name := range [...]string{"result.json", "verifier/reward.txt", "verifier/reward.json", "trajectory/acp_trajectory.jsonl"} {
					files = append(files, path.Join(a.Path, name))
				}
			}
		}
	}
	slices.Sort(files)
	var list strings.Builder
	for _, name := range files {
		data, err := read(fsys, name, maxReport)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("digest the evidence: %w", err)
		}
		sum := sha256.Sum256(data)
		list.WriteString(name + "\x00" + hex.EncodeToString(sum[:]) + "\n")
	}
	sum := sha256.Sum256([]byte(list.String()))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}
