package dst

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/unittest"
)

// bus imitates systemd and the bus to systemd, which fails at times. The calls of one process reach
// systemd in order, as on one connection. systemd carries out a call even if the caller no longer
// waits. Calls of a process that has died may arrive after calls of the next process.
type bus struct {
	w      *World
	sys    *unittest.Systemd
	busy   time.Duration // systemd does nothing until this time
	broken uint64        // changes with each break of the bus
	calls  uint64

	overdue []overdueCall // calls of dead processes that have not arrived
	dead    bool          // systemd is carrying out a call of a dead process
	hints   feed[units.Change]
}

func newBus(w *World) *bus {
	b := &bus{w: w}
	b.sys = unittest.New(unittest.Options{Behave: w.behave, Await: w.await, Buffer: 4096})
	return b
}

// await waits for the end of a start or stop that systemd delays.
func (w *World) await(ended, gone <-chan struct{}) {
	b := w.bell(w.current.life)
	for !stopped([]<-chan struct{}{ended, gone}) {
		b.Wait(time.Time{}, ended, gone)
	}
}

// call sends a call to systemd and returns the answer. It returns an error if the call or its
// answer is lost.
func call[T any](b *bus, ctx context.Context, op unittest.Op, name string, do func() (T, error)) (T, error) {
	w, l := b.w, b.w.current.life
	w.mayDie(l)
	b.calls++
	d := w.roll("call "+string(op)+name, uint64(w.Elapsed))
	var none T
	lost := fmt.Errorf("%s unit %q: %w", op, name, units.ErrBus)
	if w.isOn(busGone) || ctx.Err() != nil {
		_ = w.sleep(ctx, d.shortTime(time.Millisecond))
		return none, lost
	}
	if w.isOn(lostCalls) && d.chance(30) {
		w.count("lost call")
		_ = w.sleep(ctx, d.shortTime(time.Second))
		return none, lost
	}
	var got T
	var err error
	answered, epoch, bell := false, b.broken, w.bell(l)
	back, dropped := d.shortTime(time.Millisecond), w.isOn(lostAnswers) && d.chance(30)
	if dropped {
		w.count("lost answer")
	}
	b.arrive(l, string(op)+name, d, func() {
		got, err = do()
		b.forwardHints()
		w.after(back, func() {
			if epoch == b.broken && !dropped {
				answered = true
				bell.Ring()
			}
		})
	})
	for !answered {
		if ctx.Err() != nil || epoch != b.broken {
			w.mayDie(l)
			return none, lost
		}
		until := w.now(l).Add(time.Second) // by that time the caller notices that the bus broke
		bell.Wait(until, ctx.Done())
	}
	w.mayDie(l)
	return got, err
}

// arrive makes systemd carry out a call, after the earlier calls of the same process.
func (b *bus) arrive(l *life, what string, d *dice, do func()) {
	w := b.w
	at := max(w.Elapsed+d.shortTime(200*time.Microsecond), b.busy, l.last)
	if w.doom > 0 && d.chance(50) { // the delay makes some calls outlive their callers
		at += d.between(0, 20*time.Millisecond)
	}
	l.last = at
	late, reboots := d.chance(50), w.reboots
	reach := func() {
		b.overtake(what)
		if w.reboots == reboots {
			b.dead = l.over
			w.turn(w.activity(nil, do))
			b.dead = false
		}
	}
	w.agenda.add(at, func() {
		if l.over && late && !w.healed {
			w.count("call of a dead process")
			if d.chance(50) {
				b.overdue = append(b.overdue, overdueCall{what, reach})
			} else {
				w.after(d.between(0, 10*time.Second), reach)
			}
			return
		}
		reach()
	})
}

// overdueCall is a call of a dead process that has not arrived yet.
type overdueCall struct {
	what  string // operation and unit
	reach func()
}

// overtake makes an overdue call arrive just before the living process makes the same call. At that
// point the overdue call does the most harm.
func (b *bus) overtake(what string) {
	for i, o := range b.overdue {
		if o.what == what {
			b.overdue = slices.Delete(b.overdue, i, i+1)
			o.reach()
			return
		}
	}
}

// deliver makes all overdue calls arrive.
func (b *bus) deliver() {
	all := b.overdue
	b.overdue = nil
	for _, o := range all {
		b.w.after(0, o.reach)
	}
}

// Start implements daemon.Units.
func (b *bus) Start(ctx context.Context, name string, props []units.Property) (units.Status, error) {
	return call(b, ctx, unittest.OpStart, name, func() (units.Status, error) {
		return b.w.startUnit(name, props)
	})
}

// Stop implements daemon.Units.
func (b *bus) Stop(ctx context.Context, name string) error {
	l, epoch := b.w.current.life, b.broken
	waits := func() bool { return !l.over && epoch == b.broken && ctx.Err() == nil }
	_, err := call(b, ctx, unittest.OpStop, name, func() (bool, error) {
		if r := b.w.runs[name]; r != nil && l.over && b.w.tracked.lost { // ordered by a dead process, from a lost state file
			r.touched = "state lost"
		} else {
			b.w.judgeStop(name)
		}
		return true, b.w.stopUnit(name, waits)
	})
	return err
}

// Freeze implements daemon.Units.
func (b *bus) Freeze(ctx context.Context, name string, on bool) error {
	_, err := call(b, ctx, unittest.OpFreeze, name, func() (bool, error) {
		return true, b.sys.Freeze(context.Background(), name, on)
	})
	return err
}

// SetMemory implements daemon.Units.
func (b *bus) SetMemory(ctx context.Context, name string, limit, high int64) error {
	_, err := call(b, ctx, unittest.OpMemory, name, func() (bool, error) {
		if r := b.w.runs[name]; r != nil {
			is := cmp.Or(high, limit)
			if high != 0 {
				b.w.count("memory lent")
			}
			if b.dead { // the living daemon finds out by its next listing
				is = min(is, r.mem)
			}
			r.mem = is
			b.w.judgeHostMem(r)
			defer b.w.judgeCopies(r)
		}
		return true, b.sys.SetMemory(context.Background(), name, limit, high)
	})
	return err
}

// Kill implements daemon.Units.
func (b *bus) Kill(ctx context.Context, name string, signal int, whom units.Whom) error {
	_, err := call(b, ctx, unittest.OpKill, name, func() (bool, error) {
		return true, b.w.signalUnit(name, signal, whom)
	})
	return err
}

// Status implements daemon.Units.
func (b *bus) Status(ctx context.Context, name string) (units.Status, error) {
	st, err := call(b, ctx, unittest.OpStatus, name, func() (units.Status, error) {
		return b.addAge(b.sys.Status(context.Background(), name))
	})
	if err != nil {
		st = units.Status{Name: name}
	}
	return st, err
}

// List implements daemon.Units.
func (b *bus) List(ctx context.Context) ([]units.Status, error) {
	return call(b, ctx, unittest.OpList, "", func() ([]units.Status, error) {
		all, err := b.sys.List(context.Background())
		for i := range all {
			all[i], _ = b.addAge(all[i], nil)
		}
		return all, err
	})
}

// addAge adds to a status what only the simulated world knows: how long a command has run.
func (b *bus) addAge(st units.Status, err error) (units.Status, error) {
	if r := b.w.runs[st.Name]; r != nil && r.began != 0 {
		st.Started, st.Age = uint64(b.w.wall().Add(r.began-b.w.Elapsed).UnixMicro()), b.w.Elapsed-r.began
		if r.ended != 0 {
			st.EndAge = max(1, b.w.Elapsed-r.ended)
		}
	}
	return st, err
}

// Origin is daemon.Options.Origin.
func (b *bus) Origin(ctx context.Context, name string) (units.Origin, error) {
	return call(b, ctx, unittest.OpStatus, name+" origin", func() (units.Origin, error) {
		return b.sys.Origin(context.Background(), name)
	})
}

// System is daemon.Options.System.
func (b *bus) System(ctx context.Context) (units.System, error) {
	return call(b, ctx, unittest.OpStatus, "itself", func() (units.System, error) {
		return b.sys.System(context.Background())
	})
}

// startUnit does systemd's part of a start. The launcher is executed at once, or later if the start
// is slow.
func (w *World) startUnit(name string, props []units.Property) (units.Status, error) {
	w.judgeStart(name, props)
	if w.leaving {
		return w.bus.sys.Start(context.Background(), name, props)
	}
	r := w.newRun(name, props)
	if r != nil && r.refused {
		return units.Status{Name: name}, &units.RefusedError{Name: name, Code: "org.freedesktop.systemd1.Refused",
			Message: "no"}
	}
	slow := time.Duration(0)
	if r != nil && !r.behaviour.Stopping && w.bus.sys.Properties(name) == nil { // otherwise every start is slow
		d := w.roll("exec", uint64(r.job), uint64(r.attempt))
		if w.planted.neverBegins != 0 {
			if r.uid == w.planted.neverBegins {
				w.bus.sys.Hold(unittest.OpStart, name)
			}
		} else if w.isOn(slowStart) || d.n(20) == 0 {
			slow = d.between(time.Millisecond, 3*time.Minute)
			w.bus.sys.Hold(unittest.OpStart, name)
			w.after(slow, func() { w.finishStart(name, r) })
		}
	}
	st, err := w.bus.sys.Start(context.Background(), name, props)
	if errors.Is(err, units.ErrExists) {
		w.count("UnitExists")
	} else if slow == 0 && r != nil {
		w.onBegin(name, r)
	}
	return st, err
}

// finishStart ends a slow start.
func (w *World) finishStart(name string, r *run) {
	if r.gone {
		return
	}
	w.bus.sys.Release(unittest.OpStart, name)
	w.onBegin(name, r)
	w.wakeCancelled()
	w.bus.forwardHints()
}

// stopUnit does systemd's part of a stop: it sends TERM, waits for the grace period, and sends
// KILL. systemd then forgets the unit if a caller still waits for the stop.
func (w *World) stopUnit(name string, waits func() bool) error {
	if w.planted.idleStop {
		return nil
	}
	r := w.runs[name]
	if r != nil && !r.gone && r.alive && !r.stopping && !r.stuck {
		d := w.roll("stop", uint64(r.job), uint64(r.attempt))
		took := d.shortTime(2 * time.Millisecond)
		if r.deaf || w.isOn(slowStop) {
			took = r.grace
		} else if r.answers != 0 {
			took = d.between(5*time.Millisecond, max(6*time.Millisecond, min(r.grace, 5*time.Second)))
		}
		if took > 5*time.Millisecond {
			r.stopping = true
			w.bus.sys.Hold(unittest.OpStop, name)
			w.after(took, func() { w.finishStop(name, r) })
		}
	}
	if r != nil {
		r.waits = append(r.waits, waits)
	}
	err := w.bus.sys.Stop(context.Background(), name)
	if errors.Is(err, units.ErrProcesses) {
		w.count("unkillable process")
		w.notice(name, "stop")
		return err
	}
	if err == nil && w.bus.sys.Properties(name) == nil {
		w.noteVanished(name, "stop")
	}
	return err
}

func (w *World) finishStop(name string, r *run) {
	if r.gone || !r.stopping {
		return
	}
	if r.stuck { // the run became stuck in the meantime
		r.stuck = false
		w.bus.sys.KeepProcesses(name, false)
	}
	awaited := slices.ContainsFunc(r.waits, func(waits func() bool) bool { return waits() })
	if awaited || r.answers == 0 || r.deaf || !w.bus.sys.Running(name) {
		w.bus.sys.Release(unittest.OpStop, name)
		w.noteVanished(name, "stop")
	} else {
		w.count("answer to a stop that nobody waits for")
		r.stopping = false
		w.bus.sys.Answer(name, r.answers)
		w.notice(name, "stop")
	}
	w.wakeCancelled()
	w.bus.forwardHints()
}

// signalUnit sends a signal to a unit's processes. A command that gets a warning may save its work
// and exit some time later.
func (w *World) signalUnit(name string, signal int, whom units.Whom) error {
	r := w.runs[name]
	if r != nil {
		w.tracked.signals[r.job]++
	}
	if r == nil || !r.alive || r.stopping || r.stuck || r.deaf || !r.saves || signal != warning {
		err := w.bus.sys.Kill(context.Background(), name, signal, whom)
		w.notice(name, "signal "+job.SignalName(signal))
		return err
	}
	r.saves, r.warned = false, !w.disk.jobs[r.job].WarnsAt.IsZero()
	w.after(w.roll("save", uint64(r.job), uint64(r.attempt)).between(0, 5*time.Second), func() {
		if r.alive && !r.stopping {
			r.code, r.signal, r.oom = r.answers, 0, false
			w.finish(name, r)
		}
	})
	return nil
}

// forwardHints forwards systemd's hints. Some of them get lost, delayed, reordered or doubled.
func (b *bus) forwardHints() {
	for {
		select {
		case ch := <-b.sys.Changes():
			b.calls++
			d := b.w.roll("hint "+ch.Name, b.calls)
			if b.w.isOn(busGone) && !ch.Resync || b.w.isOn(lostSignals) && d.chance(50) {
				b.w.count("lost signal")
				continue
			}
			b.send(ch, d)
			if b.w.isOn(twiceSignals) {
				b.send(ch, d)
			}
		default:
			return
		}
	}
}

func (b *bus) send(ch units.Change, d *dice) {
	late := d.shortTime(time.Millisecond)
	if b.w.isOn(lateSignals) {
		late = d.between(0, 20*time.Second)
	}
	l := b.w.life
	b.w.after(late, func() {
		if b.w.life == l && l != nil && b.hints.bell != nil {
			b.hints.add(ch)
		}
	})
}

// followChanges is daemon.Options.Changes.
func (b *bus) followChanges(ctx context.Context, tell func(units.Change)) {
	b.hints.list = nil
	b.hints.follow(ctx, b.w, tell)
}

// cut breaks the bus: calls that are under way get no answer.
func (b *bus) cut() {
	b.broken++
	b.w.after(0, b.w.wakeCancelled)
}

// sendResync sends the hint that the bus is back or that systemd was reloaded.
func (b *bus) sendResync() {
	b.send(units.Change{Resync: true}, b.w.roll("resync", b.w.Steps))
}

// meter is daemon.Options.Meter: a run uses a CPU while it is busy.
func (w *World) meter(group string) (job.HostUse, bool) {
	r := w.runs[path.Base(group)]
	if r == nil || r.began == 0 {
		return job.HostUse{}, true
	}
	ran, m := w.Elapsed-r.began, &r.demand
	busy := min(ran, m.rests)
	if more := ran - busy; more > 0 {
		busy += more/(m.pause+m.work)*m.work + max(0, more%(m.pause+m.work)-m.pause)
	}
	return job.HostUse{CPUTime: job.Span(busy)}, true
}

// memUsed is daemon.Options.MemUsed. The use of a job changes every half minute.
func (w *World) memUsed(group string) int64 {
	r := w.runs[path.Base(group)]
	if r == nil {
		return 0
	}
	return w.ownMem(r) + r.parked.copies()
}
