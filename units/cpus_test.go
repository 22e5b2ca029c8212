package units

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestIntersectCPUs(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"0-15,32-47", "0-63", "0-15,32-47"},
		{"0-15,32-47", "8-40", "8-15,32-40"},
		{"4,6,8", "0-7", "4,6"},
		{"0-1\n", "0-63", "0-1"},
		{"16-31", "0-15", ""},
		{"", "0-15", ""},
		{"0-15", "", ""},
		{"all", "0-15", ""},
		{"3-1", "0-15", ""},
		{"0-", "0-15", ""},
		{"-1", "0-15", ""},
		{"0,65536", "0-15", ""},
		{"65535", "0-65535", "65535"},
	} {
		if got := IntersectCPUs(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestUnionCPUs(t *testing.T) {
	for _, c := range []struct {
		lists []string
		want  string
	}{
		{nil, ""},
		{[]string{"0-3"}, "0-3"},
		{[]string{"4-7", "0-3"}, "0-7"},
		{[]string{"0-3,8", "2-5"}, "0-5,8"},
		{[]string{"0-3", ""}, ""},
		{[]string{"0-3", "x"}, ""},
	} {
		if got := UnionCPUs(c.lists...); got != c.want {
			t.Errorf("%q: %q, want %q", c.lists, got, c.want)
		}
	}
}

// A list is what it says, and the bits are in the order of the bus.
func TestCPUSet(t *testing.T) {
	if got, want := parseCPUs("0,3,8-10,17"), (cpuSet{0b1001, 0b111, 0b10}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %08b, want %08b", got, want)
	}
	rapid.Check(t, func(t *rapid.T) {
		var set cpuSet
		numbers := rapid.SliceOf(rapid.IntRange(0, 300)).Draw(t, "cpus")
		for _, n := range numbers {
			set = set.with(n)
		}
		if back := parseCPUs(set.String()); !reflect.DeepEqual(back, set) {
			t.Fatalf("%q is %v, want %v", set.String(), back, set)
		}
		for n := range 310 {
			want := false
			for _, m := range numbers {
				want = want || m == n
			}
			if set.has(n) != want {
				t.Fatalf("CPU %d: %t", n, set.has(n))
			}
		}
	})
}
