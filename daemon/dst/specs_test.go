package dst

import (
	"maps"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/launch"
)

// specs is the directory of the specs that launchers read.
type specs struct {
	w    *World
	got  map[specKey]bool
	kept map[specKey][]byte
}

// Keep implements daemon.Specs.
func (s *specs) Keep(id job.ID, attempt int, data []byte) error {
	s.w.mayDie(s.w.current.life)
	s.kept[specKey{id, attempt}] = data
	return nil
}

// Kept implements daemon.Specs.
func (s *specs) Kept(id job.ID, attempt int) ([]byte, error) {
	return s.kept[specKey{id, attempt}], nil
}

// SweepKept implements daemon.Specs.
func (s *specs) SweepKept(wanted func(job.ID, int) bool) error {
	maps.DeleteFunc(s.kept, func(k specKey, _ []byte) bool { return !wanted(k.job, k.attempt) })
	return nil
}

// specKey identifies the spec of one attempt.
type specKey struct {
	job     job.ID
	attempt int
}

// Write implements daemon.Specs.
func (s *specs) Write(id job.ID, _ int, spec *launch.Spec) (string, error) {
	s.w.mayDie(s.w.current.life)
	if s.w.isOn(diskFull) && s.w.roll("spec", uint64(s.w.Elapsed)).chance(30) {
		return "", errFull
	}
	s.got[specKey{id, spec.Attempt}] = true
	return launch.Path("/run/gpusched/specs", int64(id), spec.Attempt), nil
}

// Remove implements daemon.Specs.
func (s *specs) Remove(id job.ID, attempt int) error {
	s.w.mayDie(s.w.current.life)
	delete(s.got, specKey{id, attempt})
	delete(s.kept, specKey{id, attempt})
	return nil
}

// Sweep implements daemon.Specs.
func (s *specs) Sweep(keep func(job.ID, int) bool) error {
	maps.DeleteFunc(s.got, func(k specKey, _ bool) bool { return !keep(k.job, k.attempt) })
	return nil
}
