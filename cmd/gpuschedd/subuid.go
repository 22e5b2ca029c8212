package main

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// subordinates knows whose a subordinate uid is, as subuid(5) says: the uids
// that a user's containers run as. One user has tens of thousands of them.
type subordinates struct {
	path string

	mu     sync.Mutex // guards the fields that follow
	looked time.Time  // when the file was looked at last
	read   time.Time  // the file's time of change when it was read
	ranges []uidRange
}

// uidRange is the subordinate uids from first up to, and without, end.
type uidRange struct{ owner, first, end int }

// lookEvery is how old the knowledge of the file may be.
const lookEvery = 10 * time.Second

// owner returns whose subordinate uid it is, or the uid itself. The owner of a
// range whose account this host cannot look up is called by its first uid.
func (s *subordinates) owner(uid int) int {
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

// refresh reads the file where it has changed; without one there are none.
func (s *subordinates) refresh() {
	info, err := os.Stat(s.path)
	if err != nil {
		s.ranges, s.read = nil, time.Time{}
		return
	}
	if info.ModTime().Equal(s.read) {
		return
	}
	if text, err := os.ReadFile(s.path); err == nil {
		s.ranges, s.read = parseSubordinates(string(text), userID), info.ModTime()
	}
}

// parseSubordinates reads lines such as alice:100000:65536. A line that makes no
// sense is left out, and so are root's, whose huge range for containers may
// take in accounts of a directory service.
func parseSubordinates(text string, uidOf func(string) (int, bool)) []uidRange {
	const lowest = 1 << 16
	var list []uidRange
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSpace(line), ":")
		if len(f) != 3 {
			continue
		}
		first, errFirst := strconv.ParseUint(f[1], 10, 31)
		count, errCount := strconv.ParseUint(f[2], 10, 31)
		if errFirst != nil || errCount != nil || first < lowest || count == 0 {
			continue
		}
		owner, known := uidOf(f[0])
		if !known {
			number, err := strconv.ParseUint(f[0], 10, 31)
			owner, known = int(number), err == nil
		}
		if !known {
			owner = int(first)
		}
		if owner == 0 {
			continue
		}
		list = append(list, uidRange{owner, int(first), int(first + count)})
	}
	return list
}
