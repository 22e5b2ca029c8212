package job

import (
	"slices"
	"testing"
)

// This is invariant 1, as a table of all pairs of states.
func TestTransitions(t *testing.T) {
	want := map[State][]State{
		Queued:   {Spawned, Starting, Cancelled},
		Spawned:  {Completed, Failed, Cancelled},
		Starting: {Queued, Running, Ending},
		Running:  {Ending},
		Ending:   {Queued, Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost},
	}
	for _, from := range States() {
		for _, to := range States() {
			if got := from.Next(to); got != slices.Contains(want[from], to) {
				t.Errorf("%s to %s: %t", from, to, got)
			}
		}
	}
}

func TestEveryStateIsReachable(t *testing.T) {
	reached := map[State]bool{Queued: true}
	for todo := []State{Queued}; len(todo) > 0; todo = todo[1:] {
		for _, to := range States() {
			if todo[0].Next(to) && !reached[to] {
				reached[to] = true
				todo = append(todo, to)
			}
		}
	}
	for _, s := range States() {
		if !reached[s] {
			t.Errorf("%s cannot be reached", s)
		}
	}
}

// A job in any state either waits, or has a unit, or has ended.
func TestStatesPartition(t *testing.T) {
	live := []State{Starting, Running, Ending}
	terminal := []State{Completed, Failed, Cancelled, TimedOut, OutOfMemory, GPUOutOfMemory, Lost}
	if all := slices.Concat([]State{Queued, Spawned}, live, terminal); !slices.Equal(all, States()) {
		t.Errorf("states are %v", States())
	}
	for _, s := range append(States(), "", "nonsense") {
		if got := s.Live(); got != slices.Contains(live, s) {
			t.Errorf("%q live: %t", s, got)
		}
		if got := s.Terminal(); got != slices.Contains(terminal, s) {
			t.Errorf("%q terminal: %t", s, got)
		}
		if got := s.Valid(); got != slices.Contains(States(), s) || got && (s == "" || s == "nonsense") {
			t.Errorf("%q valid: %t", s, got)
		}
		for _, to := range States() {
			if s.Terminal() && s.Next(to) {
				t.Errorf("%s is left for %s", s, to)
			}
		}
	}
}

// Each caller gets its own copy of a list.
func TestClosedListsAreCopies(t *testing.T) {
	States()[0] = "changed"
	if States()[0] != Queued {
		t.Errorf("the list was changed: %v", States()[0])
	}
}
