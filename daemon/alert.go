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
	alertTime  = 30 * time.Second // until the unit has started, or has ended if it is quick
	alertAgain = time.Minute      // until the next try after a failed start
	alertPause = 10 * time.Minute // between two alerts for one GPU
)

// These take the place of a GPU in an alert that is about all of them.
const (
	startsAlert = "starts" // no job can be started
	driverAlert = "driver" // the driver was upgraded while another one is loaded
)

// alerts starts the site's unit for each GPU that goes out of service, and again only after the GPU
// was back. It does the same when no job can be started. It is given the present state, not
// changes, so a restarted daemon alerts once more.
type alerts struct {
	host    Runtime
	log     *slog.Logger
	start   func(ctx context.Context, unit string) error // nil: no unit is started
	workers *group

	mu      sync.Mutex // guards what follows
	alerted map[string]bool
	next    map[string]time.Time // the earliest time of the next alert, by GPU
	failed  lastFailure
}

// raise alerts about what is out of service. The loop calls it.
func (a *alerts) raise(ctx context.Context, c *core.Core, unit string, now time.Time) {
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
	for _, uuid := range a.due(out, now) {
		a.workers.Go(func() { a.send(ctx, instance(unit, out[uuid]), uuid) })
	}
}

// due returns the GPUs to alert about, and records that it did.
func (a *alerts) due(out map[string]string, now time.Time) []string {
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

// ended records the outcome of an alert.
func (a *alerts) ended(uuid string, err error, now time.Time) {
	a.failed.note(err, now)
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.alerted[uuid], a.next[uuid] = false, now.Add(alertAgain)
}

// instance returns the template's unit for a GPU, or for an alert about all of them.
func instance(template, of string) string { return strings.Replace(template, "@.", "@"+of+".", 1) }

func (a *alerts) send(ctx context.Context, unit, uuid string) {
	ctx, cancel := a.host.Timeout(ctx, alertTime)
	defer cancel()
	err := a.start(ctx, unit)
	a.ended(uuid, err, a.host.Now())
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

// check reports whether the last alert succeeded.
func (a *alerts) check(unit string) job.Check {
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
