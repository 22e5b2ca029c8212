package store

import (
	"context"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// A record can say which processes an attempt left behind. The result of the attempt then says so
// too. If the attempt is the job's last, the job's result also says so. Nothing else changes, and
// an attempt without a result stays without a result.
func TestLeft(t *testing.T) {
	s := openNew(t)
	ctx := context.Background()
	again := endedJob(2, job.Failed)
	again.Attempt.Number = 2
	commit(t, s, job.Record{Job: endedJob(1, job.Completed), Payload: payload()}, job.Record{Job: endedJob(2, job.Failed), Payload: payload()}, job.Record{Job: again},
		job.Record{Job: runningJob(3), Payload: payload()})
	for _, id := range []job.ID{1, 2, 3, 9} {
		commit(t, s, job.Record{Left: &job.Leftover{Job: id, Attempt: 1, What: job.Text("20G of \"GPU 0\"")}})
	}
	mustCheck(t, s)
	for id, want := range map[job.ID]struct {
		job      string
		attempts []string
	}{
		1: {"completed: exit code 0; 20G of \"GPU 0\"", []string{"completed: exit code 0; 20G of \"GPU 0\""}},
		2: {"failed: exit code 0", []string{"failed: exit code 0; 20G of \"GPU 0\"", "failed: exit code 0"}},
		3: {"", []string{""}},
	} {
		sentence := func(r *job.Result) string {
			if r == nil {
				return ""
			}
			return words.Result(r)
		}
		j, err := s.Job(ctx, id)
		requireEqual(t, err, sentence(j.Result), want.job)
		attempts, err := s.Attempts(ctx, id)
		var got []string
		for _, a := range attempts {
			got = append(got, sentence(a.Result))
		}
		requireEqual(t, err, got, want.attempts)
	}
}
