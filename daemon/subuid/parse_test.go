package subuid

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	const text = "alice:100000:65536\n1002:165536:65536\n# no:1:2\n\n  # alice:200000:5\nroot:1:1000000000\n0:1000000:5\n" +
		"alice:0:65536\nx:1:2:3\nalice:400000:0\nalice:a:b\nbob:65536:1\nbob:300000:5:6\n:300000:1\nbob\nroot"
	ranges, bad := Parse(text)
	if want := []Range{{"alice", 100000, 165536}, {"1002", 165536, 231072}, {"bob", 65536, 65537}}; !slices.Equal(ranges, want) {
		t.Errorf("ranges %v, want %v", ranges, want)
	}
	if want := []int{8, 9, 10, 11, 13, 14, 15}; !slices.Equal(bad, want) {
		t.Errorf("bad lines %v, want %v", bad, want)
	}
	if a, b, c := ranges[0], ranges[1], (Range{"x", 165535, 165537}); a.Overlaps(b) || !a.Overlaps(c) || !c.Overlaps(b) || !c.Overlaps(a) {
		t.Error("neighbours overlap, or ranges that share a uid do not")
	}
}

func spell(ranges []Range) string {
	var text strings.Builder
	for _, r := range ranges {
		fmt.Fprintf(&text, "%s:%d:%d\n", r.Owner, r.First, r.End-r.First)
	}
	return text.String()
}

// Whatever the file says, no range is empty, belongs to root, or begins below the lowest uid, and
// no line counts both as a range and as bad.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{"alice:100000:65536\n", "1001:165536:65536", "root:100000:1\n:1:1\nx:y:z\n", "bob:2147483647:2147483647\n", "a:65535:9\n0:70000:9\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ranges, bad := Parse(text)
		for _, r := range ranges {
			if r.Owner == "root" || r.Owner == "" || r.First < Lowest || r.End <= r.First {
				t.Errorf("%+v from %q", r, text)
			}
		}
		if again, none := Parse(spell(ranges)); !reflect.DeepEqual(again, ranges) || none != nil {
			t.Errorf("%v, %v from what %q was read as", again, none, text)
		}
		if !slices.IsSorted(bad) {
			t.Errorf("bad lines %v", bad)
		}
	})
}
