package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Health has one line for each drained or paused GPU. The line says who did this, why, since when
// and how to undo it. It does not report a fault.
func TestHealthOfDrains(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	control := func(c job.GPUControl) job.GPUControl {
		c.By, c.At = "root", now.Add(-72*time.Hour)
		return c
	}
	all := control(job.GPUControl{UUID: job.EveryGPU, Paused: true, Reason: "upgrade"})
	v := job.View{Drained: &all, Ends: &job.Shutdown{At: now, How: "reboot"}, GPUs: []job.GPUView{
		{}, {}, {Control: control(job.GPUControl{Paused: true, Drain: true, Reason: "fan"})}, {Control: control(job.GPUControl{Paused: true, Until: now.Add(time.Hour)})},
		{Control: control(job.GPUControl{Paused: true, Until: now})}, {Control: control(job.GPUControl{})},
	}}
	for i := range v.GPUs {
		v.GPUs[i].Index = i
	}
	got := checkDrains(&v, now)
	want := []struct{ name, detail, next string }{
		{"drain", "drained by root (upgrade), since 2026-11-19", "'gpusched daemon resume'"},
		{"shutdown", "the machine reboots at 2026-11-22 12:00:00 UTC (scheduled with 'shutdown'); jobs that may run longer wait", "'shutdown -c'"},
		{"gpu 2 drain", "drained by root (fan), since 2026-11-19", "'gpusched gpu undrain 2'"},
		{"gpu 3 pause", "paused by root until 2026-11-22", "'gpusched gpu resume 3'"},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		if c := got[i]; c.Name != w.name || c.Health != job.Limited || !strings.HasPrefix(c.Detail, w.detail) || !strings.HasPrefix(c.Next, w.next) {
			t.Errorf("got %+v, want %v", c, w)
		}
	}
	if job.Worst(got) != job.Healthy {
		t.Errorf("the whole is %s", job.Worst(got))
	}
	if list := checkDrains(&job.View{GPUs: []job.GPUView{{}}}, now); list != nil {
		t.Errorf("nothing is withheld, and health says %+v", list)
	}
}

// Health says which jobs hold up a reboot, or that the reboot is refused. Only a refusal is a
// fault.
func TestHealthOfAReboot(t *testing.T) {
	account := func(uid int) string { return map[int]string{1: "ann", 2: "ben"}[uid] }
	six := []job.Name{{ID: 1, UID: 1}, {ID: 2, UID: 2}, {ID: 3, UID: 1}, {ID: 4, UID: 1}, {ID: 5, UID: 1}, {ID: 6, UID: 1}}
	hour := time.Date(2026, 11, 22, 6, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		reboot       job.Reboot
		jobs         []job.Name
		refused      string
		health       job.Health
		detail, next string
	}{
		{job.Reboot{Due: true}, six[:2], "", job.Limited, "it waits for 2 jobs (1 of ann, 2 of ben)", "'gpusched daemon resume' calls it off"},
		{job.Reboot{By: hour}, six, "", job.Limited, "5 of ann, 1 more), until 2026-11-22 06:00 at the latest", "'gpusched daemon resume'"},
		{job.Reboot{By: hour, Due: true}, six[:1], "", job.Limited, "it waits for 1 job (1 of ann)", "--by now --force"},
		{job.Reboot{Due: true}, nil, "dnf (pid 1) holds it up: upgrade", job.Degraded, "does not reboot: dnf (pid 1) holds it up: upgrade", "it is asked again every minute"},
		{job.Reboot{Due: true}, nil, "", job.Limited, "no job holds it up", "'gpusched daemon resume'"},
	} {
		p := core.PlannedReboot{Jobs: c.jobs, Refused: c.refused}
		p.Order = job.GPUControl{UUID: job.EveryGPU, Paused: true, By: "root", Reason: "kernel", Reboot: &c.reboot}
		got := checkReboot(&p, account)
		if got.Health != c.health || !strings.HasPrefix(got.Detail, "drained for a reboot by root (kernel): ") || !strings.Contains(got.Detail, c.detail) || !strings.Contains(got.Next, c.next) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
