package units

import (
	"math"
	"testing"
)

// A job has one unit name (invariant 1).
func TestParseName(t *testing.T) {
	for name, want := range map[string]int64{
		"gpujob-1.service":                   1,
		"gpujob-42.service":                  42,
		"gpujob-9223372036854775807.service": math.MaxInt64,
		"gpujob-9223372036854775808.service": 0,
		"gpujob-0.service":                   0,
		"gpujob--1.service":                  0,
		"gpujob-+1.service":                  0,
		"gpujob-01.service":                  0,
		"gpujob- 1.service":                  0,
		"gpujob-1.service ":                  0,
		"gpujob-1.scope":                     0,
		"gpujob-1":                           0,
		"gpujob-.service":                    0,
		"gpujob-1_0.service":                 0,
		"gpujob-1.service.service":           0,
		"xgpujob-1.service":                  0,
		"gpujobs-u1.slice":                   0,
		"":                                   0,
	} {
		if id, ok := ParseName(name); id != want || ok != (want != 0) {
			t.Errorf("ParseName(%q) = %d, %v, want %d", name, id, ok, want)
		}
	}
	if got := Slice(1001); got != "gpujobs-u1001.slice" {
		t.Errorf("Slice(1001) = %q", got)
	}
}

func FuzzParseName(f *testing.F) {
	for _, seed := range []string{"gpujob-1.service", "gpujob-01.service", "gpujob-1.service\n", "gpujob-٣.service"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		id, ok := ParseName(name)
		switch {
		case ok && (id <= 0 || Name(id) != name):
			t.Errorf("ParseName(%q) = %d, whose name is %q", name, id, Name(id))
		case !ok && id != 0:
			t.Errorf("ParseName(%q) = %d, false", name, id)
		}
	})
}

// A job has one slice name, which names its user and the job.
func TestParseJobSlice(t *testing.T) {
	for name, want := range map[string][2]int64{
		"gpujobs-u1000-j17.slice":   {1000, 17},
		"gpujobs-u0-j1.slice":       {0, 1},
		"gpujobs-u1000.slice":       {},
		"gpujobs-u1000-j0.slice":    {},
		"gpujobs-u01-j1.slice":      {},
		"gpujobs-u1-j01.slice":      {},
		"gpujobs-u-1-j1.slice":      {},
		"gpujobs-u1-j1-j2.slice":    {},
		"gpujobs-u1-j1.service":     {},
		"xgpujobs-u1-j1.slice":      {},
		"gpujobs-u1-j1.slice.slice": {},
		"":                          {},
	} {
		uid, id, ok := ParseJobSlice(name)
		if int64(uid) != want[0] || id != want[1] || ok != (id != 0) {
			t.Errorf("%q: %d, %d, %t", name, uid, id, ok)
		}
	}
}
