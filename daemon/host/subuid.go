package host

import (
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/subuid"
)

// Subordinates finds the owner of a subordinate uid, by subuid(5). The containers of a user run as
// such uids; a user has tens of thousands of them.
type Subordinates struct {
	path  string
	uidOf func(name string) (int, bool)
	named func(uid, owner int) (named, known bool) // nil: no account has a uid of a range

	mu      sync.Mutex // guards the fields that follow
	checked time.Time  // when the file was last checked
	read    time.Time  // the file's time of modification when it was last read
	ranges  []uidRange

	allKnown bool // whether the account of each owner was found
}

// NewSubordinates reads the ranges from a file, which may be missing and names owners. named
// reports whether an account has a uid of an owner's range, and whether that is known. Such a uid
// is no subordinate, whatever the file says, as a range may include uids of a directory. Neither
// function may wait.
func NewSubordinates(path string, uidOf func(string) (int, bool), named func(uid, owner int) (named, known bool),
) *Subordinates {
	return &Subordinates{path: path, uidOf: uidOf, named: named}
}

// uidRange is the subordinate uids of an owner, from first to before end.
type uidRange struct{ owner, first, end int }

// The file is checked for changes every checkEvery.
const checkEvery = 10 * time.Second

// Person returns the user that a uid belongs to: the owner of its range, or the uid itself. certain
// is false while it is unknown whether the uid is an account: then person is the owner. If this
// host can't find the account of the owner, person is the first uid of the range.
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
		if uid >= r.first && uid < r.end {
			return r.owner
		}
	}
	return uid
}

// refresh reads the file again if it has changed, or if the account of an owner was not found: the
// directory may know it by now. Without the file there are no ranges.
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

// parseOwners returns the ranges in a text with their owners, and whether the account of each owner was
// found. Parse leaves out the ranges of root; owned also leaves out those of an account whose uid
// is 0.
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
