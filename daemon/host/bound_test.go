package host

import (
	"runtime/debug"
	"testing"
)

// The daemon's memory is bound by the machine's, unless the environment says by what.
func TestBoundMemory(t *testing.T) {
	for ram, want := range map[int64]int64{4 << 30: 512 << 20, 64 << 30: 2 << 30, 2 << 40: 4 << 30} {
		if got := memoryLimit(ram); got != want {
			t.Errorf("with %d bytes of memory: %d, want %d", ram, got, want)
		}
	}
	before := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(before) })
	if BoundMemory("1GiB"); debug.SetMemoryLimit(-1) != before {
		t.Error("what the environment says does not count")
	}
	ram, err := Memory()
	if err != nil {
		t.Fatal(err)
	}
	if BoundMemory(""); debug.SetMemoryLimit(-1) != memoryLimit(ram) {
		t.Errorf("the limit is %d", debug.SetMemoryLimit(-1))
	}
}
