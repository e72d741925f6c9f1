package server_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
)

// event is one server-sent event, or a comment.
type event struct {
	id, kind, data, comment string
}

// reader reads an event stream.
type reader struct {
	*http.Response
	lines *bufio.Reader
	raw   bytes.Buffer // everything that was read
}

// follow opens an event stream.
func (s *site) follow(path, who string, headers ...string) *reader {
	s.t.Helper()
	r := s.request("GET", path, who, nil, append(headers, "Accept", api.ContentEvents)...)
	res, err := s.Client().Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { res.Body.Close() })
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != api.ContentEvents || res.Header.Get("Cache-Control") != "no-store" {
		body, _ := io.ReadAll(res.Body)
		s.t.Fatalf("GET %s: %s %v: %s", path, res.Status, res.Header, body)
	}
	f := &reader{Response: res}
	f.lines = bufio.NewReader(io.TeeReader(res.Body, &f.raw))
	return f
}

// next reads one event or comment. An event that the end cuts off is io.EOF.
func (r *reader) next() (event, error) {
	var e event
	for {
		line, err := r.lines.ReadString('\n')
		if err != nil {
			return e, err
		}
		line = strings.TrimSuffix(line, "\n")
		field, value, _ := strings.Cut(line, ": ")
		switch field {
		case "id":
			e.id = value
		case "event":
			e.kind = value
		case "data":
			e.data = value
		case "":
			if line == "" {
				return e, nil
			}
			e.comment = value
		}
	}
}

// events reads n events, leaving out comments.
func (r *reader) events(t testing.TB, n int) []event {
	t.Helper()
	var all []event
	for len(all) < n {
		e, err := r.next()
		if err != nil {
			t.Fatalf("after %d of %d events: %v", len(all), n, err)
		}
		if e.kind != "" {
			all = append(all, e)
		}
	}
	return all
}

// TestEventsTellWhatChanged follows the public stream while things happen: each
// event has the next id, names its object, and nothing that is not public.
func TestEventsTellWhatChanged(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	live := s.follow("/api/events", nobody) // from now on
	env, run := s.scored()
	s.want(201, "POST", runsPath+"/"+run.RunID+"/collect", author, nil)
	message := decode[api.Message](t, s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: "message-001", Body: "Scored."}))

	last := must(s.store.LastEvent(t.Context()))(t)
	got := live.events(t, int(last))
	kinds := map[protocol.EventKind]int{}
	stages := []protocol.Stage{}
	for i, e := range got {
		var data api.Event
		must0(t, json.Unmarshal([]byte(e.data), &data))
		if e.id != strconv.Itoa(i+1) || data.ID != int64(i+1) || string(data.Kind) != e.kind {
			t.Errorf("event %d has the id %s and is %s: %s", i+1, e.id, e.kind, e.data)
		}
		kinds[data.Kind]++
		if data.Kind == protocol.EventRunStage {
			stages = append(stages, protocol.Stage(*data.Stage))
		}
		for _, name := range s.sealed {
			if strings.Contains(strings.ToLower(e.data), name) {
				t.Errorf("event %s names a sealed task: %s", e.id, e.data)
			}
		}
	}
	for _, kind := range []protocol.EventKind{protocol.EventCollection, protocol.EventRunState, protocol.EventRunStage, protocol.EventResult, protocol.EventMessage} {
		if kinds[kind] == 0 {
			t.Errorf("no event says %s", kind)
		}
	}
	if !slices.IsSortedFunc(stages, func(a, b protocol.Stage) int { return a.Index() - b.Index() }) {
		t.Errorf("the stages came as %v", stages)
	}
	if first := got[0]; !strings.Contains(first.data, env.ID) || first.kind != string(protocol.EventCollection) {
		t.Errorf("the first event is %+v", first)
	}
	if e := got[len(got)-1]; !strings.Contains(e.data, message.Filename) {
		t.Errorf("the last event is %+v", e)
	}

	// Any position can be resumed after, and what comes is the same.
	for _, after := range []int64{0, 1, last / 2, last - 1} {
		for _, f := range []*reader{
			s.follow("/api/events", nobody, "Last-Event-ID", fmt.Sprint(after)),
			s.follow(fmt.Sprintf("/api/events?after=%d", after), nobody),
		} {
			if again := f.events(t, int(last-after)); !slices.Equal(again, got[after:]) {
				t.Errorf("after %d came %+v", after, again)
			}
		}
	}
}

// TestFollowedLogSurvivesDroppedConnections reads a log through two hundred
// connections, each cut after a few bytes, some before the first event and some
// in the middle of one. Put together they are the log, byte for byte.
func TestFollowedLogSurvivesDroppedConnections(t *testing.T) {
	t.Parallel()
	s := newSite(t, fast)
	env := s.submit(author, "sample")
	run := s.started(author, "request-001", env.ID)
	path := runsPath + "/" + run.RunID + "/log"

	random := rand.New(rand.NewPCG(1, 2))
	var got []event
	after := "0"
	for range 200 {
		f := s.follow(path, editor, "Last-Event-ID", after)
		// Cut within the first 300 bytes: most events are about 100.
		f.lines = bufio.NewReader(io.LimitReader(f.Body, random.Int64N(300)))
		for {
			e, err := f.next()
			if err != nil {
				break
			}
			if e.kind == "line" {
				got, after = append(got, e), e.id
			}
		}
		f.Body.Close()
	}
	end := s.follow(path, editor, "Last-Event-ID", after)
	for {
		e, err := end.next()
		if err != nil {
			t.Fatalf("the rest of the log: %v", err)
		}
		if e.kind == "end" {
			break
		}
		if e.kind == "line" {
			got = append(got, e)
		}
	}

	whole := s.follow(path, editor)
	var want []event
	for {
		e, err := whole.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.kind == "line" {
			want = append(want, e)
		} else if e.kind == "end" {
			var last api.LogEnd
			must0(t, json.Unmarshal([]byte(e.data), &last))
			if last.State != protocol.RunScored || last.Lines != int64(len(want)) {
				t.Errorf("the end says %+v", last)
			}
			break
		}
	}
	if _, err := whole.next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the end the stream goes on: %v", err)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d events in pieces, %d at once", len(got), len(want))
	}

	// The pages of the JSON form hold the same lines under the same numbers.
	var lines []protocol.LogLine
	for next := int64(0); ; {
		page := decode[api.Log](t, s.want(200, "GET", fmt.Sprintf("%s?after=%d&limit=7", path, next), editor, nil))
		if len(page.Lines) == 0 {
			break
		}
		lines, next = append(lines, page.Lines...), page.Next
	}
	for i, l := range lines {
		if raw := string(must(json.Marshal(l))(t)); i >= len(want) || raw != want[i].data || want[i].id != strconv.FormatInt(l.N, 10) || l.N != int64(i+1) {
			t.Fatalf("line %d is %s as a page and %+v as an event", i+1, raw, want[min(i, len(want)-1)])
		}
	}
	if len(lines) != len(want) {
		t.Errorf("%d lines in pages, %d in the stream", len(lines), len(want))
	}
}

// TestStreamsEndWithTheServer closes the streams as a shutdown does. They end in
// order, the server says that it is not ready, and requests are still answered.
func TestStreamsEndWithTheServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	env := s.submit(author, "sample")
	run := s.started(author, "request-001", env.ID)
	open := []*reader{s.follow("/api/events", nobody), s.follow(runsPath+"/"+run.RunID+"/log", editor)}
	s.server.CloseStreams()
	for _, f := range open {
		if _, err := io.Copy(io.Discard, f.Body); err != nil {
			t.Errorf("the stream broke: %v", err)
		}
	}
	s.wantProblem(503, "unavailable", "GET", "/readyz", nobody, nil)
	s.want(200, "GET", "/api/challenges", nobody, nil)
	// A new stream ends at once instead of holding the shutdown up.
	if _, err := io.Copy(io.Discard, s.follow("/api/events", nobody).Body); err != nil {
		t.Errorf("a new stream broke: %v", err)
	}
}

// TestIdleStreamsBeat keeps a stream open without anything to say.
func TestIdleStreamsBeat(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(o *options) { o.server.Heartbeat = time.Millisecond })
	f := s.follow("/api/events", nobody)
	beats := 0
	for beats < 3 {
		e, err := f.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.comment == "alive" {
			beats++
		}
		if e.kind != "" {
			t.Errorf("an idle stream sent %+v", e)
		}
	}
	// Something to say comes between the beats.
	s.want(201, "POST", "/api/board/messages", author, api.PostMessage{RequestID: "message-001", Body: "Hello."})
	if e := f.events(t, 1)[0]; e.kind != string(protocol.EventMessage) {
		t.Errorf("the event is %+v", e)
	}
}

// streams is the number of open streams, as the metrics have it.
func (s *site) streams() float64 {
	s.t.Helper()
	families := must(s.server.Registry().Gather())(s.t)
	for _, f := range families {
		if f.GetName() == "arena_event_streams" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	s.t.Fatal("there is no metric of open streams")
	return 0
}
