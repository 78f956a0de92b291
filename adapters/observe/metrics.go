// Package observe is what makes a silent core visible: decorators around ports and use cases that count, time and log,
// and the one list of all metrics. No label carries a code, a customer or an order.
package observe

import (
	"database/sql"
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Metrics are all the metrics of a process. Times are in seconds. Safe for concurrent use.
type Metrics struct {
	registry *prometheus.Registry

	requests        *prometheus.CounterVec
	requestDuration *prometheus.HistogramVec
	reserves        *prometheus.CounterVec
	reserveDuration *prometheus.HistogramVec
	batchSize       *prometheus.HistogramVec
	outcomeUnknown  *prometheus.CounterVec
	refused         prometheus.Counter
	expired         prometheus.Counter
	expiryLag       prometheus.Gauge
	expiryFailures  prometheus.Counter
	clockSkew       prometheus.Gauge
	dependencyUp    *prometheus.GaugeVec
}

// latencies are the bounds of the histograms: from what memory answers in to what a request may take, with the promise
// of 100 ms among them.
var latencies = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2, 5}

// New returns the metrics of a process of the given version.
func New(version string) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	seconds := func(name, help string, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: latencies}, labels)
	}
	m := &Metrics{
		registry:        prometheus.NewRegistry(),
		requests:        counter("voucherd_http_requests_total", "Requests answered, by route, status and error code.", "route", "status", "error"),
		requestDuration: seconds("voucherd_http_request_duration_seconds", "Time from the request's head to its answer.", "route"),
		reserves:        counter("voucherd_reserve_total", "Reserve requests decided, by the mode that decided and the result.", "mode", "result"),
		reserveDuration: seconds("voucherd_reserve_duration_seconds", "Time that a reserve takes to be decided and stored, together with those that were taken along.", "mode"),
		batchSize: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "voucherd_batch_size", Help: "Requests taken together.", Buckets: prometheus.ExponentialBuckets(1, 2, 11),
		}, []string{"stage"}),
		outcomeUnknown: counter("voucherd_outcome_unknown_total", "Writes of which it is not known whether they happened.", "stage"),
		refused:        prometheus.NewCounter(prometheus.CounterOpts{Name: "voucherd_refused_writes_total", Help: "Decisions that a constraint of the store refused: drift, or a defect."}),
		expired:        prometheus.NewCounter(prometheus.CounterOpts{Name: "voucherd_expired_total", Help: "Reservations that this process's expiry job ended."}),
		expiryLag:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "voucherd_expiry_lag_seconds", Help: "How far past its deadline the oldest reservation was when the expiry job last looked."}),
		expiryFailures: prometheus.NewCounter(prometheus.CounterOpts{Name: "voucherd_expiry_failures_total", Help: "Runs of the expiry job that left something undone."}),
		clockSkew:      prometheus.NewGauge(prometheus.GaugeOpts{Name: "voucherd_clock_skew_seconds", Help: "The database's clock minus this process's."}),
	}
	m.dependencyUp = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "voucherd_dependency_up", Help: "1 while a server that this process uses answers, else 0.",
	}, []string{"name"})
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "voucherd_build_info", Help: "Always 1; the labels say what runs.",
		ConstLabels: prometheus.Labels{"version": version, "go_version": runtime.Version()},
	})
	build.Set(1)
	m.registry.MustRegister(m.requests, m.requestDuration, m.reserves, m.reserveDuration, m.batchSize, m.outcomeUnknown,
		m.refused, m.expired, m.expiryLag, m.expiryFailures, m.clockSkew, m.dependencyUp, build,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics in the format of Prometheus.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// Request notes one answered request; errorCode is empty for a success.
func (m *Metrics) Request(route string, status int, errorCode string, d time.Duration) {
	m.requests.WithLabelValues(route, strconv.Itoa(status), errorCode).Inc()
	m.requestDuration.WithLabelValues(route).Observe(d.Seconds())
}

// Queue shows a queue: what waits in it, and what it turned away.
func (m *Metrics) Queue(name string, stats func() (waiting int, turnedAway uint64)) {
	labels := prometheus.Labels{"queue": name}
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "voucherd_queue_depth", Help: "Requests that wait in a queue.", ConstLabels: labels},
			func() float64 { n, _ := stats(); return float64(n) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "voucherd_queue_rejected_total", Help: "Requests that a full queue turned away.", ConstLabels: labels},
			func() float64 { _, n := stats(); return float64(n) }),
	)
}

// Pool shows a database pool under its name.
func (m *Metrics) Pool(name string, db *sql.DB) {
	m.registry.MustRegister(collectors.NewDBStatsCollector(db, name))
}
