package client

import (
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// What has ended of one's own is told with how to see it, and silence where nothing has.
func TestRecent(t *testing.T) {
	for want, r := range map[string]*api.Recent{
		"": nil,
		"3 of yours ended in the last hour, 1 failed: 'gpusched list -a --mine'\n": {Ended: 3, Failed: 1},
		"1 of yours ended in the last hour: 'gpusched list -a --mine'\n":           {Ended: 1},
	} {
		out, b := screen(80, false)
		(&app{startedWith: startedWith{out: out}}).writeRecent(r)
		out.W.Flush()
		if b.String() != want {
			t.Errorf("%q, want %q", b, want)
		}
	}
}

// A list says that more have ended than it shows, and shows as many as it says.
func TestMoreHaveEnded(t *testing.T) {
	for n, want := range map[int]bool{0: false, fewEnded: false, fewEnded + 1: true} {
		reply := api.ListReply{Jobs: []api.Job{{ID: 1, State: "running"}}}
		for range n {
			reply.Jobs = append(reply.Jobs, api.Job{ID: 2, State: "failed"})
		}
		c := &listCmd{outputFlags: outputFlags{Output: "table"}}
		if got := c.cutEnded(api.ListQuery{Ended: fewEnded + 1}, &reply, n); got != want || len(reply.Jobs) != 1+min(n, fewEnded) {
			t.Errorf("%d ended: %v, %d shown", n, got, len(reply.Jobs))
		}
	}
}
