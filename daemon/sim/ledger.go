package sim

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A ledger keeps two accounts of a run: what the core's records say, and what the machine saw. Both
// must agree at the end.
type ledger struct {
	jobs       []Job
	capacity   int // milli-GPUs
	first      time.Duration
	last       time.Duration
	until      time.Duration // time up to which the integrals are computed
	queued     int           // number of jobs that the core has received and that do not run
	active     int
	unfinished int
	ticks      int // number of ticks in a row without another event

	used      int64 // milli-GPU microseconds in use on the machine
	usedOpen  int64 // the part of used until the last submission
	idle      int64 // milli-GPU microseconds unused while a job waited
	entries   []entry
	decisions hash.Hash
}

// An entry has the times and the use of one job.
type entry struct {
	entered     time.Duration // time at which the core received the job
	end         time.Duration
	waited      time.Duration // time in the queue, by the core's records
	ran         time.Duration // run time, by the core's records
	gpu         int64         // GPU time by the core's records, in milli-GPU microseconds
	state       job.State
	queuedAt    time.Duration
	startedAt   time.Duration
	share       int
	extra       time.Duration // run time spent on continuing after stops
	preemptions int
	park        job.ParkState
	held        []Span // times in which the job had its GPUs
	room        []Room
}

func newLedger(jobs []Job, gpus int) *ledger {
	return &ledger{jobs: jobs, capacity: gpus * 1000, entries: make([]entry, len(jobs)), unfinished: len(jobs),
		decisions: sha256.New()}
}

// advance continues the integrals up to t.
func (l *ledger) advance(t time.Duration, milli, arrived int) {
	from := max(l.until, l.first)
	waiting := arrived - (len(l.jobs) - l.unfinished) - l.active
	if from < t {
		step := (t - from).Microseconds()
		l.used += step * int64(milli)
		if arrived < len(l.jobs) {
			l.usedOpen = l.used
		}
		if waiting > 0 {
			l.idle += step * int64(l.capacity-milli)
		}
	}
	l.until = max(l.until, t)
}

func (l *ledger) start(at int, u *unit, now time.Duration) {
	l.active++
	l.decide("start", at, now, u)
}

// recordLeave records that a command left its GPUs. The argument unfinished means that the command
// had not finished.
func (l *ledger) recordLeave(at int, u *unit, extra time.Duration, unfinished bool, now time.Duration) {
	l.active--
	e := &l.entries[at]
	e.extra += extra
	e.held = append(e.held, Span{From: u.started, To: now})
	if unfinished {
		e.preemptions++
	}
	l.decide("leave", at, now, u)
}

func (l *ledger) decide(what string, at int, now time.Duration, u *unit) {
	fmt.Fprint(l.decisions, what, at, " ", now.Microseconds())
	for _, r := range u.refs {
		fmt.Fprint(l.decisions, " ", r.Index, "/", r.Share())
	}
	fmt.Fprintln(l.decisions)
}

// record handles a job's record that the core has written.
func (l *ledger) record(j *job.Job, now time.Duration) error {
	at := int(j.ID) - 1
	if at < 0 || at >= len(l.entries) {
		return fmt.Errorf("the core records job %d, which is not in the trace", j.ID)
	}
	e := &l.entries[at]
	before := e.state
	if before.Terminal() {
		return fmt.Errorf("job %d is recorded after its end", j.ID)
	}
	e.recordParking(j, now)
	if e.state = j.State; before == j.State {
		return nil
	}
	switch before {
	case "":
		e.entered, e.queuedAt = now, now
	case job.Queued:
		e.waited += now - e.queuedAt
	case job.Ending:
		e.recordRun(now)
	}
	switch {
	case j.State == job.Ending && j.Stop == job.StopPreempt:
		e.room = append(e.room, Room{For: int(j.StopFor) - 1, At: now})
	case j.State == job.Running:
		e.startedAt, e.share = now, 0
		for _, r := range j.Attempt.GPUs {
			e.share += r.Share()
		}
	case j.State == job.Completed:
		e.end, l.last = now, now
		l.unfinished--
	case j.State.Terminal():
		return fmt.Errorf("job %d ended %s instead of completed: %s", j.ID, j.State, words.Result(j.Result))
	}
	return nil
}

// recordParking counts the time for which a job is parked as waiting.
func (e *entry) recordParking(j *job.Job, now time.Duration) {
	before := e.park
	if e.park = j.Park; before == e.park {
		return
	}
	if e.park == job.ParkTakes {
		e.room = append(e.room, Room{For: int(j.ParkedFor) - 1, At: now})
	} else if before == job.ParkTakes {
		e.recordRun(now)
	}
	if e.park == job.ParkGives {
		e.waited += now - e.queuedAt
		e.startedAt = now
	}
}

// recordRun counts the time since the job last got its GPUs.
func (e *entry) recordRun(now time.Duration) {
	ran := now - e.startedAt
	e.ran += ran
	e.gpu += ran.Microseconds() * int64(e.share)
	e.queuedAt = now
}

// audit checks invariants 2 to 4.
func (l *ledger) audit() error {
	sum := int64(0)
	for i := range l.entries {
		e, j := &l.entries[i], &l.jobs[i]
		sum += e.gpu
		switch {
		case e.state != job.Completed:
			return fmt.Errorf("job %d never completed, it is %s in the end", i+1, e.state)
		case e.ran != j.Run+e.extra:
			return fmt.Errorf("job %d ran %s, not the %s of its run time and %s of interruptions", i+1, e.ran, j.Run, e.extra)
		case e.entered < j.Submit || e.waited+e.ran != e.end-e.entered:
			return fmt.Errorf("job %d waited %s and ran %s, and completed %s after the core got it", i+1, e.waited, e.ran,
				e.end-e.entered)
		case e.gpu != (j.Run+e.extra).Microseconds()*int64(j.GPUMilli):
			return fmt.Errorf("job %d used %d milli-GPU microseconds in %s with %d milli-GPUs", i+1, e.gpu, e.ran, j.GPUMilli)
		}
	}
	if sum != l.used {
		return fmt.Errorf("the jobs' GPU time is %d milli-GPU microseconds, the machine saw %d", sum, l.used)
	}
	return nil
}

func (l *ledger) hash() string { return hex.EncodeToString(l.decisions.Sum(nil))[:16] }
