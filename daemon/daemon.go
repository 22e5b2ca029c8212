package daemon

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
	"github.com/gpusched/gpusched/daemon/removal"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// Settings are the settings that a reload may change.
type Settings struct {
	Policy         site.Policy
	SampleInterval time.Duration
	TasksMax       uint64
	ExtraDevices   func(more []string) []cgroup.Device // devices of jobs with a GPU: the site's and the given ones
	RequireFilter  bool
	AllowSandboxed bool   // lets sandboxed processes run commands in units of jobs that start later
	DriverCheck    bool   // GPUs take no jobs while the installed driver is not the loaded one
	AlertUnit      string // template of the unit to start when a GPU goes out of service; "": none
	CheckUnit      string // template of the unit to start when a GPU was found well; "": none
	Inhibit        string // what logind must not do while jobs run, such as "sleep:idle"; "": nothing
}

// Options are the parts and settings of a Daemon.
type Options struct {
	Runtime    Runtime // nil: the machine's clock and goroutines
	Store      Store
	Units      Units
	Changes    Changes
	Source     Source
	Kernel     Kernel                    // nil: error reports are not read
	Driver     func() gpu.DriverVersions // installed and loaded driver; nil: unknown
	HasCUDA    func() bool               // reports whether libcuda.so.1 is installed; nil: it is not
	UnitOf     func(pid int) string      // unit of a process, "" if unknown; nil: never known
	Account    func(uid int) string      // name of an account, "" if unknown; nil: never known
	Person     Persons                   // finds the person behind a uid; nil: each uid is a person of its own
	InGroup    func(uid, gid int) bool   // false only if the account has certainly left the group; nil: always true
	NameToday  NameToday                 // nil: the recorded name is used
	Groups     QuotaGroups               // nil: the recorded groups are used
	Barred     func(uid int) string      // why a user may not run anything today, "" if they may; nil: everybody may
	Specs      Specs
	Meter      Meter
	MemUsed    MemUsed // nil: never known
	Inside     Inside
	EndProcess EndProcess
	Origin     Origin
	System     System // nil: systemd never shuts down, and starts once per boot
	// StartUnit starts a unit of the site; nil: no such unit is started.
	StartUnit   func(ctx context.Context, name string) error
	Reboot      Reboot                             // nil: the machine can't be rebooted
	Scheduled   Scheduled                          // nil: no shutdown is ever scheduled
	Prove       Prove                              // nil: GPUs are not tested
	Park        Park                               // nil: no job can be parked
	Inhibit     Inhibit                            // nil: the machine may sleep while jobs run
	Tell        Tell                               // nil: no notes are written
	Open        Open                               // nil: nobody can run commands in a job's unit
	Deliver     Deliver                            // nil: no messages are sent
	TellUser    TellUser                           // nil: users are told nothing
	Remove      RemoveDirectory                    // nil: the directories of jobs stay
	MakeScratch MakeScratch                        // needed if the policy has scratch directories
	Forget      func(context.Context) (int, error) // removes old ended jobs and returns how many; nil: all are kept
	Notify      Notify
	Log         *slog.Logger

	Restored      job.Restored
	Settings      Settings
	Scope         units.Scope            // which systemd runs the jobs' units: the system's or a user's
	Socket        string                 // only in a user's own scheduler: its jobs get this path
	Launcher      string                 // path of gpusched-job
	LauncherFile  func() string          // identifies the launcher's present file; nil: the file never changes
	Boot          func() (string, error) // returns the id of the present boot
	WatchdogEvery time.Duration          // 0: no watchdog
	Checks        []Check
	Tally         *metrics.Tally // nil: a new tally, which ends with the Daemon

	// Observe is called by the loop after each step,
	// before the effects are durable. Only tests set it.
	Observe func(core.Event, core.Effects, *core.Core)
}

// Daemon is the scheduler. The server may call the methods of server.Backend while Run runs.
type Daemon struct {
	opt       Options
	host      Runtime
	log       *slog.Logger
	core      *core.Core // only the loop uses it
	settings  atomic.Pointer[Settings]
	inbox     *inbox
	commit    *committer
	replies   pendingReplies
	waiters   waiterSet
	events    *announcer
	trace     trace
	ahead     forecaster
	courses   forecaster // for forecasts that include the GPUs
	trials    trialRunner
	sampler   *sampler
	lister    *unitReconciler
	pruner    *historyPruner
	remover   *removal.Remover
	started   time.Time
	workers   *group
	exec      executor
	directory directory
	shutdown  shutdown
	alerts    alerter
	inhibitor inhibitor
	probes    probes
	clock     clock
	end       context.CancelCauseFunc // cancels the context of all parts
}

// New makes a daemon from the state on record.
func New(o Options) (*Daemon, error) {
	boot, err := o.Boot()
	if err != nil {
		return nil, err
	}
	d := assemble(o)
	d.opt.Tally.Restore(o.Restored.Jobs)
	d.core = core.New(o.Settings.Policy, boot, o.Restored)
	d.events = newAnnouncer(d.host, &o.Restored, d.started)
	live := map[job.ID]int{} // attempt of each live job
	for i := range o.Restored.Jobs {
		if j := &o.Restored.Jobs[i]; j.State.Live() {
			live[j.ID] = attemptOf(j)
		}
	}
	if err := o.Specs.Sweep(func(id job.ID, attempt int) bool { return live[id] == attempt }); err != nil {
		o.Log.Warn("sweeping old specs", "err", err)
	}
	return d, nil
}

// assemble makes the parts that do not need the state on record.
func assemble(o Options) *Daemon {
	if o.Runtime == nil {
		o.Runtime = machine{}
	}
	if o.Tally == nil {
		o.Tally = metrics.NewTally()
	}
	o.Restored = job.Restored{} // otherwise the jobs on record would stay in memory even after their ends
	d := &Daemon{
		opt: o, host: o.Runtime, log: o.Log, started: o.Runtime.Now(),
		inbox: newInbox(o.Runtime), workers: newGroup(o.Runtime),
		replies: pendingReplies{waiting: map[core.Token]*pendingReply{}}, waiters: waiterSet{of: map[job.ID][]*waiter{}},
	}
	d.settings.Store(&d.opt.Settings)
	d.trace = trace{host: d.host, log: d.log}
	d.directory = directory{opt: &d.opt, host: d.host, log: d.log, inbox: d.inbox, regroup: d.host.Wakeup()}
	d.shutdown = shutdown{system: o.System, scheduled: o.Scheduled, host: d.host, inbox: d.inbox, log: d.log}
	d.exec = executor{
		opt: &d.opt, host: d.host, log: d.log, settings: &d.settings, inbox: d.inbox, trace: d.trace,
		directory: &d.directory, shutdown: &d.shutdown, workers: d.workers, damaged: d.restartIfDamaged,
	}
	d.alerts = alerter{host: d.host, log: d.log, start: o.StartUnit, workers: d.workers}
	d.inhibitor = inhibitor{host: d.host, log: d.log, take: o.Inhibit, settings: &d.settings, bell: d.host.Wakeup()}
	d.shutdown.letGo = d.inhibitor.letGo
	d.probes = probes{host: d.host, stop: d.inbox.done}
	for _, c := range o.Checks {
		d.probes.list = append(d.probes.list, &probe{Check: c})
	}
	d.ahead.turn = make(chan struct{}, 1)
	d.courses.turn = d.ahead.turn
	d.trials.turn = make(chan struct{}, 1)
	d.commit = &committer{d: d, wake: d.host.Wakeup(), broken: brokenGPUs{}}
	d.sampler = &sampler{d: d, wake: d.host.Wakeup()}
	d.lister, d.pruner = newUnitReconciler(d), newHistoryPruner(d)
	d.remover = &removal.Remover{
		Log: d.log, Now: d.host.Now, Go: d.workers.Go, Bell: d.host.Wakeup(), Remove: o.Remove,
		Read: func(ctx context.Context, n int) ([]job.Directory, error) { return o.Store.Directories(ctx, n) },
		Record: func(dir *job.Directory) {
			d.commit.push(core.Effects{Records: []job.Record{{Directory: dir}}}, d.host.Now(), false)
		},
	}
	return d
}

// Run works until the context ends, and then returns nil. It returns an error if the daemon can't
// continue. Running jobs keep running after Run returns.
func (d *Daemon) Run(outer context.Context) error {
	ctx, end := context.WithCancelCause(outer)
	defer end(nil)
	d.end = end
	parts := newGroup(d.host)
	run := []func(context.Context){
		d.commit.run, d.sampler.run, d.lister.run, d.pruner.run, d.watch, d.listen, d.directory.followGroups, d.inhibitor.run,
		d.shutdown.watch, d.remover.Run,
	}
	for _, part := range run {
		parts.Go(func() { part(ctx) })
	}
	d.opt.Notify.Ready()
	d.loop(ctx)
	if outer.Err() != nil { // otherwise the process does not end
		d.opt.Notify.Stopping()
	}
	close(d.inbox.done)
	parts.Wait()
	d.workers.Wait()
	if outer.Err() != nil {
		return nil
	}
	return context.Cause(ctx)
}

// Reload applies new settings.
func (d *Daemon) Reload(s Settings) {
	d.settings.Store(&s)
	d.inbox.post(core.Configured{Policy: s.Policy})
	d.directory.regroup.Ring()
	d.inhibitor.bell.Ring()
	d.probes.reset()
}

// watch sends systemd's signals about units to the core, as events.
func (d *Daemon) watch(ctx context.Context) {
	d.opt.Changes(ctx, func(ch units.Change) {
		if ch.Resync {
			d.exec.launcher.add()
			d.lister.wake()
		} else if id, ok := units.ParseName(ch.Name); ok {
			d.inbox.post(core.Changed{Job: job.ID(id)})
		}
	})
}
