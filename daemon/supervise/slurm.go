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

// slurm has what is known about a Slurm installation on the same machine.
type slurm struct {
	reader gres.Reader
	found  atomic.Pointer[gres.Found] // result of the last look
}

// read reads Slurm's files again.
func (s *slurm) read() {
	if host, err := os.Hostname(); err == nil {
		s.reader.Host = host
	}
	found := s.reader.Read()
	s.found.Store(&found)
}

// gpus returns Slurm's GPUs, which jobs must not get. If the settings share them, it returns none.
func (s *slurm) gpus(cfg *config.Config) site.GPUsOfSlurm {
	f := s.found.Load()
	if f == nil || cfg.GPUs.Slurm == config.SlurmAllow {
		return site.GPUsOfSlurm{}
	}
	return site.GPUsOfSlurm{Every: f.Every, Minors: f.Minors}
}

// check reports which GPUs belong to Slurm.
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
	case f.Assumed && allowed: // an administrator accepted this
		c.Detail += "; " + why
		return c
	case f.Assumed:
		return c.Degrade(why+"; slurmd runs, so each GPU may be Slurm's: no job is placed on any GPU, and running jobs go on",
			"correct that (the files must be below /etc, owned by root and not writable by others); or set gpus.slurm = \"allow\", and in gpus.only the GPUs that are not Slurm's")
	case f.None():
		why += "; when last read, it had none"
	default:
		why += "; as it was last read, " + c.Detail
	}
	return c.Degrade(why, "correct that (the files must be below /etc, owned by root and not writable by others); or name the GPUs of this scheduler in gpus.only, and set gpus.slurm = \"allow\"")
}
