package tracked

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gpusched/gpusched/daemon/job"
)

// The first timer is always the one with the earliest time. If several times are equal, the lowest
// id comes first. Earlier changes of the timers do not matter.
func TestTimersComeInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, model := newTimers(), map[job.ID]timer{}
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			id := job.ID(rapid.IntRange(1, 12).Draw(t, "job"))
			if rapid.Bool().Draw(t, "set") {
				model[id] = timer{time.Unix(int64(rapid.IntRange(0, 5).Draw(t, "at")), 0), id}
				a.set(id, model[id].At)
			} else {
				delete(model, id)
				a.remove(id)
			}
			want := timer{}
			for _, m := range model {
				if earlier := m.At.Compare(want.At); want.ID == 0 || earlier < 0 || earlier == 0 && m.ID < want.ID {
					want = m
				}
			}
			if got := a.next(); got != want || len(a.heap) != len(model) || len(a.index) != len(model) || a.has(id) != (model[id].ID != 0) {
				t.Fatalf("the first is %v, want %v, of %v", got, want, model)
			}
		}
	})
}
