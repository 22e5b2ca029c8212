package main

import (
	"strings"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// arraySpec is what --array and --param ask for; nil means no array. With
// parameters the tasks follow from these, and --array gives the limit alone.
func arraySpec(text string, params []string) (*api.ArraySpec, error) {
	spec := &api.ArraySpec{Spec: text}
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
func unused(params []job.Param, argv [][]byte) (list []string) {
	for _, p := range params {
		used := false
		for _, arg := range argv {
			used = used || strings.Contains(string(arg), "{"+p.Name+"}")
		}
		if !used {
			list = append(list, p.Name)
		}
	}
	return list
}
