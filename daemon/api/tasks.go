package api

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Tasks parses the task numbers of a request's array, as people type them. If the array has
// parameters but no numbers, there is a task for each combination of parameters. If the request has
// no array, Tasks returns nil.
func Tasks(a *job.Array) (*job.Array, error) {
	if a == nil {
		return nil, nil
	}
	if len(a.Ranges) > 0 || a.Limit != 0 {
		return nil, errors.New("an array is requested in one piece of text, such as \"0-9%2\": leave ranges and limit out")
	}
	if len(a.Params) == 0 {
		return job.ParseArray(a.Written)
	}
	text, only := strings.CutPrefix(a.Written, "%")
	if a.Written == "" || only {
		limit, err := strconv.ParseUint(cmp.Or(text, "0"), 10, 31)
		if err != nil || only && limit == 0 {
			return nil, fmt.Errorf("%q is not a limit of tasks: use %%2 for two at a time (--array)", a.Written)
		}
		return job.SweepArray(a.Params, int(limit))
	}
	out, err := job.ParseArray(a.Written)
	if err == nil {
		out.Params = a.Params // Validate checks later whether the parameters match
	}
	return out, err
}

// Faults reports all faults in the form of a request that a client has prepared. Its array has only
// the text that was typed.
func (r SubmitRequest) Faults() (err error) {
	if r.Request.Array, err = Tasks(r.Request.Array); err != nil {
		return err
	}
	return r.Request.Err()
}
