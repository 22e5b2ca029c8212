package host

import (
	"runtime/debug"
	"runtime/metrics"
)

// The range of the runtime's memory limit. If the daemon uses more memory than the limit, the Go
// runtime collects garbage more often.
const (
	memoryPart = 32 // the limit is this fraction of the machine's memory
	memoryMin  = 512 << 20
	memoryMax  = 4 << 30
)

// BoundMemory sets the Go runtime's memory limit, which depends on the machine's memory. It does
// nothing if goMemLimit, the environment's GOMEMLIMIT, is set. The process can still use more
// memory than the limit, but collecting garbage then takes up to half of its CPU time. A hard limit
// would kill the process (MemoryMax=) or slow it down (MemoryHigh=), and each restarted process
// would reach the limit again with the same queue.
func BoundMemory(goMemLimit string) {
	if ram, err := Memory(); err == nil && goMemLimit == "" { // no limit if the memory is unknown
		debug.SetMemoryLimit(memoryLimit(ram))
	}
}

func memoryLimit(ram int64) int64 { return min(max(ram/memoryPart, memoryMin), memoryMax) }

// Limits of the garbage. A queue of 100 000 jobs needs about 190 MiB.
// By default, the Go runtime collects garbage when there is as much garbage as memory in use. With
// a long queue, the process would then keep twice the memory that it needs. With a short queue,
// collecting would take a seventh of the processor time of short jobs.
const (
	garbageFree = 32 << 20 // bytes of garbage that do no harm
	garbageMax  = 400      // percent of the memory in use
	garbageMin  = 25
)

// BoundGarbage sets how much garbage the runtime allows, as a percentage of the memory in use. The
// more memory is in use, the lower the percentage. It does nothing if goGC, the environment's GOGC,
// is set.
func BoundGarbage(goGC string) {
	now, known := readMetrics("/gc/heap/live:bytes", "/gc/gogc:percent")
	if !known || goGC != "" {
		return
	}
	if percent := garbagePercent(now[0]); uint64(percent) != now[1] { // a change stops all goroutines briefly
		debug.SetGCPercent(percent)
	}
}

// garbagePercent returns how much garbage is allowed, in percent of the bytes in use.
func garbagePercent(live uint64) int {
	return min(max(int(garbageFree*100/max(live, 1)), garbageMin), garbageMax)
}

// maxSpare is the number of unused bytes that ReturnMemory lets the process keep.
const maxSpare = 8 << 20

// ReturnMemory returns unused memory to the machine, and reports whether it did so. After the state
// file was read, for example, the runtime itself would return the memory only later.
func ReturnMemory() bool {
	is, known := readMetrics("/gc/heap/live:bytes", "/memory/classes/heap/objects:bytes", "/memory/classes/heap/free:bytes",
		"/memory/classes/heap/unused:bytes")
	if !known || is[1]+is[2]+is[3] < is[0]+maxSpare {
		return false
	}
	debug.FreeOSMemory()
	return true
}

// readMetrics reads metrics of the runtime. The result known is false if any of them does not
// exist.
func readMetrics(names ...string) (values []uint64, known bool) {
	for _, name := range names {
		in := []metrics.Sample{{Name: name}}
		metrics.Read(in)
		if in[0].Value.Kind() != metrics.KindUint64 {
			return nil, false
		}
		values = append(values, in[0].Value.Uint64())
	}
	return values, true
}
