package launch

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// Kept returns what Keep stored last. The file is removed with its spec, survives Sweep, and is
// swept by SweepKept. Only its owner can read it.
func TestKept(t *testing.T) {
	dir := t.TempDir()
	for _, text := range []string{"a longer one", "short"} {
		if err := Keep(dir, 7, 1, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if data, err := Kept(dir, 7, 1); err != nil || string(data) != "short" {
		t.Errorf("%q, %v", data, err)
	}
	most := strings.Repeat("decisions about a parked job with many GPUs\n", 1000)
	if err := Keep(dir, 7, 2, []byte(most)); err != nil {
		t.Fatal(err)
	}
	if data, err := Kept(dir, 7, 2); err != nil || string(data) != most {
		t.Errorf("%d bytes of %d, %v", len(data), len(most), err)
	}
	if data, err := Kept(dir, 8, 1); err != nil || data != nil {
		t.Errorf("of another job: %q, %v", data, err)
	}
	if uid, ok := grantedUser(Path(dir, 7, 1) + keptSuffix); ok && uid != os.Geteuid() {
		t.Errorf("user %d may read it", uid)
	}
	if err := Sweep(dir, func(int64, int) bool { return false }); err != nil {
		t.Fatal(err)
	}
	names := func() (list []string) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			list = append(list, e.Name())
		}
		return list
	}
	if got := names(); !slices.Equal(got, []string{"7.1.kept", "7.2.kept"}) {
		t.Errorf("a sweep of specs leaves %v", got)
	}
	if err := SweepKept(dir, func(_ int64, attempt int) bool { return attempt == 2 }); err != nil {
		t.Fatal(err)
	}
	if got := names(); !slices.Equal(got, []string{"7.2.kept"}) {
		t.Errorf("a sweep leaves %v", got)
	}
	if err := Remove(dir, 7, 2); err != nil || len(names()) > 0 {
		t.Errorf("%v, left are %v", err, names())
	}
}
