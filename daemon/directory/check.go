package directory

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check reports whether the directory answers. If it does not, Check asks another question.
func (d *Directory) Check() job.Check {
	c := job.Check{Name: "accounts", Health: job.Healthy}
	d.mu.Lock()
	defer d.mu.Unlock()
	ours := d.cache.asker(daemonItself)
	failing := d.failed.After(ours.answered) // false: only some names get no answer, such as those of one server
	for _, q := range []Query{d.lastMissed, d.lastAnswered} {
		if e := d.cache.get(q); failing && e != nil {
			d.askIfDue(d.call(e, daemonItself, true))
		}
	}
	switch {
	case !ours.silent.IsZero():
		return c.Degrade(fmt.Sprintf("directory: no answer since %s (%v): known accounts and groups stay known, others are shown as numbers",
			ours.silent.Format("15:04:05"), ours.err), "getent passwd NAME; systemctl status gpusched-accounts; the directory's own service (sssd)")
	case ours.answered.IsZero() && failing:
		c.Detail = "the directory has not answered yet"
	case ours.answered.IsZero():
		c.Detail = "all accounts that were looked up are in /etc/passwd and /etc/group"
	default:
		c.Detail = "the directory answers, last at " + ours.answered.Format(time.TimeOnly)
	}
	if time.Since(d.failed) < fresh {
		c.Detail += "; some questions got no answer, last at " + d.failed.Format(time.TimeOnly)
	}
	return c
}
