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
	"github.com/gpusched/gpusched/units"
)

// Settings is what may change while the daemon runs.
type Settings struct {
	Policy         site.Policy
	SampleInterval time.Duration
	TasksMax       uint64
	ExtraDevices   func() []cgroup.Device // for jobs with a GPU, asked at each start
	RequireFilter  bool
	AllowSandboxed bool   // processes in a sandbox may run commands beside the jobs that start
	AlertUnit      string // template of the unit that is started for a GPU that goes out of service; "": none
}

// Options are what a Daemon is made of.
type Options struct {
	Runtime    Runtime // nil: the machine's clock and goroutines
	Store      Store
	Units      Units
	Changes    Changes
	Source     Source
	Kernel     Kernel                  // nil: not read
	UnitOf     func(pid int) string    // the unit of a process, "" unknown; nil: always so
	Account    func(uid int) string    // the name of an account, "" unknown; nil: always so
	Person     Persons                 // whose the uids of containers are; nil: each its own
	InGroup    func(uid, gid int) bool // whether an account has a group today, or that is not known; nil: always
	NameToday  NameToday               // nil: it is the one on record
	Groups     QuotaGroups             // nil: those on record
	Barred     func(uid int) string    // why a user may run nothing today, "" where that is not so; nil: never
	Specs      Specs
	Meter      Meter
	Inside     Inside
	EndProcess EndProcess
	Origin     Origin
	System     System // nil: it never stops, and there is one run of it in a boot
	// StartUnit starts a unit of the site's; nil: no unit is started.
	StartUnit func(ctx context.Context, name string) error
	Tell      Tell                               // nil: no note is written
	Open      Open                               // nil: no command can be run beside a job's
	Deliver   Deliver                            // nil: no message is sent
	Forget    func(context.Context) (int, error) // removes old ended jobs and returns how many; nil: all are kept
	Notify    Notify
	Log       *slog.Logger

	Restored      job.Restored
	Settings      Settings
	Scope         units.Scope            // of the systemd that has the jobs' units
	Socket        string                 // of a user's own scheduler, for its jobs
	Launcher      string                 // path of gpusched-job
	LauncherFile  func() string          // which file that is, as it is now; nil: always the same
	Boot          func() (string, error) // the id of the running boot
	WatchdogEvery time.Duration          // 0: no watchdog
	Checks        []Check
	Tally         *metrics.Tally // nil: what it counts is lost with the Daemon

	// Observe is told about each step right after it, by the loop; nil: nothing is. The
	// effects are about to be made durable. For tests.
	Observe func(core.Event, core.Effects, *core.Core)
}

// Daemon is the scheduler. Run makes it work; the methods of the server's
// Backend may be called while it runs.
type Daemon struct {
	opt       Options
	host      Runtime
	log       *slog.Logger
	core      *core.Core // the loop's
	settings  atomic.Pointer[Settings]
	inbox     *inbox
	commit    *committer
	replies   replies
	waiters   waiters
	events    *announcer
	trace     trace
	ahead     foretelling
	courses   foretelling // whose forecasts tell what becomes of the GPUs, too
	trials    trials
	sampler   *sampler
	lister    *unitReconciler
	forget    *historyPruner
	started   time.Time
	workers   *group
	exec      executor
	directory directory
	shutdown  shutdown
	alerts    alerts
	probes    probes
	clock     clock
	end       context.CancelCauseFunc // of the context that everything runs in
}

// New makes a daemon from what is on record.
func New(o Options) (*Daemon, error) {
	boot, err := o.Boot()
	if err != nil {
		return nil, err
	}
	d := assemble(o)
	d.opt.Tally.Restore(o.Restored.Jobs)
	d.core = core.New(o.Settings.Policy, boot, o.Restored)
	d.events = newAnnouncer(d.host, &o.Restored, d.started)
	live := map[job.ID]int{} // the attempts
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

// assemble makes the parts that need nothing of what is on record.
func assemble(o Options) *Daemon {
	if o.Runtime == nil {
		o.Runtime = machine{}
	}
	if o.Tally == nil {
		o.Tally = metrics.NewTally()
	}
	o.Restored = job.Restored{} // which would keep every job that waited then in memory
	d := &Daemon{
		opt: o, host: o.Runtime, log: o.Log, inbox: newInbox(o.Runtime), started: o.Runtime.Now(), workers: newGroup(o.Runtime),
		replies: replies{waiting: map[core.Token]*pendingReply{}}, waiters: waiters{of: map[job.ID][]*waiter{}},
	}
	d.settings.Store(&d.opt.Settings)
	d.trace = trace{host: d.host, log: d.log}
	d.directory = directory{opt: &d.opt, host: d.host, log: d.log, inbox: d.inbox, regroup: d.host.Wakeup()}
	d.shutdown = shutdown{system: o.System, inbox: d.inbox, log: d.log}
	d.exec = executor{
		opt: &d.opt, host: d.host, log: d.log, settings: &d.settings, inbox: d.inbox, trace: d.trace,
		directory: &d.directory, shutdown: &d.shutdown, workers: d.workers, damaged: d.restartIfDamaged,
	}
	d.alerts = alerts{host: d.host, log: d.log, start: o.StartUnit, workers: d.workers}
	d.probes = probes{host: d.host, stop: d.inbox.done}
	for _, c := range o.Checks {
		d.probes.list = append(d.probes.list, &probe{Check: c})
	}
	d.ahead.turn = make(chan struct{}, 1)
	d.courses.turn = d.ahead.turn
	d.trials.turn = make(chan struct{}, 1)
	d.commit, d.sampler, d.lister, d.forget = newCommitter(d), newSampler(d), newUnitReconciler(d), newHistoryPruner(d)
	return d
}

// Run works until ctx is done, which is not an error, or until it can't go on.
// Running jobs are left alone.
func (d *Daemon) Run(outer context.Context) error {
	ctx, end := context.WithCancelCause(outer)
	defer end(nil)
	d.end = end
	parts := newGroup(d.host)
	run := []func(context.Context){
		d.commit.run, d.sampler.run, d.lister.run, d.forget.run, d.watch, d.listen, d.directory.followGroups,
	}
	for _, part := range run {
		parts.Go(func() { part(ctx) })
	}
	d.opt.Notify.Ready()
	d.loop(ctx)
	if outer.Err() != nil { // else the process stays
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

// Reload puts new settings into force.
func (d *Daemon) Reload(s Settings) {
	d.settings.Store(&s)
	d.inbox.post(core.Configured{Policy: s.Policy})
	d.directory.regroup.Ring()
	d.probes.forget()
}

// watch turns systemd's hints into events.
func (d *Daemon) watch(ctx context.Context) {
	d.opt.Changes(ctx, func(ch units.Change) {
		if ch.Resync {
			d.exec.launcher.doubt()
			d.lister.wake()
		} else if id, ok := units.ParseName(ch.Name); ok {
			d.inbox.post(core.Changed{Job: job.ID(id)})
		}
	})
}
