package look

import (
	"testing"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
)

// If a list does not show all ended jobs, it says so. The number in that message is the number of
// ended jobs that the list shows.
func TestListSaysThatMoreHaveEnded(t *testing.T) {
	for n, want := range map[int]bool{0: false, fewEnded: false, fewEnded + 1: true} {
		reply := api.ListReply{Jobs: []api.Job{{ID: 1, State: "running"}}}
		for range n {
			reply.Jobs = append(reply.Jobs, api.Job{ID: 2, State: "failed"})
		}
		c := &ListCmd{OutputFlags: cli.OutputFlags{Output: "table"}}
		if got := c.cutEnded(api.ListQuery{Ended: fewEnded + 1}, &reply, n); got != want || len(reply.Jobs) != 1+min(n, fewEnded) {
			t.Errorf("%d ended: %v, %d shown", n, got, len(reply.Jobs))
		}
	}
}
