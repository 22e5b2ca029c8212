package main

import (
	"runtime/debug"
	"testing"
)

// The daemon's memory is bound by the machine's, unless the environment says by what.
func TestBoundMemory(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	for ram, want := range map[int64]int64{4 << 30: 512 << 20, 64 << 30: 2 << 30, 2 << 40: 4 << 30} {
		if boundMemory(ram); debug.SetMemoryLimit(-1) != want {
			t.Errorf("with %d bytes of memory: %d, want %d", ram, debug.SetMemoryLimit(-1), want)
		}
	}
	debug.SetMemoryLimit(before)
	t.Setenv("GOMEMLIMIT", "1GiB")
	if boundMemory(4 << 30); debug.SetMemoryLimit(-1) != before {
		t.Error("what the environment says does not count")
	}
}
