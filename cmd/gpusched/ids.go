package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// aboutIDs explains what resolve understands, for help and manual.
const aboutIDs = "ID is a number as in 'gpusched list' (42), a list (12,14-16), @ for the job you submitted last, @~1 for the one before it, " +
	"or name:NAME for your jobs of that name: all that wait or run, else the last that ended."

// resolve turns the words for jobs into ids, in the order given, each once.
func (a *app) resolve(ctx context.Context, words []string) ([]int64, error) {
	var ids []int64
	for _, word := range words {
		found, err := a.resolveWord(ctx, word)
		if err != nil {
			return nil, err
		}
		for _, id := range found {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	return ids, nil
}

// resolveOne is resolve for commands about one job; of several of one name it
// is the newest.
func (a *app) resolveOne(ctx context.Context, word string) (int64, error) {
	ids, err := a.resolveWord(ctx, word)
	if err != nil {
		return 0, err
	}
	if len(ids) > 1 && !strings.HasPrefix(word, "name:") {
		return 0, usagef("%q is several jobs, and this is about one", word)
	}
	return slices.Max(ids), nil
}

func (a *app) resolveWord(ctx context.Context, word string) ([]int64, error) {
	if name, ok := strings.CutPrefix(word, "name:"); ok {
		return a.resolveName(ctx, name)
	}
	var ids []int64
	for part := range strings.SplitSeq(word, ",") {
		if back, ok := strings.CutPrefix(part, "@"); ok {
			id, err := a.resolveLast(ctx, back)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
			continue
		}
		list, err := job.ParseIDs(part)
		if err != nil {
			return nil, usagef("%s", err)
		}
		for _, id := range list {
			ids = append(ids, int64(id))
		}
	}
	return ids, nil
}

// recentMargin is how many more ended jobs are looked at for @: they come in
// the order in which they ended, not in that in which they were submitted.
const recentMargin = 100

// resolveLast finds the job submitted last (back is empty) or, with ~N, the one
// N before it.
func (a *app) resolveLast(ctx context.Context, back string) (int64, error) {
	n := 0
	if back != "" {
		digits, ok := strings.CutPrefix(back, "~")
		var err error
		if n, err = strconv.Atoi(digits); !ok || err != nil || n < 0 || n > 1000 {
			return 0, usagef("%q is not a job: use @ for your last job, @~1 for the one before it", "@"+back)
		}
	}
	jobs, err := a.mine(ctx, api.ListQuery{Ended: n + recentMargin})
	if err != nil {
		return 0, err
	}
	if len(jobs) <= n {
		return 0, notFoundf("you have submitted %s", atMost(len(jobs)))
	}
	slices.SortFunc(jobs, func(x, y api.Job) int { return int(y.ID - x.ID) })
	return jobs[n].ID, nil
}

func atMost(n int) string {
	switch n {
	case 0:
		return "no job yet"
	case 1:
		return "only one job"
	}
	return fmt.Sprintf("only %d jobs", n)
}

func (a *app) resolveName(ctx context.Context, name string) ([]int64, error) {
	jobs, err := a.mine(ctx, api.ListQuery{Name: name, Ended: 1})
	if err != nil {
		return nil, err
	}
	var live, ended []int64
	for _, j := range jobs {
		if terminal := job.State(j.State).Terminal(); terminal {
			ended = append(ended, j.ID)
		} else {
			live = append(live, j.ID)
		}
	}
	switch {
	case len(live) > 0:
		return live, nil
	case len(ended) > 0:
		return ended[:1], nil
	}
	return nil, notFoundf("you have no job named %q", name)
}

// mine lists the caller's own jobs.
func (a *app) mine(ctx context.Context, q api.ListQuery) ([]api.Job, error) {
	q.UID = &a.uid
	reply, err := a.client.List(ctx, q)
	return reply.Jobs, err
}

// idList joins ids for a query.
func idList(ids []int64) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = strconv.FormatInt(id, 10)
	}
	return strings.Join(parts, ",")
}
