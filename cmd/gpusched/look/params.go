package client

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// arraySpec is what --array and --param ask for; nil means no array. With
// parameters the tasks follow from these, and --array gives the limit alone.
func arraySpec(text string, params []string) (*job.Array, error) {
	spec := &job.Array{Written: text}
	switch {
	case len(params) == 0 && text == "":
		return nil, nil
	case len(params) == 0:
		return spec, usageOf(job.ParseArray(text))
	case text != "" && !strings.HasPrefix(text, "%"):
		return nil, refuse(api.CodeUsage, "such as --array %4", "with --param there is one task "+
			"for each combination of the values, so --array only says how many run at once")
	case text != "":
		if err := usageOf(job.ParseArray("0" + text)); err != nil {
			return nil, usagef("%q is not a limit: use --array %%4 for four tasks at a time", text)
		}
	}
	for _, word := range params {
		p, err := job.ParseParam(word)
		if err != nil {
			return nil, usagef("%s", err)
		}
		spec.Params = append(spec.Params, p)
	}
	return spec, usageOf(job.SweepArray(spec.Params, 0))
}

func usageOf(_ *job.Array, err error) error {
	if err != nil {
		return usagef("%s", words.Error(err))
	}
	return nil
}

// unused are the parameters that the command does not mention.
func unused(params []job.Param, argv []string) (list []string) {
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

// withParams reports whether a listing has the parameters of tasks.
func (c *listCmd) withParams(a *app) bool {
	switch form := c.form(); {
	case a.as.table != nil || form == "ids":
		return false
	case c.columns() != nil:
		return c.Params || slices.ContainsFunc(c.columns(), func(n string) bool { return strings.HasPrefix(n, "param_") })
	case form == "table" || form == "wide" && len(c.IDs) == 0:
		return c.Params
	}
	return true
}

// mostArrays bounds for how many arrays of a listing the parameters are asked.
const mostArrays = 100

// addParams fills in the parameters of the caller's tasks, of everybody's for root, and
// returns their names in the order in which they come. A listing is of use without them: with
// the first that can't be had no more are asked.
func (a *app) addParams(ctx context.Context, jobs []api.Job) (names []string) {
	arrays := map[job.ID]*job.Array{}
	var failed error
	for i := range jobs {
		t := jobs[i].Task
		if t == nil || a.uid != 0 && jobs[i].UID != a.uid {
			continue
		}
		array, known := arrays[t.Array]
		if !known && len(arrays) < mostArrays && failed == nil {
			if array, failed = a.paramsOf(ctx, t.Array); failed != nil {
				a.note("parameters of tasks are missing: %v", failed)
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

// paramsOf returns an array with its parameters alone; nil where it has none, or they are not
// for the caller, or it has been forgotten.
func (a *app) paramsOf(ctx context.Context, id job.ID) (*job.Array, error) {
	reply, err := api.Show(ctx, a.client, id.String(), api.JobQuery{})
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

// columnsWith are the columns of a table of jobs with those of parameters: behind the reason
// in csv, whose other columns keep their places, and before it in a table.
func (a *app) columnsWith(names []string, last bool) []term.Column[api.Job] {
	cols := a.jobColumns()
	at := slices.IndexFunc(cols, func(c term.Column[api.Job]) bool { return c.Key == "why" })
	if last {
		at++
	}
	return slices.Insert(cols, at, each(names, func(name string) term.Column[api.Job] {
		return term.Column[api.Job]{
			Title: term.Clean(name), Key: "param_" + name, Least: 6,
			Cell: func(j api.Job) string { return j.Params[name] },
		}
	})...)
}
