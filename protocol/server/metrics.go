package server

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/posttrainarena/arena/protocol"
	"github.com/posttrainarena/arena/protocol/arena"
)

// metrics counts what the server does and reads the ledger when it is asked.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	streams  prometheus.Gauge
}

func newMetrics(service *arena.Service) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "arena_http_requests_total", Help: "Requests answered, by route, method and status."}, []string{"route", "method", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "arena_http_request_seconds", Help: "Time to answer, by route.", Buckets: []float64{.001, .005, .02, .1, .5, 2, 10, 60},
		}, []string{"route"}),
		streams: prometheus.NewGauge(prometheus.GaugeOpts{Name: "arena_event_streams", Help: "Open event streams."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.streams, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newLedgerCollector(service))
	return m
}

func (m *metrics) observe(route, method string, status int, took time.Duration) {
	if method != http.MethodGet && method != http.MethodPost {
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Inc()
	m.seconds.WithLabelValues(route).Observe(took.Seconds())
}

func (s *Server) serveMetrics(c *call) error {
	promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}).ServeHTTP(c.w, c.r)
	return nil
}

// ledgerCollector reports the ledger as of the moment it is read.
type ledgerCollector struct {
	service *arena.Service
	desc    *prometheus.Desc
}

func newLedgerCollector(service *arena.Service) *ledgerCollector {
	return &ledgerCollector{service, prometheus.NewDesc("arena_ledger_usd", "The compute ledger in US dollars, by part.", []string{"part"}, nil)}
}

// Describe names the one metric.
func (l *ledgerCollector) Describe(ch chan<- *prometheus.Desc) { ch <- l.desc }

// Collect reads the ledger.
func (l *ledgerCollector) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	ledger, err := l.service.Budget(ctx)
	if err != nil {
		ch <- prometheus.NewInvalidMetric(l.desc, err)
		return
	}
	for part, amount := range map[string]protocol.Micros{
		"cap": ledger.Cap, "prior": ledger.Prior, "settled": ledger.Settled, "reserved": ledger.Live,
		"recorded": ledger.Recorded, "committed": ledger.Committed(), "remaining": ledger.Remaining(),
	} {
		ch <- prometheus.MustNewConstMetric(l.desc, prometheus.GaugeValue, float64(amount)/float64(protocol.Dollar), part)
	}
}
