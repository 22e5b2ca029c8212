package config

import (
	"os"
	"slices"
	"time"
)

// Snapshot lists the files of settings at some time, and the times at which they were written.
type Snapshot struct {
	At      time.Time
	Files   []string // in the order in which they apply
	written map[string]time.Time
}

// TakeSnapshot returns a Snapshot of the present files.
func TakeSnapshot(main, dropIns string) (Snapshot, error) {
	s := Snapshot{At: time.Now(), written: map[string]time.Time{}}
	var err error
	if s.Files, err = Files(main, dropIns); err != nil {
		return s, err
	}
	for _, f := range s.Files {
		if st, err := os.Stat(f); err == nil {
			s.written[f] = st.ModTime()
		}
	}
	return s, nil
}

// Changes returns the differences between two snapshots, as texts for people.
func (s Snapshot) Changes(now Snapshot) []string {
	var changed []string
	for _, f := range now.Files {
		switch before, there := s.written[f]; {
		case !there:
			changed = append(changed, f+" is new")
		case !before.Equal(now.written[f]):
			changed = append(changed, f+" was changed")
		}
	}
	for _, f := range s.Files {
		if !slices.Contains(now.Files, f) {
			changed = append(changed, f+" is gone")
		}
	}
	return changed
}
