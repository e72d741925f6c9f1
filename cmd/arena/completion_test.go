package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for _, c := range []struct {
		typed string // what stands after arena; the last word is being typed
		want  string
	}{
		{"wh", "whoami"},
		{"ru", "run runs"},
		{"board ", "list post"},
		{"board l", "list"},
		{"--url https://arena.example.org bo", "board"},
		{"--url=https://arena.example.org bo", "board"},
		{"completion ", "bash fish zsh"},
		{"completion z", "zsh"},
		{"completion zsh ", ""},
		{"run --exe", "--execute"},
		{"run --execute --w", "--wait"},
		{"result collect --r", "--run-id"},
		{"log challenge-1 -", "--after --challenge --follow --help --json --url"},
		{"log -f --af", "--after"},
		{"runs --challenge ", ""}, // a value: the shell's turn
		{"validate --file ", ""},
		{"nonsense x", ""},
		{"__com", ""},
	} {
		got := invoke(t, "", append([]string{"__complete", "--"}, strings.Split(c.typed, " ")...)...)
		if words := strings.Join(strings.Fields(got.stdout), " "); got.code != 0 || words != c.want {
			t.Errorf("%q: exit %d, %q, want %q", c.typed, got.code, words, c.want)
		}
	}
	// Every verb can be reached.
	for _, verb := range verbs(t) {
		if verb.Hidden {
			continue
		}
		words := strings.Fields(strings.TrimPrefix(verb.FullPath(), "arena "))
		got := invoke(t, "", append([]string{"__complete", "--"}, words...)...)
		if !slices.Contains(strings.Fields(got.stdout), words[len(words)-1]) {
			t.Errorf("%s cannot be completed", verb.FullPath())
		}
	}
}

// TestCompletionScriptsParse asks the shells that are here whether they can read
// the scripts.
func TestCompletionScriptsParse(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		got := invoke(t, "", "completion", shell)
		if got.code != 0 || !strings.Contains(got.stdout, "arena __complete --") {
			t.Errorf("%s: exit %d\n%s", shell, got.code, got.stdout)
		}
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("%s is not here", shell)
			continue
		}
		cmd := exec.Command(path, "-n")
		cmd.Stdin = strings.NewReader(got.stdout)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s -n: %v\n%s", shell, err, out)
		}
	}
}
