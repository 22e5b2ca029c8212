package store

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/gpusched/gpusched/daemon/job"
)

// fewAlike is of how many jobs the ends are written one by one: a statement about many has its list read as JSON.
const fewAlike = 4

// ends writes the ends of the first of the records, where they are those of many jobs that are all the same, as of a
// hundred thousand that are cancelled at once. It returns how many it wrote.
func (p *statements) ends(ctx context.Context, records []job.Record) (int, error) {
	n := alikeEnds(records)
	if n <= fewAlike {
		return 0, nil
	}
	ids := make([]job.ID, n)
	for i := range ids {
		ids[i] = records[i].Job.ID
	}
	list, err := json.Marshal(ids)
	if err != nil {
		return 0, err
	}
	j, e := records[0].Job, encoder{}
	result := e.result(j.Result)
	if e.err != nil {
		return 0, e.err
	}
	done, err := p[endJobs].ExecContext(ctx, string(j.State), formatTime(j.ChangedAt), result, string(list))
	if err != nil {
		return 0, fmt.Errorf("the ends of %d jobs: %w", n, err)
	}
	if known, err := done.RowsAffected(); err != nil || known == int64(n) {
		return n, err
	}
	for _, r := range records[:n] { // one of them makes the row that is missing
		if err := p.record(ctx, r); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// alikeEnds counts the first records that are of nothing but one and the same end, each of another job.
func alikeEnds(records []job.Record) int {
	seen := map[job.ID]bool{}
	for i, r := range records {
		if !isEnd(r) || seen[r.Job.ID] || !sameEnd(r.Job, records[0].Job) {
			return i
		}
		seen[r.Job.ID] = true
	}
	return len(records)
}

// isEnd reports whether a record is of nothing but the end of a job of which no attempt was made.
func isEnd(r job.Record) bool {
	if !r.Ended || r.Job == nil || r.Payload != nil {
		return false
	}
	j := r.Job
	return j.State.Terminal() && j.Result != nil && j.Attempt == nil && j.Tasks == nil && j.Task == nil
}

func sameEnd(a, b *job.Job) bool {
	return a.State == b.State && a.ChangedAt.Equal(b.ChangedAt) && reflect.DeepEqual(a.Result, b.Result)
}
