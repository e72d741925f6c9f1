package tui_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// walkScreens visits every screen of the mocked arena by keys.
func walkScreens(c *console) {
	c.t.Helper()
	for _, step := range []struct {
		keys  string
		shows []string
		gone  string // what must not show any more
	}{
		{keys: "2", shows: []string{"17 runs"}},
		{keys: "?", shows: []string{"Keys", "Command palette"}},
		{keys: "\x1b", gone: "Command palette"},
		{keys: ":", shows: []string{"Commands", "All keys of this screen"}},
		{keys: "\x1b", gone: "All keys of this screen"},
		{keys: "/state:scored\r", shows: []string{"5 of 17"}},
		{keys: "\r", shows: []string{"Runs › ", "Stages beside"}},
		{keys: "l", shows: []string{" log", "end of the log"}},
		{keys: "L", shows: []string{"warnings and failures"}},
		{keys: "\x1b", gone: "warnings and failures"},
		{keys: "\x1b", shows: []string{"Stages beside"}},
		{keys: "t", shows: []string{"15 attempts"}},
		{keys: "\r", shows: []string{"Transcript"}},
		{keys: "\x1b", shows: []string{"15 attempts"}},
		{keys: "\x1b", shows: []string{"Stages beside"}},
		{keys: "v", shows: []string{"Review ", "Evidence", "coverage"}},
		{keys: "\x1b", shows: []string{"Stages beside"}},
		{keys: "c", shows: []string{"Findings"}},
		{keys: "3", shows: []string{"5 results"}},
		{keys: "4", shows: []string{"16 collections"}},
		{keys: "\r", shows: []string{"Findings"}},
		{keys: "5", shows: []string{"Leaderboard", "95% over tasks"}},
		{keys: "6", shows: []string{"messages"}},
		{keys: "\r", shows: []string{"Board › Message"}},
		{keys: "\x1b", shows: []string{"messages"}, gone: "Board › "},
		{keys: "w", shows: []string{"Board › New message"}},
		{keys: "\x1b", shows: []string{"messages"}, gone: "Board › "},
		{keys: "7", shows: []string{"17 jobs"}},
		{keys: "8", shows: []string{"Failures", "Spend"}},
		{keys: "A", shows: []string{"What you did"}},
		{keys: "1", shows: []string{"Needs you", "Active run"}},
	} {
		c.press(step.keys)
		c.await(step.shows...)
		c.until("no "+step.gone, func() bool { return step.gone == "" || !strings.Contains(c.vt.String(), step.gone) })
	}
}

// ofTotal finds how many lines the log pane says there are.
var ofTotal = regexp.MustCompile(`-[\d,]+ of ([\d,]+)`)

// growingLog follows the log of a run that goes on: lines arrive by themselves,
// scrolling up holds the screen still, and G goes on.
func growingLog(t *testing.T, arena string) {
	data := filepath.Join(t.TempDir(), "data")
	if out, err := exec.Command(arena, "mock", "--data", data).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c := openConsole(t, 100, 30)
	cmd := c.start(terminalEnv(t.TempDir()), arena, "up", "--data", data, "--listen", freeAddress(t), "--speed", "120")
	c.await("Needs you", "Active run ▸", "● live")
	c.press("2")
	c.await("17 runs")
	c.press("l")
	c.await("following", " of ")
	total := func() int {
		m := ofTotal.FindStringSubmatch(c.vt.String())
		if m == nil {
			return 0
		}
		n, _ := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
		return n
	}
	var before int
	c.until("how long the log is", func() bool { before = total(); return before > 0 })
	c.until("lines that arrive", func() bool { return total() > before })
	c.press("k", "k")
	c.await("paused")
	c.until("how many lines are new", func() bool { return strings.Contains(c.vt.String(), " new, G follows") })
	c.press("G")
	c.await("following")
	c.press("\x03")
	c.await("The arena on this machine stops with the dashboard.")
	c.press("\t", "\r")
	c.ends(cmd)
	c.restored()
}

// attachGates attaches results to the newest collection: a file that arena gates
// collect made of jobs that were never run.
func attachGates(t *testing.T, c *console, arena string, env []string) {
	dir := t.TempDir()
	run := func(args ...string) []byte {
		t.Helper()
		cmd := exec.Command(arena, args...)
		cmd.Env, cmd.Dir = env, dir
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("arena %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return out
	}
	var listed struct {
		Environments []struct {
			ID        string `json:"id"`
			Challenge string `json:"target_challenge_id"`
		} `json:"environments"`
	}
	if err := json.Unmarshal(run("environments", "list"), &listed); err != nil || len(listed.Environments) == 0 {
		t.Fatalf("%v, %d collections", err, len(listed.Environments))
	}
	newest := listed.Environments[0]
	run("gates", "plan", "--challenge", newest.Challenge, "--id", newest.ID, "--out", "plan.json")
	run("gates", "collect", "--plan", "plan.json", "--jobs-root", dir, "--out", "results.json")
	c.press("4")
	c.await("16 collections")
	c.press("g", "\r")
	c.await("Collections › ", "Findings")
	c.press("a")
	c.await("Results file:", "Nothing is attached yet.")
	c.press(dir + "/res")
	c.await("/res")
	c.press("\t")
	c.await("/results.json")
	c.press("\r")
	c.await("Not attached. As version 1: 0 accepted", "inconclusive")
	c.press("\x13")
	c.await("Attach these results?", "▸ Cancel ◂")
	c.press("\t")
	c.await("▸ Attach ◂")
	c.press("\r")
	c.await("Version 1 of the verdict is attached")
}
