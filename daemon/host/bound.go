package host

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Bounds of what the daemon takes of the machine's memory before it collects its
// garbage more often than it would by itself.
const (
	memoryPart = 32 // of the machine's
	memoryMin  = 512 << 20
	memoryMax  = 4 << 30
)

// BoundMemory has garbage collected in time on this machine, unless who runs the
// daemon says otherwise: goMemLimit is the environment's GOMEMLIMIT. It does not
// bound what is in use: a queue that is larger costs time instead, half of it at
// most. A bound that kills (MemoryMax=) or that stops the whole process for a while
// (MemoryHigh=) would come again after each restart, with the same queue.
func BoundMemory(goMemLimit string) {
	if ram, err := Memory(); err == nil && goMemLimit == "" { // else the supervisor says so
		debug.SetMemoryLimit(memoryLimit(ram))
	}
}

func memoryLimit(ram int64) int64 { return min(max(ram/memoryPart, memoryMin), memoryMax) }

// A queue of a hundred thousand is kept in some 190 MiB. Collected by the runtime's own rule, when
// there is as much garbage as what is in use, it would take twice that for good.
const (
	garbageFree = 16 << 20 // bytes of garbage that are no matter
	garbageWork = 64 << 20 // the same while much is being done
	garbageMost = 100      // percent of what is in use, the runtime's own
	garbageMin  = 25
)

// garbageBusy is how soon after another a collection says that much is being done: then it would cost
// a quarter of that to collect as soon as at rest.
const garbageBusy = 2 * time.Second

// BoundGarbage has garbage collected the sooner the more is in use, from now on, and less soon while much is done,
// unless who runs the daemon says otherwise: goGC is the environment's GOGC.
func BoundGarbage(goGC string) {
	if goGC == "" {
		new(garbage).bound(garbageBusy)
	}
}

// garbage is what decides when garbage is collected.
type garbage struct {
	busy time.Duration // that of garbageBusy

	sync.Mutex
	percent int       // in force
	last    time.Time // when it was collected
	over    bool      // decides no more
}

// bound begins.
func (g *garbage) bound(busy time.Duration) {
	g.busy, g.percent, g.last = busy, garbageMost, time.Now()
	debug.SetGCPercent(g.percent)
	g.afterEach()
}

// end leaves the percentage as it is from now on.
func (g *garbage) end() {
	g.Lock()
	defer g.Unlock()
	g.over = true
}

// afterEach looks after each collection at what is in use then.
func (g *garbage) afterEach() {
	type collected struct{ _ *byte } // a pointer, since what has none is not freed alone
	runtime.SetFinalizer(&collected{}, func(*collected) {
		in := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(in)
		g.Lock()
		defer g.Unlock()
		if in[0].Value.Kind() != metrics.KindUint64 || g.over {
			return
		}
		now := time.Now()
		want := garbagePercent(in[0].Value.Uint64(), now.Sub(g.last) < g.busy)
		if far := max(want-g.percent, g.percent-want) >= 5; far || want == garbageMost && want != g.percent {
			debug.SetGCPercent(want) // which stops the world for a moment
			g.percent = want
		}
		g.last = now
		g.afterEach()
	})
}

// garbagePercent is how much garbage there may be, of so many bytes that are in use.
func garbagePercent(live uint64, busy bool) int {
	free := uint64(garbageFree)
	if busy {
		free = garbageWork
	}
	return min(max(int(free*100/max(live, 1)), garbageMin), garbageMost)
}

// spareMost is how much memory beyond what is in use is not worth a collection to return.
const spareMost = 20 << 20

// ReturnMemory gives back to the machine what is not in use any more, where that is much: after the state is
// read, or a long bulk is done, nothing else would for a while. It reports whether it did.
func ReturnMemory() bool {
	in := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}, {Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
	}
	metrics.Read(in)
	var is [4]uint64
	for i := range in {
		if in[i].Value.Kind() != metrics.KindUint64 {
			return false
		}
		is[i] = in[i].Value.Uint64()
	}
	if is[1]+is[2]+is[3] < is[0]+spareMost {
		return false
	}
	debug.FreeOSMemory()
	return true
}
