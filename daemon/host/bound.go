package host

import (
	"runtime/debug"
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
