package sched

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// forBob reserves GPUs for bob alone.
func (sc *scene) forBob(from, to time.Duration, gpus ...int) {
	sc.reserve(from, to, "for bob", gpus...).UIDs = []int{sc.user("bob").UID}
}

// If there are advance reservations, what a pass finds for one account need not hold for another
// account with the same request.
func TestReservationsConcernAccounts(t *testing.T) {
	t.Run("at the start", func(t *testing.T) {
		sc := newScene(t, 1)
		sc.forBob(-time.Hour, 10*time.Hour, 0)
		sc.queueJob(1, 1000)
		sc.queueJob(2, 1000, of(sc.user("bob")))
		sc.expect("start 2 on 0, keep 0 for 1 at +10h0m0s")
	})
	t.Run("behind others", func(t *testing.T) {
		sc := newScene(t, 3)
		sc.runJob(9, 20*time.Minute, onGPUs(2)...)
		sc.forBob(10*time.Minute, 10*time.Hour, 0)
		sc.queueJob(1, 2000, of(sc.user("carol")), asks(func(r *job.Request) { r.GPUsFrom = []int{1, 2} }))
		sc.queueJob(2, 1000, expected(30*time.Minute))
		sc.queueJob(3, 1000, expected(30*time.Minute), of(sc.user("bob")))
		sc.expect("start 3 on 0, keep 1+2 for 1 at +20m0s")
	})
}

// The planner asks to be woken only at moments in the future. If it named past moments, it would
// never sleep.
func TestWakesForWhatComes(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(sc *scene)
		want Instant
	}{
		"slice to come": {func(sc *scene) {
			sc.runJob(9, time.Hour, onGPUs(0)...).Preemptible = true
			sc.s.Policy.Slice = 2 * time.Hour
		}, noon.Add(time.Hour)},
		"slice at its end": {func(sc *scene) {
			sc.runJob(9, time.Hour, onGPUs(0)...).Preemptible = true
			sc.s.Policy.Slice = time.Hour
		}, noon.Add(preemptEvery)},
		"not preemptible":     {func(sc *scene) { sc.runJob(9, time.Hour, onGPUs(0)...); sc.s.Policy.Slice = 2 * time.Hour }, Never},
		"reservation to come": {func(sc *scene) { sc.runJob(9, time.Hour, onGPUs(0)...); sc.forBob(time.Minute, time.Hour, 0) }, noon.Add(time.Minute)},
		"reservation begins":  {func(sc *scene) { sc.runJob(9, time.Hour, onGPUs(0)...); sc.forBob(0, time.Hour, 0) }, noon.Add(time.Hour)},
		"reservation ends":    {func(sc *scene) { sc.runJob(9, time.Hour, onGPUs(0)...); sc.forBob(-time.Hour, 0, 0) }, Never},
	} {
		sc := newScene(t, 1)
		c.set(sc)
		sc.queueJob(1, 1000, of(sc.user("bob")))
		if got := sc.p.Plan(&sc.s, sc.q).Wake; got != c.want {
			t.Errorf("%s: at +%s, want +%s", name, time.Duration(got-noon), time.Duration(c.want-noon))
		}
	}
}

// A moment that would overflow is Never.
func TestMomentsDoNotOverflow(t *testing.T) {
	for _, c := range []struct {
		at   Instant
		by   time.Duration
		want Instant
	}{
		{noon, time.Hour, noon + Instant(time.Hour)}, {noon, 0, noon}, {noon, -time.Hour, noon - Instant(time.Hour)},
		{Never, time.Hour, Never}, {Never - 1, 2, Never}, {Never - 2, 1, Never - 1}, {noon, 1<<63 - 1, Never},
	} {
		if got := c.at.Add(c.by); got != c.want {
			t.Errorf("%d and %d is %d, want %d", c.at, c.by, got, c.want)
		}
	}
}

// After the machine has changed, a queue determines again which GPUs can serve a request.
func TestChangedMachine(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.GPUs[0].Model = "Tesla T4"
	sc.queueJob(1, 1000, asks(func(r *job.Request) { r.GPUType = "a100" }))
	sc.expect("wait")
	sc.s.GPUs[0].Model, sc.s.Machine = "NVIDIA A100-SXM4-80GB", 2
	sc.expect("start 1 on 0")
}

// The queue keeps exactly the shapes of its jobs.
func TestShapesAreForgotten(t *testing.T) {
	sc := newScene(t, 1)
	sc.queueJob(1, 1000)
	sc.queueJob(2, 1000, of(sc.user("bob")))
	var left []int
	for id := range job.ID(3) {
		sc.q.Remove(id)
		left = append(left, len(sc.q.shapes))
	}
	if fmt.Sprint(left) != "[1 1 0]" {
		t.Errorf("after each of them was taken out there are %v", left)
	}
}

// Jobs that came at the same moment are ordered by id, in whatever order they were pushed.
func TestIDsAmongEquals(t *testing.T) {
	sc := newScene(t, 1)
	for _, id := range []job.ID{2, 4, 1, 3} {
		sc.queueJob(id, 1000, func(w *Waiting) { w.Since = noon })
	}
	if got := fmt.Sprint(sc.p.Ordered(&sc.s, sc.q, -1)); got != "[1 2 3 4]" {
		t.Errorf("the order is %s", got)
	}
	if got := sc.plan(); !strings.HasPrefix(got, "start 1 on 0, keep 0 for 2 ") {
		t.Errorf("planned: %s", got)
	}
}

// An advance reservation gives a GPU to its users from its start until just before its end.
func TestOwnsWhatIsReserved(t *testing.T) {
	for _, c := range []struct {
		from, to time.Duration
		want     bool
	}{
		{-time.Hour, time.Hour, true}, {0, time.Hour, true}, {1, time.Hour, false}, {-time.Hour, 1, true}, {-time.Hour, 0, false}, {-2 * time.Hour, -time.Hour, false},
	} {
		sc := newScene(t, 2)
		sc.forBob(c.from, c.to, 1)
		sc.p.Plan(&sc.s, sc.q)
		if got := sc.s.ownsGPU(sc.user("bob"), 1); got != c.want {
			t.Errorf("reserved from +%s to +%s: %t", c.from, c.to, got)
		}
		if sc.s.ownsGPU(sc.user("bob"), 0) || sc.s.ownsGPU(sc.user("ann"), 1) {
			t.Errorf("reserved from +%s to +%s: another GPU, or for another", c.from, c.to)
		}
	}
}

// A pass makes at most maxDepth reservations.
func TestDepthIsBounded(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.ReservationDepth = maxDepth + 5
	sc.runJob(101, time.Hour, onGPUs(0)...)
	for id := range job.ID(maxDepth + 5) {
		sc.queueJob(id+1, 1000)
	}
	if n := len(sc.p.Plan(&sc.s, sc.q).Backfill); n != maxDepth {
		t.Errorf("%d reservations", n)
	}
}

// If memory is reserved as a share of a GPU, the rest of the memory is left to other jobs. If it is
// reserved in bytes, the rest minus the slack is left.
func TestMemoryBesideWhatIsKept(t *testing.T) {
	for bytes, want := range map[int64]string{
		0:      "start 2 on 400m of 0, keep 600m of 0 for 1 at +1h0m0s",
		48_000: "keep 600m of 0 for 1 at +1h0m0s",
	} {
		sc := newScene(t, 1)
		g := &sc.s.GPUs[0]
		g.UsableBytes, g.MemFreeBytes, g.SlackBytes = 80_000, 80_000, 10
		sc.runJob(101, time.Hour, Grant{GPU: 0, Milli: 500, Bytes: 40_000})
		sc.queueJob(1, 600, asks(func(r *job.Request) { r.GPUMemBytes = bytes }))
		sc.queueJob(2, 400, expected(2*time.Hour), asks(func(r *job.Request) { r.GPUMemBytes = 32_000 }))
		sc.expect(want)
	}
}

// A user with an advance reservation may get no backfill reservation, because only load keeps the
// user's job waiting. A job of another user with the same shape may still get one.
func TestKeptAfterAnotherInVain(t *testing.T) {
	sc := newScene(t, 1)
	sc.s.Policy.MaxLoadPercent, sc.s.GPUs[0].LoadPercent = 50, 60
	bob := sc.user("bob")
	sc.reserve(0, time.Hour, "for bob", 0).UIDs = []int{bob.UID}
	sc.queueJob(1, 1000, of(bob))
	sc.queueJob(2, 1000)
	sc.expect("keep 0 for 2 at +1h0m0s")
}
