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
	"github.com/posttrainarena/arena/store/storetest"
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
	for _, line := range []string{`arena_webhook_deliveries{outcome="delivered"} 1`, `arena_webhook_deliveries{outcome="pending"} 0`, `arena_webhook_deliveries{outcome="failed"} 0`, "arena_webhook_oldest_pending_seconds 0"} {
		if !strings.Contains(s.get("/metrics"), line+"\n") {
			t.Errorf("the metrics do not say %s", line)
		}
	}
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

// TestDoctorLooksAtWebhooks has receivers fail in each way that is worth a word.
func TestDoctorLooksAtWebhooks(t *testing.T) {
	ctx := t.Context()
	st, clock := storetest.Open(t)
	by := protocol.Actor{Name: "ada"}
	n := 0
	event := func(hooks ...string) {
		t.Helper()
		n++
		if _, _, err := st.PostMessage(ctx, by, protocol.Message{RequestID: fmt.Sprintf("message-%03d", n), Author: "ada", Body: "x"}); err != nil {
			t.Fatal(err)
		}
		for _, h := range hooks {
			if _, err := st.QueueDeliveries(ctx, h, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	try := func(hook, problem string, times int) {
		t.Helper()
		d, ok, err := st.NextDelivery(ctx, hook)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		for range times {
			d = d.Tried(protocol.DeliveryTry{Problem: problem}, clock.Advance(time.Second))
			if err := st.DeliveryTried(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
	}
	cfg, err := configs.Default()
	if err != nil {
		t.Fatal(err)
	}
	cfg.Arena.Webhooks = map[string]configs.Webhook{}
	for _, name := range []string{"good", "bad"} {
		cfg.Arena.Webhooks[name] = configs.Webhook{URL: "https://example.org/canary", SecretEnv: "HOOK"}
	}
	look := func(check string) protocol.Diagnosis {
		t.Helper()
		d := &doctor{store: st, config: cfg, now: clock.Now}
		d.checkHookSettings()
		d.checkHooks(ctx)
		for _, found := range d.all {
			if strings.Contains(found.Detail, "canary") {
				t.Errorf("it shows the address: %+v", found)
			}
			if found.Check == check {
				return found
			}
		}
		t.Fatalf("there is no check %s in %+v", check, d.all)
		return protocol.Diagnosis{}
	}
	want := func(check string, status protocol.DiagnosisStatus, words ...string) {
		t.Helper()
		found := look(check)
		for _, w := range words {
			if found.Status != status || !strings.Contains(found.Detail, w) || (found.Fix == "") != (status == protocol.DiagnosisOK) {
				t.Errorf("%+v, want %s with %q", found, status, w)
			}
		}
	}
	want("webhook-settings", protocol.DiagnosisOK, "2 webhooks")
	want("webhooks", protocol.DiagnosisOK, "0 events on the way")
	want("webhooks-off", protocol.DiagnosisOK, "nothing waits")

	for _, name := range []string{"good", "bad", "old"} { // meet them
		event(name)
	}
	event("good", "bad")
	try("good", "", 1)
	try("bad", "it answered 500", 2) // a receiver that restarts
	want("webhooks", protocol.DiagnosisOK, "4 events on the way")
	for d, ok, err := st.NextDelivery(ctx, "good"); ok && err == nil; d, ok, err = st.NextDelivery(ctx, "good") {
		try(d.Hook, "", 1)
	}
	try("bad", "it answered 503", 6)
	want("webhooks", protocol.DiagnosisWarn, "bad (it answered 503 at ", " waits since ")
	for _, ok, err := st.NextDelivery(ctx, "bad"); ok && err == nil; _, ok, err = st.NextDelivery(ctx, "bad") {
		d, _, _ := st.NextDelivery(ctx, "bad")
		try("bad", "it answered 503", 8-d.Tries)
	}
	want("webhooks", protocol.DiagnosisWarn, "given up)")
	event("bad")
	try("bad", "", 1) // it was mended; what was given up is still to be sent again
	want("webhooks", protocol.DiagnosisOK, "0 events on the way", "were given up, arena webhook redeliver ID")

	event("old")
	want("webhooks-off", protocol.DiagnosisWarn, "old (", "events since ")
	clock.Advance(hookForgotten)
	want("webhooks-off", protocol.DiagnosisOK, "nothing waits")

	cfg.Arena.Webhooks["bad"] = configs.Webhook{URL: "ftp://example.org/canary", SecretEnv: "HOOK"}
	want("webhook-settings", protocol.DiagnosisFail, "webhooks.bad.url")
}
