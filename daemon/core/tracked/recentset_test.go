package tracked

import "testing"

func TestRecentSetForgetsTheOldest(t *testing.T) {
	r := newRecentSet[int, string](2)
	for i, step := range []struct {
		key  int
		left []int
	}{{1, []int{1}}, {2, []int{1, 2}}, {1, []int{1, 2}}, {3, []int{2, 3}}, {4, []int{3, 4}}, {2, []int{4, 2}}} {
		r.add(step.key, "v")
		if len(r.of) != len(step.left) || len(r.order) != len(step.left) {
			t.Errorf("step %d: %v", i, r)
		}
		for _, key := range step.left {
			if v, _ := r.get(key); v != "v" {
				t.Errorf("step %d: %d is forgotten: %v", i, key, r)
			}
		}
	}
}

// A key that was removed and added again has the age of its second addition.
func TestRecentSetForgetsARemovedKeyOnce(t *testing.T) {
	r := newRecentSet[int, string](3)
	r.add(1, "old")
	r.remove(1)
	r.add(2, "v")
	r.add(1, "new")
	for _, step := range []struct {
		key  int
		want string
	}{{3, "new"}, {4, "new"}, {5, ""}} {
		r.add(step.key, "v")
		if v, _ := r.get(1); v != step.want || len(r.of) > 3 {
			t.Errorf("after %d came, 1 is %q: %v", step.key, v, r)
		}
	}
}
