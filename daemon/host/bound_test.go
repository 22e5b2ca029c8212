package host

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
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

func TestGarbagePercent(t *testing.T) {
	for live, want := range map[uint64][2]int{
		0: {100, 100}, 16 << 20: {100, 100}, 32 << 20: {50, 100}, 64 << 20: {25, 100}, 128 << 20: {25, 50}, 1 << 30: {25, 25},
	} {
		if got := [2]int{garbagePercent(live, false), garbagePercent(live, true)}; got != want {
			t.Errorf("with %d bytes in use, and while much is done: %d %%, want %d", live, got, want)
		}
	}
}

// What is in use decides when garbage is collected, as it grows and as it goes, unless the environment does.
func TestBoundGarbage(t *testing.T) {
	present := func() int {
		p := debug.SetGCPercent(100)
		debug.SetGCPercent(p)
		return p
	}
	before := present()
	if BoundGarbage("300"); present() != before {
		t.Error("what the environment says does not count")
	}
	var g garbage
	t.Cleanup(func() {
		g.end()
		debug.SetGCPercent(before)
	})
	const busy = 50 * time.Millisecond
	g.bound(busy)
	until := func(what string, is func(int) bool, pause time.Duration) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !is(present()); runtime.GC() {
			if time.Now().After(end) {
				t.Fatalf("%s: %d %%", what, present())
			}
			<-time.After(pause) // the collector goes by the clock of the machine
		}
	}
	held := make([]*[1 << 20]byte, 80)
	for i := range held {
		held[i] = new([1 << 20]byte)
	}
	until("with 80 MiB", func(p int) bool { return p == garbageMin }, 2*busy)
	until("with 80 MiB and much to do", func(p int) bool { return p > 2*garbageMin }, 0)
	g.end()
	debug.SetGCPercent(77)
	for range 3 {
		runtime.GC()
		<-time.After(2 * busy) // the finalizer has had its turn
	}
	if present() != 77 {
		t.Errorf("it goes on after its end: %d %%", present())
	}
	runtime.KeepAlive(held)
}

// What was in use and is not any more is given back once.
func TestReturnMemory(t *testing.T) {
	held := make([]*[1 << 20]byte, 100)
	for i := range held {
		held[i] = new([1 << 20]byte)
	}
	runtime.KeepAlive(held)
	held = nil
	runtime.GC() // 100 MiB are free, and the process has them
	if !ReturnMemory() {
		t.Error("100 MiB that are not in use are not given back")
	}
	if ReturnMemory() {
		t.Error("they are given back again")
	}
}
