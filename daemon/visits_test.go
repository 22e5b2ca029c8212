package daemon

import "testing"

// A look at a unit is disturbed by each visit to that unit that is under way at any time
// of it.
func TestVisits(t *testing.T) {
	for name, c := range map[string]struct {
		visit func(v *visits) (before, meanwhile func())
		want  bool
	}{
		"none":              {func(*visits) (_, _ func()) { return func() {}, func() {} }, false},
		"over before":       {func(v *visits) (_, _ func()) { return func() { v.enter(1)() }, func() {} }, false},
		"of another job":    {func(v *visits) (_, _ func()) { return func() { v.enter(2) }, func() { v.enter(3)() } }, false},
		"under way":         {func(v *visits) (_, _ func()) { return func() { v.enter(1) }, func() {} }, true},
		"begun and over":    {func(v *visits) (_, _ func()) { return func() {}, func() { v.enter(1)() } }, true},
		"over in the midst": {func(v *visits) (_, _ func()) { leave := v.enter(1); return func() {}, leave }, true},
	} {
		var v visits
		before, meanwhile := c.visit(&v)
		before()
		l := v.look(1)
		meanwhile()
		if got := l.disturbed(); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		v.over(l)
		if again := v.look(2); len(v.looks) != 1 || again.job != 2 {
			t.Errorf("%s: %d looks are left", name, len(v.looks))
		}
	}
}
