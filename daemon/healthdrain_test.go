package daemon

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Health has one line for each drained or paused GPU. It says who did this, why, since when and how
// to undo it. The line does not report a fault.
func TestHealthOfDrains(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	control := func(c job.GPUControl) job.GPUControl {
		c.By, c.At = "root", now.Add(-72*time.Hour)
		return c
	}
	all := control(job.GPUControl{UUID: job.EveryGPU, Paused: true, Reason: "upgrade"})
	v := job.View{Drained: &all, Ends: &job.MachineEnd{At: now, How: "reboot"}, GPUs: []job.GPUView{
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
