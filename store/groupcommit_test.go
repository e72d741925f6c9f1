package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowd is changes that pile up behind one that is under way.
type crowd struct {
	t     *testing.T
	s     *Store
	order []string       // the changes that ran, as they ran
	saw   map[string]int // how many changes a reader saw when one ran: as many for all of a group
	mu    sync.Mutex
	got   map[string]error // what became of them
}

func (c *crowd) became(name string, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.got[name] = err
}

// newCrowd opens a store inside a bubble, where it is known who waits.
func newCrowd(t *testing.T) *crowd {
	t.Helper()
	s, err := Open(t.Context(), Options{Dir: filepath.Join(t.TempDir(), "data"), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	return &crowd{t: t, s: s, saw: map[string]int{}, got: map[string]error{}}
}

// enter starts a change that registers an agent and then does what is asked. It
// returns when the change runs and is held, has ended, or has its place in the queue.
func (c *crowd) enter(ctx context.Context, name string, then func(*tx) error) {
	c.t.Helper()
	go func() {
		defer func() {
			if v := recover(); v != nil {
				c.became(name, fmt.Errorf("panic: %v", v))
			}
		}()
		err := c.s.update(ctx, name, func(t *tx) error {
			c.order = append(c.order, name)
			c.saw[name] = len(c.agents())
			if _, err := t.ExecContext(ctx, "INSERT INTO agents (id, owner, model, harness, description, created) VALUES (?, 'ada', '', '', '', 0)", name); err != nil {
				return err
			}
			return then(t)
		})
		c.became(name, err)
	}()
	synctest.Wait()
}

// agents are the names of the changes that are on the disk, in their order.
func (c *crowd) agents() []string {
	c.t.Helper()
	rows, err := c.s.reader.Query("SELECT id FROM agents ORDER BY rowid")
	names, err := many(rows, err, func(r scanner) (name string, err error) { return name, r.Scan(&name) })
	if err != nil {
		c.t.Fatal(err)
	}
	return names
}

func done(*tx) error { return nil }

// TestChangesShareACommit: those that wait run in the order in which they came and
// are committed together. One that fails, panics or was given up leaves nothing
// behind and disturbs nobody.
func TestChangesShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.s.Close()
		hold := make(chan struct{})
		c.enter(t.Context(), "first", func(*tx) error { <-hold; return nil })
		c.enter(t.Context(), "second", done)
		c.enter(t.Context(), "refused", func(*tx) error { return errors.New("no") })
		c.enter(t.Context(), "third", done)
		gone, leave := context.WithCancel(t.Context())
		c.enter(gone, "given up", done)
		c.enter(t.Context(), "panics", func(*tx) error { panic("oh") })
		c.enter(t.Context(), "twice", func(t *tx) error {
			_, err := t.ExecContext(context.Background(), "INSERT INTO agents SELECT * FROM agents WHERE id = 'first'")
			return err
		})
		late, end := context.WithCancel(t.Context())
		c.enter(late, "late", func(t *tx) error {
			end() // others share the transaction, so this one goes on
			var n int
			return t.QueryRowContext(late, "SELECT count(*) FROM agents").Scan(&n)
		})
		c.enter(t.Context(), "last", done)
		leave()
		time.Sleep(3 * time.Millisecond) // of the bubble's clock
		close(hold)
		synctest.Wait()

		if want := []string{"first", "second", "refused", "third", "panics", "twice", "late", "last"}; !slices.Equal(c.order, want) {
			t.Errorf("ran: %q\nwant %q", c.order, want)
		}
		if got, want := c.agents(), []string{"first", "second", "third", "late", "last"}; !slices.Equal(got, want) {
			t.Errorf("on the disk: %q\nwant %q", got, want)
		}
		for name, seen := range c.saw {
			if seen != 0 {
				t.Errorf("%s ran after a commit", name)
			}
		}
		for name, want := range map[string]string{"first": "", "second": "", "third": "", "late": "", "last": "", "refused": "refused: no", "given up": "given up: context canceled"} {
			if err := c.got[name]; err == nil && want != "" || err != nil && err.Error() != want {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if got := fmt.Sprint(c.got["panics"]); !strings.HasPrefix(got, "panic: panics: oh\n") || !strings.Contains(got, "TestChangesShareACommit") {
			t.Errorf("the panic is not its owner's, or lacks the stack: %.300s", got)
		}
		if code(c.got["twice"]) != constraintPrimaryKey {
			t.Errorf("twice: %v", c.got["twice"])
		}
		if n, total := c.s.WriteQueue(); n != 7 || total != 7*3*time.Millisecond {
			t.Errorf("%d changes waited %s in all", n, total)
		}
	})
}

// TestGroupsEnd: a group takes so many changes and no more, and one that is open
// for long takes no other.
func TestGroupsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		defer c.s.Close()
		hold := make(chan struct{})
		c.enter(t.Context(), "slow", func(*tx) error { <-hold; time.Sleep(2 * groupTime); return nil })
		for i := range 2*groupSize + 1 {
			c.enter(t.Context(), fmt.Sprintf("change-%03d", i), done)
		}
		close(hold)
		time.Sleep(time.Minute)
		synctest.Wait()
		groups := map[int]int{}
		for _, seen := range c.saw {
			groups[seen]++
		}
		if want := map[int]int{0: 1, 1: groupSize, 1 + groupSize: groupSize, 1 + 2*groupSize: 1}; !reflect.DeepEqual(groups, want) {
			t.Errorf("changes by what was on the disk before them: %v\nwant %v", groups, want)
		}
	})
}

// TestStatementsAreKept: a query is parsed once, also when it is asked while its own
// rows are read; pragmas never are kept, and what is too much goes.
func TestStatementsAreKept(t *testing.T) {
	s := openTest(t)
	conn, err := s.reader.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	kept := func() (n int) {
		t.Helper()
		if err := conn.Raw(func(c any) error { n = len(c.(*preparedConn).cache); return nil }); err != nil {
			t.Fatal(err)
		}
		return n
	}
	before := kept()
	const query = "SELECT value FROM (SELECT 1 AS value UNION SELECT 2) WHERE value > ?"
	for range 3 {
		rows, err := conn.QueryContext(t.Context(), query, 0)
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for rows.Next() {
			var outer, inner int
			if err := errors.Join(rows.Scan(&outer), conn.QueryRowContext(t.Context(), query, 1).Scan(&inner)); err != nil {
				t.Fatal(err)
			}
			sum += 10*outer + inner
		}
		if err := errors.Join(rows.Err(), rows.Close()); err != nil || sum != 34 {
			t.Errorf("sum %d, %v", sum, err)
		}
	}
	var on int
	if err := conn.QueryRowContext(t.Context(), "PRAGMA query_only").Scan(&on); err != nil || on != 1 {
		t.Errorf("query_only is %d, %v", on, err)
	}
	if _, err := conn.QueryContext(t.Context(), "SELECT nothing FROM nowhere"); err == nil {
		t.Error("a query of nothing has an answer")
	}
	if n := kept() - before; n != 1 {
		t.Errorf("%d statements are kept for one query", n)
	}
	for i := range 2 * maxStatements {
		var got int
		if err := conn.QueryRowContext(t.Context(), fmt.Sprintf("SELECT %d", i)).Scan(&got); err != nil || got != i {
			t.Fatalf("%d, %v", got, err)
		}
	}
	if n := kept(); n != maxStatements {
		t.Errorf("%d statements are kept", n)
	}
}
