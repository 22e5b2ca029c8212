package words

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// A warning says when the job will be stopped, but only if it can be stopped.
func TestNoticesSayWhatNext(t *testing.T) {
	const over = "this job uses 2K of the memory of GPU 1, 1K more than the 1K it was promised. Ask for more with --gpu-mem."
	const idle = "this job has not used GPU 1 for 1h. 'gpusched cancel 7' gives it back."
	for patience, then := range map[time.Duration][2]string{
		-1: {"", ""},
		0: {" When another job there is short of what it was promised, this one is stopped, at the earliest in 0s.",
			" If it uses none of its GPUs for another 0s, it is stopped."},
		time.Minute: {" When another job there is short of what it was promised, this one is stopped, at the earliest in 1m.",
			" If it uses none of its GPUs for another 1m, it is stopped."},
	} {
		if got := Say(job.OverWarning(1, 2048, 1024, patience)); got != over+then[0] {
			t.Errorf("patience %s: %q", patience, got)
		}
		if got := Say(job.IdleWarning(7, 1, time.Hour, patience, false)); got != idle+then[1] {
			t.Errorf("patience %s: %q", patience, got)
		}
	}
	const parks = " If it uses none of its GPUs for another 1m, it is parked: other jobs may get its GPUs then," +
		" and it waits for them when it works again or after 'gpusched unpark 7'."
	if got := Say(job.IdleWarning(7, 1, time.Hour, time.Minute, true)); got != idle+parks {
		t.Errorf("parks: %q", got)
	}
}

func TestWarnings(t *testing.T) {
	for want, w := range map[string]job.Warning{
		"uses 12G of the memory of GPU 3, 2G more than the 10G it was promised": {Code: job.WarningMemory, GPU: 3, Used: 12 << 30, Promised: 10 << 30},
		"has not used GPU 3 for 1h": {Code: job.WarningIdle, GPU: 3, Idle: job.Span(time.Hour)},
	} {
		if got := Warning(w); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
