package store_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/store/storetest"
)

func TestPostMessage(t *testing.T) {
	ctx := context.Background()
	s, clock := storetest.Open(t)
	if _, _, err := s.RegisterAgent(ctx, ada(), protocol.Agent{ID: "scout", Owner: "ada"}); err != nil {
		t.Fatal(err)
	}
	post := func(m protocol.Message) (protocol.Message, bool, error) {
		return s.PostMessage(ctx, protocol.Actor{Name: m.Author}, m)
	}
	first, _, err := post(protocol.Message{RequestID: "message-1", Author: "Ada", Body: "Hello."})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(first.Filename, "20260302T090000Z-human-ada-") || len(first.Refs) != 0 || !first.CreatedAt.Equal(clock.Now()) {
		t.Errorf("posted %+v", first)
	}
	reply := protocol.Message{RequestID: "message-2", Author: "ada", AgentID: "scout", Body: "Hi.", Refs: []string{first.Filename}}
	second, existing, err := post(reply)
	if err != nil || existing {
		t.Fatalf("reply: existing %t, %v", existing, err)
	}
	if diff := cmp.Diff(second, must(s.Message(ctx, second.Filename))(t)); diff != "" {
		t.Errorf("read back (-posted +read):\n%s", diff)
	}
	if diff := cmp.Diff([]protocol.Event{{Seq: 2, Kind: protocol.EventMessage, At: clock.Now(), Message: second.Filename}}, newest(t, s, 1)); diff != "" {
		t.Errorf("event (-want +got):\n%s", diff)
	}

	with := func(change func(*protocol.Message)) protocol.Message {
		m := reply
		change(&m)
		return m
	}
	nothing(t, s, func() {
		again, existing, err := post(reply)
		if err != nil || !existing || !cmp.Equal(again, second) {
			t.Errorf("the same again: %+v, existing %t, %v", again, existing, err)
		}
		for _, c := range []struct {
			about string
			m     protocol.Message
			want  error
		}{
			{"the request id with another body", with(func(m *protocol.Message) { m.Body = "Bye." }), protocol.ErrRequestReused},
			{"the request id with other refs", with(func(m *protocol.Message) { m.Refs = nil }), protocol.ErrRequestReused},
			{"the request id of somebody else", with(func(m *protocol.Message) { m.Author, m.AgentID = "eve", "" }), protocol.ErrRequestReused},
			{"no request id", with(func(m *protocol.Message) { m.RequestID = "" }), protocol.ErrBadRequestID},
			{"a foreign agent", with(func(m *protocol.Message) { m.RequestID, m.Author = "message-3", "eve" }), protocol.ErrForeignAgent},
			{"an agent that nobody registered", with(func(m *protocol.Message) { m.RequestID, m.AgentID = "message-3", "ghost" }), protocol.ErrInvalid},
			{"a ref to nothing", with(func(m *protocol.Message) { m.RequestID, m.Refs = "message-3", []string{first.Filename, "x.md"} }), protocol.ErrInvalid},
		} {
			_, _, err := post(c.m)
			t.Run(c.about, func(t *testing.T) { wantError(t, err, c.want) })
		}
		_, err = s.Message(ctx, "x.md")
		wantError(t, err, protocol.ErrNotFound)
	})
	_, _, err = post(with(func(m *protocol.Message) { m.RequestID, m.Refs = "message-3", []string{first.Filename, "x.md"} }))
	if fields := protocol.AsError(err).Fields; len(fields) != 1 || fields[0].Field != "refs[1]" {
		t.Errorf("fields = %+v, want refs[1]", fields)
	}
}

// Changes queue for the writer and reads run beside them, so nobody is ever told
// that the database is locked.
func Test200ClientsAtOnceNeverMeetALock(t *testing.T) {
	ctx := context.Background()
	s, _ := storetest.Open(t)
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			m := protocol.Message{RequestID: fmt.Sprintf("message-%03d", i), Author: "ada", Body: "Hello."}
			posted, _, err := s.PostMessage(ctx, ada(), m)
			if err != nil {
				t.Errorf("post: %v", err)
				return
			}
			if _, err := s.Message(ctx, posted.Filename); err != nil {
				t.Errorf("read what was just posted: %v", err)
			}
			if _, _, err := s.Messages(ctx, protocol.Page{}); err != nil {
				t.Errorf("list: %v", err)
			}
		})
	}
	wg.Wait()
	if n := must(s.LastEvent(ctx))(t); n != 200 {
		t.Errorf("%d events, want 200", n)
	}
}
