package core_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/gpus"
	"github.com/gpusched/gpusched/daemon/core/site"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/sched"
	"github.com/gpusched/gpusched/gpu"
)

const gib = 1 << 30

// reservedMiB is the memory that the driver keeps for itself on each GPU, as on an H200.
const reservedMiB = 700

// world simulates everything around the core: the disk, systemd, the GPUs and a clock. It executes
// the core's effects, and the daemon can die between any two of them.
type world struct {
	alive  time.Time     // the last recorded time at which the machine was on
	ends   []job.Attempt // the attempts that were recorded as ended
	core   *core.Core
	policy site.Policy
	now    time.Time
	set    time.Duration // the amount by which the wall clock has been set
	boot   int

	jobs     map[job.ID]job.Job // the fields from here to messages: what is on the disk
	payloads map[job.ID]bool
	controls map[string]job.GPUControl
	usage    map[string]job.Usage
	learned  []job.Prediction
	reserved map[int64]job.Reservation
	nextRes  int64
	messages []job.Notification // in the order in which they were recorded

	units   map[job.ID]*unit
	runs    map[string]int // how often the command of "job/attempt" began
	invoked int
	gpus    []gpu.Device
	pulled  []gpu.Device // a copy of the field gpus from before a GPU disappeared
	problem gpu.Problem
	driver  gpu.DriverVersions
	cuda    map[string]core.Proved // by UUID, what a test of the GPU with CUDA says; no entry: the GPU works
	persons map[int]gpus.Person
	pending []core.Action // actions that have begun and are not answered
	sending []core.Deliver
	token   core.Token
	replies map[core.Token]core.Reply
	acked   map[job.ID]bool
	busDown bool
	unable  bool             // systemd can't start any unit for now
	expired map[int]bool     // accounts that can't run anything
	heirs   map[int]string   // by uid, the name of the account that has the uid now, if not the account on record
	groups  map[int][]string // the groups of each account; a start looks them up
	leaving bool             // systemd stops everything
	soft    int              // number of soft reboots in this boot
	kernel  []core.Faulted   // the kernel's log of this boot
	stuck   map[job.ID]bool  // jobs whose processes outlive SIGKILL
	fates   map[job.ID]fate  // how the driver ends copies of GPU memory; no entry: well
	linger  bool             // the GPU memory of a unit remains in use after the unit is gone
	sampled gpu.Snapshot     // the last sample that the core saw
	shorts  map[string]int   // by GPU: consecutive good samples in which jobs lacked promised memory
	overs   map[string]int   // by job and GPU: consecutive good samples in which the job exceeded its budget

	log    func(format string, args ...any)
	faults []string // breaches of invariants
}

func newWorld(n int, log func(string, ...any)) *world {
	w := &world{
		now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), boot: 1,
		jobs: map[job.ID]job.Job{}, payloads: map[job.ID]bool{}, controls: map[string]job.GPUControl{},
		stuck: map[job.ID]bool{}, expired: map[int]bool{}, heirs: map[int]string{}, groups: map[int][]string{}, usage: map[string]job.Usage{}, reserved: map[int64]job.Reservation{},
		units: map[job.ID]*unit{}, runs: map[string]int{}, replies: map[core.Token]core.Reply{}, acked: map[job.ID]bool{},
		persons: map[int]gpus.Person{165700: {UID: 1001}, 265700: {UID: 1002}},
		fates:   map[job.ID]fate{},
		log:     log, overs: map[string]int{}, shorts: map[string]int{},
		policy: site.Policy{
			DefaultGrace: 30 * time.Second, DefaultRequeue: true, MaxRetries: 10, DefaultBackoff: 5 * time.Second,
			Sched:           sched.Policy{HalfLife: 7 * 24 * time.Hour, GuardAfter: 7 * 24 * time.Hour, GuardPercent: 50, ReservationDepth: 1, Patience: sched.DefaultPatience, Slice: 30 * time.Minute},
			CleaningTimeout: 30 * time.Second, MemSlackBytes: gib / 2, StaleAfter: time.Minute, FreshFor: time.Second,
			MaxForeignBytes: 2 * gib,
			Xids:            gpu.DefaultXids(), DrainPending: true, LostAfter: 10 * time.Second,
		},
	}
	for i := range n {
		w.gpus = append(w.gpus, gpu.Device{
			Index: i, Minor: i, PCI: fmt.Sprintf("00000000:%02X:00.0", i+10), UUID: fmt.Sprintf("GPU-%d", i), Name: "NVIDIA A100-SXM4-80GB", Health: gpu.HealthOK,
			MemTotalBytes: 80 * gib,
		})
	}
	w.keepMemory(reservedMiB)
	w.revive()
	return w
}

// keepMemory makes the driver keep the given amount of each idle GPU's memory for itself.
func (w *world) keepMemory(mib uint64) {
	for i := range w.gpus {
		g := &w.gpus[i]
		g.MemReservedBytes = mib << 20
		g.MemFreeBytes = g.MemTotalBytes - g.MemReservedBytes
	}
}

func (w *world) bootID() string { return fmt.Sprintf("boot%d", w.boot) }

// revive makes a new core from the disk, as the daemon does when it starts again.
func (w *world) revive() {
	w.core = core.New(w.policy, w.bootID(), w.disk())
	w.pending, w.sending = nil, nil
}

// disk returns the stored state with which a new core begins.
func (w *world) disk() (r job.Restored) {
	for _, id := range slices.Sorted(maps.Keys(w.jobs)) {
		r.NextID = id + 1
		j := w.jobs[id]
		if !j.State.Terminal() {
			r.Jobs = append(r.Jobs, j)
		} else if j.State == job.Completed && j.Request.Dedup != "" {
			r.Done = append(r.Done, job.Done{UID: j.Owner.UID, Dedup: j.Request.Dedup, Job: id})
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
	for _, m := range w.messages {
		if m.Closed.IsZero() {
			r.Owed = append(r.Owed, m)
		}
	}
	r.Predictions, r.NextReservation, r.Alive = slices.Clone(w.learned), w.nextRes, w.alive
	return r
}

// step feeds one event and executes its effects. If death is not negative, the daemon dies at that
// point: point 0 is before the records are on disk, point 1 is when they are on disk, and each
// action and reply adds one more point.
func (w *world) step(ev core.Event, death int) (alive bool) {
	if e, ok := ev.(core.Sampled); ok {
		w.noteSample(e.Snap)
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
	for _, r := range eff.Records {
		if j := r.Job; j != nil && j.State == job.Starting && j.Request.Lane != "" && j.Attempt.PlacedAt.Equal(w.now) {
			w.checkLane(j)
		}
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

// checkLane checks that no more jobs run in the lane of a placed job than the lane allows. All jobs
// of a lane must have the same limit.
func (w *world) checkLane(placed *job.Job) {
	lane, running := placed.Request.Lane, 0
	most, ofSite := w.policy.Lanes[lane.Name()]
	if !ofSite {
		most = lane.Limit(false)
	}
	for _, j := range w.jobs {
		if j.State.Live() && j.Request.Lane.Name() == lane.Name() && (ofSite || j.Person().UID == placed.Person().UID) {
			running++
		}
	}
	if running > most {
		w.fault("job %d is placed, and %d jobs run in its lane %s", placed.ID, running, lane)
	}
}

func (w *world) fault(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *world) record(r job.Record) {
	if g := r.GPU; g != nil {
		w.controls[g.UUID] = *g
		text := ""
		if f := g.Fault; f.Boot != "" {
			text = fmt.Sprintf(" needs %q after %q in job %d, line %d", f.Recovery, f.What, f.Job, f.Seq)
			if l := f.Left; !l.What.IsZero() {
				text = fmt.Sprintf(" left by job %d: %s", l.Job, l.What)
			}
			for _, s := range f.Strays {
				text += fmt.Sprintf(", stray %d of job %d", s.PID, s.Job)
			}
			for _, s := range f.Strangers {
				text += fmt.Sprintf(", stranger %d", s.PID)
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
	if a := r.Job.Attempt; a != nil && !a.EndedAt.IsZero() {
		w.ends = append(w.ends, *a)
	}
	if r.Job.Stop != old.Stop {
		w.checkJustified(r.Job)
	}
	if a := r.Job.Attempt; a != nil && a.Result != nil && a.Result.Outcome == job.Lost && w.runsNow(r.Job) {
		w.fault("job %d is given up as lost while its command runs", r.Job.ID)
	}
	if a := r.Job.Attempt; r.Job.State == job.Starting && (old.Attempt == nil || old.Attempt.Number != a.Number) {
		w.handOver(r.Job)
	}
	w.jobs[r.Job.ID] = *r.Job
	if r.Job.Park == job.ParkGives && old.Park == job.IsParked {
		w.checkReturn(r.Job)
	}
	w.payloads[r.Job.ID] = true
	text := fmt.Sprintf("record job %d %s", r.Job.ID, r.Job.State)
	if a := r.Job.Attempt; a != nil {
		text += fmt.Sprintf(" attempt %d on %s", a.Number, job.FormatGPUList(r.Job.GPUIndexes()))
	}
	if r.Job.Park != "" {
		text += " " + string(r.Job.Park)
	}
	if r.Job.ParkWants {
		text += ", wants its GPUs"
	}
	if r.Job.Stop != "" {
		text += " stop=" + string(r.Job.Stop)
	}
	if res := r.Job.Result; res != nil {
		text += ": " + fields(*res)
	}
	w.log("%s", text)
}

// keep stores the parts of a record that are not about a single job.
func (w *world) keep(r job.Record) {
	switch {
	case !r.Alive.IsZero():
		w.alive = r.Alive
	case r.Usage != nil:
		w.usage[r.Usage.Account] = *r.Usage
	case r.Prediction != nil:
		w.learned = append(w.learned, *r.Prediction)
	case r.Notification != nil:
		w.keepMessage(*r.Notification)
	case r.Reservation != nil:
		w.reserved[r.Reservation.ID], w.nextRes = *r.Reservation, r.Reservation.ID+1
		w.log("record reservation %d", r.Reservation.ID)
	default:
		delete(w.reserved, r.Unreserve)
		w.log("remove reservation %d", r.Unreserve)
	}
}

func (w *world) reply(r core.Reply) {
	switch {
	case r.Refusal != nil:
		w.log("reply refused %s", r.Refusal)
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
		text += "; " + fields(r)
	}
	return text
}

// fields prints the fields of a value that are not zero.
func fields(of any) string {
	var parts []string
	v := reflect.ValueOf(of)
	for i := range v.NumField() {
		name, value := v.Type().Field(i).Name, reflect.Indirect(v.Field(i))
		switch {
		case v.Field(i).IsZero() && name != "GPU" || name == "GPU" && value.Int() == job.NoGPU:
		case i == 0:
			parts = append(parts, fmt.Sprint(value))
		default:
			parts = append(parts, fmt.Sprintf("%s=%v", strings.ToLower(name), value))
		}
	}
	return strings.Join(parts, " ")
}

var errExists = fmt.Errorf("exists")
