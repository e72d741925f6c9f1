package screen

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
)

func at(seconds int) time.Time {
	return time.Date(2031, 5, 6, 8, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second)
}

// asks returns how many requests are due at a time.
func asks(d *Data, seconds int, keys ...Key) []Request {
	d.Tick(at(seconds))
	return d.Due(keys)
}

func TestDataAsksWhatIsMissingOrOld(t *testing.T) {
	d, key := NewData(), BudgetQuery().Key
	first := asks(d, 0, key)
	if len(first) != 1 {
		t.Fatalf("%d requests for what is missing", len(first))
	}
	if n := len(asks(d, 1, key)); n != 0 {
		t.Errorf("%d requests while one is under way", n)
	}
	d.Accept(Loaded{Key: key, Serial: first[0].Serial, Value: api.Budget{CapUSD: 5}, At: at(2)})
	if b, ok := Read(d, BudgetQuery()); !ok || b.CapUSD != 5 {
		t.Errorf("%+v %t", b, ok)
	}
	if n := len(asks(d, 16, key)); n != 0 {
		t.Errorf("%d requests for what is new enough", n)
	}
	if n := len(asks(d, 17, key)); n != 1 {
		t.Errorf("%d requests for what is too old", n)
	}
}

// An answer that comes after a newer question is dropped.
func TestDataDropsLateAnswers(t *testing.T) {
	d, key := NewData(), BudgetQuery().Key
	first := asks(d, 0, key)[0]
	Put(d, BudgetQuery(), api.Budget{CapUSD: 7})
	if d.Accept(Loaded{Key: key, Serial: first.Serial, Value: api.Budget{CapUSD: 5}, At: at(1)}) {
		t.Error("an answer older than what was put is taken")
	}
	second := asks(d, 60, key)[0]
	if d.Accept(Loaded{Key: key, Serial: first.Serial, Value: api.Budget{CapUSD: 5}, At: at(61)}) {
		t.Error("the answer to an older request is taken")
	}
	if !d.Accept(Loaded{Key: key, Serial: second.Serial, Value: api.Budget{CapUSD: 9}, At: at(62)}) {
		t.Error("the answer to the present request is dropped")
	}
	if d.Accept(Loaded{Key: key, Serial: second.Serial, Value: api.Budget{CapUSD: 1}, At: at(63)}) {
		t.Error("an answer that came twice is taken twice")
	}
	if b, _ := Read(d, BudgetQuery()); b.CapUSD != 9 {
		t.Errorf("the cap is %s", b.CapUSD)
	}
}

func TestDataKeepsTheLastGoodAnswer(t *testing.T) {
	d, key := NewData(), BudgetQuery().Key
	if s := d.Standing(key); s.Age != Missing {
		t.Errorf("%+v", s)
	}
	r := asks(d, 0, key)[0]
	d.Accept(Loaded{Key: key, Serial: r.Serial, Value: api.Budget{CapUSD: 5}, At: at(0)})
	r = asks(d, 20, key)[0]
	d.Accept(Loaded{Key: key, Serial: r.Serial, Err: client.ErrNetwork, At: at(21)})
	if b, _ := Read(d, BudgetQuery()); b.CapUSD != 5 {
		t.Errorf("the good answer is gone: %+v", b)
	}
	if s := d.Standing(key); s.Age != Lost || !s.At.Equal(at(0)) || !errors.Is(s.Err, client.ErrNetwork) {
		t.Errorf("%+v", s)
	}
	if l := d.Link(); l.Up || !l.Since.Equal(at(21)) {
		t.Errorf("%+v", l)
	}
	if n := len(asks(d, 23, key)); n != 0 {
		t.Error("what failed is asked for again at once")
	}
	r = asks(d, 26, key)[0]
	d.Accept(Loaded{Key: key, Serial: r.Serial, Err: protocol.ErrForbidden, At: at(27)})
	if s := d.Standing(key); s.Age != Denied || !d.Link().Up {
		t.Errorf("a refusal is %+v, the link %+v", s, d.Link())
	}
}

func TestEventsTouchWhatTheyAreAbout(t *testing.T) {
	d := NewData()
	ids := func(s string) *string { return &s }
	keys := map[string]Key{
		"run": RunQuery("c", "r").Key, "other run": RunQuery("c", "other").Key, "runs": RunsQuery("c").Key, "other runs": RunsQuery("d").Key, "budget": BudgetQuery().Key,
		"board": LeaderboardQuery("c").Key, "messages": MessagesQuery().Key, "collections": CollectionsQuery().Key, "gates": GatesQuery("c", "e").Key, "version": VersionQuery().Key,
	}
	for _, c := range []struct {
		event api.Event
		want  []string
	}{
		{api.Event{Kind: protocol.EventRunState, ChallengeID: ids("c"), RunID: ids("r")}, []string{"budget", "run", "runs"}},
		{api.Event{Kind: protocol.EventRunStage, ChallengeID: ids("c"), RunID: ids("r")}, []string{"run", "runs"}},
		{api.Event{Kind: protocol.EventResult, ChallengeID: ids("c"), RunID: ids("r")}, []string{"board", "run", "runs"}},
		{api.Event{Kind: protocol.EventMessage, Message: ids("m")}, []string{"messages"}},
		{api.Event{Kind: protocol.EventCollection, EnvironmentID: ids("e")}, []string{"collections"}},
		{api.Event{Kind: protocol.EventVerdict, EnvironmentID: ids("e")}, []string{"gates"}},
	} {
		var got []string
		for _, name := range sortedKeys(keys) {
			k := keys[name]
			if d.sources[k.kind].touched(k, c.event) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.event.Kind, diff)
		}
	}
}

// pages answers a list from memory, newest first, and counts.
type pages struct {
	API
	all   []api.Message
	asked []protocol.Page
}

func (p *pages) ListMessages(_ context.Context, page protocol.Page) (client.Answer[api.Messages], error) {
	p.asked = append(p.asked, page)
	from := 0
	if page.Cursor != "" {
		if _, err := fmt.Sscan(page.Cursor, &from); err != nil {
			return client.Answer[api.Messages]{}, err
		}
	}
	to := min(from+page.Limit, len(p.all))
	out := api.Messages{Messages: p.all[from:to]}
	if to < len(p.all) {
		next := fmt.Sprint(to)
		out.Next = &next
	}
	return client.Answer[api.Messages]{Value: out}, nil
}

func (p *pages) grow(n int) {
	for range n {
		i := len(p.all)
		p.all = append([]api.Message{{Filename: fmt.Sprintf("m%05d", i), CreatedAt: at(i)}}, p.all...)
	}
}

// read makes the requests that are due until none is.
func (p *pages) read(t *testing.T, d *Data, seconds int) Rows[api.Message] {
	t.Helper()
	for range 100 {
		due := asks(d, seconds, MessagesQuery().Key)
		if len(due) == 0 {
			break
		}
		v, err := due[0].source.fetch(t.Context(), p, due[0].Key, due[0].before)
		d.Accept(Loaded{Key: due[0].Key, Serial: due[0].Serial, Value: v, Err: err, At: at(seconds)})
	}
	rows, _ := Read(d, MessagesQuery())
	return rows
}

// A list is read whole once; later only its head is, unless more has come than the
// head holds.
func TestListsAreReadFromTheHead(t *testing.T) {
	d, p := NewData(), &pages{}
	p.grow(450)
	if rows := p.read(t, d, 0); len(rows.All) != 450 || !rows.Whole() || len(p.asked) != 3 {
		t.Fatalf("%d rows in %d requests", len(rows.All), len(p.asked))
	}
	p.grow(3)
	p.all[0].Body = "first"
	if rows := p.read(t, d, 20); len(rows.All) != 453 || rows.All[0].Body != "first" || len(p.asked) != 4 || p.asked[3].Limit != headPage {
		t.Errorf("%d rows after %+v", len(rows.All), p.asked[3:])
	}
	p.grow(400)
	rows := p.read(t, d, 40)
	if len(rows.All) != 853 || !rows.Whole() {
		t.Errorf("%d rows after a gap", len(rows.All))
	}
	for i, m := range rows.All {
		if want := fmt.Sprintf("m%05d", 852-i); m.Filename != want {
			t.Fatalf("row %d is %s, want %s", i, m.Filename, want)
		}
	}
	if len(p.asked) != 7 { // 25 from the head, then 200 at a time until something is known
		t.Errorf("%d requests: %+v", len(p.asked)-4, p.asked[4:])
	}
}

// A mocked arena lives at another time, which its newest answer tells.
func TestMockedArenaHasItsOwnClock(t *testing.T) {
	d := NewData()
	answer := func(k Key, value any) {
		r := asks(d, 0, k)[0]
		d.Accept(Loaded{Key: k, Serial: r.Serial, Value: value, At: at(0)})
	}
	old := at(0).Add(-40 * 24 * time.Hour)
	answer(MessagesQuery().Key, Rows[api.Message]{All: []api.Message{{CreatedAt: old}}})
	if d.Skew() != 0 {
		t.Error("a real arena's clock is doubted")
	}
	answer(VersionQuery().Key, api.Version{Mock: true})
	if d.Skew() != -40*24*time.Hour {
		t.Errorf("the skew is %s", d.Skew())
	}
	answer(RunQuery("c", "r").Key, api.Run{Since: old.Add(time.Hour)})
	if d.Skew() != -40*24*time.Hour+time.Hour {
		t.Errorf("the skew is %s after something newer", d.Skew())
	}
}

// What is made from answers is made again when one of its own kind changes, and
// not for any other.
func TestMemoKeepsWhatDidNotChange(t *testing.T) {
	d := NewData()
	Put(d, ChallengesQuery(), []api.Challenge{{ID: "c"}})
	Put(d, RunsQuery("c"), Rows[api.Run]{All: []api.Run{{RunID: "b", ChallengeID: "c", CreatedAt: at(1)}, {RunID: "a", ChallengeID: "c"}}})
	before := allRuns(d)
	Put(d, BudgetQuery(), api.Budget{})
	if &allRuns(d)[0] != &before[0] {
		t.Error("the runs are indexed again for a budget")
	}
	Put(d, RunQuery("c", "a"), api.Run{RunID: "a", ChallengeID: "c", State: protocol.RunScored, Since: at(2)})
	after := allRuns(d)
	if after[1].State != protocol.RunScored || before[1].State == protocol.RunScored {
		t.Error("what was read of one run is not among all, or changed what was made before")
	}
	if after[0] != before[0] {
		t.Error("a run that nothing was read about is copied")
	}
}

// An answer that the arena does not renew is told from one that is new.
func TestBehind(t *testing.T) {
	d, keys := NewData(), []Key{BudgetQuery().Key, ReadyQuery().Key}
	if _, behind := d.Behind(keys); behind {
		t.Error("what was never read is old")
	}
	d.Tick(at(0))
	Put(d, BudgetQuery(), api.Budget{})
	if _, behind := d.Behind(keys); behind {
		t.Error("what has just come is old")
	}
	for _, err := range []error{protocol.ErrInternal, client.ErrNetwork} {
		r := asks(d, 20, keys[0])[0]
		d.Accept(Loaded{Key: r.Key, Serial: r.Serial, Err: err, At: at(21)})
		if since, behind := d.Behind(keys); !behind || !since.Equal(at(0)) {
			t.Errorf("%v: behind %t since %s", err, behind, since)
		}
		d.Tick(at(0))
		Put(d, BudgetQuery(), api.Budget{})
	}
	d.Tick(at(44))
	if _, behind := d.Behind(keys); behind {
		t.Error("what is being asked for again is old")
	}
	d.Tick(at(45))
	if _, behind := d.Behind(keys); !behind {
		t.Error("what is three times as old as it is meant to get is not old")
	}
}
