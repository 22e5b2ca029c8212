package supervise

import (
	"slices"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
)

// lostAfter is how long the driver must report a GPU as lost before the jobs of the GPU are ended.
// A reload of the driver takes less time.
const lostAfter = 10 * time.Second

// settingsOf converts a configuration into the daemon's settings,
// for a machine with this many CPUs.
func settingsOf(cfg config.Config, cpus int) (daemon.Settings, error) {
	ram, err := host.Memory()
	if err != nil {
		return daemon.Settings{}, err
	}
	g := cfg.GPUs
	return daemon.Settings{
		Policy:         policy(cfg, ram, cpus),
		SampleInterval: g.SampleInterval, TasksMax: uint64(cfg.Jobs.TasksMax),
		ExtraDevices:  func(more []string) []cgroup.Device { return cgroup.StatNodes(slices.Concat(g.ExtraDevices, more)) },
		RequireFilter: g.DeviceFilter == config.FilterRequire,
		DriverCheck:   g.DriverCheck, AlertUnit: g.AlertUnit, CheckUnit: g.CheckUnit, AllowSandboxed: cfg.Jobs.AllowSandboxed,
		Inhibit: inhibitedActions[cfg.Daemon.Inhibit],
	}, nil
}

// policy converts a configuration into the core's policy, for a machine with this much memory (ram)
// and this many CPUs.
func policy(cfg config.Config, ram int64, cpus int) site.Policy {
	j, g := cfg.Jobs, cfg.GPUs
	hostCPUs, hostMem := j.CPUs.Of(int64(cpus)), ram-cfg.Daemon.HostMemReserve.Of(ram)
	userMem := cfg.Quotas.Default.Mem.Of(hostMem)
	return site.Policy{
		HostMemBytes: hostMem,
		HostCPUs:     int(hostCPUs), GPUCPUs: int(min(j.DefaultCPUs.Of(hostCPUs), hostCPUs)),
		DefaultMem:  func(milli, gpus int) int64 { return j.DefaultMem.For(milli, ram, userMem, gpus) },
		DefaultTime: j.DefaultTime, MaxTime: j.MaxTime, DefaultGrace: j.DefaultGrace, MaxGrace: j.MaxGrace,
		MemReturn: site.MemReturn(j.MemReturn),
		Park: site.ParkPolicy{
			Allow: cfg.Park.Allow, Preempt: cfg.Park.Preempt, MaxBytes: cfg.Park.MaxMemory.Of(hostMem),
		},
		MaxMemBytes: j.MaxMem, DefaultRequeue: j.Requeue, AllowRaised: j.AllowRaisedPriority,
		MaxSuspend: j.MaxSuspend, WebhookInterval: cfg.Notify.WebhookInterval,
		MaxRetries: j.MaxRetries, DefaultRetries: j.DefaultRetries, DefaultBackoff: j.DefaultBackoff,
		DefaultOnTimeout: j.DefaultOnTimeout,
		ClassMaxTime:     classTimes(cfg.Classes),
		MaxRunning:       j.MaxRunning, NoGPUShare: j.ShareWithoutGPU, MaxQueued: j.MaxQueued, MaxBytes: cfg.Limits.UserState,
		StartsInFlight: cfg.Daemon.StartsInFlight,
		Sched:          order(cfg), Quotas: cfg.Quotas, Lanes: cfg.Lanes,
		Xids: cfg.Xids, LostAfter: lostAfter, Prove: g.CUDATest,
		DrainPending: g.DrainBadMemory == config.BadMemoryPending, DrainFailed: g.DrainBadMemory != config.BadMemoryNever,
		Usage: usage(cfg), Strays: strays[g.Strays],
		Strangers: strangers[g.Strangers], StrangersAfter: g.StrangersAfter, FirstUID: host.FirstUID("/etc/login.defs"),
		MaxForeignBytes: g.MaxForeign, LoadWindow: g.LoadWindow,
		SmallestPart: g.SmallestPart, PartsOn: g.PartsOn,
		OnlyGPUs: g.Only, CleaningTimeout: g.CleaningTimeout, MemSlackBytes: g.MemorySlack,
		CPUAffinity: g.CPUAffinity, Hints: j.FrameworkHints, Scratch: j.Scratch, ScratchKeep: j.ScratchKeep,
		StaleAfter: 3*g.SampleInterval + g.SampleTimeout, FreshFor: time.Second,
	}
}

// strays converts the setting for processes that leave their jobs.
var strays = map[config.StrayAction]site.Strays{
	config.StrayEnd: site.EndStrays, config.StrayKeep: site.KeepStrays, config.StrayTell: site.TellStrays,
}

// strangers converts the setting for foreign processes on GPUs of other users' jobs.
var strangers = map[config.Strangers]site.Strangers{
	config.StrangersShow: site.ShowStrangers, config.StrangersTell: site.TellStrangers, config.StrangersEnd: site.EndStrangers,
}

// inhibitedActions has, for each setting, the actions that logind prevents while jobs run.
var inhibitedActions = map[config.Inhibit]string{
	config.InhibitSleep: "sleep:idle", config.InhibitShutdown: "shutdown:sleep:idle",
}

// usage returns what happens to jobs that overuse their GPUs or leave them idle.
func usage(cfg config.Config) site.UsagePolicy {
	m, i := cfg.GPUMemory, cfg.Idle
	return site.UsagePolicy{
		Memory:    responses[string(m.Policy)],
		Tolerance: m.Tolerance, MemoryGrace: m.Grace,
		Idle:      responses[string(i.Action)],
		IdleAfter: i.After, IdleGrace: i.Grace,
	}
}

// responses converts the words in the settings. For any other word, nothing is done.
var responses = map[string]site.Response{
	"warn": site.Warn, "enforce": site.WarnAndStop, "stop": site.WarnAndStop, "park": site.WarnAndPark,
}

func order(cfg config.Config) sched.Policy {
	s, g := cfg.Scheduling, cfg.GPUs
	return sched.Policy{
		FIFO: s.Policy == config.OrderFIFO, HalfLife: s.HalfLife,
		GuardAfter: s.GuardAfter, GuardPercent: s.GuardPercent,
		ReservationDepth: s.ReservationDepth, Patience: sched.DefaultPatience, Slice: s.Slice, RestartCost: s.RestartCost,
		MaxLoadPercent: g.MaxLoad, MaxUsedPercent: g.MaxUsed, MinFreeBytes: g.MinFreeMemory,
	}
}

// classTimes returns the time limits of those classes that have their own limit.
func classTimes(classes map[job.Class]config.Class) map[job.Class]time.Duration {
	times := map[job.Class]time.Duration{}
	for class, c := range classes {
		if c.MaxTime > 0 {
			times[class] = c.MaxTime
		}
	}
	return times
}
