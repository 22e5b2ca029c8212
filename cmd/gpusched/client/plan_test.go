package client

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// TestPlanned: a span is called what it is, and its cause is in brackets.
func TestPlanned(t *testing.T) {
	for want, s := range map[string]api.Span{
		"running": {Kind: "running"}, "drained": {Kind: "drained"}, "drained (fan)": {Kind: "drained", Detail: "fan"},
		"drained by root (disks)": {Kind: "drained", Detail: "drained by root (disks)"},
		"reserved for dora":       {Kind: "reserved", Detail: "reserved for dora"},
		"unknown (Xid 79)":        {Kind: "unknown", Detail: "Xid 79"},
	} {
		if got := planned(planRow{Span: s}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
