package daemon

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpusched/gpusched/daemon/core"
	"github.com/gpusched/gpusched/daemon/job"
)

// No job starts, and no spec is written, if the uid of its owner or person now belongs to another
// account, or if nobody can say which account has the uid. If no account has the uid, systemd
// refuses the start. An account without a name is identified by its uid alone.
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
		"not known": {job.Job{Owner: kate}, "", away, core.StartLater, true},
		"its container's": {job.Job{Owner: job.Owner{UID: 2010, User: "2010"}, Life: job.Life{Principal: &job.Account{UID: 1002, User: "bob"}}},
			"liam", nil, core.StartGone, true},
		"as it was":        {job.Job{Owner: kate}, "kate", nil, 0, false},
		"nobody's":         {job.Job{Owner: kate}, "", nil, 0, false},
		"a number":         {job.Job{Owner: job.Owner{UID: 2010, User: "2010"}}, "", away, 0, false},
		"never had a name": {job.Job{Owner: job.Owner{UID: 2010, User: "2010"}}, "liam", nil, core.StartNamed, true},
	} {
		d := assemble(Options{Log: slog.New(slog.DiscardHandler),
			NameToday: func(uid int, _ string, _ time.Duration) (string, error) {
				if uid == 1002 {
					return "bob", nil
				}
				if uid != 2010 {
					return "", nil
				}
				return c.now, c.err
			},
		})
		var failed core.StartFailed
		c.j.Attempt = &job.Attempt{Number: 1}
		if gone := d.directory.hasNewOwner(&c.j, &failed); gone != c.gone || failed.How != c.want {
			t.Errorf("%s: %t, %+v", name, gone, failed)
		}
		if c.want != core.StartLater && c.gone && failed.Heir != (job.Account{UID: 2010, User: "liam"}) {
			t.Errorf("%s: %+v has it", name, failed.Heir)
		}
		if c.want == core.StartLater && failed.Detail != "the account directory does not say whether uid 2010 is still kate: no answer" {
			t.Errorf("%s: %q", name, failed.Detail)
		}
	}
}

// aStore has one job and its payload.
type aStore struct {
	anyPayload
	j job.Job
}

func (s aStore) Jobs(context.Context, []job.ID) ([]job.Job, error) { return []job.Job{s.j}, nil }

// A job's messages are sent only as the account that submitted it,
// never as another account that has the uid now.
func TestNoMessageIsSentAsAnotherAccount(t *testing.T) {
	for user, want := range map[string]bool{"kate": false, "liam": true, "2010": true} {
		sent := false
		j := job.Job{ID: 1, Owner: job.Owner{UID: 2010, User: user}, Request: job.Request{Notify: make([]job.Notify, 1)}}
		d := assemble(Options{Log: slog.New(slog.DiscardHandler),
			Store:     aStore{j: j},
			NameToday: func(int, string, time.Duration) (string, error) { return "liam", nil },
			Deliver: func(context.Context, job.Notification, *job.Job, string) (job.Message, bool) {
				sent = true
				return job.Message{}, false
			},
		})
		if why, again := d.exec.trySend(t.Context(), job.Notification{Job: 1}); sent != want || again || why.IsZero() != want {
			t.Errorf("of a job of %s: %t, %v", user, sent, why)
		}
	}
}

// A start that waits for the directory service reports the wait at once. The start then does not
// count toward the limit of concurrent starts.
func TestASlowDirectoryTakesNoPlace(t *testing.T) {
	for takes, want := range map[time.Duration]int{nameSoon / 2: 0, time.Second: 1, time.Hour: 1} {
		synctest.Test(t, func(t *testing.T) {
			asked := time.Now()
			d := assemble(Options{
				Log: slog.New(slog.DiscardHandler),
				NameToday: func(_ int, was string, wait time.Duration) (string, error) {
					left := takes - time.Since(asked)
					if time.Sleep(min(wait, left)); left > wait {
						return "", errors.New("no answer yet")
					}
					return was, nil
				},
			})
			var failed core.StartFailed
			gone := d.directory.hasNewOwner(&job.Job{ID: 1, Owner: job.Owner{UID: 2010, User: "kate"}, Attempt: &job.Attempt{Number: 2}}, &failed)
			if gone != (takes == time.Hour) || len(d.inbox.list) != want {
				t.Errorf("a directory that takes %s: %t, %+v, %v", takes, gone, failed, d.inbox.list)
			}
			const why = "the account directory does not say whether uid 2010 is still kate"
			if m, _ := d.inbox.take(); want == 1 && m.event != (core.StartSlow{Job: 1, Attempt: 2, Why: why}) {
				t.Errorf("it says %+v", m.event)
			}
		})
	}
}
