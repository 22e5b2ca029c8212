package look

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

func TestAPlanHasKindAndReason(t *testing.T) {
	for want, s := range map[string]job.Stay{
		"running": {Kind: "running"}, "drained": {Kind: "drained"}, "drained (fan)": {Kind: "drained", Sentence: "fan"},
		"drained by root (disks)": {Kind: "drained", Sentence: "drained by root (disks)"},
		"reserved for dora":       {Kind: "reserved", Sentence: "reserved for dora"},
		"unknown (Xid 79)":        {Kind: "unknown", Sentence: "Xid 79"},
	} {
		if got := planned(planRow{Stay: s}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
