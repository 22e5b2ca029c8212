package dst

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

const gib = 1 << 30

// World is everything that exists in one run.
type World struct {
	seed    uint64
	plan    Plan
	planted bug
	Result                // the result so far
	skew    time.Duration // how far the wall clock is wrong
	agenda  agenda

	life       *life
	daemon     *daemon.Daemon
	stopDaemon context.CancelFunc
	stopping   bool          // the daemon was told to stop
	tidied     int           // how many times tidy was called
	diedAt     time.Duration // when the last process ended; negative: none has
	current    *activity
	waiting    []*activity // activities that wait for a bell
	activities uint64
	doom       int // number of calls of mayDie until the daemon dies; 0: it does not die
	calls      []*request

	until    map[Kind]time.Duration // when each lasting fault ends
	bus      *bus
	disk     *disk
	specs    *specs
	gpus     []*card
	tellsUse bool // the driver reports the load of GPUs
	kernel   *kernel
	boot     int
	reboots  int // number of reboots of any kind
	helpers  map[string]*helper
	leaving  bool   // systemd is stopping everything
	reserved uint64 // MiB that the driver keeps of each GPU
	unified  bool   // the GPUs have no memory of their own
	untold   bool   // the driver does not report each process's memory
	counted  bool   // when a GPU disappears, the numbers of the other GPUs change
	strays   map[int]*stray
	asked    map[int]time.Duration // when this process of the daemon first asked about each uid
	toldUser map[int]time.Duration // when each user was last told about a stranger
	lives    int                   // number of processes of the daemon so far
	problem  gpu.Problem
	pids     int
	runs     map[string]*run // runs of existing units, by unit
	healed   bool
	notFree  string      // name of a GPU that was not free at the last check
	settled  bool        // everything has ended
	own      []*activity // the world's own activities
	tracked  *judge
	subs     map[int]*submission
	post     postLog
	follower follower

	tracing bool
}

func newWorld(p Plan) *World {
	w := &World{
		seed: p.Seed, plan: p, until: map[Kind]time.Duration{}, runs: map[string]*run{}, subs: map[int]*submission{},
		Result: Result{Counts: map[string]int{}}, post: newPost(), diedAt: -1,
		boot: 1, strays: map[int]*stray{}, helpers: map[string]*helper{}, asked: map[int]time.Duration{}, toldUser: map[int]time.Duration{}, problem: gpu.ProblemStale,
		specs: &specs{got: map[specKey]bool{}, kept: map[specKey][]byte{}},
	}
	w.specs.w = w
	w.bus, w.disk = newBus(w), newDisk(w)
	w.kernel, w.tracked = &kernel{w: w}, newJudge()
	d := w.roll("driver")
	w.tellsUse, w.reserved = d.chance(60), pick[uint64](d, 0, 328, 700, 700, 1200, 2288)
	w.counted, w.untold, w.unified = d.chance(50), d.chance(8), d.chance(6)
	w.makeGPUs(p.GPUs)
	return w
}

func (w *World) bootID() string { return fmt.Sprintf("boot%d", w.boot) }

// runID identifies the run of systemd.
func (w *World) runID() string { return fmt.Sprintf("%s.%d", w.bootID(), w.reboots) }

// isOn reports whether a lasting fault is under way.
func (w *World) isOn(k Kind) bool { return w.Elapsed < w.until[k] }

func (w *World) count(what string) { w.Counts[what]++ }

// tell adds a line to the story.
func (w *World) tell(format string, args ...any) {
	if w.tracing {
		w.Trail = append(w.Trail, fmt.Sprintf("%12.6f ", w.Elapsed.Seconds())+fmt.Sprintf(format, args...))
	}
}

// breach notes that an invariant is violated.
func (w *World) breach(invariant int, format string, args ...any) {
	text := fmt.Sprintf("invariant %d: ", invariant) + fmt.Sprintf(format, args...)
	w.Breaches = append(w.Breaches, text)
	w.tell("BREACH %s", text)
}

// start begins a process of the daemon.
func (w *World) start() {
	if w.life != nil || w.leaving {
		return
	}
	l := &life{w: w, born: w.Elapsed}
	w.life = l
	w.tracked.restart()
	w.tell("the daemon starts")
	w.spawn(l, func() { w.runProcess(l) })
}

// runProcess runs a process of the daemon, from its first instruction to its last.
func (w *World) runProcess(l *life) {
	defer func() { l.over = true }()
	w.mayDie(l)
	restored, err := w.disk.open()
	if err != nil {
		w.tell("the daemon does not start: %v", err)
		return
	}
	w.judgeRestored(&restored)
	clear(w.post.flying)
	clear(w.asked)
	w.lives++
	d, err := daemon.New(daemon.Options{
		Runtime: l, Store: w.disk, Units: w.bus, Changes: w.bus.followChanges, Source: source{w}, Kernel: w.kernel,
		UnitOf: w.unitOf, Person: w.person, Groups: w.groupsOf,
		Tell: w.note, Specs: w.specs, Origin: w.bus.Origin, System: w.bus.System, EndProcess: w.endProcess,
		Deliver: w.deliver, TellUser: w.tellUser, Park: w.parkJob, Meter: w.meter, MemUsed: w.memUsed,
		Notify: silentNotify{}, Log: slog.New(slog.DiscardHandler),
		Restored: restored, Settings: w.settings(), Launcher: "/usr/libexec/gpusched/gpusched-job",
		Boot: func() (string, error) { return w.bootID(), nil }, Observe: w.observe,
	})
	if err != nil {
		w.breach(9, "the daemon does not start: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	w.daemon, w.stopDaemon = d, cancel
	_ = d.Run(ctx)
}

// restartDaemon ends the daemon's process. systemd then starts another.
func (w *World) restartDaemon() {
	if w.disk.file != nil {
		w.disk.file.die()
	}
	w.life, w.daemon, w.diedAt = nil, nil, w.Elapsed
	w.stopDaemon, w.stopping, w.doom = nil, false, 0
	w.bus.hints, w.kernel.log.bell = feed[units.Change]{}, nil
	w.waiting = slices.DeleteFunc(w.waiting, func(a *activity) bool { return a.life != nil })
	calls := w.calls
	w.calls = nil
	for _, c := range calls {
		if !c.over {
			c.over = true
			c.lost()
		}
	}
	w.after(w.roll("restart", uint64(w.Elapsed)).between(50*time.Millisecond, 5*time.Second), w.start)
}

// note is daemon.Options.Tell, which adds a sentence to a job's journal.
func (w *World) note(ctx context.Context, _ job.ID, _ int, _ string) error {
	d := w.roll("note", uint64(w.Elapsed))
	if w.isOn(lostCalls) && d.chance(50) {
		return errNote
	}
	return w.sleep(ctx, d.shortTime(10*time.Millisecond))
}

var errNote = errors.New("the note was not taken")

// tellUser is daemon.Options.TellUser. It checks that nobody is told about a process twice.
func (w *World) tellUser(_ context.Context, uid int, text string) error {
	w.count("user told about a stranger")
	w.toldUser[uid] = w.Elapsed
	for pid, s := range w.strays {
		if person(s.UID) != uid || !strings.Contains(text, fmt.Sprintf(" %d (", pid)) {
			continue
		}
		if s.warned > 0 && w.Elapsed-s.warned < 10*time.Minute {
			w.breach(14, "uid %d is told about process %d after %s again", uid, pid, w.Elapsed-s.warned)
		}
		s.warned = w.Elapsed
	}
	return nil
}

// silentNotify is a daemon.Notify that ignores everything.
type silentNotify struct{}

func (silentNotify) Ready()        {}
func (silentNotify) Stopping()     {}
func (silentNotify) Alive()        {}
func (silentNotify) Status(string) {}

// step runs the next event.
func (w *World) step() {
	e := w.agenda.pop()
	w.Elapsed = e.at
	e.do()
	w.Steps++
	w.Hash = mix(w.Hash ^ uint64(w.Elapsed) ^ w.activities<<40)
}
