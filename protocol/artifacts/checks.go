package artifacts

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// Checks is what a verifier checked in one attempt.
type Checks struct {
	Source  string  `json:"source"` // ctrf, pytest, or empty when there is no per-check report
	Passed  int     `json:"passed"`
	Failed  int     `json:"failed"`
	Skipped int     `json:"skipped"` // skipped, pending or of another status: neither passed nor failed
	Tests   []Check `json:"tests"`   // pytest's summary names only those that failed
}

// Check is one check of a verifier.
type Check struct {
	Name    string `json:"name"`
	Status  string `json:"status"` // passed, failed, skipped, pending, other
	Message string `json:"message,omitempty"`
}

// maxChecks is the number of checks that are read of one attempt.
const maxChecks = 2000

// readChecks reads the verifier's CTRF report, or pytest's summary at the end of
// its output when there is none.
func readChecks(fsys fs.FS, dir, stdout string) (c Checks, problem string) {
	data, err := read(fsys, path.Join(dir, "verifier/ctrf.json"), maxJSON)
	if err == nil {
		if c, err = ctrf(data); err == nil {
			return c, ""
		}
	}
	if !errors.Is(err, fs.ErrNotExist) {
		problem = fmt.Sprintf("verifier/ctrf.json cannot be used: %v.", err)
	}
	return pytest(stdout), problem
}

// ctrf reads a report in the Common Test Report Format. Some producers put the
// tests at the top level.
func ctrf(data []byte) (Checks, error) {
	o, err := decode(data)
	if err != nil {
		return Checks{}, err
	}
	if o.has("results") {
		o = o.object("results")
	}
	var tests []json.RawMessage
	if err := json.Unmarshal(o["tests"], &tests); err != nil {
		return Checks{}, errors.New("it lists no tests")
	}
	c := Checks{Source: "ctrf", Tests: []Check{}}
	for _, raw := range tests[:min(len(tests), maxChecks)] {
		t, err := decode(raw)
		if err != nil {
			continue
		}
		check := Check{t.text("name", 500), t.text("status", 20), t.text("message", maxError)}
		switch check.Status {
		case "passed":
			c.Passed++
		case "failed":
			c.Failed++
		default:
			c.Skipped++
		}
		c.Tests = append(c.Tests, check)
	}
	return c, nil
}

// The lines of pytest's summary: "===== 1 failed, 2 passed in 0.05s =====", with
// or without the rules, and "FAILED tests/x.py::test_rows - AssertionError: …".
var (
	pytestEnd    = regexp.MustCompile(`^(?:=+ )?((?:\d+ [a-z]+(?:, )?)+) in [0-9.]+s\b`)
	pytestCount  = regexp.MustCompile(`(\d+) ([a-z]+)`)
	pytestFailed = regexp.MustCompile(`^(?:FAILED|ERROR) (\S+)(?: - (.*))?$`)
)

// pytest reads the last summary in a verifier's output.
func pytest(stdout string) Checks {
	c := Checks{Tests: []Check{}}
	var failed []Check
	for line := range strings.Lines(stdout) {
		line = strings.TrimSpace(line)
		if m := pytestFailed.FindStringSubmatch(line); m != nil && len(failed) < maxChecks {
			failed = append(failed, Check{cut(m[1], 500), "failed", cut(m[2], maxError)})
		}
		m := pytestEnd.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		c = Checks{Source: "pytest", Tests: append([]Check{}, failed...)}
		failed = nil
		for _, n := range pytestCount.FindAllStringSubmatch(m[1], -1) {
			count, err := strconv.Atoi(n[1])
			if err != nil {
				continue
			}
			switch n[2] {
			case "passed", "xpassed":
				c.Passed += count
			case "failed", "error", "errors":
				c.Failed += count
			case "skipped", "xfailed":
				c.Skipped += count
			}
		}
	}
	return c
}
