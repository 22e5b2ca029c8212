package daemon

import (
	"context"
	"math"
	"path"
	"syscall"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/launch"
)

// prepare writes the launcher's private spec, and returns the spec of the unit.
func (x *executor) prepare(ctx context.Context, j *job.Job) (units.Spec, error) {
	if site := path.Dir(path.Dir(j.Scratch)); j.Scratch != "" && !launch.HasScratchHome(site, j.Owner.UID) {
		if err := x.opt.MakeScratch(ctx, site, j.Owner.UID); err != nil {
			return units.Spec{}, scratchError{err}
		}
	}
	payload, err := x.opt.Store.Payload(ctx, j.PayloadID())
	if err != nil {
		return units.Spec{}, err
	}
	s := x.settings.Load()
	launched := launchSpec(j, &payload, s.RequireFilter)
	if x.opt.Scope.User {
		launched.Variables = append(launched.Variables,
			contract.SocketVariable+"="+x.opt.Socket, contract.TerminalVariable+"="+x.opt.Scope.Terminal(int64(j.ID)))
	}
	if s.AllowSandboxed {
		launched.Variables = append(launched.Variables, contract.SandboxVariable+"="+contract.SandboxAllowed)
	}
	file, err := x.opt.Specs.Write(j.ID, j.Owner.UID, launched)
	if err != nil {
		return units.Spec{}, err
	}
	spec := x.unitSpec(j, &payload, s)
	spec.SpecPath = file
	return spec, nil
}

// unitSpec returns the public part of a job's unit, which everybody can read with systemctl.
func (x *executor) unitSpec(j *job.Job, p *job.Payload, s *Settings) units.Spec {
	r := &j.Request
	spec := units.Spec{
		Scope: x.opt.Scope,
		ID:    int64(j.ID), Engine: r.ContainerEngine,
		UID: j.Owner.UID, GID: x.directory.groupNow(j), User: j.Owner.User, JobName: j.Label.Name,
		Limits: cgroup.Limits{MemBytes: r.MemBytes, TasksMax: s.TasksMax, CPUs: r.CPUs},
		Grace:  r.GraceTime().Duration(), Launcher: x.opt.Launcher, Rlimits: p.Limits,
	}
	spec.TimeLimit, spec.Screen, spec.Log = r.TimeLimit.Duration(), r.Screen, p.Log.Path != ""
	spec.TermMain = r.SignalTo == job.SignalMain
	if j.Task != nil {
		spec.Array, spec.Task = int64(j.Task.Array), j.Task.Index
	}
	if j.Attempt == nil {
		return spec
	}
	spec.Attempt, spec.Placed = j.Attempt.Number, j.Attempt.PlacedAt
	var caps []string
	for _, g := range j.Attempt.GPUs {
		spec.GPUs, caps = append(spec.GPUs, g.GPU), append(caps, g.CapNodes()...)
	}
	spec.MPS = j.Request.Mates.UID() >= 0
	spec.CPUAffinity, spec.CPUShare = affinity(j, controlGroup(x.opt.Scope, j)), j.CPUs()
	if len(spec.GPUs) > 0 && s.ExtraDevices != nil {
		spec.Devices = s.ExtraDevices(caps)
	}
	return spec
}

// affinity returns the CPUs that are near the job's GPUs and that the job may use. If there are
// none, it returns "" and the job runs on any CPU: systemd does not start a unit whose CPUs do not
// exist.
func affinity(j *job.Job, group string) string {
	near := cpuset.Union(job.Each(j.Attempt.GPUs, func(g job.Allocation) string { return g.CPUs })...)
	if near == "" {
		return ""
	}
	return cpuset.Intersect(near, cgroup.AllowedCPUs(cgroup.Root, group, cgroup.OnlineCPUs))
}

// launchSpec returns the private part of a job, which only the job's user can read.
func launchSpec(j *job.Job, p *job.Payload, requireFilter bool) *launch.Spec {
	s := &launch.Spec{
		JobID: int64(j.ID), Attempt: j.Attempt.Number, Program: p.Program,
		User: j.Owner.User, ShareMilli: j.Request.GPUMilli, GPUMemMiB: j.Request.GPUMemBytes >> 20,
		Visible: j.Request.GPUVisible, RequireFilter: requireFilter, ProbePath: contract.ProbePath, SoftLimits: p.Limits,
	}
	s.Scratch = j.Scratch
	s.Argv, s.Variables = argv(j, p), compatVariables(j, p)
	s.Screen = words.ScreenName(j, s.Argv)
	s.Aimed = mainProcessSignals(&j.Request)
	if p.Setup.Compat == contract.CompatSlurm {
		s.Ignored = ignoredWarning(&j.Request)
	}
	if s.Log.Path != "" {
		s.Log.Path = j.LogPath(s.Log.Path)
	}
	if j.Task != nil {
		s.ArrayJob, s.ArrayTask = int64(j.Task.Array), j.Task.Index
	}
	for _, g := range j.Attempt.GPUs {
		s.GPUs = append(s.GPUs, g.GPU)
	}
	if uid := j.Request.Mates.UID(); uid >= 0 {
		s.Variables = append(s.Variables, units.MPSVariables(uid, s.GPUs, j.Request.MPSFair)...)
	}
	return s
}

// mainProcessSignals returns the signals that only the job's main process gets, and no other
// process of the job.
func mainProcessSignals(r *job.Request) (list []int) {
	if r.SignalTo == job.SignalMain {
		list = append(list, int(syscall.SIGTERM))
	}
	if r.WarnSignal != 0 && r.WarnsMain() {
		list = append(list, r.WarnSignal)
	}
	return list
}

// ignoredWarning returns the warning signal that the shell of an sbatch job ignores, 0 for none.
// Slurm sends the warning only to the steps of a script, where srun restores the signal's default
// action. SIGTERM is never ignored, because it also ends the job.
func ignoredWarning(r *job.Request) int {
	if r.WarnsMain() || r.WarnSignal == int(syscall.SIGTERM) {
		return 0
	}
	return r.WarnSignal
}

// argv returns the job's command. A task has the command of its array,
// with its own parameters filled in.
func argv(j *job.Job, p *job.Payload) []string {
	if j.Task == nil || j.Request.Array == nil {
		return p.Argv
	}
	return j.Request.Array.Expand(p.Argv, j.Task.Index)
}

// unitOf converts systemd's state of a unit to the form that the core uses.
func unitOf(st units.Status) core.Unit {
	id, _ := units.ParseName(st.Name)
	u := core.Unit{Job: job.ID(id), Invocation: st.InvocationID, Age: st.Age, EndAge: st.EndAge, Frozen: st.Frozen}
	u.Unfiltered = st.StatusText == contract.StatusUnfiltered
	phase, e := units.Decode(st)
	switch phase {
	case units.PhaseAbsent:
		return u
	case units.PhaseStarting, units.PhaseStopping:
		u.Phase = core.Activating
		return u
	case units.PhaseRunning:
		u.Phase, u.MemMax, u.MemHigh = core.Active, knownLimit(st.MemoryMax), knownLimit(st.MemoryHigh)
		return u
	}
	u.Phase, u.Exit, u.Spent = core.Exited, e, st.Spent
	if st.CPUNSec != units.Infinity {
		u.Used.CPUTime = job.Span(st.CPUNSec)
	}
	if st.MemoryPeak != units.Infinity {
		u.Used.PeakMemBytes = int64(st.MemoryPeak)
	}
	return u
}

// knownLimit returns a limit of a unit, or 0 if there is none.
func knownLimit(n uint64) int64 {
	if n > math.MaxInt64 {
		return 0
	}
	return int64(n)
}

// controlGroup returns the control group with all processes of a job.
func controlGroup(s units.Scope, j *job.Job) string {
	return s.JobGroup(j.Owner.UID, int64(j.ID), j.Request.ContainerEngine)
}
