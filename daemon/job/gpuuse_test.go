package job

import (
	"testing"
	"time"

	"github.com/gpusched/gpusched/units/contract"
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

// A warning is about use above the promised memory, or about a GPU that is not used.
func TestWarnings(t *testing.T) {
	const gib = int64(1) << 30
	since := time.Unix(1_700_000_000, 0)
	part := Allocation{GPU: contract.GPU{Index: 3, Milli: 500, PromiseBytes: 10 * gib}}
	over := Warning{Code: WarningMemory, GPU: 3, Since: since, Used: Size(12 * gib), Promised: Size(10 * gib)}
	for _, c := range []struct {
		gpu  Allocation
		use  GPUNow
		want Warning
	}{
		{part, GPUNow{}, Warning{}},
		{part, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, over},
		{part, GPUNow{UsedBytes: 10 * gib, GPUUse: GPUUse{OverSince: since}}, Warning{}}, // within the budget again
		{Allocation{GPU: contract.GPU{Milli: 500}}, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, Warning{}},
		{Allocation{GPU: contract.GPU{PromiseBytes: 10 * gib}}, GPUNow{UsedBytes: 12 * gib, GPUUse: GPUUse{OverSince: since}}, Warning{}}, // the whole GPU is its own
		{part, GPUNow{GPUUse: GPUUse{Idle: time.Hour, IdleWarned: time.Minute}}, Warning{Code: WarningIdle, GPU: 3, Idle: Span(time.Hour)}},
		{part, GPUNow{GPUUse: GPUUse{Idle: time.Hour}}, Warning{}},
	} {
		v := JobView{Job: Job{Attempt: &Attempt{GPUs: []Allocation{c.gpu}}}, Uses: []GPUNow{c.use}}
		var got Warning
		for _, w := range v.Warnings() {
			got = w
		}
		if got != c.want {
			t.Errorf("%+v uses %+v: %+v, want %+v", c.gpu, c.use, got, c.want)
		}
	}
}
