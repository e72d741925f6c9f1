package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// A group of changes shares one transaction, and so one wait for the disk. It
// takes no more changes when it has this many or is open for this long, so that
// nobody waits for a group that never ends.
const (
	groupSize = 64
	groupTime = 20 * time.Millisecond
)

// groupCommit is the queue of changes, in the order in which they came. There is
// no goroutine behind it: whoever finds nobody at work leads a group, which runs
// the changes that wait, each inside a savepoint of its own, commits all of them
// at once, and hands the lead to the first that came meanwhile.
//
// A change that fails leaves nothing behind and does not touch its neighbours. A
// group whose commit fails fails every change in it: none was acknowledged, and a
// client that repeats its request id finds out by itself.
type groupCommit struct {
	mu      sync.Mutex
	busy    bool // somebody leads
	waiting []*write

	waited int64 // changes that found somebody at work
	total  time.Duration
}

// write is one update that waits for its turn, is running, or has its answer.
type write struct {
	ctx   context.Context
	doing string
	run   func(*tx) error
	turn  chan struct{} // closed when it has its answer or is to lead

	leads bool // set before turn is closed: its owner must lead the next group
	err   error
	panic any
}

// submit runs a change in some group and returns its outcome. A context that
// ends takes the change out of the queue; once it runs, it runs to its end.
func (s *Store) submit(w *write) error {
	g := &s.group
	g.mu.Lock()
	if !g.busy {
		g.busy = true
		g.mu.Unlock()
		s.lead(w)
		return w.outcome()
	}
	w.turn = make(chan struct{})
	g.waiting = append(g.waiting, w)
	g.mu.Unlock()

	since := s.now()
	select {
	case <-w.turn:
	case <-w.ctx.Done():
		if g.withdraw(w) {
			return w.ctx.Err()
		}
		<-w.turn
	}
	g.count(s.now().Sub(since))
	if w.leads {
		s.lead(w)
	}
	return w.outcome()
}

// outcome is what became of a change; a panic in it belongs to its owner.
func (w *write) outcome() error {
	if w.panic != nil {
		panic(w.panic)
	}
	return w.err
}

// withdraw takes a change out of the queue; false means that it is not there any
// more, because it runs or leads.
func (g *groupCommit) withdraw(w *write) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, other := range g.waiting {
		if other == w {
			g.waiting = append(g.waiting[:i], g.waiting[i+1:]...)
			return true
		}
	}
	return false
}

func (g *groupCommit) count(waited time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.waited++
	g.total += waited
}

// next takes the first change of the queue; nil means that nobody waits.
func (g *groupCommit) next() *write {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	w := g.waiting[0]
	g.waiting = g.waiting[1:]
	return w
}

// pass gives the lead to the first change of the queue, or to nobody.
func (g *groupCommit) pass() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.busy = len(g.waiting) > 0; !g.busy {
		g.waiting = nil // the array behind it would only grow
		return
	}
	w := g.waiting[0]
	g.waiting = g.waiting[1:]
	w.leads = true
	close(w.turn)
}

// lead runs a group that begins with the leader's own change.
func (s *Store) lead(own *write) {
	defer s.group.pass()
	group, err := s.runGroup(own)
	for _, w := range group {
		if w.err == nil {
			w.err = err
		}
		if w != own {
			close(w.turn)
		}
	}
}

// runGroup runs changes in one transaction, the given one first, and commits it.
// It returns those that ran; an error is that of all of them.
func (s *Store) runGroup(w *write) (group []*write, err error) {
	group = []*write{w}
	// The transaction is that of many: no one's context may end it.
	inner, err := s.writer.BeginTx(context.WithoutCancel(w.ctx), nil)
	if err != nil {
		return group, err
	}
	defer inner.Rollback() // does nothing after Commit
	began := s.now()
	for {
		if err := s.runWrite(inner, w); err != nil {
			return group, err
		}
		if len(group) == groupSize || s.now().Sub(began) > groupTime {
			break
		}
		if w = s.group.next(); w == nil {
			break
		}
		group = append(group, w)
	}
	return group, inner.Commit()
}

// runWrite runs one change of a group inside a savepoint. An error means that
// the whole transaction is lost: SQLite ends it by itself when the disk fails in
// the middle of a statement.
func (s *Store) runWrite(inner *sql.Tx, w *write) error {
	if _, err := inner.Exec("SAVEPOINT change"); err != nil {
		return err
	}
	t := &tx{Tx: inner, now: s.stamp(), steady: true}
	w.protect(t)
	s.slow(w.ctx, t, w.doing)
	if w.err != nil || w.panic != nil {
		if _, err := inner.Exec("ROLLBACK TO change"); err != nil {
			return errors.Join(w.err, err)
		}
	}
	_, err := inner.Exec("RELEASE change")
	return err
}

// protect runs the change and keeps a panic in it, with its stack, for its owner:
// the goroutine that runs it may be somebody else's.
func (w *write) protect(t *tx) {
	defer func() {
		if v := recover(); v != nil {
			w.panic = fmt.Sprintf("%s: %v\n%s", w.doing, v, debug.Stack())
		}
	}()
	w.err = w.run(t)
}
