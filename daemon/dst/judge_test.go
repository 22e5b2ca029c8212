package dst

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/units"
)

// A judge records what the daemon told clients and what it did, as the world knows it.
type judge struct {
	acked     map[job.ID]*submission
	truth     map[string]*run          // runs by attempt
	cancelled map[job.ID]int           // number of the last attempt when a cancel was confirmed
	cancels   map[job.ID]bool          // somebody asked to cancel the job
	held      map[job.ID]bool          // a hold was confirmed, and no release asked for since; true: by an administrator
	failed    map[job.ID]int           // number of tasks of an array that failed since its release was last asked for
	acted     map[job.ID]bool          // somebody asked for something that may end the job
	swept     map[string]bool          // attempts whose units a shutdown stopped
	stops     map[string]time.Duration // when it was first decided to stop the attempt
	lost      bool                     // the state file was lost at some point
	signals   map[job.ID]int           // number of signals that have reached the job's units
	excused   map[string]time.Duration // when an administrator last declared the GPU well

	told     *gpu.Snapshot // last sample of the GPUs that the core got
	toldAt   time.Duration
	states   map[job.ID]job.State // states in the core; the states on disk follow later
	attempts map[job.ID]int
	controls map[string]job.GPUControl
	policy   site.Policy
	uses     useRecord
	books    books
	mirror   *disk // the disk as it will be once it has all decisions of the core
	steps    int
}

func newJudge() *judge {
	return &judge{
		uses: newUses(), books: newBooks(),
		acked: map[job.ID]*submission{}, truth: map[string]*run{},
		cancelled: map[job.ID]int{}, cancels: map[job.ID]bool{}, held: map[job.ID]bool{}, acted: map[job.ID]bool{},
		failed: map[job.ID]int{}, signals: map[job.ID]int{},
		swept: map[string]bool{}, excused: map[string]time.Duration{}, stops: map[string]time.Duration{},
	}
}

func attemptKey(id job.ID, n int) string { return fmt.Sprintf("%d/%d", id, n) }

// forget drops everything that the judge knows about the disk.
func (j *judge) forget() {
	j.acked = map[job.ID]*submission{}
	j.cancelled, j.held = map[job.ID]int{}, map[job.ID]bool{}
	j.lost = true
}

// restart begins to judge a new process of the daemon, which knows nothing yet.
func (j *judge) restart() {
	j.told, j.controls = nil, map[string]job.GPUControl{}
	j.failed = map[job.ID]int{}
	j.states, j.attempts = map[job.ID]job.State{}, map[job.ID]int{}
}

// judgeRestored checks invariant 1 for the state that a process starts from.
func (w *World) judgeRestored(r *job.Restored) {
	j := w.tracked
	w.forgetStrays(j.mirror)
	w.forgetBusy()
	j.policy, j.mirror = w.settings().Policy, w.disk.clone()
	for i := range r.Jobs {
		known := &r.Jobs[i]
		j.states[known.ID] = known.State
		if a := known.Attempt; a != nil {
			j.attempts[known.ID] = a.Number
		}
	}
	for _, g := range r.GPUs {
		j.controls[g.UUID] = g
	}
	w.reopen(r)
	for id := range j.acked {
		if _, ok := w.disk.jobs[id]; !ok {
			w.breach(1, "job %d was acknowledged and is not on record", id)
		}
		if id >= r.NextID {
			w.breach(6, "id %d is to be given out again", id)
		}
	}
}

// judgeAsked notes a request, whether or not it was confirmed. A request about an array also
// concerns its tasks.
func (w *World) judgeAsked(who job.Actor, c job.Command) {
	w.tracked.recordRequest(who, c)
	if c.Kind == job.CommandCancel {
		return // the judge notes an array as a whole
	}
	for id, stored := range w.disk.jobs {
		if t := stored.Task; t != nil && t.Array == c.Job {
			of := c
			of.Job = id
			w.tracked.recordRequest(who, of)
		}
	}
}

// recordRequest records a request about one job.
func (j *judge) recordRequest(who job.Actor, c job.Command) {
	switch c.Kind {
	case job.CommandCancel:
		j.cancels[c.Job], j.acted[c.Job] = true, true
	case job.CommandRelease:
		delete(j.failed, c.Job)
		if who.Admin || !j.held[c.Job] {
			delete(j.held, c.Job)
		}
	case job.CommandRequeue, job.CommandSignal, job.CommandUpdate, job.CommandSuspend, job.CommandResume:
		j.acted[c.Job] = true
	}
}

// judgeAck checks invariants 1, 6, 7 and 8 for a job that was acknowledged to a client.
func (w *World) judgeAck(c *submission, out *job.Submitted) {
	j, id := w.tracked, out.ID
	if _, ok := w.disk.jobs[id]; !ok {
		w.breach(8, "job %d is acknowledged before it is on record", id)
	}
	if c.id != 0 && c.id != id {
		w.breach(7, "the same request gave jobs %d and %d", c.id, id)
	}
	if other := j.acked[id]; other != nil && other != c && c.s.Request.Dedup == "" {
		w.breach(6, "job %d is acknowledged for #%d and #%d", id, other.num, c.num)
	}
	c.id = id
	if j.acked[id] == nil {
		j.acked[id] = c
	}
}

// judgeConfirmed notes a request that was confirmed, and checks that the client had the right to
// make it.
func (w *World) judgeConfirmed(who job.Actor, c job.Command) {
	j := w.tracked
	stored, ok := w.disk.jobs[c.Job]
	if c.Job == 0 {
		return
	}
	if !ok {
		w.breach(1, "%s of job %d is confirmed, but the job is not on record", c.Kind, c.Job)
	}
	if !who.MayControl(&stored) {
		w.breach(8, "%s was allowed to %s job %d of %s", who.User, c.Kind, c.Job, stored.Owner.User)
	}
	switch c.Kind {
	case job.CommandCancel:
		if c.Task != nil || stored.State.Terminal() {
			return
		}
		n := 0
		if stored.Attempt != nil {
			n = stored.Attempt.Number
		}
		if stored.Stop != job.StopCancel {
			w.breach(8, "a cancel of job %d is confirmed before it is on record", c.Job)
		}
		j.cancelled[c.Job] = n
	case job.CommandHold:
		for id, o := range w.disk.jobs {
			its := id == c.Job || o.Task != nil && o.Task.Array == c.Job
			if its && o.State == job.Queued && o.Held != "" {
				j.held[id] = j.held[id] || who.Admin && o.Held == who.User
			}
		}
	}
}

// If a client is told that a job has ended, judgeTold checks that the end is on record.
func (w *World) judgeTold(shown ...job.JobView) {
	for i := range shown {
		v := &shown[i]
		stored, ok := w.disk.jobs[v.ID]
		if v.State.Terminal() && (!ok || stored.State != v.State) {
			w.breach(8, "a client is told that job %d is %s, and on record it is %s", v.ID, v.State, stored.State)
		}
	}
}

// judgePlacement checks invariant 4.
func (w *World) judgePlacement(placed *job.Job) {
	j := w.tracked
	if n, yes := j.cancelled[placed.ID]; yes && placed.Attempt.Number > n {
		w.breach(1, "job %d starts again after its cancel was confirmed", placed.ID)
	}
	if placed.Task != nil {
		if _, yes := j.cancelled[placed.Task.Array]; yes {
			w.breach(1, "task %v starts after the cancel of its array was confirmed", placed.Task)
		}
		n, most := j.failed[placed.Task.Array], placed.Request.MaxFailures
		if most > 0 && n >= most && placed.Attempt.Number == 1 {
			w.breach(1, "task %v starts after %d failures, of which %d are allowed", placed.Task, n, most)
		}
	}
	if _, yes := j.held[placed.ID]; yes {
		w.breach(1, "job %d starts although a hold of it was confirmed", placed.ID)
	}
	for _, ref := range placed.Attempt.GPUs {
		why := w.whyUnusable(ref)
		if why == "" {
			why = w.whyTaken(placed, ref)
		}
		if why != "" {
			w.breach(4, "job %d is placed on GPU %d (%s): %s", placed.ID, ref.Index, ref.UUID, why)
		}
	}
}

// whyUnusable returns a reason if nothing may be placed on a GPU, and otherwise "". It considers
// what the daemon was told about the GPU, and what is on the GPU.
func (w *World) whyUnusable(ref job.Allocation) string {
	j := w.tracked
	switch {
	case j.told == nil || j.told.Problem != "":
		return "nothing is known of the GPUs"
	case w.Elapsed-j.toldAt > j.policy.StaleAfter:
		return "what is known is too old"
	case len(j.policy.OnlyGPUs) > 0 && !slices.Contains(j.policy.OnlyGPUs, ref.Index):
		return "the site keeps it back"
	}
	d := w.toldOf(ref.UUID)
	if d == nil || d.Health != gpu.HealthOK {
		return "it does not answer"
	}
	if d.Index != ref.Index || d.Minor != ref.Minor {
		return fmt.Sprintf("its number is %d and its node %d", d.Index, d.Minor)
	}
	c := j.controls[ref.UUID]
	switch {
	case c.Paused && (c.Until.IsZero() || w.wall().Before(c.Until)):
		return "it is paused: " + c.Reason
	case c.Fault.Boot == w.bootID() && gpu.Recovery(c.Fault.Recovery).Sick():
		return "it is sick: " + words.Say(c.Fault.What)
	}
	g := w.gpuOf(ref.UUID)
	for _, p := range g.processes {
		r := w.runOf(p)
		if r != nil && !j.states[r.job].Live() && r.ended >= j.excused[ref.UUID] && !w.ownerUnknown(r, p, ref.UUID) {
			return fmt.Sprintf("process %d of job %d, which has ended, is still on it", p.PID, r.job)
		}
	}
	return w.leftOn(g)
}

// ownerUnknown reports whether nobody can know the owner of a process: the process is dead, its job
// did not have the GPU, and no sample showed the process alive on that GPU. Or else the record of
// the attempt is lost, and its unit vanished before a daemon saw it.
func (w *World) ownerUnknown(r *run, p gpu.Process, uuid string) bool {
	n := w.tracked.mirror.jobs[r.job]
	return n.Attempt == nil || n.Attempt.Number < r.attempt || p.Dead && !r.hasGPU(uuid) && !w.tracked.uses.alive[useKey{attemptKey(r.job, r.attempt), uuid}]
}

// toldOf returns a GPU as it is in the last sample that the daemon got, or nil.
func (w *World) toldOf(uuid string) *gpu.Device {
	if j := w.tracked; j.told != nil {
		if at := slices.IndexFunc(j.told.Devices, func(d gpu.Device) bool { return d.UUID == uuid }); at >= 0 {
			return &j.told.Devices[at]
		}
	}
	return nil
}

// runOf returns the run of a process on a GPU, even if the process has left the run's unit. It
// returns nil if there is none.
func (w *World) runOf(p gpu.Process) *run {
	for _, r := range w.tracked.truth {
		if r.number == p.PID {
			return r
		}
	}
	return nil
}

// judgeStart checks invariants 2 and 8 for a unit that is about to be created.
func (w *World) judgeStart(name string, props []units.Property) {
	s, err := units.OriginOf(props).Spec(name)
	if err != nil || w.bus.sys.Properties(name) != nil {
		return
	}
	id := job.ID(s.ID)
	at := slices.IndexFunc(w.disk.attempts[id], func(a job.Attempt) bool { return a.Number == s.Attempt })
	switch {
	case at < 0 && w.tracked.lost: // the start was asked for before the state file was lost, so the job will be recovered
	case at < 0:
		w.breach(8, "job %d attempt %d is started and is not on record", id, s.Attempt)
	case w.planted.neverBegins != 0 && s.UID != w.planted.neverBegins:
		if waited := w.wall().Sub(w.disk.attempts[id][at].PlacedAt); waited > 2500*time.Millisecond {
			w.breach(9, "the start of job %d waited for %v, as starts of another user are never over", id, waited)
		}
		w.count("start beside starts that are never over")
	case !w.disk.attempts[id][at].EndedAt.IsZero() && w.specs.got[specKey{id, s.Attempt}]:
		w.breach(2, "job %d attempt %d is started after its end was recorded", id, s.Attempt)
	}
}

// judgeHostMem checks invariant 3 for the host memory that the units have as limits.
func (w *World) judgeHostMem(r *run) {
	var mem int64
	for _, o := range w.runs {
		if o.began != 0 && !o.gone && !o.stale && (o == r || !w.isSpent(o) || o.job == r.job) {
			mem += o.mem
		}
	}
	if mem > hostMem {
		w.breach(3, "%s of host memory are promised with %v", job.FormatSize(mem), r)
	}
}

// judgeMoved checks invariant 22 some time after the faults have stopped.
func (w *World) judgeMoved() {
	for _, id := range slices.Sorted(maps.Keys(w.disk.jobs)) {
		j := w.disk.jobs[id]
		st, _ := w.bus.sys.Status(context.Background(), id.Unit())
		if phase, _ := units.Decode(st); j.State != job.Running || !j.MemMoved || phase != units.PhaseRunning {
			continue
		}
		w.count("memory that moved")
		limit, high := uint64(j.Request.MemBytes+j.ParkBytes), cmp.Or(j.MemSlowed(), math.MaxInt64)
		if j.Request.MemBytes == 0 {
			limit = units.Infinity
		}
		if limit != st.MemoryMax || uint64(high) != min(st.MemoryHigh, math.MaxInt64) || j.MemHeld != 0 {
			w.breach(22, "the unit of job %d has %d and %d bytes, and the record says %d, %+v", id, st.MemoryMax, st.MemoryHigh, limit, j.MovedMemory)
		}
	}
}

// judgeBegin checks invariants 2 and 3 when a command begins.
func (w *World) judgeBegin(r *run) {
	j, key := w.tracked, attemptKey(r.job, r.attempt)
	if before := j.truth[key]; before != nil && !w.unknownBegin(before, r) {
		w.breach(2, "%v begins for the second time", r)
	}
	j.truth[key] = r
	w.judgeHostMem(r)
	cpus := 0
	for _, o := range w.runs {
		if o.began == 0 || o.gone || o.stale || o != r && w.isSpent(o) && o.job != r.job {
			continue
		}
		cpus += o.cpus
		if o != r && (o.job == r.job || r.task.Array != 0 && o.task == r.task) {
			w.breach(2, "%v begins while %v runs", r, o)
		}
	}
	if cpus > hostCPUs {
		w.breach(3, "%d CPUs are promised with %v", cpus, r)
	}
	w.judgeGPUs(r)
}

// unknownBegin is called when an attempt began in two units. It reports whether nobody could know
// of the first unit. That is so in three cases. First, an administrator restarted the attempt's
// unit. Second, the first unit is gone, and the state file was lost or replaced by an older copy.
// Third, the first unit left no trace (it was taken away, or announced that it stops), and one more
// thing is true: its start is not on record, or the process that asked for the second unit died
// before the second unit began. (The invocation on record may be that of the second unit.)
func (w *World) unknownBegin(before, again *run) bool {
	if again.touched == "restart" || before.gone && before.touched == "state lost" {
		return true
	}
	rebooted := w.tracked.lost && before.gone && before.touched == "reboot" // an older file may not list the attempt
	taken := rebooted || before.touched == "vanish" || before.touched == "swept" || before.behaviour.Stopping && before.gone
	stored := w.disk.jobs[again.job].Attempt
	return taken && (again.dead || stored == nil || stored.InvocationID != before.invocation)
}

// isSpent reports whether nothing of a run is left except its unit.
func (w *World) isSpent(r *run) bool {
	return !r.alive && r.ended != 0 && w.bus.sys.Processes(units.Name(int64(r.job))) == 0
}

// judgeStop checks invariant 8 for a unit that is about to be collected.
func (w *World) judgeStop(name string) {
	r := w.runs[name]
	if r == nil || r.gone || r.began == 0 {
		return
	}
	stored, known := w.disk.jobs[r.job]
	if !known && w.tracked.lost {
		return // the stop was asked for before the state file was lost
	}
	if stored.Attempt != nil && r.attempt < stored.Attempt.Number {
		return // this unit came late, and the job already has a later attempt
	}
	if stored.State.Terminal() && w.isSpent(r) {
		return // the end of the job is on record
	}
	if stored.Attempt == nil || stored.Attempt.Number != r.attempt || stored.State != job.Ending {
		w.breach(8, "%v is stopped, and on record it is %s", r, stored.State)
		return
	}
	if !r.alive && r.by == "" && stored.Attempt.Result == nil && stored.Stop == "" {
		w.breach(8, "%v is collected before its result is on record", r)
	}
}

// judgeRecord checks invariants 5, 6 and 7 for a record that becomes durable.
func (w *World) judgeRecord(r *job.Record) {
	if r.Notification != nil {
		w.judgeMessage(r.Notification)
	}
	if r.Job == nil {
		return
	}
	n := r.Job
	w.Hash = mix(w.Hash ^ uint64(n.ID)<<32 ^ uint64(len(n.State)))
	old, known := w.disk.jobs[n.ID]
	switch {
	case !known && r.Payload == nil && n.Task == nil:
		w.breach(8, "job %d is recorded without its private part", n.ID)
	case known && (old.Key != n.Key && !n.Recovered || old.Owner.UID != n.Owner.UID || old.Label.Name != n.Label.Name):
		w.breach(6, "job %d is %s of %s, and was %s of %s", n.ID, n.Label.Name, n.Owner.User, old.Label.Name, old.Owner.User)
	case known && old.State.Terminal() && (old.State != n.State || !sameResult(old.Result, n.Result)):
		w.breach(5, "job %d is %s after it was %s", n.ID, n.State, old.State)
	}
	if other, yes := w.disk.keys[requestKey{n.Owner.UID, n.Key}]; yes && other != n.ID {
		w.breach(7, "jobs %d and %d come from one request", other, n.ID)
	}
	if n.Warned && !old.Warned && w.tracked.signals[n.ID] == 0 && !n.Recovered {
		w.breach(21, "job %d is recorded as warned, and no signal reached it", n.ID)
	}
	if n.State.Terminal() && !old.State.Terminal() && n.Tasks == nil {
		w.judgeEnd(n)
	}
}

func sameResult(a, b *job.Result) bool {
	return a != nil && b != nil && a.Outcome == b.Outcome && a.ExitCode == b.ExitCode && a.Signal == b.Signal
}
