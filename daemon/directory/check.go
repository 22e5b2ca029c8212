package directory

import (
	"fmt"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Check reports whether the directory answers. While it does not, it is asked again.
func (d *Directory) Check() job.Check {
	c := job.Check{Name: "accounts", Health: job.Healthy}
	d.mu.Lock()
	defer d.mu.Unlock()
	ours := d.known.of(ourselves)
	failing := d.failed.After(ours.answered) // or it is some names alone, of one server of several
	for _, q := range []Query{d.missed, d.last} {
		if e := d.known.get(q); failing && e != nil {
			d.begin(d.call(e, ourselves, true))
		}
	}
	switch {
	case !ours.silent.IsZero():
		return c.Degrade(fmt.Sprintf("directory: no answer since %s (%v): accounts and groups that were known stay, others are numbers",
			ours.silent.Format("15:04:05"), ours.err), "getent passwd NAME; systemctl status gpusched-accounts; the directory's own service (sssd)")
	case ours.answered.IsZero() && failing:
		c.Detail = "the directory has not answered yet"
	case ours.answered.IsZero():
		c.Detail = "all that was asked for are in /etc/passwd and /etc/group"
	default:
		c.Detail = "the directory answers, last at " + ours.answered.Format(time.TimeOnly)
	}
	if time.Since(d.failed) < fresh {
		c.Detail += "; some of what was asked for got no answer, last at " + d.failed.Format(time.TimeOnly)
	}
	return c
}
