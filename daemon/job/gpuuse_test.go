package job

import (
	"testing"
	"time"
)

func TestBusyPercent(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, c := range []struct {
		seen, busy time.Duration
		want       int
	}{
		{0, 0, -1},
		{time.Hour, 0, 0},
		{200 * time.Second, time.Second, 1},
		{201 * time.Second, time.Second, 0},
		{10 * year, 5 * year, 50},
		{10 * year, 10 * year, 100},
	} {
		if got := (GPUUse{Seen: c.seen, Busy: c.busy}).BusyPercent(); got != c.want {
			t.Errorf("%s of %s is %d %%, want %d", c.busy, c.seen, got, c.want)
		}
	}
}

// A warning is for use of more than was promised, or for none that was told.
func TestWarnings(t *testing.T) {
	const gib = int64(1) << 30
	since := time.Unix(1_700_000_000, 0)
	part := GPURef{Index: 3, Milli: 500, PromiseBytes: 10 * gib}
	over := WarningMemory + ": uses 12G of the memory of GPU 3, 2G more than the 10G it was promised"
	for _, c := range []struct {
		gpu  GPURef
		use  GPUNow
		want WarningCode
	}{
		{part, GPUNow{}, ""},
		{part, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, over},
		{part, GPUNow{UsedBytes: 10 * gib, GPUUse: GPUUse{OverSince: since}}, ""}, // again within
		{GPURef{Milli: 500}, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, ""},
		{GPURef{PromiseBytes: 10 * gib}, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, ""}, // all of it is its own
		{part, GPUNow{GPUUse: GPUUse{Idle: time.Hour, IdleTold: time.Minute}}, WarningIdle + ": has not used GPU 3 for 1h"},
		{part, GPUNow{GPUUse: GPUUse{Idle: time.Hour}}, ""},
	} {
		v := JobView{Job: Job{Attempt: &Attempt{GPUs: []GPURef{c.gpu}}}, Uses: []GPUNow{c.use}}
		got := WarningCode("")
		for _, w := range v.Warnings() {
			got += w.Code + ": " + WarningCode(w.Sentence)
		}
		if got != c.want {
			t.Errorf("%+v uses %+v: %q, want %q", c.gpu, c.use, got, c.want)
		}
	}
}

// A warning says when a job is stopped only where it can be.
func TestWarningsSayWhatNext(t *testing.T) {
	const over = "this job uses 2K of the memory of GPU 1, 1K more than the 1K it was promised. Ask for more with --gpu-mem."
	const idle = "this job has not used GPU 1 for 1h. 'gpusched cancel 7' gives it back."
	for patience, then := range map[time.Duration][2]string{
		-1: {"", ""},
		0: {" When another job there is short of what it was promised, this one is stopped, at the earliest in 0s.",
			" If it uses none of its GPUs for another 0s, it is stopped."},
		time.Minute: {" When another job there is short of what it was promised, this one is stopped, at the earliest in 1m.",
			" If it uses none of its GPUs for another 1m, it is stopped."},
	} {
		if got := OverWarning(1, 2048, 1024, patience); got != over+then[0] {
			t.Errorf("patience %s: %q", patience, got)
		}
		if got := IdleWarning(7, 1, time.Hour, patience); got != idle+then[1] {
			t.Errorf("patience %s: %q", patience, got)
		}
	}
}
