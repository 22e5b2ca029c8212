package daemon

import (
	"log/slog"
	"reflect"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/core/accounts"
	"github.com/gpusched/gpusched/daemon/job"
)

// A start may discover that the job's owner is in a group with a quota. The start first reports the
// group, and then the job is placed again under the quota. If the job was submitted a moment ago,
// its groups are not looked up.
func TestAStartLooksUpGroups(t *testing.T) {
	for name, c := range map[string]struct {
		age    time.Duration
		known  []string
		person *job.Account
		want   int // uid with new groups; 0: none
	}{
		"not known":          {time.Minute, []string{"class"}, nil, 1001},
		"its person's":       {time.Minute, nil, &job.Account{UID: 1001, User: "alice"}, 1001},
		"known":              {time.Minute, []string{"class", "lab"}, nil, 0},
		"submitted just now": {0, nil, nil, 0},
		"the clock set back": {-time.Hour, nil, nil, 1001},
	} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler),
			Groups: func(uid int, _ job.GIDs, wait bool) []string {
				if uid != 1001 || wait {
					return nil
				}
				return []string{"lab"}
			},
		})
		j := job.Job{ID: 1, Owner: job.Owner{UID: 1001, User: "alice", Groups: c.known}, SubmittedAt: time.Now().Add(-c.age)}
		if j.Principal = c.person; c.person != nil {
			j.Owner.UID = 165536
		}
		var failed core.StartFailed
		if joined := d.directory.joinedQuota(&j, &failed); joined != (c.want != 0) || joined != (failed.How == core.StartJoined) {
			t.Errorf("%s: %t, %+v", name, joined, failed)
		}
		m, told := d.inbox.take()
		if want := (core.Enrolled{Members: []accounts.Member{{UID: c.want, Groups: []string{"lab"}}}}); told != (c.want != 0) ||
			told && !reflect.DeepEqual(m.event, want) {
			t.Errorf("%s: the core is told %+v", name, m.event)
		}
	}
}
