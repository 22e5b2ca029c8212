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
	switch {
	case !d.silent.IsZero():
		if e := d.known.get(d.missed); e != nil {
			d.begin(d.missed, e)
		} else {
			d.begin(d.missed, d.known.entry(d.missed, ourselves))
		}
		return c.Degrade(fmt.Sprintf("directory: no answer since %s (%v): accounts and groups that were known stay, others are numbers",
			d.silent.Format("15:04:05"), d.err), "getent passwd NAME; systemctl status gpusched-accounts; the directory's own service (sssd)")
	case d.answered.IsZero():
		c.Detail = "all that was asked for are in /etc/passwd and /etc/group"
	default:
		c.Detail = "the directory answers, last at " + d.answered.Format(time.TimeOnly)
	}
	return c
}
