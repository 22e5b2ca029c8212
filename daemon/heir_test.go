package daemon

import (
	"errors"
	"log/slog"
	"testing"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// Nothing is started, and no spec is written, that the account would read which has the number of
// a job's owner, or of its person, now; nor where nobody can say whose it is. Where nobody has the
// number systemd says so, and who submitted without a name is the number.
func TestNothingStartsAsAnotherAccount(t *testing.T) {
	kate, away := job.Owner{UID: 2010, User: "kate"}, errors.New("no answer")
	for name, c := range map[string]struct {
		j    job.Job
		now  string
		err  error
		want core.StartFailure
		gone bool
	}{
		"its owner's": {job.Job{Owner: kate}, "liam", nil, core.StartGone, true},
		"its person's": {job.Job{Owner: job.Owner{UID: 100_005, User: "100005"}, Life: job.Life{Principal: &job.Account{UID: 2010, User: "kate"}}},
			"liam", nil, core.StartGone, true},
		"not known":        {job.Job{Owner: kate}, "", away, core.StartUnnamed, true},
		"as it was":        {job.Job{Owner: kate}, "kate", nil, 0, false},
		"nobody's":         {job.Job{Owner: kate}, "", nil, 0, false},
		"a number":         {job.Job{Owner: job.Owner{UID: 2010, User: "2010"}}, "", away, 0, false},
		"never had a name": {job.Job{Owner: job.Owner{UID: 2010, User: "2010"}}, "liam", nil, core.StartNamed, true},
	} {
		d := &Daemon{host: machine{}, log: slog.New(slog.DiscardHandler), opt: Options{
			NameToday: func(uid int, _ string, _ bool) (string, error) {
				if uid != 2010 {
					return "", nil
				}
				return c.now, c.err
			},
		}}
		var failed core.StartFailed
		if gone := d.disowned(&c.j, &failed); gone != c.gone || failed.How != c.want {
			t.Errorf("%s: %t, %+v", name, gone, failed)
		}
		if c.want != core.StartUnnamed && c.gone && failed.Heir != (job.Account{UID: 2010, User: "liam"}) {
			t.Errorf("%s: %+v has it", name, failed.Heir)
		}
		if c.want == core.StartUnnamed && failed.Detail != "the account directory does not say whether uid 2010 is still kate: no answer" {
			t.Errorf("%s: %q", name, failed.Detail)
		}
	}
}
