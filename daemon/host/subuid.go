package host

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/subuid"
)

// Subordinates finds the owner of a subordinate uid, see subuid(5). A user has tens of thousands of
// such uids for containers.
type Subordinates struct {
	path  string
	uidOf func(name string) (int, bool)
	named func(uid, owner int) (named, known bool) // nil: no uid in a range belongs to an account

	mu      sync.Mutex // guards the fields below
	checked time.Time  // time of the last check of the file
	read    time.Time  // modification time of the file when it was last read
	ranges  []uidRange

	allKnown bool // true if the account of each owner was found
}

// NewSubordinates reads the ranges and their owners from a file, which may be missing. The argument
// isNamed reports whether a uid in an owner's range belongs to an account, and whether that is
// known. The uid of an account is not subordinate, whatever the file says, because a range may
// include uids of a directory service. The functions uidOf and isNamed must not wait.
func NewSubordinates(path string, uidOf func(string) (int, bool), isNamed func(uid, owner int) (named, known bool),
) *Subordinates {
	return &Subordinates{path: path, uidOf: uidOf, named: isNamed}
}

// A uidRange is an owner's subordinate uids, from low to high-1.
type uidRange struct{ owner, low, high int }

// checkEvery is the time between two checks whether the file has changed.
const checkEvery = 10 * time.Second

// Person returns the user behind a uid: the owner of the uid's range, or the uid itself. While it
// is unknown whether the uid belongs to an account, the result person is the owner and the result
// certain is false. If this host can't find the owner's account, person is the first uid of the
// range.
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

// inRange returns the owner of the range that includes a uid, or the uid itself.
func (s *Subordinates) inRange(uid int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.Sub(s.checked) > checkEvery {
		s.checked = now
		s.refresh()
	}
	for _, r := range s.ranges {
		if uid >= r.low && uid < r.high {
			return r.owner
		}
	}
	return uid
}

// refresh reads the file again if it has changed, or if the account of an owner was not found: the
// directory service may know that account by now. Without a file there are no ranges.
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
		s.ranges, s.allKnown = parseOwners(string(text), s.uidOf)
		s.read = info.ModTime()
	}
}

// parseOwners returns the ranges in a text with their owners, and whether the account of each owner
// was found. subuid.Parse omits the ranges of root. parseOwners also omits the ranges of any other
// account with uid 0.
func parseOwners(text string, uidOf func(string) (int, bool)) (list []uidRange, allKnown bool) {
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
