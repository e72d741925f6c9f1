package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posttrainarena/arena/configs"
	"github.com/posttrainarena/arena/fixture/world"
	"github.com/posttrainarena/arena/gates"
	"github.com/posttrainarena/arena/gates/task"
	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/api"
	"github.com/posttrainarena/arena/protocol/arena"
	"github.com/posttrainarena/arena/protocol/hub"
	"github.com/posttrainarena/arena/protocol/hub/bundle"
	"github.com/posttrainarena/arena/protocol/jobs/simulated"
	"github.com/posttrainarena/arena/protocol/mcpserver"
	"github.com/posttrainarena/arena/protocol/relay"
	"github.com/posttrainarena/arena/protocol/server"
	"github.com/posttrainarena/arena/protocol/webhooks"
	"github.com/posttrainarena/arena/store"
	"github.com/posttrainarena/arena/store/backups"
)

// The one place where the store meets the service that declares what it needs.
var _ arena.Store = (*store.Store)(nil)

// nodeOptions says how to run an arena in this process.
type nodeOptions struct {
	Data    string  // data directory
	Configs string  // directory laid over the embedded configuration; empty for none
	Listen  string  // overrides arena.toml
	BaseURL string  // overrides arena.toml
	Speed   float64 // of the simulated provider; 0 for arena.toml's
	Fault   string  // plan of faults of the simulated provider
	Clients string  // directory with binaries for other platforms; empty for none
	Log     *slog.Logger
	Now     func() time.Time
	Getenv  func(name string) string            // what jobs on this machine may get of the environment
	Adjust  func(configs.Config) configs.Config // changes the configuration before it is used; nil for none
	Errors  *prometheus.CounterVec              // of calls to providers; nil counts nothing
	Gates   prometheus.Observer                 // how long the static gates take; nil measures nothing

	// Sleep waits between the tries of a call to a service outside, and Timeout
	// bounds one try. nil and 0: as each client does by itself.
	Sleep   func(ctx context.Context, d time.Duration) error
	Timeout time.Duration
}

// node is a whole arena in this process: configuration, store, service, server.
type node struct {
	config   configs.Config
	mock     *protocol.Mock // what a mocked arena was made from; nil for a real one
	store    *store.Store
	service  *arena.Service
	server   *server.Server
	listener net.Listener
	outside  neighbours
	keeper   *backups.Keeper        // nil when the arena makes no backups of itself
	errors   *prometheus.CounterVec // of calls to providers
	gates    prometheus.Histogram   // how long they take
	now      func() time.Time
	clients  *clientShelf
	relay    *relay.Hub       // nil for a mocked arena
	hooks    *webhooks.Sender // nil for a mocked arena
	log      *slog.Logger
}

// loadConfig reads the embedded configuration with a directory laid over it.
func loadConfig(dir string) (configs.Config, error) {
	if dir == "" {
		return configs.Default()
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return configs.Config{}, usagef("--configs %s is not a directory", dir)
	}
	return configs.Load(os.DirFS(dir))
}

// openNode opens the data directory, finds out what a crash left behind, and
// listens. It is ready when it returns, and answers once run is called.
func openNode(ctx context.Context, o nodeOptions) (n *node, err error) {
	cfg, err := loadConfig(o.Configs)
	if err != nil {
		return nil, err
	}
	if o.Adjust != nil {
		cfg = o.Adjust(cfg)
	}
	clock := &arenaClock{real: o.Now}
	o.Now = clock.Now
	n = &node{config: cfg, log: o.Log, errors: newErrorCounter(), gates: newGatesHistogram(), now: o.Now}
	o.Errors, o.Gates = n.errors, n.gates
	if n.store, err = store.Open(ctx, store.Options{Dir: o.Data, Now: o.Now, Logger: o.Log, DiskFloor: diskFloor(cfg)}); err != nil {
		return nil, err
	}
	opened := n // a failing return makes n nil
	defer func() {
		if err != nil {
			err = errors.Join(err, opened.close())
		}
	}()
	hosts, err := n.openMock(ctx, clock)
	if err != nil {
		return nil, err
	}
	if n.mock == nil { // a mocked arena never leaves this machine
		if n.outside, err = openOutside(n.config, o); err != nil {
			return nil, err
		}
		hosts = n.outside.hosts
	}
	if n.mock == nil {
		if r := cfg.Arena.Relay; r.GraceSeconds < 1 || r.InFlight < 1 {
			return nil, misconfigured(cfg, "relay", "grace_seconds and in_flight must be at least 1")
		}
		if err := n.store.RelaysCut(ctx); err != nil {
			return nil, err
		}
		n.relay = relay.New(relay.Options{Records: n.store, Now: o.Now, Log: o.Log, Grace: relayGrace(cfg), InFlight: cfg.Arena.Relay.InFlight})
	}
	sealed, err := readSealedHere(n.config)
	if err == nil && n.mock == nil {
		err = readSealedElsewhere(ctx, n.config, o, sealed)
	}
	if err != nil {
		return nil, err
	}
	if n.service, err = newService(ctx, n.config, n.store, hosts, &n.outside, sealed, o); err != nil {
		return nil, err
	}
	if n.mock == nil {
		if n.hooks, err = openHooks(ctx, n.config, n.store, n.service.EventsChanged, o); err != nil {
			return nil, err
		}
	}
	if err := n.service.Reconcile(ctx); err != nil {
		return nil, fmt.Errorf("find out what the last stop left behind: %w", err)
	}
	listen := cfg.Arena.Server.Listen
	if o.Listen != "" {
		listen = o.Listen
	}
	if n.listener, err = net.Listen("tcp", listen); err != nil {
		return nil, fmt.Errorf("listen on %s: %w; choose another address with --listen HOST:PORT", listen, err)
	}
	version, err := serverVersion(n.service, cfg)
	if err != nil {
		return nil, err
	}
	if n.clients, err = openShelf(o.Clients); err != nil {
		return nil, err
	}
	version.Mock, version.MockWorld = n.mock != nil, n.mock
	n.server, err = server.New(server.Options{
		Service: n.service, Version: version, BaseURL: n.baseURL(o), Log: o.Log, Now: o.Now,
		FrameAncestors: cfg.Arena.Server.FrameAncestors,
		Relay:          n.relay,
		Webhooks:       n.webhooks(),
		SignIn:         n.outside.signIn(n.baseURL(o)),
		Receive:        bundle.Receiver{Dir: filepath.Join(o.Data, "uploads"), Limits: task.DefaultLimits()}.Receive,
		MaxJSON:        cfg.Arena.Limits.JSONBodyBytes,
		MaxBundle:      cfg.Arena.Limits.BundleBytes,
		Examine:        n.examine(o),
		Rates: server.Rates{
			Reads: cfg.Arena.Limits.ReadsPerMinute, Writes: cfg.Arena.Limits.WritesPerMinute,
			Failed: cfg.Arena.Limits.FailedPerMinute, Streams: cfg.Arena.Limits.StreamsPerOwner,
		},
		Client: n.clients.open,
	})
	if err != nil {
		return nil, err
	}
	if err := n.keep(o); err != nil {
		return nil, err
	}
	if err := n.measure(); err != nil {
		return nil, err
	}
	return n, resetDir(filepath.Join(o.Data, "uploads"))
}

// webhooks is what the server shows of the sender; nil, and no interface of a nil
// sender, when there is none.
func (n *node) webhooks() server.Webhooks {
	if n.hooks == nil {
		return nil
	}
	return n.hooks
}

// diskFloor is the store's, in bytes.
func diskFloor(cfg configs.Config) int64 {
	if cfg.Arena.Limits.DiskFloorMiB == 0 {
		return -1
	}
	return int64(cfg.Arena.Limits.DiskFloorMiB) << 20
}

// keep sets up the backups that the arena makes of itself. A mocked arena can be
// made again.
func (n *node) keep(o nodeOptions) error {
	b := n.config.Arena.Backups
	if b.EveryHours == 0 || n.mock != nil {
		return nil
	}
	dir := backupDir(n.config, o.Data)
	n.keeper = &backups.Keeper{
		Store: n.store, Dir: dir, Every: time.Duration(b.EveryHours) * time.Hour, Keep: b.Keep, Drill: b.Drill, Now: o.Now, Log: o.Log,
	}
	return backups.Sweep(dir)
}

// examine is what the doctor finds from inside the server: everything that is
// quick.
func (n *node) examine(o nodeOptions) func(context.Context) []protocol.Diagnosis {
	return func(ctx context.Context) []protocol.Diagnosis {
		d := &doctor{dir: n.store.Dir(), overlay: o.Configs, now: o.Now, getenv: o.Getenv, store: n.store}
		return d.examine(ctx)
	}
}

// resetDir empties the directory of unfinished uploads.
func resetDir(dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove unfinished uploads: %w", err)
	}
	return os.Mkdir(dir, 0o700)
}

func (n *node) baseURL(o nodeOptions) string {
	for _, u := range []string{o.BaseURL, n.config.Arena.Server.BaseURL} {
		if u != "" {
			return u
		}
	}
	return "http://" + n.listener.Addr().String()
}

func serverVersion(s *arena.Service, cfg configs.Config) (api.Version, error) {
	schema, err := store.SchemaVersion()
	b := build()
	return api.Version{
		Name: b.Name, Version: b.Version, Commit: b.Commit, Go: b.Go, SQLite: store.SQLiteVersion(), Schema: schema,
		GateSet: gates.GateSet, Provider: cfg.Arena.Providers.Default, Simulated: s.Simulated(),
	}, err
}

// newService wires the service from the configuration.
func newService(ctx context.Context, cfg configs.Config, st *store.Store, hosts map[protocol.RepoType]hub.Host, out *neighbours, sealed map[string]protocol.SealedSuite, o nodeOptions) (*arena.Service, error) {
	parts, err := arena.Configure(cfg)
	if err != nil {
		return nil, err
	}
	if parts.Providers, err = openProviders(ctx, cfg, st, parts.Challenges, o, out); err != nil {
		return nil, err
	}
	parts.JobURL = strings.TrimSuffix(cmp.Or(o.BaseURL, cfg.Arena.Server.BaseURL), "/")
	parts.Store, parts.Hosts, parts.People, parts.Sealed, parts.Now, parts.Logger = st, hosts, out.people, sealed, o.Now, o.Log
	if o.Gates != nil {
		parts.Judged = func(took time.Duration) { o.Gates.Observe(took.Seconds()) }
	}
	return arena.New(parts)
}

// newSimulated opens the provider that plays runs. Its directory is the outside
// world of a laptop arena: like a real service it outlives the process.
func newSimulated(cfg configs.Config, o nodeOptions) (*simulated.Provider, error) {
	settings := cfg.Arena.Providers.Simulated
	plan, err := simulated.ParsePlan(o.Fault)
	if err != nil {
		return nil, usagef("--fault: %w", err)
	}
	prices, err := arena.Prices(cfg)
	if err != nil {
		return nil, err
	}
	speed := settings.Speed
	if o.Speed > 0 {
		speed = o.Speed
	}
	return simulated.Open(simulated.Options{
		Dir: filepath.Join(o.Data, world.SimulatedDir), Now: o.Now, PricePerHour: prices, Speed: speed, Seed: uint64(settings.Seed),
		Fault: plan, FaultRate: settings.FaultRate, Kill: func() { _ = syscall.Kill(os.Getpid(), syscall.SIGKILL) },
	})
}

// Time limits of the HTTP server. Bodies and answers have their own, set for
// each route by package server.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	shutdownTimeout   = 8 * time.Second
)

// mcpPath is where clients of the Model Context Protocol connect.
const mcpPath = "/mcp"

// handler answers the arena's interface, and its tools at their own address.
func (n *node) handler() http.Handler {
	return n.server.Beside(mcpPath, mcpserver.MaxRequest, mcpserver.New(mcpserver.Options{Arena: n.server, Version: build().Version}))
}

// noCoreFiles keeps the memory of a process that crashes off the disk: it holds
// tokens that are nowhere else. Jobs on this machine may raise the limit again.
func noCoreFiles(log *slog.Logger) {
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit)
	if err == nil {
		limit.Cur = 0
		err = syscall.Setrlimit(syscall.RLIMIT_CORE, &limit)
	}
	if err != nil {
		log.Warn("a crash may leave a core file, which holds secrets", "error", err)
	}
}

// run answers requests and follows jobs until ctx ends, then stops in order:
// nothing new is accepted, streams close, requests finish, watchers end, the
// database is checkpointed.
func (n *node) run(ctx context.Context) error {
	noCoreFiles(n.log)
	var unused silent
	web := &http.Server{
		Handler: n.handler(), ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(n.log.Handler(), slog.LevelDebug), ConnState: unused.note,
	}
	web.RegisterOnShutdown(unused.close)
	watching, stopWatching := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWatching()
	relayed := make(chan struct{})
	go func() {
		defer close(relayed)
		if n.relay != nil {
			n.relay.Run(watching)
		}
	}()
	told := make(chan struct{})
	go func() {
		defer close(told)
		if n.hooks != nil {
			n.hooks.Run(watching)
		}
	}()
	watched := make(chan error, 1)
	go func() { watched <- n.service.Watch(watching) }()
	served := make(chan error, 1)
	go func() { served <- web.Serve(n.listener) }()
	backedUp := make(chan struct{})
	go func() {
		defer close(backedUp)
		if n.keeper != nil {
			n.keeper.Run(watching)
		}
	}()

	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
		n.log.Info("stopping")
		n.server.CloseStreams()
		if n.relay != nil {
			n.relay.Stop()
		}
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if web.Shutdown(grace) != nil {
			n.log.Warn("cut off what did not end", "after", shutdownTimeout)
			err = web.Close()
		}
		<-served
	}
	if n.relay != nil {
		n.relay.Close()
	}
	stopWatching()
	<-backedUp
	<-relayed
	<-told
	return errors.Join(err, <-watched, n.close())
}

// close gives the data directory back.
func (n *node) close() error {
	var err error
	if n.listener != nil {
		if e := n.listener.Close(); e != nil && !errors.Is(e, net.ErrClosed) {
			err = e
		}
	}
	if n.clients != nil {
		err = errors.Join(err, n.clients.close())
	}
	return errors.Join(err, n.outside.close(), n.store.Close())
}
