package past

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Classes with the same limit share a line. If all classes have the same limit, the line names no
// class.
func TestLimitLines(t *testing.T) {
	const hour = job.Span(time.Hour)
	for want, list := range map[string][]job.ClassLimit{
		"":                                     {{Class: job.Low}, {Class: job.High}},
		"jobs may ask for 2h at most (--time)": {{Class: job.Low, Most: 2 * hour}, {Class: job.High, Most: 2 * hour}},
		"jobs of class low may ask for 2h at most (--time)": {{Class: job.Low, Most: 2 * hour}, {Class: job.High}},
		"jobs of class low, normal may ask for 2h at most (--time)|jobs of class high may ask for 1h at most (--time)": {
			{Class: job.Low, Most: 2 * hour}, {Class: job.Normal, Most: 2 * hour}, {Class: job.High, Most: hour}},
	} {
		if got := strings.Join(limitLines(list), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
