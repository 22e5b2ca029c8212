package client

import (
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// Classes with the same limit share a line, and no class is named where all have it.
func TestLimitLines(t *testing.T) {
	for want, list := range map[string][]api.ClassLimit{
		"":                                     {{Class: "low"}, {Class: "high"}},
		"jobs may ask for 2h at most (--time)": {{Class: "low", Most: 7200}, {Class: "high", Most: 7200}},
		"jobs of class low may ask for 2h at most (--time)": {{Class: "low", Most: 7200}, {Class: "high"}},
		"jobs of class low, normal may ask for 2h at most (--time)|jobs of class high may ask for 1h at most (--time)": {
			{Class: "low", Most: 7200}, {Class: "normal", Most: 7200}, {Class: "high", Most: 3600}},
	} {
		if got := strings.Join(limitLines(list), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
