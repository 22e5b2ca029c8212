package host

import (
	"runtime/debug"
	"runtime/metrics"
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
	garbageFree = 32 << 20 // bytes of garbage that are no matter
	garbageMost = 100      // percent of what is in use, the runtime's own
	garbageMin  = 25
)

// BoundGarbage has garbage collected the sooner the more is in use now, unless who runs the daemon says
// otherwise: goGC is the environment's GOGC.
func BoundGarbage(goGC string) {
	now, known := measured("/gc/heap/live:bytes", "/gc/gogc:percent")
	if !known || goGC != "" {
		return
	}
	if percent := garbagePercent(now[0]); uint64(percent) != now[1] { // setting it stops the world
		debug.SetGCPercent(percent)
	}
}

// garbagePercent is how much garbage there may be, of so many bytes that are in use.
func garbagePercent(live uint64) int {
	return min(max(int(garbageFree*100/max(live, 1)), garbageMin), garbageMost)
}

// spareMost is how much memory beyond what is in use is not worth a collection to return.
const spareMost = 20 << 20

// ReturnMemory gives back to the machine what is not in use any more, where that is much: after the state is
// read, or a long bulk is done, nothing else would for a while. It reports whether it did.
func ReturnMemory() bool {
	is, known := measured("/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes",
		"/memory/classes/heap/unused:bytes")
	if !known || is[1]+is[2]+is[3] < is[0]+spareMost {
		return false
	}
	debug.FreeOSMemory()
	return true
}

// measured reads what the runtime measures; false where it does not.
func measured(names ...string) (is []uint64, known bool) {
	for _, name := range names {
		in := []metrics.Sample{{Name: name}}
		metrics.Read(in)
		if in[0].Value.Kind() != metrics.KindUint64 {
			return nil, false
		}
		is = append(is, in[0].Value.Uint64())
	}
	return is, true
}
