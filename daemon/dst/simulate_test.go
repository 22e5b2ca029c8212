package dst

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// Result is the outcome of a run.
type Result struct {
	Breaches []string // violations, in the order in which they happened
	Steps    uint64
	Hash     uint64 // hash of everything that happened
	Elapsed  time.Duration
	Counts   map[string]int // how often each thing happened
	Trail    []string       // the story of the run, if asked for
}

// Failed reports whether an invariant was violated.
func (r Result) Failed() bool { return len(r.Breaches) > 0 }

// drainTime is how long the queue may take to drain after the faults stop.
const drainTime = 24 * time.Hour

// maxSteps stops a run that would otherwise never end.
const maxSteps = 3_000_000

// Run carries out a plan. If story is true, it also writes down what happens.
func Run(p Plan, story bool) Result { return simulate(p, story, bug{}, "") }

// RunOn carries out a plan on a real state file in an empty directory.
func RunOn(p Plan, story bool, dir string) Result { return simulate(p, story, bug{}, dir) }

// bug says which bugs a test plants, to check that the judge finds them.
type bug struct {
	lyingDisk   bool // a failed fsync is reported as success
	idleStop    bool // a stop does nothing and reports success
	lyingPost   bool // a message that was not sent is reported as sent
	neverBegins int  // uid of a user whose starts never complete
}

func simulate(p Plan, story bool, planted bug, dir string) Result {
	w := newWorld(p)
	if dir != "" {
		w.disk.file = newFile(w, dir)
	}
	w.tracing, w.planted = story, planted
	for i := range p.Entries {
		e := &p.Entries[i]
		w.agenda.add(e.At, func() { w.act(e) })
	}
	w.agenda.add(0, w.start)
	w.agenda.add(p.Chaos, w.heal)
	w.agenda.add(p.Chaos, w.watch)
	over := p.Chaos + drainTime
	for len(w.Breaches) == 0 && !w.settled && w.Elapsed < over && w.Steps < maxSteps {
		w.step()
	}
	if len(w.Breaches) == 0 && !w.settled {
		w.breach(9, "after %v and %d steps %s%s", w.Elapsed, w.Steps, w.describeRemaining(), w.askWhy())
	}
	w.end()
	return w.Result
}

// end ends all coroutines.
func (w *World) end() {
	if l := w.life; l != nil {
		l.over = true
		w.calls = nil
		w.bury(l)
	}
	w.bus.sys.Reboot() // releases the calls that wait in systemd
	for _, a := range slices.Clone(w.own) {
		w.current = a
		for more := true; more; {
			_, more = a.next()
		}
	}
}

// watch checks from time to time whether everything has ended.
func (w *World) watch() {
	if w.describeRemaining() == "" && w.daemon != nil && !w.life.over {
		acked := maps.Clone(w.tracked.acked) // the answer need not include jobs that are acknowledged later
		w.ask(time.Minute, func(ctx context.Context, d *daemon.Daemon) func() {
			v, err := d.Query(ctx, job.Query{Ended: 1000})
			return func() {
				if err == nil {
					w.judgeFinal(&v, acked)
				}
			}
		}, func() {})
	}
	w.after(20*time.Second, w.watch)
}

// describeRemaining describes what has not ended yet. It returns "" if everything has.
func (w *World) describeRemaining() string {
	for _, id := range slices.Sorted(maps.Keys(w.disk.jobs)) {
		if j := w.disk.jobs[id]; !j.State.Terminal() {
			return fmt.Sprintf("job %d is %s: %s", id, j.State, storyOf(&j))
		}
	}
	for _, name := range w.bus.sys.Names() {
		if r := w.runs[name]; r == nil || !r.stale { // the daemon reports a stale unit and leaves it to people
			return "there is still " + name
		}
	}
	if m := w.owedStill(); m != "" {
		return m + " is neither sent nor given up"
	}
	if w.Elapsed > w.plan.Chaos+drainTime {
		return w.notFree
	}
	return ""
}

// askWhy asks the daemon for the reasons why jobs still wait.
func (w *World) askWhy() string {
	text := "; the daemon does not answer"
	w.ask(time.Minute, func(ctx context.Context, d *daemon.Daemon) func() {
		v, err := d.Query(ctx, job.Query{Reasons: true})
		return func() {
			text = fmt.Sprintf("; %v", err)
			for _, j := range v.Jobs {
				text += fmt.Sprintf("; job %d is %s", j.ID, j.State)
				for _, r := range j.Reasons {
					text += ", " + words.Reason(r)
				}
			}
		}
	}, func() {})
	for until := w.Elapsed + time.Minute; w.Elapsed < until; {
		w.step()
	}
	return text
}

// judgeFinal checks invariants 1 and 9 at the end, using what the daemon reports. It also checks
// that the GPUs are free. The argument acked has the jobs that were acknowledged.
func (w *World) judgeFinal(v *job.View, acked map[job.ID]*submission) {
	if w.disk.doubt != nil { // the daemon first repeats that commit, and announces nothing before that
		return // watch tries again
	}
	w.judgeTold(v.Jobs...)
	w.follow()
	w.judgeFollowed()
	for id := range acked {
		if !slices.ContainsFunc(v.Jobs, func(shown job.JobView) bool { return shown.ID == id }) {
			w.breach(1, "job %d was acknowledged and is not shown", id)
		}
	}
	for _, g := range v.GPUs {
		if w.notFree = ""; g.State != job.GPUFree {
			w.notFree = fmt.Sprintf("GPU %d is %s: %s", g.Index, g.State, g.StateDetail)
			return // watch tries again
		}
	}
	w.judgeTellings()
	w.settled = len(v.GPUs) == len(w.gpus) && w.describeRemaining() == ""
}
