package dst

import (
	"fmt"
	"maps"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/launch"
)

// specs is the directory of the launchers' instructions.
type specs struct {
	w   *World
	got map[job.ID]bool
}

// Write is daemon.Specs'.
func (s *specs) Write(id job.ID, _ int, _ *launch.Spec) (string, error) {
	s.w.boundary(s.w.current.life)
	if s.w.on(diskFull) && s.w.roll("spec", uint64(s.w.elapsed)).percent(30) {
		return "", errFull
	}
	s.got[id] = true
	return fmt.Sprintf("/run/gpusched/specs/%d", id), nil
}

// Remove is daemon.Specs'.
func (s *specs) Remove(id job.ID) error {
	s.w.boundary(s.w.current.life)
	delete(s.got, id)
	return nil
}

// Sweep is daemon.Specs'.
func (s *specs) Sweep(keep func(job.ID) bool) error {
	maps.DeleteFunc(s.got, func(id job.ID, _ bool) bool { return !keep(id) })
	return nil
}
