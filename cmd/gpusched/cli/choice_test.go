package cli

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// A list counts the caller's jobs that ended in the last hour, and says how to see them. If there
// are none, it prints nothing about them.
func TestRecentlyEndedJobsAreCounted(t *testing.T) {
	for want, r := range map[string]*api.Recent{
		"": nil,
		"3 of yours ended in the last hour, 1 failed: 'gpusched list -a --mine'\n": {Ended: 3, Failed: 1},
		"1 of yours ended in the last hour: 'gpusched list -a --mine'\n":           {Ended: 1},
	} {
		out, b := screen(80, false)
		(&App{Env: Env{Out: out}}).WriteRecent(r)
		out.W.Flush()
		if b.String() != want {
			t.Errorf("%q, want %q", b, want)
		}
	}
}
