package host

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"
)

func TestSubordinatesHaveOwners(t *testing.T) {
	uidOf := func(name string) (int, bool) {
		return map[string]int{"alice": 1001}[name], name == "alice" || name == "root"
	}
	got, all := parseOwners("alice:100000:65536\n1002:165536:65536\nfar:300000:10\n# no\n00:1000000:5\nalice:0:65536\n", uidOf)
	want := []uidRange{{1001, 100000, 165536}, {1002, 165536, 231072}, {300000, 300000, 300010}}
	if !reflect.DeepEqual(got, want) || all {
		t.Errorf("got %v, want %v, all known: %t", got, want, all)
	}
	if _, all := parseOwners("alice:100000:65536\n1002:165536:65536\n", uidOf); !all {
		t.Error("everybody is known, and the file would be read over and over")
	}
}

// An owner's account may become known later, through the directory service.
func TestSubordinatesOfADirectory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subuid")
	if err := os.WriteFile(path, []byte("dora:100000:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	known := false
	s := NewSubordinates(path, func(string) (int, bool) { return 70001, known }, nil)
	for _, want := range []int{100000, 70001} {
		if got, _ := s.Person(100005); got != want {
			t.Errorf("owner %d, want %d", got, want)
		}
		known, s.checked = true, time.Time{}
	}
}

func TestSubordinatesFollowTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subuid")
	s := NewSubordinates(path, UserID, nil)
	if got, _ := s.Person(100005); got != 100005 {
		t.Errorf("without a file: %d", got)
	}
	if err := os.WriteFile(path, []byte("1001:100000:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, _ := s.Person(100005); got != 100005 {
		t.Errorf("the file is looked at for each request: %d", got)
	}
	s.checked = time.Time{}
	for uid, want := range map[int]int{0: 0, 1001: 1001, 99999: 99999, 100000: 1001, 165535: 1001, 165536: 165536} {
		if got, _ := s.Person(uid); got != want {
			t.Errorf("owner of %d: %d, want %d", uid, got, want)
		}
	}
}

// A uid in a range may belong to an account. That account is a person of its own. While it is
// unknown whether there is such an account, the person is not certain.
func TestAccountIsNoSubordinate(t *testing.T) {
	path := filepath.Join(t.TempDir(), "subuid")
	if err := os.WriteFile(path, []byte("1002:165536:65536\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	accounts, by := map[int]bool{165600: true, 200000: false}, 0 // answers of the directory service so far
	s := NewSubordinates(path, UserID, func(uid, owner int) (named, known bool) {
		by = owner
		named, known = accounts[uid]
		return named, known
	})
	whose := func(uid, want int, wantCertain bool) {
		t.Helper()
		if got, certain := s.Person(uid); got != want || certain != wantCertain {
			t.Errorf("%d is %d's (certain: %t), want %d's (%t)", uid, got, certain, want, wantCertain)
		}
	}
	whose(165600, 165600, true)
	whose(200000, 1002, true)
	whose(1001, 1001, true)
	whose(200001, 1002, false)
	accounts[200001] = true
	if whose(200001, 200001, true); by != 1002 {
		t.Errorf("asked for %d", by)
	}
}

// Whatever the file says, no uid is assigned to root or a system account, and no range is empty.
func FuzzSubordinates(f *testing.F) {
	for _, seed := range []string{"alice:100000:65536\n", "1001:165536:65536", "root:100000:1\n:1:1\nx:y:z\n", "bob:2147483647:2147483647\n", "a:65535:9\n0:70000:9\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ranges, _ := parseOwners(text, func(name string) (int, bool) { return 1001, name == "alice" })
		for _, r := range ranges {
			if r.owner == 0 || r.low < 1<<16 || r.high <= r.low {
				t.Errorf("%+v from %q", r, text)
			}
		}
	})
}
