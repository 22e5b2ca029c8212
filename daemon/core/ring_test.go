package core

import "testing"

func TestARingForgetsTheOldest(t *testing.T) {
	r := newRing[int, string](2)
	for i, step := range []struct {
		key  int
		left []int
	}{{1, []int{1}}, {2, []int{1, 2}}, {1, []int{1, 2}}, {3, []int{2, 3}}, {4, []int{3, 4}}, {2, []int{4, 2}}} {
		r.add(step.key, "v")
		if len(r.of) != len(step.left) || len(r.order) != len(step.left) {
			t.Errorf("step %d: %v", i, r)
		}
		for _, key := range step.left {
			if r.of[key] != "v" {
				t.Errorf("step %d: %d is forgotten: %v", i, key, r)
			}
		}
	}
}
