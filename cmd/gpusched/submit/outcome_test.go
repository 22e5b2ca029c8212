package submit

import (
	"bufio"
	"bytes"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// The message about a new array says how many tasks start at once and why the others wait.
func TestOutcomeOfAnArray(t *testing.T) {
	c, out := &Cmd{}, &term.Terminal{}
	for _, x := range []struct {
		live int
		why  string
		want string
	}{
		{0, "GPU 0 is held by job 1", "queued: 6 tasks, 2 at a time; GPU 0 is held by job 1"},
		{1, "GPU 0 is held by job 1", "queued: 6 tasks, 2 at a time; the first starts now, the next waits: GPU 0 is held by job 1"},
		{2, "", "queued: 6 tasks, 2 at a time; the first 2 start now"},
	} {
		j := api.Job{State: job.Queued, Why: x.why, Array: &api.Array{Size: 6, Limit: 2, Next: x.live, Live: x.live}}
		if got := c.outcome(out, api.SubmitReply{Job: j}); got != x.want {
			t.Errorf("with %d tasks begun: %q, not %q", x.live, got, x.want)
		}
	}
}

func TestADryRunIsSanitised(t *testing.T) {
	const evil = "\x1b]0;owned\x07\x1b[2J\n\u202eab\u200b"
	var b bytes.Buffer
	out := &term.Terminal{W: bufio.NewWriter(&b)}
	j := api.Job{ID: 1, Label: job.Label{Name: evil, Comment: evil, Tags: map[string]string{evil: evil}}, User: evil, State: "queued", Why: evil}
	(&Cmd{Verbose: true}).writePlan(out, api.SubmitReply{Job: j, Unit: []job.Property{{Name: evil, Value: evil}}})
	out.W.Flush()
	for i, line := range strings.Split(b.String(), "\n") {
		if !job.Printable(line) {
			t.Errorf("line %d is not printable: %q", i, line)
		}
	}
}

// The message is also right if all tasks of an array have started at once.
func TestOutcomeOfAnArrayThatStarts(t *testing.T) {
	reply := api.SubmitReply{Job: api.Job{ID: 7, State: "spawned", Array: &api.Array{Size: 4, Next: 4, Live: 4}}}
	if got := (&Cmd{}).outcome(&term.Terminal{}, reply); got != "queued: 4 tasks, starting now" {
		t.Errorf("submit says %q", got)
	}
}
