package controls

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/gates/adversary"
	"github.com/posttrainarena/arena/gates/dynamic"
)

// against is a run that tries the adversaries.
func against(f *fakeEngine, dir string, events *[]Event) Config {
	cfg := config(f, dir, events)
	cfg.Adversaries = &adversary.Options{Mutants: 2, Seed: 1}
	return cfg
}

// report reads the report that a run left, and checks that the text beside it says the same.
func report(t *testing.T, dir string) map[string]adversary.Task {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, SoundnessJSON))
	if err != nil {
		t.Fatal(err)
	}
	var rep adversary.Report
	if err := json.Unmarshal(raw, &rep); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, SoundnessText))
	if err != nil || string(text) != strings.Join(rep.Lines(), "\n")+"\n" {
		t.Errorf("the text is %q, %v", text, err)
	}
	all := map[string]adversary.Task{}
	for _, one := range rep.Tasks {
		all[one.Task] = one
	}
	return all
}

func TestAdversariesAgainstEveryKindOfVerifier(t *testing.T) {
	synctest.Test(t, adversariesAgainstEveryKindOfVerifier)
}

func adversariesAgainstEveryKindOfVerifier(t *testing.T) {
	const solve = "solve\n# 1\n"
	p, pkgs := tasks(t, map[string]pack{
		"sound":      {solve: solve, test: "check\n"},
		"leaky":      {solve: solve, test: "check\nyields reward-in-advance\nyields late-writer\n"},
		"generous":   {solve: solve, test: "reward 1\n"},
		"lenient":    {solve: solve, test: "lenient\n"},
		"broken":     {solve: "wrong\n", test: "check\n"},
		"silent":     {solve: solve, test: "nothing\n"},
		"unbuilt":    {docker: "RUN false\n", solve: solve, test: "check\n"},
		"unsolvable": {test: "check\n"},
	})
	f, dir := newFake(), filepath.Join(t.TempDir(), "jobs")
	var events []Event
	if err := Run(t.Context(), against(f, dir, &events), p, pkgs); err != nil {
		t.Fatal(err)
	}
	got := report(t, dir)
	for name, want := range map[string]struct {
		soundness adversary.Soundness
		says      []string
	}{
		"sound":      {adversary.Sound, []string{"5 of 5 attacks refused. 1 of 1 mutant rejected."}},
		"leaky":      {adversary.Unsound, []string{"reward-in-advance got through and scored 1 (under a harness with the folder kept)", "late-writer got through", "3 of 5 attacks refused.", "Close it: Begin test.sh with rm -rf"}},
		"generous":   {adversary.Unsound, []string{"idle got through and scored 1: the verifier gives a reward without looking at any work"}},
		"lenient":    {adversary.Review, []string{"5 of 5 attacks refused. 0 of 1 mutant rejected. mutant-01 passes (line 1), although the reference solution leaves out solve: the tests do not look at it, or it changes nothing that matters."}},
		"broken":     {adversary.Sound, []string{"The reference solution itself did not score 1, so its mutants say nothing."}},
		"silent":     {adversary.Sound, []string{"5 of them left no reward at all"}},
		"unbuilt":    {adversary.Undecided, []string{"idle: Image build failed: RUN false returned a non-zero code: 1."}},
		"unsolvable": {adversary.Sound, []string{"5 of 5 attacks refused."}},
	} {
		one := got[name]
		if one.Soundness != want.soundness {
			t.Errorf("%s is %s: %s", name, one.Soundness, one.Says)
		}
		for _, say := range want.says {
			if !strings.Contains(one.Says, say) {
				t.Errorf("%s says %q; want %q", name, one.Says, say)
			}
		}
	}
	if last := events[len(events)-1]; last.Done > last.Steps || count(events, Weak) != 1 {
		t.Errorf("the last event is %+v", last)
	}
	if len(f.containers) != 0 || len(f.images) != 0 {
		t.Errorf("left: %v, %v", f.containers, f.images)
	}

	// What was tried is not tried again, and the report stays.
	execs := f.execs
	if err := Run(t.Context(), against(f, dir, &events), p, pkgs); err != nil || f.execs != execs {
		t.Errorf("again: %v, %d more commands", err, f.execs-execs)
	}
	if diff := cmp.Diff(got, report(t, dir)); diff != "" {
		t.Errorf("the report changed (-first +second):\n%s", diff)
	}
}

// TestAdversariesLeaveTheControlsAlone runs the controls with and without adversaries: what collects the one finds the
// same in the other.
func TestAdversariesLeaveTheControlsAlone(t *testing.T) {
	synctest.Test(t, adversariesLeaveTheControlsAlone)
}

func adversariesLeaveTheControlsAlone(t *testing.T) {
	p, pkgs := tasks(t, map[string]pack{"leaky": {solve: "solve\n", test: "check\nyields late-writer\n"}, "flat": {solve: "wrong\n", test: "check\n"}})
	say := func(with bool) map[string][]string {
		f, dir := newFake(), t.TempDir()
		var events []Event
		cfg := config(f, dir, &events)
		if with {
			cfg = against(f, dir, &events)
		}
		if err := Run(t.Context(), cfg, p, pkgs); err != nil {
			t.Fatal(err)
		}
		all := map[string][]string{}
		for name, found := range results(t, dir, p) {
			for _, r := range found {
				all[name] = append(all[name], r.Agent+" "+says(r))
			}
		}
		return all
	}
	if diff := cmp.Diff(say(false), say(true)); diff != "" {
		t.Errorf("controls without and with adversaries:\n%s", diff)
	}
}

// TestAdversariesThatTheEngineSpoilsAreTriedAgain has the engine fail now and then. Nothing is judged on that.
func TestAdversariesThatTheEngineSpoilsAreTriedAgain(t *testing.T) {
	synctest.Test(t, adversariesThatTheEngineSpoilsAreTriedAgain)
}

func adversariesThatTheEngineSpoilsAreTriedAgain(t *testing.T) {
	p, pkgs := tasks(t, map[string]pack{"a": {solve: "solve\n", test: "check\n"}, "b": {solve: "solve\n", test: "check\nyields late-writer\n"}})
	f, dir := newFake(), t.TempDir()
	broken, asked := true, 0
	f.fail = func(what string) error {
		if asked++; broken && what == "exec" && asked%5 == 0 {
			return errors.New("the disk is gone")
		}
		return nil
	}
	var events []Event
	cfg := against(f, dir, &events)
	cfg.NoControls = true
	if err := Run(t.Context(), cfg, p, pkgs); err != nil {
		t.Fatal(err)
	}
	if first := report(t, dir); count(events, Lost) == 0 || first["a"].Soundness != adversary.Undecided {
		t.Fatalf("%+v, %+v", first, events)
	}
	broken = false
	if err := Run(t.Context(), cfg, p, pkgs); err != nil {
		t.Fatal(err)
	}
	if got := report(t, dir); got["a"].Soundness != adversary.Sound || got["b"].Soundness != adversary.Unsound {
		t.Errorf("%+v", got)
	}
	for _, e := range events {
		if e.Gate != Adversary && e.Gate != dynamic.Build {
			t.Errorf("a control was run: %+v", e)
		}
	}
}
