package daemon

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

const (
	alertTime  = 30 * time.Second // limits the start of an alert unit
	alertAgain = time.Minute      // delay between a failed start and the next try
	alertPause = 10 * time.Minute // least time between two alerts about one GPU
)

// These names replace the GPU in an alert that concerns all GPUs.
const (
	startsAlert = "starts" // no job can be started
	driverAlert = "driver" // the installed driver is newer than the loaded one
)

// An alerter starts the site's alert unit once for each GPU that goes out of service. If the GPU
// returns to service and fails again, the unit is started again. The unit is also started when no
// job can be started. A restarted daemon does not know earlier alerts, so it repeats the alerts
// about problems that still exist.
type alerter struct {
	host    Runtime
	log     *slog.Logger
	start   func(ctx context.Context, unit string) error // nil: no unit is started
	workers *group

	mu      sync.Mutex // guards the fields below
	alerted map[string]bool
	next    map[string]time.Time // earliest time of the next alert, by GPU
	failed  lastFailure
}

// raise starts an alert unit for each problem that exists now and needs an alert. Only the loop
// calls raise.
func (a *alerter) raise(ctx context.Context, c *core.Core, unit string, now time.Time) {
	if unit == "" || a.start == nil {
		return
	}
	out := map[string]string{}
	if c.DriverDiffers() {
		out[driverAlert] = driverAlert
	} else {
		for uuid, index := range c.OutOfService(now) {
			out[uuid] = strconv.Itoa(index)
		}
	}
	if c.NoStarts(now) {
		out[startsAlert] = startsAlert
	}
	for _, uuid := range a.takeDue(out, now) {
		a.workers.Go(func() { a.send(ctx, instance(unit, out[uuid]), uuid) })
	}
}

// takeDue returns the entries of the map that need an alert now, and marks them as alerted.
func (a *alerter) takeDue(out map[string]string, now time.Time) []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.alerted == nil {
		a.alerted, a.next = map[string]bool{}, map[string]time.Time{}
	}
	maps.DeleteFunc(a.alerted, func(uuid string, _ bool) bool { _, still := out[uuid]; return !still })
	var list []string
	for _, uuid := range slices.Sorted(maps.Keys(out)) {
		if !a.alerted[uuid] && !now.Before(a.next[uuid]) {
			a.alerted[uuid], a.next[uuid] = true, now.Add(alertPause)
			list = append(list, uuid)
		}
	}
	return list
}

// setResult records the result of starting an alert unit. After an error, the alert is repeated.
func (a *alerter) setResult(uuid string, err error, now time.Time) {
	a.failed.note(err, now)
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alerted[uuid], a.next[uuid] = false, now.Add(alertAgain)
}

// instance returns the name of the alert unit for a GPU. It puts the GPU's id into the template.
// For an alert about all GPUs, it puts startsAlert or driverAlert there.
func instance(template, subject string) string {
	return strings.Replace(template, "@.", "@"+subject+".", 1)
}

func (a *alerter) send(ctx context.Context, unit, uuid string) {
	ctx, cancel := a.host.Timeout(ctx, alertTime)
	defer cancel()
	err := a.start(ctx, unit)
	a.setResult(uuid, err, a.host.Now())
	what, log := "a gpu is out of service", a.log.With("alert_unit", unit, "gpu_uuid", uuid)
	switch uuid {
	case startsAlert:
		what, log = "no job can be started", a.log.With("alert_unit", unit)
	case driverAlert:
		what, log = "the driver was upgraded while another one is loaded", a.log.With("alert_unit", unit)
	}
	if err == nil {
		log.Warn(what + ": its alert unit has been started")
		return
	}
	log.Error(what+", and its alert unit did not start", "err", err)
}

// check returns the line of health about alerts: whether the last alert unit could be started.
func (a *alerter) check(unit string) job.Check {
	c := job.Check{Name: "alerts", Health: job.Healthy, Detail: unit + " is started when a GPU goes out of service or no job can be started"}
	if unit == "" {
		c.Detail = "no unit is set to be started when a GPU goes out of service or no job can be started (gpus.alert_unit)"
	}
	if since, err := a.failed.last(); err != nil {
		c.Health = job.Degraded
		c.Detail = fmt.Sprintf("alerts have failed since %s: %v", since.Format("15:04:05"), err)
		c.Next = "systemctl status '" + strings.Replace(unit, "@.", "@*.", 1) + "'; it is started again every minute"
	}
	return c
}
