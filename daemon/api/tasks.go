package api

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Tasks reads the tasks' numbers and parameters; of nil, none. With parameters alone the
// tasks are their combinations.
func (in *ArraySpec) Tasks() (*job.Array, error) {
	if in == nil {
		return nil, nil
	}
	if len(in.Params) == 0 {
		return job.ParseArray(in.Spec)
	}
	text, only := strings.CutPrefix(in.Spec, "%")
	if in.Spec == "" || only {
		limit, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 31)
		if err != nil || only && limit == 0 {
			return nil, fmt.Errorf("%q is not a limit of tasks: use %%2 for two at a time (--array)", in.Spec)
		}
		return job.SweepArray(in.Params, int(limit))
	}
	a, err := job.ParseArray(in.Spec)
	if err == nil {
		a.Params = in.Params // the submission's own check says whether they fit
	}
	return a, err
}
