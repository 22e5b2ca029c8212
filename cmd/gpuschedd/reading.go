package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/host"
	"github.com/gpusched/gpusched/daemon/job"
)

// reading is when which files of settings were read, each as it was then.
type reading struct {
	at      time.Time
	files   []string // in the order in which they count
	written map[string]time.Time
}

// lookAtSettings reports which files there are now, and when each was written.
func lookAtSettings(p paths) (reading, error) {
	r := reading{at: time.Now(), written: map[string]time.Time{}}
	var err error
	if r.files, err = config.Files(p.config, p.dropIns); err != nil {
		return r, err
	}
	for _, f := range r.files {
		if st, err := os.Stat(f); err == nil {
			r.written[f] = st.ModTime()
		}
	}
	return r, nil
}

// since names what is otherwise in now, for people.
func (r reading) since(now reading) []string {
	var changed []string
	for _, f := range now.files {
		switch before, there := r.written[f]; {
		case !there:
			changed = append(changed, f+" is new")
		case !before.Equal(now.written[f]):
			changed = append(changed, f+" was changed")
		}
	}
	for _, f := range r.files {
		if !slices.Contains(now.files, f) {
			changed = append(changed, f+" is gone")
		}
	}
	return changed
}

// checkSettings reports settings that were changed and not read, whether they
// can be, and of an administrators' group that is not there.
func checkSettings(p paths, r reading, adminGroup string) job.Check {
	c := job.Check{Name: "settings", Health: job.Healthy, Detail: "as they were read at " + r.at.Format(time.DateTime)}
	now, err := lookAtSettings(p)
	if err != nil {
		c.Health, c.Detail, c.Next = job.Degraded, err.Error(), "gpusched config check"
		return c
	}
	if changed := r.since(now); len(changed) > 0 {
		c.Health = job.Degraded
		c.Detail = fmt.Sprintf("not those that were read at %s: %s", r.at.Format(time.DateTime), strings.Join(changed, ", "))
		c.Next = "systemctl reload gpusched"
		if _, _, err := load(p); err != nil {
			c.Detail += "; a reload refuses them: " + strings.ReplaceAll(err.Error(), "\n", "; ")
			c.Next = "mend them ('gpusched config check' shows every mistake), then 'systemctl reload gpusched'"
		}
		return c
	}
	if _, there := host.GroupID(adminGroup); adminGroup != "" && !there {
		c.Health = job.Degraded
		c.Detail = fmt.Sprintf("there is no group %q in /etc/group (daemon.admin_group): root alone is an administrator", adminGroup)
		c.Next = "groupadd --system " + adminGroup + ", or name another"
	}
	return c
}
