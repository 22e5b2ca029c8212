//go:build machine

package systemd

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpusched/gpusched/units"
)

// BenchmarkMachineCycle takes units with every property of a job through start, end, status and
// stop: the minimum cost of a job. The latency is that of Start, from the call to the unit's first
// status.
func BenchmarkMachineCycle(b *testing.B) {
	for _, inFlight := range []int{1, 4, 8} {
		b.Run(fmt.Sprintf("in-flight=%d", inFlight), func(b *testing.B) { benchCycle(b, inFlight) })
	}
}

func benchCycle(b *testing.B, inFlight int) {
	m, err := Connect(b.Context(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	wake := listenAll(m)
	starts := make([]time.Duration, b.N)
	var next atomic.Int64
	var workers sync.WaitGroup
	b.ResetTimer()
	for range inFlight {
		workers.Go(func() {
			for id := next.Add(1); id <= int64(b.N); id = next.Add(1) {
				took, err := cycle(b.Context(), m, wake, id)
				if err != nil {
					b.Error(err)
					return
				}
				starts[id-1] = took
			}
		})
	}
	workers.Wait()
	b.StopTimer()
	slices.Sort(starts)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "units/s")
	b.ReportMetric(float64(starts[b.N/2].Microseconds())/1000, "start-p50-ms")
	b.ReportMetric(float64(starts[b.N*99/100].Microseconds())/1000, "start-p99-ms")
}

// listenAll returns a function that returns a unit's channel. The channel gets a value when the
// unit changes. The goroutine of listenAll ends with the manager.
func listenAll(m *Manager) func(name string) chan struct{} {
	var all sync.Map
	of := func(name string) chan struct{} {
		ch, _ := all.LoadOrStore(name, make(chan struct{}, 1))
		return ch.(chan struct{})
	}
	go func() {
		for c := range m.Changes() {
			select {
			case of(c.Name) <- struct{}{}:
			default:
			}
		}
	}()
	return of
}

func cycle(ctx context.Context, m *Manager, wake func(string) chan struct{}, id int64) (time.Duration, error) {
	s := spec(id, "/nonexistent")
	s.Launcher = "/bin/true"
	name := units.Name(id)
	begin := time.Now()
	status, err := m.Start(ctx, name, units.Properties(s))
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	for {
		if phase, _ := units.Decode(status); phase == units.PhaseExited {
			break
		}
		<-wake(name)
		if status, err = m.Status(ctx, name); err != nil {
			return 0, err
		}
	}
	return took, m.Stop(ctx, name)
}
