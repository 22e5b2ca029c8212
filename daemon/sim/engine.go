package sim

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Options describe the machine and everything else that can vary, except for the policy.
type Options struct {
	GPUs        int
	GPUMemBytes int64
	Policy      Policy
	Predict     Prediction    // "" means Learned
	Checkpoints *float64      // share of the jobs that write checkpoints; all others start over after a stop; nil: all do
	SwitchCost  time.Duration // additional run time of a job that continues after it was stopped
	Park        time.Duration // how long a GiB of GPU memory takes to be copied, in each direction
	Parkable    float64       // share of the jobs that are parked instead of stopped
	Seed        uint64        // seed of random choices: preemptible jobs, predictions
	Spread      bool          // jobs request the emptiest GPU
	Check       bool          // the core checks itself after every step
	Starts      int           // n: every n-th job's expected start is asked for; 0: for no job
}

// An engine is the environment in which the core runs.
type engine struct {
	opt     Options
	jobs    []Job
	runs    []run // by index in jobs; a job's id is its index plus one
	core    *core.Core
	machine *machine
	ledger  *ledger
	start   time.Time // the virtual date of time 0
	now     time.Duration
	ends    queue[end]
	copies  queue[copied]
	pending []core.Action
	arrived int // number of jobs that users have submitted
	entered int // number of those jobs that the core has received
	uids    map[string]int
	told    []time.Duration
	stop    []bool  // by index: the job is preemptible
	saves   []bool  // by index: the job writes checkpoints
	parks   []bool  // by index: the job can be parked
	memory  []int64 // by index: bytes that the job uses on each of its GPUs
	shares  Shares
	starts  startProbe
}

// A run is the progress of a job.
type run struct {
	left    time.Duration // remaining run time, 0 when finished
	owes    bool          // the job was stopped, so its next start costs extra time
	running bool
}

// Run replays the trace to its end.
func Run(t Trace, o Options) (*Outcome, error) {
	e := newEngine(t, o)
	if err := e.begin(); err != nil {
		return nil, err
	}
	for {
		at, more := e.next()
		if !more {
			break
		}
		if err := e.runInstant(at); err != nil {
			return nil, fmt.Errorf("at %s: %w", e.date().Format(time.DateTime), err)
		}
	}
	return e.checkedOutcome()
}

func newEngine(t Trace, o Options) *engine {
	e := &engine{
		opt: o, jobs: t.Jobs, runs: make([]run, len(t.Jobs)), start: t.Begin,
		machine: newMachine(o.GPUs, o.GPUMemBytes), uids: map[string]int{},
		told:   drawPredictions(o.Predict, t.Jobs, o.Seed),
		shares: t.Shares,
		stop:   choose(len(t.Jobs), o.Policy.Preemptible, random(o.Seed, streamPreemptible)),
	}
	e.saves = choose(len(t.Jobs), 1, random(o.Seed, streamCheckpoints))
	e.drawParking()
	if o.Checkpoints != nil {
		e.saves = choose(len(t.Jobs), *o.Checkpoints, random(o.Seed, streamCheckpoints))
	}
	if e.start.IsZero() {
		e.start = time.Unix(0, 0).UTC()
	}
	for i := range t.Jobs {
		e.runs[i].left = t.Jobs[i].Run
		if u := t.Jobs[i].User; e.uids[u] == 0 {
			e.uids[u] = 1001 + len(e.uids)
		}
	}
	e.ledger = newLedger(t.Jobs, o.GPUs)
	e.starts = startProbe{every: o.Starts, open: map[int][]int{}}
	return e
}

// choose picks a share of n jobs at random.
func choose(n int, share float64, rng *rand.Rand) []bool {
	chosen := make([]bool, n)
	for i := range chosen {
		chosen[i] = rng.Float64() < share
	}
	return chosen
}

func (e *engine) date() time.Time { return e.start.Add(e.now) }

// begin starts the core on a machine without units, with all GPUs idle.
func (e *engine) begin() error {
	p := site.Policy{
		Sched: e.opt.Policy.Sched, DefaultGrace: 30 * time.Second, DefaultRequeue: true,
		CleaningTimeout: 30 * time.Second, FreshFor: time.Second, Quotas: e.shares.quotas(),
	}
	p.Sched.RestartCost = e.opt.SwitchCost
	p.Park.Allow, p.Park.Preempt = e.opt.Parkable > 0, e.opt.Parkable > 0
	if e.told != nil {
		p.Predict = predictor(e.told)
	}
	if len(e.jobs) > 0 {
		e.now = e.jobs[0].Submit
	}
	e.ledger.first = e.now
	e.core = core.New(p, bootID, job.Restored{})
	if err := e.feed(core.Listed{Boot: bootID}); err != nil {
		return err
	}
	return e.feed(e.machine.sample(0))
}

// next returns the time of the next event.
func (e *engine) next() (time.Duration, bool) {
	at, more := time.Duration(0), false
	sooner := func(t time.Duration) {
		if !more || t < at {
			at, more = max(t, e.now), true
		}
	}
	if e.arrived < len(e.jobs) {
		sooner(e.jobs[e.arrived].Submit)
	}
	if len(e.ends) > 0 {
		sooner(e.ends[0].at)
	}
	if len(e.copies) > 0 {
		sooner(e.copies[0].at)
	}
	if len(e.starts.later) > 0 {
		sooner(e.starts.later[0].at)
	}
	if more || e.ledger.unfinished > 0 {
		if d := e.core.Deadline(); !d.IsZero() {
			sooner(ceil(d.Sub(e.start)))
		}
	}
	return at, more
}

// ceil rounds a time up to the resolution of the virtual clock.
func ceil(d time.Duration) time.Duration { return (d + tick - 1).Truncate(tick) }

// maxIdleTicks is a number of ticks. If that many ticks come at one instant, or without any event
// between them, the scheduler counts as stuck.
const maxIdleTicks = 100_000

// runInstant advances the clock to an instant and handles the events of that instant: ends,
// arrivals, and a tick if the core has requested one.
func (e *engine) runInstant(at time.Duration) error {
	e.ledger.advance(at, e.machine.milli, e.arrived)
	e.now = at
	idle := true
	if e.opt.Parkable > 0 { // the core parks only processes that it has seen
		if err := e.feed(e.machine.sample(0)); err != nil {
			return err
		}
	}
	for len(e.ends) > 0 && e.ends[0].at <= at {
		idle = false
		if err := e.finish(e.ends.pop()); err != nil {
			return err
		}
	}
	for len(e.copies) > 0 && e.copies[0].at <= at {
		idle = false
		if err := e.finishCopy(e.copies.pop()); err != nil {
			return err
		}
	}
	for e.arrived < len(e.jobs) && e.jobs[e.arrived].Submit <= at {
		idle = false
		e.arrived++
		if err := e.admit(); err != nil {
			return err
		}
	}
	if len(e.starts.later) > 0 && e.starts.later[0].at <= at {
		idle = false
		e.askLater()
	}
	if idle {
		e.ledger.ticks++
	} else {
		e.ledger.ticks = 0
	}
	if e.ledger.ticks > maxIdleTicks {
		return fmt.Errorf("the core asked for %d ticks while nothing happened", maxIdleTicks)
	}
	if d := e.core.Deadline(); !d.IsZero() && ceil(d.Sub(e.start)) <= at {
		return e.feed(core.Tick{})
	}
	return nil
}

// finish ends a command that has run to its end. It does nothing if the command was stopped before.
func (e *engine) finish(f end) error {
	u := e.machine.units[f.job]
	if u == nil || u.attempt != f.attempt || u.turn != f.turn || u.Phase != core.Active {
		return nil
	}
	e.takeOff(u)
	return e.feed(core.Changed{Job: f.job})
}

// admit hands the submitted jobs to the core. If the policy has a gate, admit hands over only the
// next job, and only once all jobs before it run.
func (e *engine) admit() error {
	for e.entered < e.arrived {
		if e.opt.Policy.Gate && e.ledger.queued > 0 {
			return nil
		}
		e.entered++
		e.ledger.queued++ // the core may start it in the same step
		at := e.entered - 1
		if err := e.feed(e.submission(at)); err != nil {
			return err
		}
		e.askSubmitted(at)
	}
	return nil
}

// submission returns the submission of a job, as its user would send it.
func (e *engine) submission(at int) core.Submit {
	j := &e.jobs[at]
	r := job.Request{
		GPUMilli: j.GPUMilli, GPUMemBytes: j.GPUMemBytes, TimeLimit: job.Span(j.Limit),
		Preemptible: e.stop[at], Spread: e.opt.Spread, NoPark: !e.parks[at],
	}
	if e.opt.Predict == UserLimit && r.TimeLimit == 0 {
		r.TimeLimit = job.Span(e.told[at])
	}
	if r.TimeLimit > 0 && r.Preemptible {
		r.TimeLimit += job.Span(e.opt.SwitchCost)
	}
	if j.Batch != "" {
		r.Batch, r.Objective = j.Batch, job.Makespan
	}
	if j.Kind != "" {
		r.Shape, r.Script = "shape-"+j.Kind, "script-"+j.Kind
	}
	owner := job.Owner{UID: e.uids[j.User], GID: e.uids[j.User], User: j.User}
	if g := e.shares.Member[j.User]; g != "" {
		owner.Groups = []string{g}
	}
	return core.Submit{Token: core.Token(at + 1), Submission: job.Submission{
		Owner: owner, Label: job.Label{Name: "job"}, Request: r,
	}}
}

// feed gives the core an event and performs all resulting actions.
func (e *engine) feed(ev core.Event) error {
	if err := e.step(ev); err != nil {
		return err
	}
	for len(e.pending) > 0 {
		a := e.pending[0]
		e.pending = e.pending[1:]
		if err := e.perform(a); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) step(ev core.Event) error {
	eff := e.core.Step(ev, e.date())
	if e.opt.Check {
		if err := e.core.Check(); err != nil {
			return err
		}
	}
	for _, r := range eff.Records {
		if r.Job == nil {
			continue
		}
		if err := e.ledger.record(r.Job, e.now); err != nil {
			return err
		}
	}
	e.pending = append(e.pending, eff.Actions...)
	for _, r := range eff.Replies {
		if r.Refusal != nil {
			return fmt.Errorf("job %d is refused: %s", r.Token, words.Error(r.Refusal))
		}
		if uint64(r.ID) != uint64(r.Token) {
			return fmt.Errorf("job %d of the trace got id %d", r.Token, r.ID)
		}
	}
	return nil
}

// perform carries out an action and reports the result.
func (e *engine) perform(a core.Action) error {
	switch a := a.(type) {
	case core.Start:
		u, err := e.launch(&a.Job)
		if err != nil {
			return err
		}
		if err := e.step(core.Started{Job: a.Job.ID, Attempt: u.attempt, Unit: u.Unit}); err != nil {
			return err
		}
		return e.admit()
	case core.Stop:
		return e.step(e.stopUnit(a))
	case core.Inspect:
		return e.step(core.Inspected{Job: a.Job, Attempt: a.Attempt, Early: a.Early, Unit: e.machine.status(a.Job), OK: true})
	case core.Sample:
		return e.step(e.machine.sample(a.Number))
	case core.Signal:
		return e.step(core.Signalled{Job: a.Job, Attempt: a.Attempt, OK: true})
	case core.SetMemory:
		return e.step(core.MemorySet{SetMemory: a, OK: true})
	case core.Park:
		return e.beginCopy(&a, true)
	case core.Unpark:
		return e.beginCopy((*core.Park)(&a), false)
	case core.Forget, core.Freeze, core.Keep, core.NotifyOwner:
		return nil
	}
	return fmt.Errorf("the core requests %T, which this simulator does not know", a)
}

// launch starts a unit and schedules the end of its command.
func (e *engine) launch(j *job.Job) (*unit, error) {
	at := int(j.ID) - 1
	u, err := e.machine.start(j, e.memory[at], e.now)
	if err != nil {
		return nil, err
	}
	r := &e.runs[at]
	if r.running || r.left == 0 {
		return nil, fmt.Errorf("job %d is started again", j.ID)
	}
	r.running = true
	e.starts.recordStart(at, e.now)
	e.ledger.queued--
	e.ends.push(end{at: e.now + e.cost(r) + r.left, job: j.ID, attempt: u.attempt})
	e.ledger.start(at, u, e.now)
	return u, nil
}

func (e *engine) cost(r *run) time.Duration {
	if r.owes {
		return e.opt.SwitchCost
	}
	return 0
}

// takeOff takes a unit's command off the GPUs. A job with checkpoints keeps its progress. The extra
// time that a start costs after a stop is not progress.
func (e *engine) takeOff(u *unit) {
	at := int(u.Job) - 1
	r := &e.runs[at]
	lost, progress := e.progress(u)
	if progress < r.left && !e.saves[at] {
		lost, progress = lost+progress, 0
	}
	r.left -= progress
	r.running, r.owes = false, r.left > 0
	e.machine.exit(u)
	e.ledger.recordLeave(at, u, lost, r.owes, e.now)
}

// progress returns how a unit's command has spent its time since it began or returned: on its start
// after a stop, and on its work.
func (e *engine) progress(u *unit) (lost, progress time.Duration) {
	elapsed, cost := e.now-u.begun, e.cost(&e.runs[int(u.Job)-1])
	return min(elapsed, cost), max(0, elapsed-cost)
}

// stopUnit stops and collects a unit. If its command ends at the same instant, the command counts
// as having ended by itself.
func (e *engine) stopUnit(a core.Stop) core.Event {
	ev := core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: true}
	u := e.machine.units[a.Job]
	if u == nil {
		return ev
	}
	if u.Phase == core.Active {
		e.takeOff(u)
		if e.runs[int(a.Job)-1].left > 0 {
			e.ledger.queued++
			u.Phase = core.Active // the phase that the unit had before the stop
		}
	}
	if a.InspectFirst {
		ev.Before = u.Unit
	}
	delete(e.machine.units, a.Job)
	return ev
}

// An end is the time at which a command will have run to its end.
type end struct {
	at      time.Duration
	job     job.ID
	attempt int
	turn    int // see unit.turn
}

func (e end) before(o end) bool { return e.at < o.at || e.at == o.at && e.job < o.job }

// This constraint admits the types whose values have an order. The interface has a name because
// staticcheck reports the methods of an anonymous constraint as unused.
type ordered[T any] interface{ before(T) bool }

// A queue is a heap. Its first value in order is on top.
type queue[T ordered[T]] []T

func (q queue[T]) Len() int           { return len(q) }
func (q queue[T]) Less(a, b int) bool { return q[a].before(q[b]) }
func (q queue[T]) Swap(a, b int)      { q[a], q[b] = q[b], q[a] }
func (q *queue[T]) Push(x any)        { *q = append(*q, x.(T)) }
func (q *queue[T]) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
func (q *queue[T]) push(x T) { heap.Push(q, x) }
func (q *queue[T]) pop() T   { return heap.Pop(q).(T) }
