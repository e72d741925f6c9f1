package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

// logServer serves a log of a fixed number of lines as the arena does, and cuts
// each connection after a few events; perConnection 0 never cuts.
type logServer struct {
	lines         int64
	perConnection int
	abort         bool // cut by breaking the connection instead of closing it
	silentEnd     bool // end without the end event
}

func (s logServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	if !strings.Contains(r.Header.Get("Accept"), api.ContentEvents) {
		after, _ = strconv.ParseInt(r.URL.Query().Get("after"), 10, 64)
		out := api.Log{Total: s.lines, Next: after, Ended: true}
		if after < s.lines {
			out.Lines = []protocol.LogLine{{N: after + 1}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
		return
	}
	w.Header().Set("Content-Type", api.ContentEvents)
	fmt.Fprint(w, ": open\n\n")
	for sent := 0; after < s.lines; sent++ {
		if s.perConnection > 0 && sent == s.perConnection {
			// Half an event, and a repeated one as after a reconnect elsewhere.
			fmt.Fprintf(w, "id: %d\nevent: line\ndata: {\"n\":%d}\n\nid: %d\nevent: line\ndata: {\"n\":", after, after, after+1)
			w.(http.Flusher).Flush()
			if s.abort {
				panic(http.ErrAbortHandler)
			}
			return
		}
		after++
		raw, _ := json.Marshal(protocol.LogLine{N: after, Text: fmt.Sprintf("line %d", after)})
		fmt.Fprintf(w, "id: %d\nevent: line\ndata: %s\n\n: alive\n\n", after, raw)
	}
	if !s.silentEnd {
		fmt.Fprintf(w, "event: end\ndata: {\"state\":\"scored\",\"lines\":%d}\n\n", after)
	}
}

func followAll(t *testing.T, a *arena, after int64) (string, error) {
	t.Helper()
	var text strings.Builder
	for line, err := range a.client.FollowLog(t.Context(), "c", "r", after) {
		if err != nil {
			return text.String(), err
		}
		fmt.Fprintf(&text, "%d %s\n", line.N, line.Text)
	}
	return text.String(), nil
}

func wholeLog(after, lines int64) string {
	var text strings.Builder
	for n := after + 1; n <= lines; n++ {
		fmt.Fprintf(&text, "%d line %d\n", n, n)
	}
	return text.String()
}

// TestFollowLogReproducesTheLog drops the connection again and again, in order
// and not, and expects every line once and in order.
func TestFollowLogReproducesTheLog(t *testing.T) {
	for _, c := range []struct {
		name  string
		s     logServer
		after int64
		drops int
	}{
		{"uncut", logServer{lines: 50}, 0, 0},
		{"from the middle", logServer{lines: 50}, 30, 0},
		{"from the end", logServer{lines: 50}, 50, 0},
		{"an empty log", logServer{}, 0, 0},
		{"closed 200 times", logServer{lines: 603, perConnection: 3}, 0, 200},
		{"broken 200 times", logServer{lines: 603, perConnection: 3, abort: true}, 0, 200},
		{"an end that nobody announces", logServer{lines: 5, silentEnd: true}, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArena(t, c.s.ServeHTTP)
			got, err := followAll(t, a, c.after)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wholeLog(c.after, c.s.lines), got); diff != "" {
				t.Error(diff)
			}
			if n := len(a.waits()); n != c.drops {
				t.Errorf("connected again %d times, want %d", n, c.drops)
			}
			// Each connection brought something, so each wait is the first step.
			if slices.ContainsFunc(a.waits(), func(d time.Duration) bool { return d != time.Second }) {
				t.Errorf("waits %v", a.waits())
			}
		})
	}
}

func TestFollowLogStopsWhenItsConsumerDoes(t *testing.T) {
	a := newArena(t, logServer{lines: 50}.ServeHTTP)
	n := 0
	for _, err := range a.client.FollowLog(t.Context(), "c", "r", 0) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n == 3 {
			break
		}
	}
	if n != 3 || len(a.requests()) != 1 {
		t.Errorf("%d lines over %d connections", n, len(a.requests()))
	}
}

func TestFollowLogEndsOnDefiniteFailures(t *testing.T) {
	for _, c := range []struct {
		name     string
		handlers []http.HandlerFunc
		is       error
		waits    int
	}{
		{"not an editor", []http.HandlerFunc{problem(403, "editor-only", "")}, protocol.ErrEditorOnly, 0},
		{"no such run", []http.HandlerFunc{problem(404, "no-run", "")}, protocol.ErrNoRun, 0},
		{"a redirect", []http.HandlerFunc{answers(302, "text/html", "", "Location", "/x")}, client.ErrRedirect, 0},
		{"not a stream", []http.HandlerFunc{answers(200, "application/json", "{}")}, client.ErrNotArena, 0},
		{"an event of another form", []http.HandlerFunc{answers(200, "text/event-stream", "id: 1\ndata: {\"n\":\"one\"}\n\n")}, client.ErrStreamEvent, 0},
		{"a network that stays away", []http.HandlerFunc{cut}, client.ErrNetwork, 10},
		{"a proxy that stays", []http.HandlerFunc{proxyError(502)}, client.ErrProxy, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newArena(t, c.handlers...)
			_, err := followAll(t, a, 0)
			if !errors.Is(err, c.is) {
				t.Errorf("got %v, want %v", err, c.is)
			}
			if n := len(a.waits()); n != c.waits {
				t.Errorf("%d waits, want %d", n, c.waits)
			}
			if err != nil && strings.Contains(err.Error()+a.said(), "canary") {
				t.Error("the token is in an error or a log line")
			}
		})
	}
}

func TestReconnectsWaitLongerWhileNothingComes(t *testing.T) {
	empty := answers(200, "text/event-stream", ": open\n\n") // opened, and closed at once
	handlers := slices.Repeat([]http.HandlerFunc{empty}, 8)
	handlers = append(handlers, answers(200, "text/event-stream", "id: 4\nevent: message\ndata: {\"id\":4}\n\n"), empty,
		problem(403, "forbidden", ""))
	a := newArena(t, handlers...)
	var got []int64
	var failure error
	for ev, err := range a.client.Events(t.Context(), 0) {
		if failure = err; err == nil {
			got = append(got, ev.ID)
		}
	}
	if !errors.Is(failure, protocol.ErrForbidden) || !slices.Equal(got, []int64{4}) {
		t.Errorf("events %v, then %v", got, failure)
	}
	if diff := cmp.Diff(seconds(1, 2, 4, 8, 16, 30, 30, 30, 1, 2), a.waits()); diff != "" {
		t.Error("waits:", diff)
	}
	// Without a position the stream starts with what happens next; once it has
	// one it resumes there.
	ids := []string{}
	for _, r := range a.requests() {
		ids = append(ids, r.lastID)
	}
	want := append(slices.Repeat([]string{""}, 9), "4", "4")
	if diff := cmp.Diff(want, ids); diff != "" {
		t.Error("Last-Event-ID:", diff)
	}
}

func TestEventsResumeAfterAPosition(t *testing.T) {
	a := newArena(t,
		answers(200, "text/event-stream", "id: 11\nevent: result\ndata: {\"id\":11,\"kind\":\"result\"}\n\nid: 10\nevent: result\ndata: {\"id\":10}\n\n"),
		problem(403, "forbidden", ""))
	var got []int64
	for ev, err := range a.client.Events(t.Context(), 10) {
		if err == nil {
			got = append(got, ev.ID)
		}
	}
	if !slices.Equal(got, []int64{11}) {
		t.Errorf("events %v", got)
	}
	if first := a.requests()[0]; first.lastID != "10" || first.auth != "" {
		t.Errorf("the first request is %+v", first)
	}
}
