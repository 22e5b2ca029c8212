package core_test

import (
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// lower quota-gpus= quota-mem= quota-cpus= mem= cpus=: from now on, the site's quotas and the
// host's capacity for jobs.
func (s *script) lower() {
	q := &s.w.policy.Quotas.Default
	q.GPUMilli, q.Mem.Percent, q.CPUs.Percent = s.num("quota-gpus", 0)*job.WholeGPU, s.num("quota-mem", 0), s.num("quota-cpus", 0)
	s.w.policy.HostMemBytes, s.w.policy.HostCPUs = s.size("mem"), s.num("cpus", 0)
	s.feed(core.Configured{Policy: s.w.policy})
}

// never: print the jobs that can't start unless something changes.
func (s *script) never() {
	machine, quota := s.w.core.Hopeless(s.w.now)
	s.log("the machine has too little for %d jobs: %s %s", machine.Jobs, machine.First, machine.Why)
	s.log("a quota keeps %d jobs: %s %s", quota.Jobs, quota.First, quota.Why)
}
