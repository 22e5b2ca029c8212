package submit

import (
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// arraySpec returns the array that --array and --param request, or nil for a single job. With
// --param, each combination of the values is a task, and --array can only limit how many tasks run
// at once.
func arraySpec(text string, params []string) (*job.Array, error) {
	spec := &job.Array{Written: text}
	switch {
	case len(params) == 0 && text == "":
		return nil, nil
	case len(params) == 0:
		return spec, look.UsageOf(job.ParseArray(text))
	case text != "" && !strings.HasPrefix(text, "%"):
		return nil, cli.Refuse(api.CodeUsage, "such as --array %4", "with --param there is one task "+
			"for each combination of the values, so --array only says how many run at once")
	case text != "":
		if err := look.UsageOf(job.ParseArray("0" + text)); err != nil {
			return nil, cli.Usagef("%q is not a limit: use --array %%4 for four tasks at a time", text)
		}
	}
	for _, word := range params {
		p, err := job.ParseParam(word)
		if err != nil {
			return nil, cli.Usagef("%s", err)
		}
		spec.Params = append(spec.Params, p)
	}
	return spec, look.UsageOf(job.SweepArray(spec.Params, 0))
}

// arrayVariables returns Slurm's variables about all of an array, whose form is right.
func arrayVariables(text string) []string {
	array, _ := job.ParseArray(text)
	least, most := array.At(0), array.At(0)
	for i := range array.Size() {
		least, most = min(least, array.At(i)), max(most, array.At(i))
	}
	step := 1
	if array.Size() > 1 {
		step = array.At(1) - array.At(0)
	}
	return []string{
		"SLURM_ARRAY_TASK_COUNT=" + strconv.Itoa(array.Size()), "SLURM_ARRAY_TASK_STEP=" + strconv.Itoa(step),
		"SLURM_ARRAY_TASK_MIN=" + strconv.Itoa(least), "SLURM_ARRAY_TASK_MAX=" + strconv.Itoa(most),
	}
}
