package supervise

import (
	"fmt"
	"os"
	"sync/atomic"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/gres"
	"github.com/gpusched/gpusched/daemon/job"
)

// slurm is what is known of a Slurm on the same machine.
type slurm struct {
	reader gres.Reader
	found  atomic.Pointer[gres.Found] // by the last look
}

// look brings up to date what is known.
func (s *slurm) look() {
	if host, err := os.Hostname(); err == nil {
		s.reader.Host = host
	}
	found := s.reader.Read()
	s.found.Store(&found)
}

// gpus are those that no job gets by the settings.
func (s *slurm) gpus(cfg *config.Config) site.GPUsOfSlurm {
	f := s.found.Load()
	if f == nil || cfg.GPUs.Slurm == config.SlurmAllow {
		return site.GPUsOfSlurm{}
	}
	return site.GPUsOfSlurm{Every: f.Every, Minors: f.Minors}
}

// check reports which GPUs are Slurm's.
func (s *slurm) check(cfg *config.Config) job.Check {
	c := job.Check{Name: "slurm", Health: job.Healthy, Detail: "no slurmd is enabled or runs here: every GPU is for jobs of this scheduler"}
	f := s.found.Load()
	if f == nil || !f.Runs {
		return c
	}
	allowed := cfg.GPUs.Slurm == config.SlurmAllow
	c.Detail = f.Describe(allowed)
	if f.Error == nil {
		return c
	}
	why := fmt.Sprintf("which GPUs slurmd gives away here can't be read: %v", f.Error)
	switch {
	case f.Assumed && allowed: // as somebody chose who knew
		c.Detail += "; " + why
		return c
	case f.Assumed:
		return c.Degrade(why+"; slurmd runs, so each may be Slurm's: nothing is placed on any GPU, and jobs that run there go on",
			"correct that (files below /etc that are root's and that others can't write); or set gpus.slurm = \"allow\", and in gpus.only the GPUs that are not Slurm's")
	case f.None():
		why += "; by what was read before it has none"
	default:
		why += "; as it was last read, " + c.Detail
	}
	return c.Degrade(why, "correct that (files below /etc that are root's and that others can't write); or name the GPUs of this scheduler in gpus.only, and set gpus.slurm = \"allow\"")
}
