package host

import (
	"runtime/debug"
	"runtime/metrics"
)

// If the daemon uses more memory than this, it collects its garbage more often than it would by
// itself.
const (
	memoryPart = 32 // the part of the machine's memory
	memoryMin  = 512 << 20
	memoryMax  = 4 << 30
)

// BoundMemory sets the runtime's memory limit by the memory of this machine. It does nothing if
// goMemLimit, the environment's GOMEMLIMIT, is set. The limit does not bound the memory in use: a
// larger queue costs CPU time, at most half of it. A limit that kills the process (MemoryMax=), or
// that makes it wait (MemoryHigh=), would be reached again after each restart, with the same queue.
func BoundMemory(goMemLimit string) {
	if ram, err := Memory(); err == nil && goMemLimit == "" { // if the memory is unknown, there is no limit
		debug.SetMemoryLimit(memoryLimit(ram))
	}
}

func memoryLimit(ram int64) int64 { return min(max(ram/memoryPart, memoryMin), memoryMax) }

// A queue of 100 000 jobs needs about 190 MiB. The runtime collects garbage when there is as much
// of it as memory in use: the process would keep twice the memory that it needs.
const (
	garbageFree = 32 << 20 // bytes of garbage that do no harm
	garbageMax  = 100      // percent of the memory in use; the default of the runtime
	garbageMin  = 25
)

// BoundGarbage makes the runtime collect garbage sooner if more memory is in use. It does nothing
// if goGC, the environment's GOGC, is set.
func BoundGarbage(goGC string) {
	now, known := readMetrics("/gc/heap/live:bytes", "/gc/gogc:percent")
	if !known || goGC != "" {
		return
	}
	if percent := garbagePercent(now[0]); uint64(percent) != now[1] { // a change stops all goroutines for a moment
		debug.SetGCPercent(percent)
	}
}

// garbagePercent returns how much garbage there may be, in percent of the bytes in use.
func garbagePercent(live uint64) int {
	return min(max(int(garbageFree*100/max(live, 1)), garbageMin), garbageMax)
}

// ReturnMemory does nothing if the process has less than maxSpare bytes more than it uses.
const maxSpare = 20 << 20

// ReturnMemory gives unused memory back to the machine, and reports whether it did. After the state
// is read, or after a long bulk, nothing else would do this for a while.
func ReturnMemory() bool {
	is, known := readMetrics("/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes",
		"/memory/classes/heap/unused:bytes")
	if !known || is[1]+is[2]+is[3] < is[0]+maxSpare {
		return false
	}
	debug.FreeOSMemory()
	return true
}

// readMetrics reads metrics of the runtime. known is false if one of them does not exist.
func readMetrics(names ...string) (is []uint64, known bool) {
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
