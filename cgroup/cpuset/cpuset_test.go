package cpuset

import (
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	tests := []struct {
		list string
		ok   bool
	}{
		{"", true},
		{"0", true},
		{"0-15,32-47", true},
		{"0,2,4", true},
		{"3-3", true},
		{"65535", true},
		{"65536", false},
		{",", false},
		{"0,", false},
		{"0-", false},
		{"-1", false},
		{"+1", false},
		{" 1", false},
		{"0-1-2", false},
		{"4-2", false},
		{"2,1", false},
		{"0-4,4", false},
		{"0x1", false},
		{"0\n", false},
		{"99999999999999999999", false},
	}
	for _, tt := range tests {
		if set, err := Parse(tt.list); (err == nil) != tt.ok || tt.ok && set.String() != strings.Replace(tt.list, "3-3", "3", 1) {
			t.Errorf("%q: %v, %v, want ok %t", tt.list, set, err, tt.ok)
		}
	}
}

func TestIntersect(t *testing.T) {
	for _, c := range []struct{ a, b, want string }{
		{"0-15,32-47", "0-63", "0-15,32-47"},
		{"0-15,32-47", "8-40", "8-15,32-40"},
		{"4,6,8", "0-7", "4,6"},
		{"0-1\n", "0-63", ""},
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
		if got := Intersect(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %q, want %q", c.a, c.b, got, c.want)
		}
	}
}

func TestUnion(t *testing.T) {
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
		if got := Union(c.lists...); got != c.want {
			t.Errorf("%q: %q, want %q", c.lists, got, c.want)
		}
	}
}

// A Set has the bits of the CPUs in its list. Their order is that of D-Bus.
func TestSet(t *testing.T) {
	if got, err := Parse("0,3,8-10,17"); err != nil || !reflect.DeepEqual(got, Set{0b1001, 0b111, 0b10}) {
		t.Errorf("got %08b, %v", got, err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var set Set
		numbers := rapid.SliceOf(rapid.IntRange(0, 300)).Draw(t, "cpus")
		for _, n := range numbers {
			set = set.With(n)
		}
		if back, err := Parse(set.String()); err != nil || !reflect.DeepEqual(back, set) {
			t.Fatalf("%q is %v, %v, want %v", set.String(), back, err, set)
		}
		different := map[int]bool{}
		for _, n := range numbers {
			different[n] = true
		}
		if set.Len() != len(different) {
			t.Fatalf("%q has %d CPUs, want %d", set.String(), set.Len(), len(different))
		}
		for n := range 310 {
			if set.Has(n) != different[n] {
				t.Fatalf("CPU %d: %t", n, set.Has(n))
			}
		}
	})
}
