package daemon

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Each failure of a GPU causes one alert. A GPU that fails again and again causes one alert every
// ten minutes at most. After a failed alert, the next try comes a minute later.
func TestAlertsDue(t *testing.T) {
	var a alerter
	begin := time.Now()
	a0, b1 := map[string]string{"a": "0"}, map[string]string{"a": "0", "b": "1"}
	for _, c := range []struct {
		after time.Duration
		out   map[string]string
		want  []string
		err   error
	}{
		{0, nil, nil, nil},
		{5 * time.Second, a0, []string{"a"}, nil},
		{10 * time.Second, a0, nil, nil},
		{15 * time.Second, b1, []string{"b"}, errors.New("no such unit")},
		{20 * time.Second, b1, nil, nil},
		{75 * time.Second, b1, []string{"b"}, nil},
		{80 * time.Second, nil, nil, nil},
		{85 * time.Second, a0, nil, nil}, // too soon
		{5*time.Second + alertPause, a0, []string{"a"}, nil},
		{time.Hour, a0, nil, nil},
	} {
		now := begin.Add(c.after)
		got := a.takeDue(c.out, now)
		if !slices.Equal(got, c.want) {
			t.Errorf("after %s: %q, want %q", c.after, got, c.want)
		}
		for _, uuid := range got {
			a.setResult(uuid, c.err, now)
			check := a.check("x@.service")
			if (check.Health == job.Degraded) != (c.err != nil) || c.err != nil && !strings.Contains(check.Detail, c.err.Error()) {
				t.Errorf("after %s: %+v", c.after, check)
			}
		}
	}
	if got := instance("gpusched-alert@.service", "12"); got != "gpusched-alert@12.service" {
		t.Error(got)
	}
}
