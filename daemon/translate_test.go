package daemon

import (
	"log/slog"
	"slices"
	"testing"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
)

func sweepTask(index int) *job.Job {
	j := &job.Job{ID: 12, Owner: job.Owner{UID: 1001, User: "alice"}, Attempt: &job.Attempt{Number: 1}}
	j.Request.GPUMilli = 1500
	j.Request.Array = &job.Array{
		Ranges: []job.Range{{First: 0, Last: 3, Step: 1}},
		Params: []job.Param{{Name: "lr", Values: []string{"1", "2"}}, {Name: "seed", Values: []string{"a", "b"}}},
	}
	j.Task = &job.Task{Array: 7, Index: index}
	return j
}

// A task runs the command of its array with its own parameters, and knows its index.
// A job that is not a task runs its command unchanged.
func TestLaunchSpecOfATask(t *testing.T) {
	p := &job.Payload{Program: contract.Program{Argv: []string{"train", "--lr={lr}", "{seed}", "{other}"}}}
	s := launchSpec(sweepTask(2), p, true)
	if !slices.Equal(s.Argv, []string{"train", "--lr=2", "a", "{other}"}) || s.JobID != 12 || s.ArrayJob != 7 || s.ArrayTask != 2 || s.ShareMilli != 1500 {
		t.Errorf("got %+v", s)
	}
	plain := sweepTask(2)
	plain.Task, plain.Request.Array = nil, nil
	if s := launchSpec(plain, p, true); !slices.Equal(s.Argv, p.Argv) || s.ArrayJob != 0 {
		t.Errorf("got %+v", s)
	}
	if p.Argv[1] != "--lr={lr}" {
		t.Errorf("the payload became %q", p.Argv)
	}
}

// The shell of an sbatch job ignores the warning signal, with two exceptions: SIGTERM, and a signal
// that the job directs to the shell.
func TestIgnoredWarning(t *testing.T) {
	for _, c := range []struct {
		compat string
		ask    job.Request
		want   int
	}{
		{contract.CompatSlurm, job.Request{WarnSignal: 12}, 12},
		{"", job.Request{WarnSignal: 12}, 0},
		{contract.CompatSlurm, job.Request{WarnSignal: 12, WarnMain: true}, 0},
		{contract.CompatSlurm, job.Request{WarnSignal: 15}, 0},
		{contract.CompatSlurm, job.Request{}, 0},
	} {
		j := &job.Job{ID: 12, Request: c.ask, Attempt: &job.Attempt{Number: 1}}
		p := &job.Payload{Program: contract.Program{Argv: []string{"true"}, Setup: contract.Setup{Compat: c.compat}}}
		if got := launchSpec(j, p, true).Ignored; got != c.want {
			t.Errorf("%+v of %q: %d is ignored", c.ask, c.compat, got)
		}
	}
}

// Signals for the main process alone are in systemd's properties. They are also in the instructions
// of the process that holds a terminal.
func TestAimedSignals(t *testing.T) {
	for _, c := range []struct {
		ask   job.Request
		aimed []int
		mode  string
	}{
		{job.Request{WarnSignal: 10}, nil, "control-group"},
		{job.Request{WarnSignal: 10, WarnMain: true}, []int{10}, "control-group"},
		{job.Request{SignalTo: job.SignalMain}, []int{15}, "mixed"},
		{job.Request{WarnSignal: 10, SignalTo: job.SignalMain}, []int{15, 10}, "mixed"},
	} {
		j := &job.Job{ID: 12, Request: c.ask, Attempt: &job.Attempt{Number: 1}}
		if got := launchSpec(j, &job.Payload{Program: contract.Program{Argv: []string{"true"}}}, true).Aimed; !slices.Equal(got, c.aimed) {
			t.Errorf("%+v: %v are aimed", c.ask, got)
		}
		if !slices.Contains(units.Properties(assemble(Options{}).exec.unitSpec(j, &job.Payload{}, &Settings{})), units.Property{Name: "KillMode", Value: c.mode}) {
			t.Errorf("%+v: the unit is not %s", c.ask, c.mode)
		}
	}
}

// A job runs only on those CPUs near its GPUs that it may use. If there are none, it may run on any
// CPU.
func TestAffinity(t *testing.T) {
	allowed := cgroup.AllowedCPUs(cgroup.Root, "/", cgroup.OnlineCPUs)
	for _, c := range []struct {
		near []string
		want string
	}{
		{nil, ""},
		{[]string{allowed}, allowed},
		{[]string{allowed, "60000"}, allowed},
		{[]string{allowed, ""}, ""},
		{[]string{"60000-60001"}, ""},
	} {
		j := &job.Job{ID: 3, Attempt: &job.Attempt{}}
		for _, list := range c.near {
			j.Attempt.GPUs = append(j.Attempt.GPUs, job.Allocation{CPUs: list})
		}
		if got := affinity(j, "/gpujobs.slice"); got != cpuset.Intersect(c.want, c.want) {
			t.Errorf("near %q: %q, want %q", c.near, got, c.want)
		}
	}
}

// A job's CPU weight is the number of CPUs that the scheduler counts for it. This number comes from
// its request or from its GPUs.
func TestWeightOfCPUs(t *testing.T) {
	d := assemble(Options{Log: slog.New(slog.DiscardHandler)})
	gpu := func(cpus int) job.Allocation { return job.Allocation{PromisedCPUs: cpus} }
	for _, c := range []struct {
		asked int
		gpus  []job.Allocation
		want  int
	}{{0, nil, 0}, {4, nil, 4}, {0, []job.Allocation{gpu(3), gpu(4)}, 7}} {
		j := &job.Job{ID: 3, Request: job.Request{CPUs: c.asked}, Attempt: &job.Attempt{GPUs: c.gpus}}
		if spec := d.exec.unitSpec(j, &job.Payload{}, &Settings{}); spec.CPUShare != c.want || spec.Limits.CPUs != c.asked {
			t.Errorf("of %+v: weighs %d CPUs with a limit of %d", c, spec.CPUShare, spec.Limits.CPUs)
		}
	}
}

// A job runs with the group of its submission until its user leaves that group.
func TestGroupOfToday(t *testing.T) {
	j := &job.Job{ID: 3, Owner: job.Owner{UID: 1001, GID: 990}}
	for name, c := range map[string]struct {
		in   func(uid, gid int) bool
		want int
	}{
		"nobody knows":   {nil, 990},
		"a member":       {func(uid, gid int) bool { return uid == 1001 && gid == 990 }, 990},
		"no member more": {func(int, int) bool { return false }, 0},
	} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler), InGroup: c.in})
		spec := d.exec.unitSpec(j, &job.Payload{}, &Settings{})
		if spec.GID != c.want || spec.UID != 1001 {
			t.Errorf("%s: group %d, want %d", name, spec.GID, c.want)
		}
	}
}
