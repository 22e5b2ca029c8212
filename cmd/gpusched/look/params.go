package look

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

func UsageOf(_ *job.Array, err error) error {
	if err != nil {
		return cli.Usagef("%s", words.Error(err))
	}
	return nil
}

// UnusedParams returns the parameters that the job's command does not use.
func UnusedParams(params []job.Param, argv []string) (list []string) {
	for _, p := range params {
		used := false
		for _, arg := range argv {
			used = used || strings.Contains(arg, "{"+p.Name+"}")
		}
		if !used {
			list = append(list, p.Name)
		}
	}
	return list
}

// withParams reports whether a list shows the parameters of tasks.
func (c *ListCmd) withParams(a *cli.App) bool {
	switch form := c.Form(); {
	case a.As.Table != nil || form == "ids":
		return false
	case c.Columns() != nil:
		return c.Params || slices.ContainsFunc(c.Columns(), func(n string) bool { return strings.HasPrefix(n, "param_") })
	case form == "table" || form == "wide" && len(c.IDs) == 0:
		return c.Params
	}
	return true
}

// mostArrays is the largest number of arrays in a list whose parameters are requested.
const mostArrays = 100

// addParams fills in the parameters of the caller's tasks (of all tasks for root). It returns the
// names of the parameters, in the order in which they first occur. After the first failure it
// requests no more parameters, and the list is shown without the missing ones.
func addParams(ctx context.Context, a *cli.App, jobs []api.Job) (names []string) {
	arrays := map[job.ID]*job.Array{}
	var failed error
	for i := range jobs {
		t := jobs[i].Task
		if t == nil || a.UID != 0 && jobs[i].UID != a.UID {
			continue
		}
		array, known := arrays[t.Array]
		if !known && len(arrays) < mostArrays && failed == nil {
			if array, failed = paramsOf(ctx, a, t.Array); failed != nil {
				a.Note("parameters of tasks are missing: %v", failed)
			}
			arrays[t.Array] = array
		}
		if array == nil {
			continue
		}
		jobs[i].Params = map[string]string{}
		for n, value := range array.ParamValues(t.Index) {
			name := array.Params[n].Name
			jobs[i].Params[name] = value
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// paramsOf returns an array with nothing but its parameters. It returns nil if the array has none,
// if the caller may not see them, or if the scheduler has deleted the array.
func paramsOf(ctx context.Context, a *cli.App, id job.ID) (*job.Array, error) {
	reply, err := api.Show(ctx, a.Client, id.String(), api.JobQuery{})
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Code == api.CodeNotFound:
		return nil, nil
	case err != nil:
		return nil, err
	case reply.Job.Private == nil || len(reply.Job.Private.Params) == 0:
		return nil, nil
	}
	return &job.Array{Params: reply.Job.Private.Params}, nil
}

// columnsWith returns the columns for a table of jobs, including columns for parameters. In csv,
// the parameters come after the reason, so that the other columns keep their places. In a table
// they come before the reason.
func columnsWith(a *cli.App, names []string, last bool) []term.Column[api.Job] {
	cols := a.JobColumns()
	at := slices.IndexFunc(cols, func(c term.Column[api.Job]) bool { return c.Key == "why" })
	if last {
		at++
	}
	return slices.Insert(cols, at, job.Each(names, func(name string) term.Column[api.Job] {
		return term.Column[api.Job]{
			Title: term.Clean(name), Key: "param_" + name, Least: 6,
			Cell: func(j api.Job) string { return j.Params[name] },
		}
	})...)
}
