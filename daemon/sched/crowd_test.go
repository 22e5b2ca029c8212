package sched

import (
	"fmt"
	"maps"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// crowdedMachine describes a machine of 8 GPUs, and a queue of n jobs of some users. No two jobs
// have the same shape. GPU 7 is out of service, GPU 6 is free but has a foreign process, and jobs
// run on the other GPUs.
type crowdedMachine struct {
	users     int
	change    func(r *job.Request, i int)
	paused    bool // all GPUs are paused
	stoppable bool // running jobs are preemptible and have run for a slice
	reserved  bool // there are advance reservations: one has begun, the others begin later
}

func (x *crowdedMachine) build(n int) (*Snapshot, *Queue) {
	s, _ := crowded(0)
	s.GPUs, s.Running = s.GPUs[:8], s.Running[:6]
	for i := range s.GPUs {
		s.GPUs[i].Held = nil
	}
	for i := range s.Running {
		s.GPUs[i].Held = []Hold{{Job: s.Running[i].ID, Milli: job.WholeGPU}}
		s.Running[i].Preemptible = x.stoppable
	}
	s.GPUs[7].State = Drained
	s.GPUs[6].MemFreeBytes, s.GPUs[6].ForeignBytes, s.GPUs[6].LoadPercent = 70<<30, 10<<30, 50
	for i := range s.GPUs {
		if x.paused {
			s.GPUs[i].State = Paused
		}
	}
	if x.reserved {
		x.reserve(s)
	}
	q := NewQueue()
	users := make([]*Account, x.users)
	for i := range users {
		users[i] = &Account{UID: 1001 + i, Name: fmt.Sprint("u", i)}
	}
	for i := range n {
		r := &job.Request{GPUMilli: job.WholeGPU}
		x.change(r, i)
		q.Push(Waiting{
			ID: job.ID(i + 1), Request: r, Account: users[i%x.users], Since: s.Now - Instant(n-i)*Instant(time.Second), Expected: time.Hour, Count: 1,
		})
	}
	return s, q
}

func (x *crowdedMachine) reserve(s *Snapshot) {
	for i := range 3 {
		r := AdvanceReservation{GPUs: make([]bool, 8), From: s.Now.Add(time.Duration(i) * time.Hour), UIDs: []int{1001 + i}}
		r.GPUs[i], r.GPUs[i+1] = true, true
		r.To = r.From.Add(2 * time.Hour)
		s.Reserved = append(s.Reserved, r)
	}
}

func seconds(i int) job.Span { return job.Span(i+1) * job.Span(time.Second) }

// Each function of shapes changes the i-th request of an awkward queue, so that no two requests are
// alike.
var shapes = map[string]func(*job.Request, int){
	"all GPUs, a limit": func(r *job.Request, i int) { r.GPUMilli, r.TimeLimit = 8000, seconds(i) },
	"all GPUs, memory":  func(r *job.Request, i int) { r.GPUMilli, r.MemBytes = 8000, int64(i) },
	"one in use":        func(r *job.Request, i int) { r.GPUIDs, r.MaxUsedPercent, r.MemBytes = []int{6}, 1, int64(i) },
	"under load":        func(r *job.Request, i int) { r.GPUIDs, r.MaxLoadPercent, r.MemBytes = []int{6}, 1, int64(i) },
	"under load, GPU memory": func(r *job.Request, i int) {
		r.GPUIDs, r.MaxLoadPercent, r.GPUMemBytes = []int{6}, 1, 1<<30+int64(i)
	},
	"drained":    func(r *job.Request, i int) { r.GPUIDs, r.TimeLimit = []int{7}, seconds(i) },
	"seven GPUs": func(r *job.Request, i int) { r.GPUMilli, r.TimeLimit = 7000, seconds(i) },
	"two GPUs":   func(r *job.Request, i int) { r.GPUMilli, r.MemBytes = 2000, int64(i) },
	"GPU memory": func(r *job.Request, i int) { r.GPUMemBytes, r.MaxUsedPercent = 1<<30+int64(i), 1 },
	"behind another": func(r *job.Request, i int) {
		if r.MemBytes = int64(i); i == 0 {
			r.GPUMilli = 7000
		}
	},
	"GPU memory behind another": func(r *job.Request, i int) {
		if r.GPUMemBytes = int64(i); i == 0 {
			r.GPUMilli = 7000
		}
	},
	"preemptible": func(r *job.Request, i int) { r.GPUMilli, r.MemBytes, r.Preemptible = 7000, int64(i), true },
}

// awkwardStates are the states of the machine in which the shapes are tried.
var awkwardStates = map[string]crowdedMachine{
	"": {}, "/paused": {paused: true}, "/stoppable": {stoppable: true}, "/reserved": {stoppable: true, reserved: true},
}

// The work of a pass grows linearly with the number of shapes. Work that grew with the square of
// the queue would fail this test.
func TestAPassIsLinear(t *testing.T) {
	looks := func(x crowdedMachine, n int) int {
		s, q := x.build(n)
		p := NewPlanner()
		p.Plan(s, q)
		return p.pass.work
	}
	for name, change := range shapes {
		for state, x := range awkwardStates {
			for _, users := range []int{1, 50} {
				x.users, x.change = users, change
				const n = 1000
				few, many := looks(x, n), looks(x, 2*n)
				if float64(many) > 2.2*float64(few) || few > mostLooks*n+2*maxFailedShapes*users {
					t.Errorf("%s/%d%s: %d looks at %d jobs, %d at %d", name, users, state, few, n, many, 2*n)
				}
			}
		}
	}
}

// mostLooks is the maximum number of times that a pass looks at each shape. At an account's first
// shapes for which no reservation is possible, a pass looks more often.
const mostLooks = 9

// processorTime returns the processor time of this process. It depends less on other load on the
// machine than the elapsed time does.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkAwkward measures a pass over jobs of 20 000 shapes. None of them fits, and most of them
// get no reservation.
func BenchmarkAwkward(b *testing.B) {
	for _, name := range slices.Sorted(maps.Keys(shapes)) {
		for _, users := range []int{1, 50} {
			for state, x := range awkwardStates {
				x.users, x.change = users, shapes[name]
				b.Run(fmt.Sprintf("%s/%d%s", name, users, state), func(b *testing.B) {
					s, q := x.build(20_000)
					p := NewPlanner()
					p.Plan(s, q)
					b.ReportAllocs()
					before := processorTime(b)
					for b.Loop() {
						p.Plan(s, q)
					}
					b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
				})
			}
		}
	}
}
