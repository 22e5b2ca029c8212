package dst

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// request is a client's call to the daemon.
type request struct {
	over bool
	lost func() // called if the daemon dies before it answers
}

// ask calls the daemon for a client that gives up when its patience is over. It calls onLost if the
// client gives up, or if the daemon is down or dies.
func (w *World) ask(patience time.Duration, what func(context.Context, *daemon.Daemon) (answered func()), onLost func()) {
	if w.daemon == nil || w.life.over {
		w.after(time.Millisecond, onLost)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	c, d, l := &request{lost: onLost}, w.daemon, w.life
	w.calls = append(w.calls, c)
	w.after(patience, func() {
		if !c.over {
			w.count("client gone")
			c.over = true
			cancel()
			w.wakeCancelled()
			onLost()
		}
	})
	w.spawn(l, func() {
		answered := what(ctx, d)
		w.mayDie(l)
		w.calls = slices.DeleteFunc(w.calls, func(o *request) bool { return o == c })
		if !c.over {
			c.over = true
			answered()
		}
	})
}

// submission is a client that tries to submit a job.
type submission struct {
	num   int
	s     job.Submission
	id    job.ID // 0: unknown to the client
	tries int
}

var users = []job.Owner{{UID: 1001, GID: 1001, User: "alice"}, {UID: 1002, GID: 1002, User: "bob"},
	{UID: 1003, GID: 1003, User: "carol"}}

// newSubmission draws a job.
func (w *World) newSubmission(e *Entry) *submission {
	d := w.roll("submit", e.Pick)
	s := job.Submission{
		Owner: pick(d, users...), Label: job.Label{Name: fmt.Sprintf("j%d", e.Num)}, Admin: d.chance(30),
		Payload: job.Payload{Program: contract.Program{Argv: []string{"true"}, EnvMode: contract.EnvClean, Dir: "/"}},
	}
	if d.chance(20) {
		s.Payload.Argv = append(s.Payload.Argv, strings.Repeat("x", d.n(20_000)))
	}
	r := &s.Request
	r.GPUMilli = pick(d, 0, 250, 500, 500, 1000, 1000, 1000, 1500, 2000, 3000)
	r.MemBytes, r.CPUs = int64(d.n(20))*gib, pick(w.roll("cpus", e.Pick), 0, 0, 0, 1, 4, 9)
	if w.roll("lend").chance(40) && w.roll("no mem", e.Pick).chance(50) {
		r.MemBytes = 0
	}
	if r.GPUMilli > 0 && d.chance(40) && !w.unified {
		r.GPUMemBytes = pick(d, int64(1+d.n(40))*gib, 20*gib, 40*gib)
	}
	if d.chance(40) {
		r.TimeLimit = job.Span(pick(d, d.between(time.Second, 20*time.Second), d.between(time.Second, 5*time.Minute)))
	}
	if s.Admin {
		r.Priority.Number = d.n(3) - 1
	}
	if d.chance(80) {
		s.Key = fmt.Sprintf("key-%d", e.Num)
	}
	if d.chance(20) {
		s.Request.Grace = new(job.Span(pick(d, 0, time.Second, time.Minute)))
	}
	s.Request.Requeue = new(d.chance(50))
	w.drawOptions(r, d, e)
	w.drawNotify(r, e)
	s.Owner.Groups = pick(d, nil, nil, []string{"lab"}, []string{"class", "lab"}) // the owner's groups at this moment
	return &submission{num: e.Num, s: s}
}

// warning is the number of the warning signal that jobs ask for.
const warning = 10

// drawOptions draws options that concern the course of a job.
func (w *World) drawOptions(r *job.Request, d *dice, e *Entry) {
	switch d.n(12) {
	case 0:
		r.Preemptible = true
	case 1:
		r.Retries, r.Backoff = 1+d.n(3), job.Span(d.between(0, 20*time.Second))
	case 2:
		r.OnTimeout = job.TimeoutRequeue
	case 3:
		r.Begin = genesis.Add(w.Elapsed).Add(d.between(0, 5*time.Minute))
	case 4:
		r.Hold = true
	case 5:
		if on := w.subs[e.Job]; on != nil && on.id != 0 {
			r.After = []job.Dependency{{Kind: pick(d, job.AfterStart, job.AfterOK, job.AfterFail, job.AfterAny), Job: on.id}}
		}
	case 6:
		r.Array = &job.Array{Ranges: []job.Range{{First: 0, Last: d.n(5), Step: 1}}, Limit: d.n(3)}
		r.MaxFailures = pick(d, 0, 0, 1, 2)
	case 7:
		r.Dedup = fmt.Sprintf("same%d", d.n(2))
	case 8:
		r.WarnSignal = warning
	}
	r.NoPark = w.roll("no park", e.Pick).chance(20)
	r.Lane = pick(w.roll("lane", e.Pick), "", "", "", job.Lane("one"), "two=2", "site")
	if warned := w.roll("warned", e.Pick); r.WarnSignal != 0 || (r.Preemptible || r.OnTimeout != "") && warned.chance(50) {
		r.WarnSignal, r.WarnBefore = warning, job.Span(warned.between(0, 10*time.Second))
	}
}

// try submits the job. If the result is unknown, it tries again with the same request key.
func (w *World) try(c *submission) {
	c.tries++
	d := w.roll("try", uint64(c.num), uint64(c.tries))
	patience := pick(d, d.between(0, 10*time.Millisecond), d.between(0, time.Second), time.Minute, time.Hour)
	again := func() {
		if c.s.Key != "" && c.tries < 10 && !d.chance(5) {
			w.after(d.shortTime(time.Second), func() { w.try(c) })
		}
	}
	w.ask(patience, func(ctx context.Context, daemon *daemon.Daemon) func() {
		out, err := daemon.Submit(ctx, c.s, false)
		return func() {
			var refusal *job.Refusal
			switch {
			case err == nil:
				w.tell("client: #%d is job %d, known %t", c.num, out.ID, out.Known)
				w.judgeAck(c, &out)
			case errors.As(err, &refusal) && refusal.Kind() != job.RefusedUnavailable:
				w.tell("client: #%d is refused: %s", c.num, refusal.Message)
				w.count("refused submission")
			default:
				again()
			}
		}
	}, again)
}

// sendCommand sends the entry's command about a job. The function details draws the rest of the
// command.
func (w *World) sendCommand(e *Entry, details func(*job.Command, *dice)) {
	c := w.subs[e.Job]
	if c == nil || c.id == 0 {
		return
	}
	d := w.roll("command", e.Pick)
	who := root
	switch {
	case d.chance(60):
		who = job.Actor{UID: c.s.Owner.UID, User: c.s.Owner.User}
	case d.chance(20):
		who = job.Actor{UID: 1004, User: "mallory"}
	}
	what := job.Command{Kind: job.CommandKind(e.Kind), Job: c.id}
	details(&what, d)
	if many := w.roll("many", e.Pick); what.Kind != job.CommandUpdate && many.chance(30) {
		w.orderMany(e, who, what, many)
		return
	}
	w.order(e, who, what)
}

// changeInLine updates a job on behalf of its owner. The job has no unit yet: it waits until the
// start of another job is over.
func (w *World) changeInLine(id job.ID) {
	j := w.tracked.mirror.jobs[id]
	if !w.isCrowded() || j.State != job.Starting {
		return
	}
	d, e := w.roll("in line", uint64(id), uint64(w.Elapsed)), &Entry{Kind: update, For: time.Minute}
	who, what := job.Actor{UID: j.Owner.UID, User: j.Owner.User}, job.Command{Kind: job.CommandUpdate, Job: id}
	if j.Task != nil && d.chance(50) {
		what.Job = j.Task.Array
	}
	if what.Change = new(job.Change); d.chance(50) {
		what.Change.MemBytes = new(int64(1+d.n(8)) * gib)
	} else {
		w.change(&what, d)
	}
	w.count("change in line")
	w.after(d.between(0, 500*time.Microsecond), func() { w.order(e, who, what) })
}

// orderMany sends a command about several jobs in one request, and notes what the daemon confirmed.
// Some jobs are named twice, and some may have ended.
func (w *World) orderMany(e *Entry, who job.Actor, what job.Command, d *dice) {
	list := []job.Command{what}
	for range 1 + d.n(5) {
		what.Job = job.ID(1 + d.n(int(w.disk.nextJob)))
		list = append(list, what)
	}
	for _, c := range list {
		w.judgeAsked(who, c)
	}
	w.count("many")
	w.ask(max(e.For, time.Millisecond), func(ctx context.Context, on *daemon.Daemon) func() {
		var told []job.Outcome
		_, err := on.DoMany(ctx, who, list, func(each []job.Outcome) error {
			told = append(told, each...)
			return nil
		})
		return func() {
			w.tell("client: %s of %d jobs by %s: %v", what.Kind, len(list), who.User, err)
			for i := range told {
				if told[i].Refusal == nil {
					w.judgeConfirmed(who, list[i])
				}
			}
		}
	}, func() {})
}

// order sends a command and notes whether the daemon confirmed it.
func (w *World) order(e *Entry, who job.Actor, what job.Command) {
	w.judgeAsked(who, what)
	before := w.signalsOf(what.Job)
	w.ask(max(e.For, time.Millisecond), func(ctx context.Context, d *daemon.Daemon) func() {
		err := d.Do(ctx, who, what)
		return func() {
			w.tell("client: %s of job %d GPU %d by %s: %v", what.Kind, what.Job, what.GPU, who.User, err)
			if err == nil && what.Kind == job.CommandSignal && w.signalsOf(what.Job) == before {
				w.breach(21, "job %d is said to have got a signal that never reached it", what.Job)
			}
			if err == nil {
				w.judgeConfirmed(who, what)
			}
		}
	}, func() {})
}

// signalsOf returns the number of signals that have reached a job and its tasks.
func (w *World) signalsOf(id job.ID) int {
	n := w.tracked.signals[id]
	for of, j := range w.disk.jobs {
		if j.Task != nil && j.Task.Array == id {
			n += w.tracked.signals[of]
		}
	}
	return n
}
