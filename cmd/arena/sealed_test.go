package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol/hub/hubtest"
)

// The words in every name and every prompt of the sealed suite of these tests.
const (
	sealedName   = "wombatcanary"
	sealedPrompt = "quokkacanary"
)

// sealedHub is a hub with a private dataset that holds the sealed suite of tb2-9b,
// and the settings that name it.
func sealedHub(t *testing.T) (fake *hubtest.HuggingFace, settings string) {
	var suite strings.Builder
	for i := range 32 {
		fmt.Fprintf(&suite, `{"name":"%s-%d","prompt":"Sort the %s of year %d by weight and write them down.","evaluated":true}`+"\n", sealedName, i, sealedPrompt, i)
	}
	fake = hubtest.NewHuggingFace(t)
	vault := fake.Dataset("benchflow/vault")
	vault.Private = true
	commit := vault.Commit([]hubtest.File{{Path: "tb2/suite.jsonl", Text: suite.String()}, {Path: "tb2/notes.md", Text: sealedPrompt}}, "main")
	fake.Issue(sealedsToken, hubtest.Token{Account: hubtest.Account{Name: "olivia"}, Grants: "benchflow/vault"})
	return fake, fmt.Sprintf("[suites.tb2-sealed-32]\nfrom = \"dataset\"\nrepo_id = \"benchflow/vault\"\nrevision = %q\npath = \"tb2\"\ntoken_env = \"SEALED_TOKEN\"\n", commit)
}

// TestSealedDataset starts a real arena on a sealed suite in a private dataset. No
// prompt of it reaches the disk, a log or an answer, even after a run has been
// measured on it; no name does before one has.
func TestSealedDataset(t *testing.T) {
	fake, settings := sealedHub(t)
	w := newTown(t, fake, settings)
	w.hub.Dataset("ada/tasks").Commit(sampleFiles(t, "pack"), "main")
	request := map[string]any{"challenge_id": "tb2-9b", "repo_type": "dataset", "repo_id": "ada/tasks", "revision": "main", "entry_path": "pack", "title": "Sample"}
	_, raw := w.want(201, "env-", "POST", "/api/environments", personsToken, request)
	var made struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(raw), &made); err != nil {
		t.Fatal(err)
	}
	w.want(200, `"repo_id":"benchflow/vault"`, "GET", "/api/challenges/tb2-9b", "", nil)
	look := func(when string, words ...string) {
		t.Helper()
		for what, text := range map[string]string{"the log": w.log.String(), "the answers": w.said.String(), "the data directory": w.bytes()} {
			for _, word := range append(words, sealedsToken) {
				if i := strings.Index(text, word); i >= 0 {
					t.Errorf("%s, %s hold %q: …%q…", when, what, word, text[max(0, i-80):min(len(text), i+40)])
				}
			}
		}
	}
	look("before a run", sealedName, sealedPrompt)

	_, raw = w.want(201, "run_id", "POST", "/api/challenges/tb2-9b/runs", personsToken, map[string]any{"request_id": "request-1", "environment_id": made.ID})
	var run struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal([]byte(raw), &run); err != nil {
		t.Fatal(err)
	}
	for n := 0; ; n++ {
		_, now := w.ask("GET", "/api/challenges/tb2-9b/runs/"+run.RunID, "", nil)
		if strings.Contains(now, `"stage":"baseline"`) {
			break
		}
		if n == 600 {
			t.Fatalf("no run is measured: %s", now)
		}
		time.Sleep(50 * time.Millisecond) // a real process plays in real time
	}
	w.stop()
	look("after it", sealedPrompt)
	if !strings.Contains(w.bytes(), "ada/tasks") {
		t.Error("the search does not see what the arena keeps")
	}
	if n := fake.Calls("GET /api/resolve-cache/datasets/benchflow/"); n != 1 {
		t.Errorf("%d files of the dataset were read, not the suite alone", n)
	}
}

// TestNoStartWithoutTheSuite: an arena that cannot read its sealed suite does not
// start, and says what to do. Checking the configuration asks nobody.
func TestNoStartWithoutTheSuite(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(name, mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	good, open := write("good", sealedsToken+"\n", 0o600), write("open", sealedsToken, 0o644)
	two, empty := write("two", sealedsToken+" "+sealedsToken, 0o600), write("empty", "\n", 0o600)
	file := func(name string) func(*hubtest.HuggingFace, string) string {
		return func(_ *hubtest.HuggingFace, s string) string {
			return strings.Replace(s, `token_env = "SEALED_TOKEN"`, fmt.Sprintf("token_file = %q", name), 1)
		}
	}
	for name, tc := range map[string]struct {
		change func(*hubtest.HuggingFace, string) string
		say    string // empty: it starts
	}{
		"all is well":        {func(_ *hubtest.HuggingFace, s string) string { return s }, ""},
		"a file":             {file(good), ""},
		"an open file":       {file(open), "is open to others than the arena's user (mode 0644); chmod 600 it"},
		"a file of two":      {file(two), "holds something else than one token"},
		"an empty file":      {file(empty), "holds something else than one token"},
		"a folder":           {file(dir), "is no file"},
		"no file":            {file(filepath.Join(dir, "none")), "the secret cannot be read: open"},
		"a variable not set": {func(_ *hubtest.HuggingFace, s string) string { return strings.Replace(s, "SEALED_TOKEN", "OTHER", 1) }, "suites.tb2-sealed-32.token_env: names the environment variable OTHER, which is not set"},
		"the token itself": {func(_ *hubtest.HuggingFace, s string) string {
			return strings.Replace(s, "SEALED_TOKEN", sealedsToken, 1)
		}, "is not the name of an environment variable"},
		"no token":         {func(_ *hubtest.HuggingFace, s string) string { return strings.Replace(s, "token_env", "#", 1) }, "needs token_env or token_file"},
		"a public dataset": {func(h *hubtest.HuggingFace, s string) string { h.Dataset("benchflow/vault").Private = false; return s }, "it is not private"},
		"the hub is away":  {func(h *hubtest.HuggingFace, s string) string { h.Down(true); return s }, "the sealed suite tb2-sealed-32: The hub cannot be reached for reading the private dataset benchflow/vault"},
		"a revoked token":  {func(h *hubtest.HuggingFace, s string) string { h.Revoke(sealedsToken); return s }, "does not accept the token"},
		"an empty folder": {func(_ *hubtest.HuggingFace, s string) string {
			return strings.Replace(s, `path = "tb2"`, `path = "none"`, 1)
		}, "tb2-sealed-32"},
	} {
		t.Run(name, func(t *testing.T) {
			fake, settings := sealedHub(t)
			settings = tc.change(fake, settings)
			fake.Forget()
			over := overlay(t, fmt.Sprintf("[identity]\nhub_url = %q\n%s", fake.URL, settings))
			cfg, err := configs.Load(os.DirFS(over))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := readSealedHere(cfg); err != nil || fake.Calls("") != 0 {
				t.Errorf("checking says %v after %d requests", err, fake.Calls(""))
			}
			data := t.TempDir()
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			n, err := openNode(ctx, nodeOptions{
				Data: data, Configs: over, Listen: "127.0.0.1:0", Log: quiet(), Now: time.Now,
				Getenv: func(name string) string { return map[string]string{"SEALED_TOKEN": sealedsToken}[name] },
			})
			if err == nil {
				err = n.close()
			}
			if (err == nil) != (tc.say == "") || err != nil && !strings.Contains(err.Error(), tc.say) {
				t.Errorf("it says %v, not %q", err, tc.say)
			}
			if err != nil && (strings.Contains(err.Error(), sealedsToken) || strings.Contains(err.Error(), sealedName)) {
				t.Errorf("the error holds a secret: %v", err)
			}
			for _, word := range []string{sealedName, sealedPrompt, secretWord} {
				if strings.Contains((&town{t: t, data: data}).bytes(), word) {
					t.Errorf("the disk holds %q", word)
				}
			}
		})
	}
}
