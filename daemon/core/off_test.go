package core_test

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// If a power cut or a shutdown ends a job, its recorded end is the time at which the machine was
// last known to be on. Nobody is charged for the time in which the machine was off. That holds in
// each state of the job, and even if the daemon dies again while it handles the end.
func TestTimeWithTheMachineOffIsNotCharged(t *testing.T) {
	const weekend = 60 * time.Hour
	for name, c := range map[string]struct {
		last core.Event    // the last event before the machine goes off; nil: none
		ran  time.Duration // for how much of the two minutes the job ran
		upTo func(w *world)
	}{
		"power cut": {nil, time.Minute, nil},
		"shutdown":  {core.Leaving{}, 2 * time.Minute, nil},
		"daemon":    {core.Closing{}, 2 * time.Minute, nil},
		"suspended": {core.Closing{}, time.Minute, func(w *world) {
			w.policy.MaxSuspend = time.Hour
			w.step(core.Configured{Policy: w.policy}, -1)
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandSuspend, Job: 1}}, -1)
		}},
		"stopping": {core.Closing{}, 2 * time.Minute, func(w *world) {
			w.step(core.Command{Who: job.Actor{Admin: true}, What: job.Command{Kind: job.CommandRequeue, Job: 1}}, -1)
		}},
	} {
		w := runningWorld(t, 1, nil)
		began := w.now
		w.now = w.now.Add(time.Minute)
		w.step(w.listed(), -1)
		if c.upTo != nil {
			c.upTo(w)
		}
		w.now = w.now.Add(time.Minute)
		if c.last != nil {
			w.step(c.last, -1)
		}
		w.now = w.now.Add(weekend)
		w.reboot()
		w.now = w.now.Add(time.Hour)
		w.revive() // the daemon died before it acted on the listing
		w.step(w.listed(), -1)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		j := w.jobs[1]
		first := w.ends[0]
		if got := first.EndedAt.Sub(began); got > 2*time.Minute || name != "suspended" && got != c.ran {
			t.Errorf("%s: the attempt ended %s after it began", name, got)
		}
		if j.Served != c.ran {
			t.Errorf("%s: the job was served %s, want %s", name, j.Served, c.ran)
		}
		used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond
		if ran := first.EndedAt.Sub(began); used > ran || used < ran/2 { // the use decays over the weekend
			t.Errorf("%s: alice has used %s", name, used)
		}
	}
}

// While no daemon ran, a job's unit was stopped, or somebody made systemd forget how it ended.
// Nobody knows how and when the job ended. So the job is lost, and is retried like any lost job.
// Its run time ends at the time at which the job was last known to run.
func TestUnitGoneWhileNoDaemonRan(t *testing.T) {
	for _, stop := range []job.Request{{}, {TimeLimit: job.Span(time.Hour)}, {Retries: 1}} {
		w := runningWorld(t, 1, func(r *job.Request) { r.TimeLimit, r.Retries = stop.TimeLimit, stop.Retries })
		began := w.now
		w.now = w.now.Add(30 * time.Minute)
		w.step(core.Closing{}, -1)
		w.now = w.now.Add(10 * time.Minute)
		w.sweep(1)
		w.now = w.now.Add(60 * time.Hour)
		w.revive()
		w.step(w.listed(), -1)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		first := w.ends[0]
		if ran := first.EndedAt.Sub(began); ran != 30*time.Minute {
			t.Errorf("%+v: the attempt ran %s", stop, ran)
		}
		if r := first.Result; r.Outcome != job.Lost || r.Detail.Code != "detail/vanished" {
			t.Errorf("%+v: the attempt ended as %+v", stop, r)
		}
		if j := w.jobs[1]; j.State.Terminal() == (stop.Retries > 0) || j.Failures != stop.Retries {
			t.Errorf("%+v: the job is %s after %d failures", stop, j.State, j.Failures)
		}
	}
}

// The recorded end of a job is the time at which it ended, not the time at which the daemon
// noticed. The time in between is not learned as run time. If no daemon ran in that time, nobody is
// charged for it.
func TestEndWhileNoDaemonRan(t *testing.T) {
	const weekend = 60 * time.Hour
	outOfBus := func(w *world) { w.busDown = true }
	for name, c := range map[string]struct {
		away    func(w *world) // what happens instead of a restart
		exit    contract.Exit
		retries int
		want    job.State
	}{
		"completed":               {want: job.Completed},
		"failed":                  {exit: contract.Exit{Code: 1}, want: job.Failed},
		"failed, tried again":     {exit: contract.Exit{Code: 1}, retries: 1, want: job.Running},
		"stopped at its limit":    {exit: contract.Exit{Signal: 15, Stopped: true}, want: job.Lost},
		"completed, out of bus":   {away: outOfBus, want: job.Completed},
		"tried again, out of bus": {away: outOfBus, exit: contract.Exit{Code: 1}, retries: 1, want: job.Running},
	} {
		w := runningWorld(t, 1, func(r *job.Request) { r.Retries = c.retries })
		began := w.now
		w.now = w.now.Add(30 * time.Minute)
		w.step(w.listed(), -1)
		if c.away == nil {
			w.step(core.Closing{}, -1)
		} else {
			c.away(w)
		}
		w.now = w.now.Add(30 * time.Minute)
		exitNow(w, c.exit)
		w.units[1].Spent = true
		w.clear(w.units[1])
		w.now = w.now.Add(weekend)
		w.busDown = false
		if c.away == nil {
			w.revive()
		}
		w.step(w.listed(), -1)
		w.settle()
		w.step(w.sample(0), -1)
		w.settle()
		j, first := w.jobs[1], w.ends[0]
		const want = time.Hour
		if got := first.EndedAt.Sub(began); got != want {
			t.Errorf("%s: the attempt ended %s after it began", name, got)
		}
		if j.State != c.want && (c.want != job.Running || j.Failures != 1) {
			t.Errorf("%s: the job is %s: %+v", name, j.State, j.Result)
		}
		if j.State.Terminal() && !j.ChangedAt.Equal(first.EndedAt) {
			t.Errorf("%s: the job ended at %s, its attempt at %s", name, j.ChangedAt, first.EndedAt)
		}
		if used := time.Duration(w.usage["u1001"].Micro) * time.Microsecond; c.away == nil && (used > want || used < want/2) {
			t.Errorf("%s: alice has used %s", name, used)
		}
		if p := w.lastLesson(); p.Typical > 2*want {
			t.Errorf("%s teaches %+v", name, p)
		}
	}
}
