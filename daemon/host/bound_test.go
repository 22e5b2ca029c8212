package host

import (
	"runtime"
	"runtime/debug"
	"testing"
)

// The runtime's memory limit depends on the machine's memory, unless the environment sets a limit.
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

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 16 << 20: 200, 32 << 20: 100, 64 << 20: 50, 128 << 20: 25, 1 << 30: 25} {
		if got := garbagePercent(live); got != want {
			t.Errorf("with %d bytes in use: %d %%, want %d", live, got, want)
		}
	}
}

// The allowed garbage depends on the memory in use, unless the environment sets it.
func TestBoundGarbage(t *testing.T) {
	before := debug.SetGCPercent(100)
	t.Cleanup(func() { debug.SetGCPercent(before) })
	held := make([]*[1 << 20]byte, 128)
	for i := range held {
		held[i] = new([1 << 20]byte)
	}
	runtime.GC()
	if BoundGarbage("300"); debug.SetGCPercent(100) != 100 {
		t.Error("what the environment says does not count")
	}
	BoundGarbage("")
	if p := debug.SetGCPercent(100); p != garbageMin {
		t.Errorf("with 128 MiB in use: %d %%", p)
	}
	runtime.KeepAlive(held)
}

// Unused memory is returned, and a second call returns nothing.
func TestReturnMemory(t *testing.T) {
	returned := false
	for try := 0; try < 10 && !returned; try++ { // the runtime may be the first to return it
		held := make([]*[1 << 20]byte, 100)
		for i := range held {
			held[i] = new([1 << 20]byte)
		}
		runtime.KeepAlive(held)
		held = nil
		runtime.GC() // now the process has 100 MiB that it does not use
		returned = ReturnMemory()
	}
	if !returned {
		t.Error("100 MiB that are not in use are not given back")
	}
	if ReturnMemory() {
		t.Error("they are given back again")
	}
}
