package host

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/subuid"
)

// Subordinates knows whose a subordinate uid is, as subuid(5) says: the uids
// that a user's containers run as. One user has tens of thousands of them.
type Subordinates struct {
	path  string
	uidOf func(name string) (int, bool)
	named func(uid, owner int) (named, known bool) // nil: no account has a uid of a range

	mu     sync.Mutex // guards the fields that follow
	looked time.Time  // when the file was looked at last
	read   time.Time  // the file's time of change when it was read
	ranges []uidRange

	allKnown bool // whose they are
}

// NewSubordinates reads them from a file, which need not be there and calls owners by name. Named
// reports whether an account has a uid of an owner's range, and whether that is known: such a uid is
// nobody's subordinate, whatever the file says, as ranges may take in uids of a directory. Neither
// function may wait.
func NewSubordinates(path string, uidOf func(string) (int, bool), named func(uid, owner int) (named, known bool),
) *Subordinates {
	return &Subordinates{path: path, uidOf: uidOf, named: named}
}

// uidRange is the subordinate uids from first up to, and without, end.
type uidRange struct{ owner, first, end int }

// lookEvery is how old the knowledge of the file may be.
const lookEvery = 10 * time.Second

// Person returns whose subordinate uid it is, or the uid itself, and whether that is certain: while
// it is not, the uid is the range's owner's unless it turns out to be an account's. The owner of a
// range whose account this host cannot look up is called by its first uid.
func (s *Subordinates) Person(uid int) (person int, certain bool) {
	owner := s.inRange(uid)
	if owner == uid || s.named == nil {
		return owner, true
	}
	named, known := s.named(uid, owner)
	if named {
		return uid, true
	}
	return owner, known
}

// inRange returns the owner of the range that a uid is in, or the uid itself.
func (s *Subordinates) inRange(uid int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.looked) > lookEvery {
		s.looked = now
		s.refresh()
	}
	for _, r := range s.ranges {
		if uid >= r.first && uid < r.end {
			return r.owner
		}
	}
	return uid
}

// refresh reads the file where it has changed, or named somebody whom the directory
// may know by now; without one there are none.
func (s *Subordinates) refresh() {
	info, err := os.Stat(s.path)
	if err != nil {
		s.ranges, s.read = nil, time.Time{}
		return
	}
	if info.ModTime().Equal(s.read) && s.allKnown {
		return
	}
	if text, err := os.ReadFile(s.path); err == nil {
		s.ranges, s.allKnown = owned(string(text), s.uidOf)
		s.read = info.ModTime()
	}
}

// owned reads whose each range is, and whether that was known of all. One of an account that turns out to be root's
// is left out as root's own are.
func owned(text string, uidOf func(string) (int, bool)) (list []uidRange, allKnown bool) {
	allKnown = true
	ranges, _ := subuid.Parse(text)
	for _, r := range ranges {
		owner, known := uidOf(r.Owner)
		if !known {
			number, err := strconv.ParseUint(r.Owner, 10, 31)
			owner, known = int(number), err == nil
		}
		if !known {
			owner, allKnown = r.First, false
		}
		if owner != 0 {
			list = append(list, uidRange{owner, r.First, r.End})
		}
	}
	return list, allKnown
}
