package main

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/jobs"
)

// Metrics of what only the composition root can see: the store, the backups and
// the calls to providers. Those of requests and of the ledger are the server's.

// newErrorCounter counts calls to providers that failed.
func newErrorCounter() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "arena_provider_errors_total", Help: "Calls to providers that failed, by provider, call and kind (refused, unknown, unreachable, no-job).",
	}, []string{"provider", "call", "kind"})
}

// newGatesHistogram measures the static gates.
func newGatesHistogram() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "arena_gates_seconds", Help: "Time that the static gates took for one collection.", Buckets: []float64{.01, .05, .2, 1, 5, 20, 60},
	})
}

// measure registers the metrics of this process beside the server's.
func (n *node) measure() error {
	for _, c := range []prometheus.Collector{n.errors, n.gates, &operations{n}} {
		if err := n.server.Registry().Register(c); err != nil {
			return err
		}
	}
	return nil
}

// operations reads how the arena stands when it is asked.
type operations struct{ n *node }

// metric is one number that operations reports.
type metric struct {
	name, help string
	counter    bool
	label      string // name of its one label; empty for none
}

// The numbers of operations.
func operationMetrics() map[string]metric {
	return map[string]metric{
		"runs":        {"arena_runs", "Runs by state.", false, "state"},
		"queue":       {"arena_queue_oldest_seconds", "Age of the oldest run that is queued; 0 when none is.", false, ""},
		"waits":       {"arena_write_waits_total", "Writes that waited for the one connection that writes.", true, ""},
		"waited":      {"arena_write_wait_seconds_total", "How long writes waited for it in all.", true, ""},
		"database":    {"arena_database_bytes", "Size of the database file.", false, ""},
		"wal":         {"arena_database_wal_bytes", "Size of its write-ahead log.", false, ""},
		"free":        {"arena_disk_free_bytes", "Free bytes beside it.", false, ""},
		"backups":     {"arena_backups", "Scheduled backups that are kept.", false, ""},
		"backup-age":  {"arena_backup_age_seconds", "Age of the newest scheduled backup; absent when there is none.", false, ""},
		"hooks":       {"arena_webhook_deliveries", "Deliveries to the configured webhooks, by outcome: pending until it is known; delivered and failed are kept for 30 days.", false, "outcome"},
		"hook-wait":   {"arena_webhook_oldest_pending_seconds", "Age of the oldest delivery that a webhook has not taken yet; 0 when none waits.", false, ""},
		"backup-fail": {"arena_backup_failed", "1 when the last scheduled backup or its restore drill failed.", false, ""},
	}
}

func (m metric) desc() *prometheus.Desc {
	var labels []string
	if m.label != "" {
		labels = []string{m.label}
	}
	return prometheus.NewDesc(m.name, m.help, labels, nil)
}

// Describe implements prometheus.Collector.
func (o *operations) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range operationMetrics() {
		ch <- m.desc()
	}
}

// Collect implements prometheus.Collector.
func (o *operations) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	all := operationMetrics()
	send := func(key string, value float64, labels ...string) {
		kind := prometheus.GaugeValue
		if all[key].counter {
			kind = prometheus.CounterValue
		}
		ch <- prometheus.MustNewConstMetric(all[key].desc(), kind, value, labels...)
	}
	st, now := o.n.store, o.n.now()
	if database, wal, free, err := st.Disk(); err == nil {
		send("database", float64(database))
		send("wal", float64(wal))
		send("free", float64(free))
	}
	waits, waited := st.WriteQueue()
	send("waits", float64(waits))
	send("waited", waited.Seconds())
	if counts, err := st.RunCounts(ctx, ""); err == nil {
		byState := map[protocol.RunState]int{}
		for _, c := range counts {
			byState[c.State] += c.Runs
		}
		for _, state := range []protocol.RunState{protocol.RunQueued, protocol.RunRunning, protocol.RunScored, protocol.RunFailed, protocol.RunCanceled} {
			send("runs", float64(byState[state]), string(state))
		}
	}
	if live, _, err := st.Runs(ctx, protocol.RunFilter{Live: true}, protocol.Page{Limit: protocol.MaxPage}); err == nil {
		oldest := 0.0
		for _, r := range live {
			if r.State == protocol.RunQueued {
				oldest = max(oldest, now.Sub(r.CreatedAt).Seconds())
			}
		}
		send("queue", oldest)
	}
	if hooks, err := st.HookHealth(ctx); err == nil {
		var sum protocol.HookHealth
		oldest := 0.0
		for _, h := range hooks {
			if _, on := o.n.config.Arena.Webhooks[h.Name]; !on {
				continue // what waits for one that was taken out would alarm for ever
			}
			sum.Pending, sum.Delivered, sum.Failed = sum.Pending+h.Pending, sum.Delivered+h.Delivered, sum.Failed+h.Failed
			if h.Pending > 0 {
				oldest = max(oldest, now.Sub(h.Oldest).Seconds())
			}
		}
		for state, n := range map[protocol.DeliveryState]int{protocol.DeliveryPending: sum.Pending, protocol.DeliveryDelivered: sum.Delivered, protocol.DeliveryFailed: sum.Failed} {
			send("hooks", float64(n), string(state))
		}
		send("hook-wait", oldest)
	}
	if o.n.keeper == nil {
		return
	}
	backed := o.n.keeper.State()
	send("backups", float64(backed.Count))
	failed := 0.0
	if backed.Err != nil {
		failed = 1
	}
	send("backup-fail", failed)
	if !backed.Newest.IsZero() {
		send("backup-age", now.Sub(backed.Newest).Seconds())
	}
}

// counting counts the failures of a provider's calls.
func counting(p jobs.Provider, errors *prometheus.CounterVec) jobs.Provider {
	if errors == nil {
		return p
	}
	counted := &countedProvider{p, errors}
	if m, ok := p.(jobs.Mirror); ok {
		return &countedMirror{counted, m}
	}
	return counted
}

// countedMirror is a provider that keeps copies of collections.
type countedMirror struct {
	*countedProvider
	mirror jobs.Mirror
}

// Mirror implements jobs.Mirror.
func (p *countedMirror) Mirror(ctx context.Context, collection string, source protocol.Source, paths []string, files fs.FS) (protocol.Source, error) {
	s, err := p.mirror.Mirror(ctx, collection, source, paths, files)
	p.count("mirror", err)
	return s, err
}

type countedProvider struct {
	jobs.Provider
	errors *prometheus.CounterVec
}

func (p *countedProvider) count(call string, err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	kind := "unreachable"
	for word, is := range map[string]error{"refused": jobs.ErrRefused, "unknown": jobs.ErrUnknown, "no-job": jobs.ErrNoJob} {
		if errors.Is(err, is) {
			kind = word
		}
	}
	p.errors.WithLabelValues(p.Name(), call, kind).Inc()
}

// Hardware implements jobs.Provider.
func (p *countedProvider) Hardware(ctx context.Context) ([]jobs.Flavor, error) {
	f, err := p.Provider.Hardware(ctx)
	p.count("hardware", err)
	return f, err
}

// Start implements jobs.Provider.
func (p *countedProvider) Start(ctx context.Context, spec jobs.Spec) (jobs.Job, error) {
	j, err := p.Provider.Start(ctx, spec)
	p.count("start", err)
	return j, err
}

// Inspect implements jobs.Provider.
func (p *countedProvider) Inspect(ctx context.Context, id string) (jobs.Job, error) {
	j, err := p.Provider.Inspect(ctx, id)
	p.count("inspect", err)
	return j, err
}

// Find implements jobs.Provider.
func (p *countedProvider) Find(ctx context.Context, run string) ([]jobs.Job, error) {
	j, err := p.Provider.Find(ctx, run)
	p.count("find", err)
	return j, err
}

// Cancel implements jobs.Provider.
func (p *countedProvider) Cancel(ctx context.Context, id string) error {
	err := p.Provider.Cancel(ctx, id)
	p.count("cancel", err)
	return err
}

// Logs implements jobs.Provider.
func (p *countedProvider) Logs(ctx context.Context, id string, after int64) iter.Seq2[jobs.Line, error] {
	return func(yield func(jobs.Line, error) bool) {
		for line, err := range p.Provider.Logs(ctx, id, after) {
			p.count("logs", err)
			if !yield(line, err) {
				return
			}
		}
	}
}

// Artifacts implements jobs.Provider.
func (p *countedProvider) Artifacts(ctx context.Context, id string) (fs.FS, error) {
	files, err := p.Provider.Artifacts(ctx, id)
	p.count("artifacts", err)
	return files, err
}
