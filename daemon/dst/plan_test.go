package dst

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Kind is the kind of an entry.
type Kind string

// These are requests of clients. Commands have the same names as in the daemon.
const (
	submit     Kind = "submit"
	cancel          = Kind(job.CommandCancel)
	hold            = Kind(job.CommandHold)
	release         = Kind(job.CommandRelease)
	requeue         = Kind(job.CommandRequeue)
	update          = Kind(job.CommandUpdate)
	signal          = Kind(job.CommandSignal)
	suspend         = Kind(job.CommandSuspend)
	goOn            = Kind(job.CommandResume)
	park            = Kind(job.CommandPark)
	unpark          = Kind(job.CommandUnpark)
	query      Kind = "query"
	await      Kind = "wait"
	pause           = Kind(job.CommandPauseGPU)
	drain           = Kind(job.CommandDrainGPU)
	resume          = Kind(job.CommandResumeGPU)
	drainAll        = Kind(job.CommandDrain)
	undrainAll      = Kind(job.CommandUndrain)
	reserve         = Kind(job.CommandReserve)
	unreserve       = Kind(job.CommandUnreserve)
	reload     Kind = "reload"
)

// ofJobs are the kinds that refer to a submission.
var ofJobs = []Kind{submit, cancel, hold, release, requeue, update, signal, suspend, goOn, await}

// These are faults.
const (
	crash         Kind = "crash"
	stop          Kind = "stop of the daemon"
	reboot        Kind = "reboot"
	shutdown      Kind = "shutdown"
	clock         Kind = "clock jump"
	busGone       Kind = "bus gone"
	pid1Hangs     Kind = "systemd hangs"
	daemonReload  Kind = "daemon-reload"
	lostCalls     Kind = "lost calls"
	lostAnswers   Kind = "lost answers"
	lostSignals   Kind = "lost signals"
	twiceSignals  Kind = "doubled signals"
	lateSignals   Kind = "late signals"
	slowStart     Kind = "slow start"
	slowStop      Kind = "slow stop"
	unkillable    Kind = "unkillable process"
	vanish        Kind = "unit vanished"
	restarted     Kind = "unit restarted by hand"
	kill          Kind = "killed from outside"
	oom           Kind = "out of memory"
	diskFull      Kind = "full disk"
	diskUnsure    Kind = "failed fsync"
	diskSlow      Kind = "slow disk"
	diskReads     Kind = "failed reads"
	gpuLost       Kind = "GPU lost"
	gpuMissing    Kind = "GPU missing"
	renumber      Kind = "GPUs renumbered"
	xid           Kind = "Xid"
	linger        Kind = "lingering memory"
	ghost         Kind = "ghost memory"
	foreign       Kind = "foreign process"
	leaves        Kind = "process leaves its unit"
	trespass      Kind = "process on another GPU"
	sourceProblem Kind = "driver problem"
	sourceDies    Kind = "NVML process dies"
	sourceSlow    Kind = "slow sample"
	stateLost     Kind = "state file lost"
	stateOld      Kind = "older state file"
	startsFail    Kind = "starts fail"
)

// Entry is one thing that happens to the daemon.
type Entry struct {
	At   time.Duration // time since the beginning of the run
	Kind Kind
	For  time.Duration // duration; 0: the entry happens at one moment
	Pick uint64        // random number that decides the details
	Num  int           // position in the whole plan; it identifies the entry
	Job  int           // number of the submission that the entry refers to; -1: none
}

func (e Entry) String() string {
	s := fmt.Sprintf("%10.3fs #%d %s", e.At.Seconds(), e.Num, e.Kind)
	if e.Job >= 0 {
		s += fmt.Sprintf(" of #%d", e.Job)
	}
	if e.For > 0 {
		s += fmt.Sprintf(" for %.3fs", e.For.Seconds())
	}
	return s
}

// commands lists the clients' requests except submissions, with their weights in thousandths.
var commands = []struct {
	kind   Kind
	weight int
}{
	{cancel, 180}, {suspend, 20}, {goOn, 10}, {hold, 70}, {release, 70}, {requeue, 60}, {update, 120}, {signal, 50}, {query, 120}, {await, 100},
	{pause, 20}, {drain, 30}, {drainAll, 10}, {undrainAll, 10}, {resume, 50}, {reserve, 30}, {unreserve, 30}, {reload, 40},
}

// faults lists the kinds of faults, with the maximum number and duration of each in one plan.
var faults = []struct {
	kind    Kind
	often   int
	longest time.Duration
}{
	{crash, 25, 0},
	{stop, 3, 0},
	{reboot, 3, 0},
	{shutdown, 2, 0},
	{clock, 4, 0},
	{busGone, 4, 2 * time.Minute},
	{pid1Hangs, 3, 3 * time.Minute},
	{daemonReload, 4, 0},
	{lostCalls, 3, 5 * time.Minute},
	{lostAnswers, 4, 5 * time.Minute},
	{lostSignals, 4, 10 * time.Minute},
	{twiceSignals, 3, 10 * time.Minute},
	{lateSignals, 3, 10 * time.Minute},
	{slowStart, 3, 5 * time.Minute},
	{slowStop, 3, 5 * time.Minute},
	{unkillable, 4, 5 * time.Minute},
	{vanish, 6, 0},
	{kill, 6, 0},
	{oom, 4, 0},
	{diskFull, 4, 3 * time.Minute},
	{diskUnsure, 4, 3 * time.Minute},
	{diskSlow, 3, 5 * time.Minute},
	{diskReads, 3, 3 * time.Minute},
	{gpuLost, 4, 5 * time.Minute},
	{gpuMissing, 3, 5 * time.Minute},
	{xid, 6, 0},
	{linger, 3, 10 * time.Minute},
	{ghost, 3, 5 * time.Minute},
	{foreign, 6, 5 * time.Minute},
	{leaves, 8, 5 * time.Minute},
	{trespass, 2, 3 * time.Minute},
	{renumber, 3, 0},
	{sourceProblem, 3, 3 * time.Minute},
	{sourceDies, 3, 5 * time.Minute},
	{sourceSlow, 3, 5 * time.Minute},
	{stateLost, 2, 0},
	{restarted, 3, 0},
}

// Plan is everything that happens in the run of one seed, in order of time.
type Plan struct {
	Seed    uint64
	GPUs    int
	Chaos   time.Duration // when the faults stop
	Entries []Entry
}

// NewPlan draws the plan of a seed. Each plan leaves out about half of the kinds of faults, so that
// rare kinds occur together.
func NewPlan(seed uint64) Plan {
	r := rand.New(rand.NewPCG(seed, 0x6770757363686564))
	p := Plan{Seed: seed, GPUs: r.IntN(5), Chaos: time.Duration(1+r.IntN(20)) * time.Minute}
	if r.IntN(10) > 0 {
		p.GPUs = max(p.GPUs, 1)
	}
	add := func(k Kind, longest time.Duration) {
		e := Entry{At: time.Duration(r.Int64N(int64(p.Chaos))), Kind: k, Pick: r.Uint64()}
		if longest > 0 {
			e.For = time.Duration(r.Int64N(int64(min(longest, p.Chaos)))) + time.Millisecond
		}
		p.Entries = append(p.Entries, e)
	}
	for range 1 + r.IntN(30) {
		add(submit, 0)
	}
	for range r.IntN(40) {
		n := r.IntN(1000)
		for _, c := range commands {
			if n -= c.weight; n < 0 {
				add(c.kind, time.Minute)
				break
			}
		}
	}
	for _, f := range faults {
		if r.IntN(5) > 1 {
			continue
		}
		for range 1 + r.IntN(f.often) {
			add(f.kind, f.longest)
		}
	}
	// These entries have random numbers of their own, so that they do not change the rest of the
	// plan.
	if old := rand.New(rand.NewPCG(seed, 0x6f6c64)); old.IntN(8) == 0 {
		at := time.Duration(old.Int64N(int64(p.Chaos)))
		lasts := time.Duration(old.Int64N(int64(p.Chaos - at)))
		p.Entries = append(p.Entries, Entry{At: at, Kind: stateOld, For: lasts, Pick: old.Uint64()})
	}
	if all := rand.New(rand.NewPCG(seed, 0x737461727473)); all.IntN(4) == 0 {
		at := time.Duration(all.Int64N(int64(p.Chaos)))
		lasts := time.Duration(all.Int64N(int64(p.Chaos - at)))
		p.Entries = append(p.Entries, Entry{At: at, Kind: startsFail, For: lasts, Pick: all.Uint64()})
	}
	if parks := rand.New(rand.NewPCG(seed, 0x7061726b)); parks.IntN(2) == 0 {
		for range parks.IntN(60) {
			kind := []Kind{park, park, unpark}[parks.IntN(3)]
			at := time.Duration(parks.Int64N(int64(p.Chaos)))
			p.Entries = append(p.Entries, Entry{At: at, Kind: kind, For: time.Minute, Pick: parks.Uint64()})
		}
	}
	slices.SortStableFunc(p.Entries, func(a, b Entry) int { return int(a.At - b.At) })
	var jobs []int
	for i := range p.Entries {
		e := &p.Entries[i]
		e.Num, e.Job = i, -1
		if len(jobs) > 0 && slices.Contains(ofJobs, e.Kind) {
			e.Job = jobs[int(e.Pick>>32)%len(jobs)]
		}
		if e.Kind == submit {
			jobs = append(jobs, i)
		}
	}
	return p
}
