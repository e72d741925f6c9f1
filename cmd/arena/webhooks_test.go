package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/webhooks"
)

// hookSecret is a canary: it must be shown nowhere.
func hookSecret() string {
	return "whsec_" + base64.StdEncoding.EncodeToString([]byte("a-canary-of-thirty-two-bytes-xyz"))
}

// TestWebhooks runs an arena with a receiver: what arrives is the very text that
// /api/events sends, signed, and arrives again when an editor asks. Neither the
// secret nor the path of the receiver is shown by anything.
func TestWebhooks(t *testing.T) {
	keys, err := webhooks.Keys(hookSecret())
	if err != nil {
		t.Fatal(err)
	}
	arrived := make(chan string, 10)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		unix, err := strconv.ParseInt(r.Header.Get("webhook-timestamp"), 10, 64)
		if want := webhooks.Sign(keys, r.Header.Get("webhook-id"), time.Unix(unix, 0), body); err != nil || r.Header.Get("webhook-signature") != want {
			t.Errorf("signed %q at %d (%v), want %q", r.Header.Get("webhook-signature"), unix, err, want)
		}
		arrived <- r.Header.Get("webhook-id") + " " + string(body)
	}))
	defer receiver.Close()
	dir := t.TempDir()
	config := fmt.Sprintf("[webhooks.ci]\nurl = %q\nevents = [\"message\"]\nsecret_file = %q\nallow_private = true\n", receiver.URL+"/canary-path", filepath.Join(dir, "secret"))
	for name, text := range map[string]string{"secret": hookSecret() + "\n", "arena.toml": config} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := startServer(t, "--configs", dir, "--verbose")
	editor := s.editor()
	if _, err := editor.PostMessage(t.Context(), api.PostMessage{RequestID: "hello-0001", Body: "Hello."}); err != nil {
		t.Fatal(err)
	}
	id, body, _ := strings.Cut(<-arrived, " ")
	if stream := s.ask("GET", "/api/events?after=0", ""); !strings.HasPrefix(id, "ci-1-") || !bytes.Contains(stream, []byte("data: "+body+"\n")) {
		t.Errorf("%s is %s, and /api/events says\n%s", id, body, stream)
	}
	delivered := func() bool {
		list, err := editor.ListWebhooks(t.Context(), "ci", protocol.Page{})
		return err == nil && len(list.Value.Webhooks) == 1 && len(list.Value.Deliveries) == 1 && list.Value.Deliveries[0].State == protocol.DeliveryDelivered
	}
	waitFor(t, "a delivery that is recorded", delivered)
	again := exec.Command("arena", "webhook", "redeliver", "--url", s.url, id)
	again.Env = append(os.Environ(), "ARENA_TOKEN="+s.token)
	out, err := again.CombinedOutput()
	var d api.Delivery
	if err != nil || json.Unmarshal(out, &d) != nil || d.State != protocol.DeliveryPending {
		t.Errorf("redeliver: %v\n%s", err, out)
	}
	if got := <-arrived; got != id+" "+body {
		t.Errorf("sent again as %q", got)
	}
	waitFor(t, "a delivery that is recorded again", delivered)
	if head := s.ask("GET", "/api/webhooks", s.account("ada")); !bytes.Contains(head, []byte(`"detail"`)) || bytes.Contains(head, []byte("127.0.0.1")) {
		t.Errorf("who is no editor sees\n%s", head)
	}

	words := []string{hookSecret(), string(keys[0]), "canary-path"}
	for _, path := range []string{"/api/webhooks", "/metrics", "/api/doctor", "/openapi.json"} {
		leak(t, "GET "+path, s.ask("GET", path, s.token), words...)
	}
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-s.exited
	leak(t, "the log", []byte(s.log.String()), words...)
	files, err := filepath.Glob(filepath.Join(s.dir, "arena.db*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no database: %v", err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		leak(t, name, text, words...)
	}
}

// TestWebhookSettings refuses what cannot be right before anything is sent, without
// repeating what may be secret.
func TestWebhookSettings(t *testing.T) {
	const good = "url = \"https://example.org/canary\"\nsecret_env = \"HOOK\"\n"
	env := map[string]string{"HOOK": hookSecret(), "TWO": hookSecret() + " " + hookSecret(), "BAD": "whsec_canary"}
	for name, tc := range map[string]struct {
		hook, text string
		say        string // empty: it starts
	}{
		"all is well":        {"ci", good, ""},
		"two secrets":        {"ci", strings.Replace(good, "HOOK", "TWO", 1), ""},
		"some events":        {"ci", good + `events = ["result", "run-state"]`, ""},
		"plain http at home": {"ci", strings.Replace(good, "https", "http", 1) + "allow_private = true", ""},
		"plain http":         {"ci", strings.Replace(good, "https", "http", 1), "webhooks.ci.url: must begin with https://"},
		"no address":         {"ci", `secret_env = "HOOK"`, "webhooks.ci.url: must be an address"},
		"a password":         {"ci", strings.Replace(good, "example", "u:canary@example", 1), "webhooks.ci.url: must be an address"},
		"no secret":          {"ci", `url = "https://example.org"`, "needs secret_env or secret_file"},
		"both":               {"ci", good + `secret_file = "x"`, "needs secret_env or secret_file"},
		"the secret itself":  {"ci", strings.Replace(good, "HOOK", hookSecret(), 1), "is not the name of an environment variable"},
		"not set":            {"ci", strings.Replace(good, "HOOK", "OTHER", 1), "OTHER, which is not set"},
		"no secret at all":   {"ci", strings.Replace(good, "HOOK", "BAD", 1), "must be whsec_ and 24 to 64 random bytes"},
		"no such event":      {"ci", good + `events = ["results"]`, `there is no event "results"; use submission, run-state`},
		"a bad name":         {"C_I", good, "must be called by a-z"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "arena.toml"), []byte("[webhooks."+tc.hook+"]\n"+tc.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := configs.Load(os.DirFS(dir))
			if err != nil {
				t.Fatal(err)
			}
			_, err = configuredHooks(cfg, nodeOptions{Getenv: func(name string) string { return env[name] }})
			if tc.say == "" && err != nil || tc.say != "" && (err == nil || !strings.Contains(err.Error(), tc.say)) {
				t.Errorf("%v, want %q", err, tc.say)
			}
			if err != nil && (strings.Contains(err.Error(), "canary") || strings.Contains(err.Error(), hookSecret())) {
				t.Errorf("the error repeats a secret: %v", err)
			}
		})
	}
}
