package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing/fstest"
	"time"

	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/client"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/backups"
)

// crashChallenge takes the runs of the crash test.
const crashChallenge = "tb2-9b"

// occasion is something that happens under load, after which a server may die.
type occasion string

const (
	submitting occasion = "submitting"
	launching  occasion = "launching"
	logging    occasion = "logging"
	collecting occasion = "collecting"
)

func occasions() []occasion { return []occasion{submitting, launching, logging, collecting} }

// history is everything that servers have acknowledged, and what was asked of
// them without an answer.
type history struct {
	mu       sync.Mutex
	serial   int
	tokens   map[string]string // secret → account
	messages map[string]string // request id → filename
	envs     map[string]bool
	launches map[api.LaunchRequest]string // → run id, empty while nobody has acknowledged it
	logs     map[string][]protocol.LogLine
	results  map[string]string // run id → evidence digest
	backups  []string          // files that nobody has looked at since they were made
}

func newHistory() *history {
	return &history{
		tokens: map[string]string{}, messages: map[string]string{}, envs: map[string]bool{}, launches: map[api.LaunchRequest]string{},
		logs: map[string][]protocol.LogLine{}, results: map[string]string{},
	}
}

// note changes the history.
func (h *history) note(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
}

// next numbers names and request ids over the whole life.
func (h *history) next() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	return h.serial
}

// started counts the launches that made a run.
func (h *history) started() int {
	n := 0
	for _, run := range h.launches {
		if run != "" {
			n++
		}
	}
	return n
}

// String says how much was acknowledged.
func (h *history) String() string {
	return fmt.Sprintf("%d tokens, %d messages, %d collections, %d launches, %d results", len(h.tokens), len(h.messages), len(h.envs), len(h.launches), len(h.results))
}

// workload is the clients that work with one server.
type workload struct {
	*life
	author, editor *client.Client
	reached        map[occasion]chan struct{}
	once           map[occasion]*sync.Once
	wg             sync.WaitGroup
}

// work starts clients that go on until ctx ends or their server is dead.
func (l *life) work(ctx context.Context, p *process) *workload {
	w := &workload{life: l, author: l.connect(p, l.author), editor: l.connect(p, l.editor), reached: map[occasion]chan struct{}{}, once: map[occasion]*sync.Once{}}
	for _, m := range occasions() {
		w.reached[m], w.once[m] = make(chan struct{}), &sync.Once{}
	}
	for _, job := range []func(context.Context) error{w.run, w.run, w.run, w.post, w.join, w.backup} {
		w.wg.Go(func() {
			for ctx.Err() == nil && job(ctx) == nil {
			}
		})
	}
	return w
}

func (w *workload) wait() { w.wg.Wait() }

// reach says that an occasion has come.
func (w *workload) reach(m occasion) { w.once[m].Do(func() { close(w.reached[m]) }) }

// join makes a token beside the server, as the command does.
func (w *workload) join(ctx context.Context) error {
	st, err := store.OpenBeside(ctx, store.Options{Dir: w.data(), Now: time.Now})
	if err != nil {
		return err
	}
	defer st.Close()
	name := fmt.Sprintf("guest-%d", w.history.next())
	secret, err := issueToken(ctx, st, time.Now(), name, false)
	if err == nil {
		w.history.note(func() { w.history.tokens[secret] = name })
	}
	return err
}

// backup backs the arena up beside the server, as the command does.
func (w *workload) backup(ctx context.Context) error {
	select { // a backup now and then, as the disk is the others' too
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(200 * time.Millisecond):
	}
	st, err := store.OpenReading(ctx, store.Options{Dir: w.data(), Now: time.Now})
	if err != nil {
		return err
	}
	defer st.Close()
	file := filepath.Join(w.dir, fmt.Sprintf("backup-%04d.db", w.history.next()))
	if _, err = st.Backup(ctx, file); err == nil {
		w.history.note(func() { w.history.backups = append(w.history.backups, file) })
	}
	return err
}

// checkBackups restores every backup that was acknowledged, although the server
// was killed while it was made or soon after.
func (l *life) checkBackups() {
	for _, file := range l.history.backups {
		if err := backups.Drill(l.t.Context(), file, l.dir, time.Now); err != nil {
			l.t.Errorf("a backup that was acknowledged: %v", err)
		}
		l.must(os.Remove(file))
	}
	l.history.backups = nil
}

// message is the post of a request id.
func message(id string) api.PostMessage {
	return api.PostMessage{RequestID: id, Body: "Hello from " + id + "."}
}

// post posts on the board.
func (w *workload) post(ctx context.Context) error {
	id := fmt.Sprintf("message-%04d", w.history.next())
	posted, err := w.author.PostMessage(ctx, message(id))
	if err == nil {
		w.history.note(func() { w.history.messages[id] = posted.Value.Filename })
	}
	return err
}

// run takes a collection through the loop: submit, launch until it is its turn,
// follow the log to its end, collect.
func (w *workload) run(ctx context.Context) error {
	w.reach(submitting)
	env, err := w.submit(ctx, fmt.Sprintf("collection-%04d", w.history.next()))
	if err != nil {
		return err
	}
	req := api.LaunchRequest{RequestID: fmt.Sprintf("request-%04d", w.history.next()), EnvironmentID: env}
	run, err := w.launch(ctx, req)
	if err != nil {
		return err
	}
	if err := w.follow(ctx, run); err != nil {
		return err
	}
	w.reach(collecting)
	result, err := w.author.Collect(ctx, crashChallenge, run)
	switch {
	case errors.Is(err, protocol.ErrNotScored): // a run that was released after a crash
		return nil
	case err == nil:
		w.history.note(func() { w.history.results[run] = result.Value.EvidenceDigest })
	}
	return err
}

func (w *workload) submit(ctx context.Context, name string) (string, error) {
	files, err := smallCollection()
	if err != nil {
		return "", err
	}
	bundle, err := client.NewBundle(files, "")
	if err != nil {
		return "", err
	}
	env, err := w.author.Submit(ctx, api.EnvironmentRequest{ChallengeID: crashChallenge, RepoType: protocol.RepoBundle, RepoID: name}, bundle)
	if err == nil {
		w.history.note(func() { w.history.envs[env.Value.ID] = true })
	}
	return env.Value.ID, err
}

// launch asks until the run is there. While another one is active the answer is
// definite, so the same request may be made again.
func (w *workload) launch(ctx context.Context, req api.LaunchRequest) (string, error) {
	w.history.note(func() { w.history.launches[req] = "" })
	for {
		w.reach(launching)
		run, err := w.author.Launch(ctx, crashChallenge, req)
		if err == nil {
			w.history.note(func() { w.history.launches[req] = run.Value.RunID })
			return run.Value.RunID, nil
		}
		if !errors.Is(err, protocol.ErrJobActive) {
			return "", err
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// follow reads a run's log to its end and keeps what it read.
func (w *workload) follow(ctx context.Context, run string) error {
	for line, err := range w.editor.FollowLog(ctx, crashChallenge, run, 0) {
		if err != nil {
			return err
		}
		w.reach(logging)
		w.history.note(func() { w.history.logs[run] = append(w.history.logs[run], line) })
	}
	return nil
}

// smallCollection is the sample collection with only one of its tasks.
func smallCollection() (fs.FS, error) {
	sample, err := fixture.Collection("sample")
	if err != nil {
		return nil, err
	}
	files := fstest.MapFS{}
	return files, fs.WalkDir(sample, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(name, "envs/") && !strings.HasPrefix(name, "envs/contact-merge/") {
			return err
		}
		data, err := fs.ReadFile(sample, name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
}

// checkHistory asks a server for everything that was acknowledged.
func (l *life) checkHistory(p *process) {
	ctx, stop := context.WithTimeout(l.t.Context(), time.Minute)
	defer stop()
	author, editor := l.connect(p, l.author), l.connect(p, l.editor)
	h := l.history
	for secret, name := range h.tokens {
		if who, err := l.connect(p, secret).Whoami(ctx); err != nil || who.Value.Name != name {
			l.t.Errorf("the token of %s: %+v, %v", name, who.Value, err)
		}
	}
	for id, filename := range h.messages {
		if m, err := author.PostMessage(ctx, message(id)); err != nil || !m.Value.Existing || m.Value.Filename != filename {
			l.t.Errorf("the message %s was %s and is %+v, %v", id, filename, m.Value, err)
		}
	}
	for id := range h.envs {
		if env, err := author.GetEnvironment(ctx, id); err != nil || env.Value.ID != id {
			l.t.Errorf("the collection %s: %v", id, err)
		}
	}
	l.checkLaunches(ctx, author)
	for run, digest := range h.results {
		if r, err := author.Collect(ctx, crashChallenge, run); err != nil || !r.Value.Existing || r.Value.EvidenceDigest != digest {
			l.t.Errorf("the result of %s: %+v, %v", run, r.Value, err)
		}
	}
	for run, lines := range h.logs {
		log, err := editor.ReadLog(ctx, crashChallenge, run, 0, len(lines))
		if err != nil || !slices.Equal(log.Value.Lines, lines) {
			l.t.Errorf("of the log of %s %d lines were read, now there are %d, %v", run, len(lines), len(log.Value.Lines), err)
		}
	}
}

// checkLaunches repeats every launch, word for word. One that was acknowledged is
// the same run. One that nobody has an answer to becomes one, or is turned away
// because another run is active or the cap is reached.
func (l *life) checkLaunches(ctx context.Context, author *client.Client) {
	for _, req := range slices.SortedFunc(maps.Keys(l.history.launches), func(a, b api.LaunchRequest) int { return cmp.Compare(a.RequestID, b.RequestID) }) {
		want := l.history.launches[req]
		run, err := author.Launch(ctx, crashChallenge, req)
		switch {
		case err == nil && run.Value.RunID == protocol.NewRunID(req.RequestID) && (want == "" || run.Value.Existing):
			l.history.launches[req] = run.Value.RunID
		case want == "" && (errors.Is(err, protocol.ErrJobActive) || errors.Is(err, protocol.ErrCap)):
		default:
			l.t.Errorf("%s was the run %q; now it is %+v, %v", req.RequestID, want, run.Value, err)
		}
	}
}

// collectAll collects every run that was scored.
func (l *life) collectAll(author *client.Client) {
	for _, run := range l.history.launches {
		if run == "" {
			continue
		}
		result, err := author.Collect(l.t.Context(), crashChallenge, run)
		switch {
		case err == nil:
			l.history.results[run] = result.Value.EvidenceDigest
		case !errors.Is(err, protocol.ErrNotScored):
			l.t.Errorf("collect %s: %v", run, err)
		}
	}
}
