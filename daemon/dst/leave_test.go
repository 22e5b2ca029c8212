package dst

import (
	"maps"
	"slices"
	"syscall"
	"time"
)

// shutdown makes systemd refuse new starts and stop the units of jobs. Some seconds later it stops
// the daemon. Then the machine restarts, or everything restarts except the kernel. Sometimes the
// shutdown is called off.
func (w *World) shutdown(d *dice) {
	if w.leaving {
		return
	}
	w.tell("systemd stops everything")
	w.leaving = true
	w.bus.sys.Leave(true)
	last, reboots := d.between(time.Second, 20*time.Second), w.reboots
	for _, name := range slices.Sorted(maps.Keys(w.runs)) {
		r, takes, code := w.runs[name], d.shortTime(100*time.Millisecond), pick(d, 0, 0, 1, 143)
		w.after(d.between(0, last), func() { w.sweep(name, r, takes, code) })
	}
	off, soft, outlives := d.chance(15), d.chance(50), d.chance(50)
	w.after(last, func() {
		if w.reboots == reboots && w.stopDaemon != nil && !(off && outlives) {
			w.stopDaemon()
			w.stopping = true
			w.wakeCancelled()
		}
	})
	w.after(last+d.between(time.Millisecond, 5*time.Second), func() {
		switch {
		case w.reboots != reboots: // the power failed first
		case off:
			w.tell("systemd goes on after all")
			w.leaving = false
			for _, r := range w.tracked.truth {
				if r.by == "the shutdown" { // a daemon that is started now does not learn about that end
					r.by = givenUp
				}
			}
			w.bus.sys.Leave(false)
			w.start()
		case soft:
			w.count("soft reboot")
			w.tell("another run of systemd begins, under the same kernel")
			w.userspace()
		default:
			w.reboot(d)
		}
	})
}

// givenUp replaces the cause of an end if a shutdown caused the end and was called off later. A
// daemon that is started after that does not learn about such an end.
const givenUp = "a shutdown that was given up"

// sweep stops one unit during a shutdown.
func (w *World) sweep(name string, r *run, takes time.Duration, code int) {
	if !w.leaving || w.runs[name] != r || r.gone || r.stopping || r.stuck {
		return
	}
	r.touched = "swept"
	w.tracked.swept[attemptKey(r.job, r.attempt)] = true
	if !r.alive {
		w.vanish(name, "the shutdown")
		w.bus.forwardHints()
		return
	}
	r.stopping = true
	w.bus.sys.Sweep(name)
	w.bus.forwardHints()
	w.after(takes, func() {
		if r.gone || !r.alive || w.runs[name] != r {
			return
		}
		if code == 0 {
			w.bus.sys.KillBy(name, int(syscall.SIGTERM))
		} else {
			w.bus.sys.Exit(name, code)
		}
		w.notice(name, "the shutdown")
		w.bus.forwardHints()
	})
}
