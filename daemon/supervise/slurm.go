package supervise

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/gres"
	"github.com/gpusched/gpusched/daemon/job"
)

// slurm is what is known of a Slurm on the same machine.
type slurm struct {
	reader gres.Reader
	found  atomic.Pointer[gres.Found] // by the last look
}

// look brings up to date what is known, and reports whether that has changed.
func (s *slurm) look() (changed bool) {
	if host, err := os.Hostname(); err == nil {
		s.reader.Host = host
	}
	found := s.reader.Look()
	before := s.found.Swap(&found)
	return before == nil || !before.Equal(found.Claim)
}

// gpus are those that no job gets by the settings.
func (s *slurm) gpus(cfg *config.Config) core.GPUsOfSlurm {
	f := s.found.Load()
	if f == nil || cfg.GPUs.Slurm == config.SlurmAllow {
		return core.GPUsOfSlurm{}
	}
	return core.GPUsOfSlurm{Every: f.Every, Minors: f.Minors}
}

// check reports which GPUs are Slurm's.
func (s *slurm) check(cfg *config.Config) job.Check {
	c := job.Check{Name: "slurm", Health: job.Healthy, Detail: "no slurmd is enabled or runs here: every GPU is for jobs of this scheduler"}
	f := s.found.Load()
	if f == nil || !f.Runs {
		return c
	}
	c.Detail = f.Says(cfg.GPUs.Slurm == config.SlurmAllow)
	if f.Error == nil {
		return c
	}
	known := "; nothing was known before, so Slurm's jobs and those of this scheduler may meet on a GPU"
	if !f.None() {
		known = "; as it was last read, " + c.Detail
	}
	return c.Degrade(fmt.Sprintf("which GPUs slurmd gives away here can't be read: %v%s", f.Error, known),
		"correct that (files below /etc that are root's and that others can't write); or name the GPUs of this scheduler in gpus.only, and set gpus.slurm = \"allow\"")
}
