package arena_test

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/compose"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
	"github.com/posttrainarena/arena/protocol/jobs"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
	"github.com/posttrainarena/arena/protocol/leaktest"
	"github.com/posttrainarena/arena/store"
)

func TestMain(m *testing.M) { os.Exit(leaktest.Run(m)) }

// challenge is the embedded one that takes runs; its runs reserve $159.9998.
const challenge = "tb2-9b"

// The people of the tests.
var (
	ada    = protocol.Identity{Name: "ada"}
	eve    = protocol.Identity{Name: "eve"}
	editor = protocol.Identity{Name: "olga", Editor: true}
)

// by is the actor of a request of who.
func by(who protocol.Identity) protocol.Actor {
	return protocol.Actor{Name: who.Name, RequestID: "http-" + who.Name}
}

// world is an arena without its HTTP side, as a laptop runs it: the embedded
// configuration, a real store, and the simulated provider. Its time is that of
// the runtime, so that a test in a synctest bubble decides how fast it passes.
type world struct {
	*arena.Service
	store    *store.Store
	provider jobs.Provider

	t      testing.TB
	dir    string
	change []func(*options)
	stop   func()
}

// options is what a test may change about its world.
type options struct {
	simulated simulated.Options
	service   arena.Config
	wrap      func(jobs.Provider) jobs.Provider // stands between the service and the provider
	// afterReserve runs after each reservation, before its job is asked for.
	afterReserve func()
}

// storeHook is a store that calls a test at a moment that nothing else shows.
type storeHook struct {
	*store.Store
	afterReserve func()
}

func (s storeHook) Reserve(ctx context.Context, by protocol.Actor, r protocol.Reservation) (protocol.Run, bool, error) {
	run, existing, err := s.Store.Reserve(ctx, by, r)
	if err == nil && !existing && s.afterReserve != nil {
		s.afterReserve()
	}
	return run, existing, err
}

// fault plans faults of the provider, as on the command line.
func fault(plan string) func(*options) {
	return func(o *options) {
		var err error
		if o.simulated.Fault, err = simulated.ParsePlan(plan); err != nil {
			panic(err)
		}
	}
}

// newWorld opens a world on an empty directory. Its watcher does not run before
// the test says so.
func newWorld(t testing.TB, change ...func(*options)) *world {
	t.Helper()
	return openWorld(t, t.TempDir(), change...)
}

func openWorld(t testing.TB, dir string, change ...func(*options)) *world {
	t.Helper()
	w := &world{t: t, dir: dir, change: change, stop: func() {}}
	cfg := must(configs.Default())(t)
	o := options{
		simulated: simulated.Options{Dir: filepath.Join(dir, "simulated"), Now: time.Now, PricePerHour: must(arena.Prices(cfg))(t), Speed: 60, Seed: 20260926},
		service:   must(arena.Configure(cfg))(t),
	}
	o.service.Sealed, o.service.Now, o.service.Logger = sealed(t, cfg), time.Now, slog.New(slog.NewTextHandler(t.Output(), nil))
	for _, f := range change {
		f(&o)
	}
	w.store = must(store.Open(t.Context(), store.Options{Dir: filepath.Join(dir, "data"), Now: time.Now}))(t)
	w.provider = must(simulated.Open(o.simulated))(t)
	if o.wrap != nil {
		w.provider = o.wrap(w.provider)
	}
	o.service.Store, o.service.Providers = storeHook{w.store, o.afterReserve}, map[string]jobs.Provider{simulated.Name: w.provider}
	w.Service = must(arena.New(o.service))(t)
	t.Cleanup(w.close)
	return w
}

func (w *world) close() {
	w.stop()
	if err := w.store.Close(); err != nil {
		w.t.Errorf("close the store: %v", err)
	}
}

// restart is what a new process finds: the same directory, nothing in memory.
// Jobs go on meanwhile. Changes of the world are made again, then further ones.
func (w *world) restart(change ...func(*options)) *world {
	w.t.Helper()
	w.close()
	return openWorld(w.t, w.dir, append(slices.Clone(w.change), change...)...)
}

// watch runs the watcher until the world is closed.
func (w *world) watch() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Watch(ctx) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("watch: %v", err)
		}
	})
}

// submit registers the sample collection under a name of the author's.
func (w *world) submit(who protocol.Identity, name string) protocol.Collection {
	w.t.Helper()
	files := must(fixture.Collection("sample"))(w.t)
	snapshot := must(bundle.Snapshot(files, task.DefaultLimits()))(w.t)
	col, _, err := w.Submit(w.t.Context(), who, by(who), arena.Submission{
		Challenge: challenge, Source: protocol.Source{RepoType: protocol.RepoBundle, RepoID: name}, Upload: snapshot,
	})
	if err != nil {
		w.t.Fatalf("submit %s: %v", name, err)
	}
	return col
}

// launch asks for a run of a collection.
func (w *world) launch(who protocol.Identity, request string, col protocol.Collection) (protocol.Run, bool, error) {
	return w.Launch(w.t.Context(), who, by(who), challenge, arena.LaunchRequest{RequestID: request, Collection: col.ID})
}

// started launches a run that must start.
func (w *world) started(request string) protocol.Run {
	w.t.Helper()
	run, existing, err := w.launch(ada, request, w.submit(ada, "sample"))
	if err != nil || existing || run.JobID == "" {
		w.t.Fatalf("launch: %+v, existing %v, %v", run, existing, err)
	}
	return run
}

// run reads a run.
func (w *world) run(id string) protocol.Run {
	w.t.Helper()
	return must(w.Run(context.Background(), id))(w.t)
}

// ended waits until a run has ended, which it does within a day.
func (w *world) ended(id string) protocol.Run {
	w.t.Helper()
	return w.until(id, "has ended", func(r protocol.Run) bool { return r.State.Ended() })
}

// until waits until a run is as wanted, looking every second for a day.
func (w *world) until(id, what string, wanted func(protocol.Run) bool) protocol.Run {
	w.t.Helper()
	for range 24 * 3600 {
		if r := w.run(id); wanted(r) {
			return r
		}
		time.Sleep(time.Second)
	}
	w.t.Fatalf("after a day no run %s %s: %+v", id, what, w.run(id))
	panic("unreachable")
}

// lines reads the whole stored log of a run.
func (w *world) lines(id string) []protocol.LogLine {
	w.t.Helper()
	var all []protocol.LogLine
	for {
		part := must(w.Log(context.Background(), id, int64(len(all)), 1000))(w.t)
		if len(part) == 0 {
			return all
		}
		all = append(all, part...)
	}
}

// jobs is the provider's own list of a run's jobs.
func (w *world) jobs(run string) []jobs.Job {
	w.t.Helper()
	return must(w.provider.Find(context.Background(), run))(w.t)
}

// checkLedger requires that the ledger is exactly what the runs say, within the
// cap.
func (w *world) checkLedger() {
	w.t.Helper()
	l := must(w.Budget(context.Background()))(w.t)
	runs, _, err := w.Runs(context.Background(), protocol.RunFilter{}, protocol.Page{Limit: protocol.MaxPage})
	if err != nil {
		w.t.Fatal(err)
	}
	var settled, live protocol.Micros
	for _, r := range runs {
		if r.Settled != nil {
			settled += *r.Settled
		} else {
			live += r.Reserved
		}
	}
	if l.Settled != settled || l.Live != live || l.Committed() > l.Cap {
		w.t.Errorf("the ledger is %+v; the runs add up to %s settled and %s reserved", l, settled, live)
	}
}

// must returns v, or ends the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// wantError checks that err is a certain answer of the protocol.
func wantError(t testing.TB, err, want error) *protocol.Error {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error = %v, want %v", err, want)
	}
	return protocol.AsError(err)
}

func sealed(t testing.TB, cfg configs.Config) map[string]protocol.SealedSuite {
	t.Helper()
	all := map[string]protocol.SealedSuite{}
	for id := range cfg.Suites {
		all[id] = must(compose.ReadSealedSuite(id, must(fixture.Suite(id))(t)))(t)
	}
	return all
}
