package core_test

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

const gib = 1 << 30

// unit is a job's unit in the world's systemd.
type unit struct {
	core.Unit
	attempt int
	gpus    []int
	began   time.Time // by the world's steady clock
}

// world is everything around the core: the disk, systemd, the GPUs and a
// clock. It carries out effects, and can die between any two of them.
type world struct {
	core   *core.Core
	policy core.Policy
	now    time.Time
	set    time.Duration // how far the clock that people see has been set
	boot   int

	jobs     map[job.ID]job.Job // the disk
	payloads map[job.ID]bool
	controls map[string]job.GPUControl
	usage    map[string]job.Usage
	learned  []job.Prediction
	reserved map[int64]job.Reservation
	nextRes  int64

	units   map[job.ID]*unit
	runs    map[string]int // how often the command of "job/attempt" began
	invoked int
	gpus    []gpu.Device
	problem gpu.Problem
	pending []core.Action // begun and not answered
	token   core.Token
	replies map[core.Token]core.Reply
	acked   map[job.ID]bool
	busDown bool
	kernel  []core.Faulted  // the log of this boot
	stuck   map[job.ID]bool // whose processes outlive SIGKILL
	linger  bool            // what a unit had on its GPUs outlives it
	sampled gpu.Snapshot    // the last one that the core saw
	shorts  map[string]int  // good samples in a row that showed jobs short of their promised memory, by GPU
	overs   map[string]int  // good samples in a row that showed a job over its budget, by job and GPU

	log    func(format string, args ...any)
	faults []string // breaches of what must hold
}

func newWorld(gpus int, log func(string, ...any)) *world {
	w := &world{
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), boot: 1,
		jobs: map[job.ID]job.Job{}, payloads: map[job.ID]bool{}, controls: map[string]job.GPUControl{},
		stuck: map[job.ID]bool{}, usage: map[string]job.Usage{}, reserved: map[int64]job.Reservation{},
		units: map[job.ID]*unit{}, runs: map[string]int{}, replies: map[core.Token]core.Reply{}, acked: map[job.ID]bool{},
		log: log, overs: map[string]int{}, shorts: map[string]int{},
		policy: core.Policy{
			DefaultGrace: 30 * time.Second, DefaultRequeue: true, MaxRetries: 10, DefaultBackoff: 5 * time.Second,
			Sched:           sched.Policy{HalfLife: 7 * 24 * time.Hour, GuardAfter: 7 * 24 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Slice: 30 * time.Minute},
			CleaningTimeout: 30 * time.Second, MemSlackBytes: gib / 2, StaleAfter: time.Minute, FreshFor: time.Second,
			Xids: gpu.DefaultXids(), DrainPending: true, LostAfter: 10 * time.Second,
		},
	}
	for i := range gpus {
		w.gpus = append(w.gpus, gpu.Device{
			Index: i, Minor: i, PCI: fmt.Sprintf("00000000:%02X:00.0", i+10), UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA A100-SXM4-80GB", Health: gpu.HealthOK,
			MemTotalBytes: 80 * gib, MemFreeBytes: 80 * gib,
		})
	}
	w.revive()
	return w
}

func (w *world) bootID() string { return fmt.Sprintf("boot%d", w.boot) }

// revive makes a new core from the disk, as a restarted daemon does.
func (w *world) revive() {
	w.core = core.New(w.policy, w.bootID(), w.disk())
	w.pending = nil
}

// disk is what a core starts from.
func (w *world) disk() (r core.Restored) {
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		r.NextID = id + 1
		j := w.jobs[id]
		if !j.State.Terminal() {
			r.Jobs = append(r.Jobs, j)
		} else if j.State == job.Completed && j.Request.Dedup != "" {
			r.Done = append(r.Done, core.Done{UID: j.Owner.UID, Dedup: j.Request.Dedup, Job: id})
		}
	}
	for _, uuid := range slices.Sorted(maps.Keys(w.controls)) {
		r.GPUs = append(r.GPUs, w.controls[uuid])
	}
	for _, name := range slices.Sorted(maps.Keys(w.usage)) {
		r.Usage = append(r.Usage, w.usage[name])
	}
	for _, id := range slices.Sorted(maps.Keys(w.reserved)) {
		r.Reservations = append(r.Reservations, w.reserved[id])
	}
	r.Predictions, r.NextReservation = slices.Clone(w.learned), w.nextRes
	return r
}

// step feeds one event and carries the effects out up to the point of death:
// 0 before the records are durable, 1 after them, then one more per action and
// reply. A negative number survives.
func (w *world) step(ev core.Event, death int) (alive bool) {
	if e, ok := ev.(core.Sampled); ok {
		w.look(e.Snap)
	}
	eff := w.core.Step(ev, w.now)
	if err := w.core.Check(); err != nil {
		w.fault("%v", err)
	}
	if death == 0 {
		return false
	}
	for _, r := range eff.Records {
		w.record(r)
	}
	done := 1
	for _, a := range eff.Actions {
		if done == death {
			return false
		}
		done++
		w.begin(a)
	}
	for _, r := range eff.Replies {
		if done == death {
			return false
		}
		done++
		w.replies[r.Token] = r
		w.reply(r)
	}
	return true
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) record(r core.Record) {
	if g := r.GPU; g != nil {
		w.controls[g.UUID] = *g
		text := ""
		if f := g.Fault; f.Boot != "" {
			text = fmt.Sprintf(" needs %q after %q in job %d, line %d", f.Recovery, f.What, f.Job, f.Seq)
			if l := f.Left; l.What != "" {
				text = fmt.Sprintf(" left by job %d: %s", l.Job, l.What)
			}
		}
		w.log("record gpu %s paused=%v %s%s", g.UUID, g.Paused, g.Reason, text)
		return
	}
	if l := r.Left; l != nil {
		if j, known := w.jobs[l.Job]; !known || !j.State.Terminal() && j.Attempt.Number == l.Attempt {
			w.fault("job %d is recorded to have left something and goes on", l.Job)
		}
		w.log("record of job %d attempt %d: %s", l.Job, l.Attempt, l.What)
		return
	}
	if r.Job == nil {
		w.keep(r)
		return
	}
	old, known := w.jobs[r.Job.ID]
	if !known && r.Payload == nil && r.Job.Task == nil {
		w.fault("job %d is recorded without its payload", r.Job.ID)
	}
	if known && old.State.Terminal() {
		w.fault("job %d is recorded after its end", r.Job.ID)
	}
	if r.Job.Stop != old.Stop {
		w.justified(r.Job)
	}
	if a := r.Job.Attempt; a != nil && a.Result != nil && a.Result.Outcome == job.Lost && w.runsNow(r.Job) {
		w.fault("job %d is given up as lost while its command runs", r.Job.ID)
	}
	if a := r.Job.Attempt; r.Job.State == job.Starting && (old.Attempt == nil || old.Attempt.Number != a.Number) {
		w.handOver(r.Job)
	}
	w.jobs[r.Job.ID] = *r.Job
	w.payloads[r.Job.ID] = true
	text := fmt.Sprintf("record job %d %s", r.Job.ID, r.Job.State)
	if a := r.Job.Attempt; a != nil {
		text += fmt.Sprintf(" attempt %d on %s", a.Number, job.FormatGPUList(r.Job.GPUIndexes()))
	}
	if r.Job.Stop != "" {
		text += " stop=" + string(r.Job.Stop)
	}
	if res := r.Job.Result; res != nil {
		text += ": " + res.Sentence()
	}
	w.log("%s", text)
}

// handOver holds invariant 8 for the GPUs that a job is given: nothing is on
// them of a job that left them, and they need nothing after an error. One that is ending still has its part.
func (w *world) handOver(j *job.Job) {
	for _, ref := range j.Attempt.GPUs {
		if f := w.controls[ref.UUID].Fault; (gpu.Recovery(f.Recovery).Sick() || f.Left.What != "") && f.Boot == w.bootID() {
			w.fault("GPU %d is given to job %d and needs a %s, %s", ref.Index, j.ID, f.Recovery, f.Left.What)
		}
		for _, p := range w.gpus[ref.Index].Processes {
			if id, ok := unitJob(p.Unit); ok && w.units[id] == nil && !w.jobs[id].State.Live() {
				w.fault("GPU %d is given to job %d with %s of %s still on it", ref.Index, j.ID, job.FormatSize(p.UsedBytes), p.Unit)
			}
		}
	}
}

// keep is record for what concerns no single job.
func (w *world) keep(r core.Record) {
	switch {
	case r.Usage != nil:
		w.usage[r.Usage.Account] = *r.Usage
	case r.Prediction != nil:
		w.learned = append(w.learned, *r.Prediction)
	case r.Reservation != nil:
		w.reserved[r.Reservation.ID], w.nextRes = *r.Reservation, r.Reservation.ID+1
		w.log("record reservation %d", r.Reservation.ID)
	default:
		delete(w.reserved, r.Unreserve)
		w.log("remove reservation %d", r.Unreserve)
	}
}

// runsNow tells whether the unit of the job's current attempt is there and its
// command runs.
func (w *world) runsNow(j *job.Job) bool {
	u := w.units[j.ID]
	return u != nil && u.attempt == j.Attempt.Number && u.Phase == core.Active
}

func (w *world) reply(r core.Reply) {
	switch {
	case r.Refusal != nil:
		w.log("reply refused (%s): %s", r.Refusal.Kind, r.Refusal.Message)
	case r.Job == nil:
		w.log("reply ok")
	default:
		w.acked[r.Job.ID] = true
		if _, durable := w.jobs[r.Job.ID]; !durable {
			w.fault("job %d was acknowledged before it was on disk", r.Job.ID)
		}
		w.log("reply job %d %s%s", r.Job.ID, r.Job.State, reasonText(r.Job.Reasons))
	}
}

func reasonText(reasons []job.Reason) string {
	text := ""
	for _, r := range reasons {
		if r.GPU == job.NoGPU {
			text += "; " + r.Sentence()
		} else {
			text += fmt.Sprintf("; GPU %d: %s", r.GPU, r.Sentence())
		}
	}
	return text
}

// begin takes an action on. What it does to the world happens at once; the
// answer comes with answer.
func (w *world) begin(a core.Action) {
	switch a := a.(type) {
	case core.Start:
		w.log("start job %d attempt %d on %s", a.Job.ID, a.Job.Attempt.Number, job.FormatGPUList(a.Job.GPUIndexes()))
	case core.Stop:
		w.log("stop job %d%s", a.Job, colon(a.Tell.Text))
	case core.Inspect:
		w.log("inspect job %d", a.Job)
	case core.Signal:
		w.log("signal job %d with %d", a.Job, a.Signal)
		return
	case core.Tell:
		w.log("tell job %d: %s", a.Job, a.Text)
		return
	case core.Forget:
		return
	case core.Orphan:
		w.log("orphan unit of job %d", a.Job)
		return
	}
	w.pending = append(w.pending, a)
}

// launch is systemd's StartTransientUnit with mode "fail".
func (w *world) launch(j *job.Job) error {
	stored := w.jobs[j.ID]
	if stored.Attempt == nil || stored.Attempt.Number != j.Attempt.Number {
		w.fault("job %d attempt %d starts without being on record", j.ID, j.Attempt.Number)
	}
	if w.units[j.ID] != nil {
		return errExists
	}
	key := fmt.Sprintf("%d/%d", j.ID, j.Attempt.Number)
	if w.runs[key]++; w.runs[key] > 1 {
		w.fault("attempt %s began twice", key)
	}
	for _, ref := range j.Attempt.GPUs {
		g := &w.gpus[ref.Index]
		shares := ref.Share()
		for id, u := range w.units {
			if slices.Contains(u.gpus, ref.Index) {
				old := w.jobs[id]
				shares += shareOf(&old, ref.Index)
			}
		}
		if shares > job.WholeGPU {
			w.fault("GPU %d is given out to %d milli with job %d", ref.Index, shares, j.ID)
		}
		g.Processes = append(slices.Clone(g.Processes), gpu.Process{PID: 1000 + int(j.ID), Unit: fmt.Sprintf("gpujob-%d.service", j.ID)})
	}
	w.invoked++
	w.units[j.ID] = &unit{
		Unit:    core.Unit{Job: j.ID, Phase: core.Active, Invocation: fmt.Sprintf("inv%d", w.invoked)},
		attempt: j.Attempt.Number, gpus: j.GPUIndexes(), began: w.now.Add(-w.set),
	}
	return nil
}

var errExists = fmt.Errorf("exists")

// answer carries out the pending action at position i and returns its event.
func (w *world) answer(i int) core.Event {
	a := w.pending[i]
	w.pending = slices.Delete(w.pending, i, i+1)
	switch a := a.(type) {
	case core.Start:
		if w.launch(&a.Job) != nil {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartExists}
		}
		if w.busDown {
			return core.StartFailed{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, How: core.StartUnsure}
		}
		return core.Started{Job: a.Job.ID, Attempt: a.Job.Attempt.Number, Unit: w.aged(w.units[a.Job.ID])}
	case core.Stop:
		ev := core.Stopped{Job: a.Job, Attempt: a.Attempt, OK: !w.busDown && !w.stuck[a.Job]}
		if w.stuck[a.Job] {
			ev.Left = "process 4711 did not end after SIGKILL"
			return ev
		}
		if a.Look {
			ev.Before = w.status(a.Job)
		}
		if !w.busDown {
			w.sweep(a.Job)
		}
		return ev
	case core.Inspect:
		return core.Inspected{Job: a.Job, Attempt: a.Attempt, Unit: w.status(a.Job), OK: !w.busDown}
	case core.Sample:
		return w.sample(a.Number)
	}
	panic("no answer to this action")
}

// sweep ends a unit with everything of it. What it had on the GPUs may stay a
// while, as memory does that the driver gives back late.
func (w *world) sweep(id job.ID) {
	if u := w.units[id]; u != nil && !w.linger {
		w.clear(u)
	}
	delete(w.units, id)
}

func (w *world) clear(u *unit) {
	name := fmt.Sprintf("gpujob-%d.service", u.Job)
	for _, g := range u.gpus {
		w.drop(g, func(p gpu.Process) bool { return p.Unit == name })
	}
}

// shareOf is what a job holds of a GPU.
func shareOf(j *job.Job, index int) int {
	for _, ref := range j.Attempt.GPUs {
		if ref.Index == index {
			return ref.Share()
		}
	}
	return 0
}

func colon(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// orphanPID is a process that ends and leaves its memory in use.
const orphanPID = 76

// hold has a process use so much of a GPU's memory; -1 is unknown, less: it goes.
func (w *world) hold(index, pid int, unit string, bytes int64) {
	w.drop(index, func(p gpu.Process) bool { return p.PID == pid })
	if bytes < -1 {
		return
	}
	g := &w.gpus[index]
	bytes = min(bytes, int64(g.MemFreeBytes))
	g.Processes = append(g.Processes, gpu.Process{PID: pid, UID: 1000 + pid%7, Unit: unit, UsedBytes: bytes})
	g.MemUsedBytes += uint64(max(0, bytes))
	g.MemFreeBytes -= uint64(max(0, bytes))
}

// drop ends processes on a GPU. Those that hold put there give their memory back.
func (w *world) drop(index int, gone func(gpu.Process) bool) {
	g := &w.gpus[index]
	var stay []gpu.Process
	for _, p := range g.Processes {
		if !gone(p) {
			stay = append(stay, p)
			continue
		}
		if p.PID == orphanPID {
			continue
		}
		back := min(uint64(max(0, p.UsedBytes)), g.MemUsedBytes)
		g.MemUsedBytes -= back
		g.MemFreeBytes += back
	}
	g.Processes = stay
}

// tidy takes away what lingers of units that are gone.
func (w *world) tidy() {
	for i := range w.gpus {
		w.drop(i, func(p gpu.Process) bool {
			id, ok := unitJob(p.Unit)
			return ok && w.units[id] == nil
		})
	}
}

// aged is what systemd says of a unit now: its age is by the clock that nobody sets.
func (w *world) aged(u *unit) core.Unit {
	out := u.Unit
	out.Age = max(1, w.now.Add(-w.set).Sub(u.began))
	return out
}

func (w *world) status(id job.ID) core.Unit {
	if u := w.units[id]; u != nil {
		return w.aged(u)
	}
	return core.Unit{Job: id}
}

func (w *world) sample(number uint64) core.Event {
	ev := core.Sampled{Number: number, Jobs: map[int]job.ID{}, Snap: gpu.Snapshot{Problem: w.problem}}
	if w.problem == "" {
		ev.Snap.Devices = slices.Clone(w.gpus)
	}
	for _, g := range w.gpus {
		for _, p := range g.Processes {
			if id, ok := unitJob(p.Unit); ok {
				ev.Jobs[p.PID] = id
			}
		}
	}
	return ev
}

func unitJob(name string) (job.ID, bool) {
	var id job.ID
	n, _ := fmt.Sscanf(name, "gpujob-%d.service", &id)
	return id, n == 1
}

func (w *world) listed() core.Event {
	ev := core.Listed{Boot: w.bootID()}
	for _, id := range slices.Sorted(maps.Keys(w.units)) {
		ev.Units = append(ev.Units, w.aged(w.units[id]))
	}
	return ev
}

// settle answers pending actions, oldest first, until there are none.
func (w *world) settle() {
	for len(w.pending) > 0 {
		w.step(w.answer(0), -1)
	}
}

// xid has the driver write a line about a GPU.
func (w *world) xid(index int, rest string) core.Faulted {
	x, ok := gpu.ParseXid(fmt.Sprintf("NVRM: Xid (PCI:0000:%02x:00): %s", index+10, rest))
	if !ok {
		w.fault("%q is no Xid", rest)
	}
	ev := core.Faulted{Xid: x, Boot: w.bootID(), Seq: uint64(100 + len(w.kernel)), At: w.now}
	w.kernel = append(w.kernel, ev)
	return ev
}

// reboot takes all units away and starts a new core from the disk.
func (w *world) reboot() {
	w.boot++
	w.kernel = nil
	for id := range w.units {
		w.sweep(id)
	}
	w.tidy()
	w.revive()
}
