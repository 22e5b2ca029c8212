package sched

import (
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/predict"
)

// deepestReservations is the maximum value of scheduling.reservation_depth.
const deepestReservations = 16

// dear has machines on which a forecast is expensive: all 64 GPUs are in use, and 10 000 waiting
// jobs all have different requests.
var dear = map[string]func(s *Snapshot, r *job.Request, i int){
	"limits": func(_ *Snapshot, r *job.Request, i int) { r.TimeLimit = seconds(i) },
	"memory": func(_ *Snapshot, r *job.Request, i int) { r.MemBytes = int64(i + 1) },
	"parts": func(_ *Snapshot, r *job.Request, i int) {
		r.GPUMilli, r.GPUMemBytes = 10*(1+i%99), 1<<30+int64(i)
	},
	"deep": func(s *Snapshot, r *job.Request, i int) {
		s.Policy.ReservationDepth, r.TimeLimit = deepestReservations, seconds(i)
	},
	"stoppable": func(s *Snapshot, r *job.Request, i int) {
		s.Policy.ReservationDepth, s.Policy.Slice = deepestReservations, 10*time.Minute
		r.Preemptible, r.MemBytes = true, int64(i+1)
	},
}

// dearForecast returns one of the machines of dear, with estimates that have a wide spread.
func dearForecast(name string) (*Planner, *Snapshot, *Queue, func(job.ID) *predict.Estimate) {
	s, _ := crowded(0)
	wide := knownEstimate(time.Hour, 2)
	q, users := NewQueue(), s.Running[:50]
	for i := range s.Running {
		s.Running[i].Preemptible = name == "stoppable"
		s.Running[i].Request = &job.Request{GPUMilli: job.WholeGPU, Preemptible: name == "stoppable"}
	}
	for i := range 10_000 {
		r := &job.Request{GPUMilli: (1 + i%8) * job.WholeGPU}
		dear[name](s, r, i)
		q.Push(Waiting{
			ID: job.ID(i + 1), Request: r, Account: users[i%50].Account, Expected: time.Minute << (i % 11), Count: 1,
			Since: s.Now - Instant(48*time.Hour) + Instant(i),
		})
	}
	return NewPlanner(), s, q, func(job.ID) *predict.Estimate { return &wide }
}

// BenchmarkForecastOfShapes forecasts the first 200 starts in 19 futures, while all jobs differ in
// shape. It measures processor time, and the memory that the forecast takes.
func BenchmarkForecastOfShapes(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(dear)) {
		b.Run(name, func(b *testing.B) {
			p, s, q, estimated := dearForecast(name)
			var was, is runtime.MemStats
			passes, bytes, before := 0, uint64(0), processorTime(b)
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&was)
				f := p.Forecast(s, q, estimated)
				startsOf(f)
				runtime.GC()
				runtime.ReadMemStats(&is)
				if passes, bytes = 0, is.HeapAlloc-was.HeapAlloc; len(f.futures) != manyFutures {
					b.Fatalf("%d futures", len(f.futures))
				}
				for _, one := range f.futures {
					passes += one.passes
				}
			}
			b.ReportMetric(float64((processorTime(b)-before).Milliseconds())/float64(b.N), "cpu-ms/op")
			b.ReportMetric(float64(bytes)/(1<<20), "MiB")
			b.ReportMetric(float64(passes), "passes")
		})
	}
}
