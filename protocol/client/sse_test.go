package client

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func readEvents(r io.Reader) ([]event, error) {
	var all []event
	for events := newEventReader(r); ; {
		ev, err := events.next()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, ev)
	}
}

func TestEventParsing(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []event
	}{
		{"an event", "id: 7\nevent: line\ndata: {}\n\n", []event{{"7", "line", "{}"}}},
		{"without an id or a kind", "data: x\n\n", []event{{"", "message", "x"}}},
		{"comments and heartbeats", ": open\n\n: alive\n\ndata: x\n\n: alive\n\n", []event{{"", "message", "x"}}},
		{"CRLF", "id: 1\r\ndata: a\r\n\r\ndata: b\r\n\r\n", []event{{"1", "message", "a"}, {"", "message", "b"}}},
		{"CR", "id: 1\rdata: a\r\rdata: b\r\r", []event{{"1", "message", "a"}, {"", "message", "b"}}},
		{"data of several lines", "data: a\ndata:\ndata:  b\n\n", []event{{"", "message", "a\n\n b"}}},
		{"no space after the colon", "id:1\ndata:x\n\n", []event{{"1", "message", "x"}}},
		{"a field without a colon", "data\nid: 1\n\n", []event{{"1", "message", ""}}},
		{"unknown fields", "retry: 3\nfoo: bar\ndata: x\n\n", []event{{"", "message", "x"}}},
		{"an id with NUL is none", "id: a\x00b\ndata: x\n\n", []event{{"", "message", "x"}}},
		{"an event without data is none", "id: 1\nevent: line\n\ndata: x\n\n", []event{{"", "message", "x"}}},
		{"a byte order mark", "\xef\xbb\xbfdata: x\n\n", []event{{"", "message", "x"}}},
		{"what the end cuts off is dropped", "data: x\n\nid: 2\ndata: half", []event{{"", "message", "x"}}},
		{"also before the blank line", "data: x\n\nid: 2\ndata: whole\n", []event{{"", "message", "x"}}},
		{"nothing", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in))} {
				got, err := readEvents(r)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(event{})); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func TestALongEventIsRefused(t *testing.T) {
	for name, in := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", MaxEvent) + "\n\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 9) + "\n",
		"no end":     strings.Repeat("x", MaxEvent+1),
	} {
		if _, err := readEvents(strings.NewReader(in)); !errors.Is(err, errLongEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Heartbeats are not an event that grows.
	beats := strings.Repeat(": alive\n\n", MaxEvent/8) + "data: x\n\n"
	if got, err := readEvents(strings.NewReader(beats)); err != nil || len(got) != 1 {
		t.Errorf("after many heartbeats: %d events, %v", len(got), err)
	}
}

// TestEventsSurviveWriting writes events as a server does and reads them back,
// whatever the line endings.
func TestEventsSurviveWriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ending := rapid.SampledFrom([]string{"\n", "\r\n", "\r"}).Draw(t, "ending")
		text := rapid.StringMatching(`[ -~äß☃]{0,20}`)
		var want []event
		var stream strings.Builder
		for range rapid.IntRange(0, 5).Draw(t, "events") {
			ev := event{id: rapid.StringMatching(`[0-9]{0,6}`).Draw(t, "id"), kind: rapid.StringMatching(`[a-z]{1,8}`).Draw(t, "kind")}
			lines := rapid.SliceOfN(text, 1, 4).Draw(t, "lines")
			ev.data = strings.Join(lines, "\n")
			want = append(want, ev)
			fmt.Fprintf(&stream, ": beat%s%sid: %s%sevent: %s%s", ending, ending, ev.id, ending, ev.kind, ending)
			for _, l := range lines {
				fmt.Fprintf(&stream, "data: %s%s", l, ending)
			}
			stream.WriteString(ending)
		}
		got, err := readEvents(iotest.HalfReader(strings.NewReader(stream.String())))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(event{})); diff != "" {
			t.Fatal(diff)
		}
	})
}

// FuzzEvents feeds the parser anything: it must end, and what it returns must
// not depend on how the bytes arrive.
func FuzzEvents(f *testing.F) {
	f.Add("id: 1\nevent: line\ndata: {\"n\":1}\n\n: alive\n\n")
	f.Add("data\r\n\r\rdata:\n\n")
	f.Add("\xef\xbb\xbfid\x00:\ndata: \xff\n\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole, err := readEvents(strings.NewReader(in))
		if err != nil {
			t.Fatal(err)
		}
		pieces, err := readEvents(iotest.OneByteReader(strings.NewReader(in)))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(whole, pieces, cmp.AllowUnexported(event{})); diff != "" {
			t.Fatal(diff)
		}
		for _, ev := range whole {
			if strings.ContainsAny(ev.id+ev.kind, "\r\n") || strings.Contains(ev.data, "\r") {
				t.Fatalf("a line ending got into %+v", ev)
			}
		}
	})
}
