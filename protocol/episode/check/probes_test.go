package check_test

import (
	"strings"
	"testing"

	"github.com/posttrainarena/arena/protocol/episode/check"
)

func TestProbes(t *testing.T) {
	seed, err := check.SeedProbes()
	if err != nil || len(seed) != 3 {
		t.Fatalf("%d of the seed's tasks, %v", len(seed), err)
	}
	for id, task := range seed {
		if !strings.HasPrefix(task.Module, "/app/vendor/") {
			t.Errorf("%s: module %q", id, task.Module)
		}
	}
	p, err := check.ParseProbes([]byte("[tasks.a]\nmodule=\"/m\"\n[[tasks.a.probe]]\nlabel=\"l\"\ncommand=\"c\"\nexit_code=3\nreward=0.5\n"))
	if err != nil || len(p["a"].Probe) != 1 || p["a"].Probe[0].ExitCode != 3 || *p["a"].Probe[0].Reward != 0.5 {
		t.Errorf("%+v, %v", p, err)
	}
	for text, want := range map[string]string{
		"[tasks.a]\nmodul=\"/m\"":                     "modul",
		"[tasks.a]\nmodule=\"m\"":                     "absolute",
		"[tasks.a]\n[[tasks.a.probe]]\nlabel=\"l\"\n": "label and a command",
		"[tasks.a": "line 1",
	} {
		if _, err := check.ParseProbes([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, o := range []check.Options{
		{URL: "http://127.0.0.1:1", TaskID: "unknown", DatasetType: "terminal_bench"},
		{URL: "http://127.0.0.1:1", TaskID: "unknown", DatasetType: "other"},
	} {
		if r, err := check.Run(t.Context(), o); err == nil || r.Passed {
			t.Errorf("%+v: %+v, %v", o, r, err)
		}
	}
}
