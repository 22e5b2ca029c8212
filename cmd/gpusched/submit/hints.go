package submit

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// variable finds what a shell would have replaced.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(\{|[A-Za-z_])`) })

// unexpanded refuses a path with a variable or another user's home in it, which no shell has replaced.
func unexpanded(option, path string) error {
	const hint = "have your shell put it in, by double quotation marks or none; ~/ is your home directory"
	user, _, _ := strings.Cut(strings.TrimPrefix(path, "~"), "/")
	switch {
	case variable().MatchString(path):
		return cli.Refuse(api.CodeUsage, hint, "%s: %q has a variable in it, and none is replaced there", option, path)
	case user != "" && path[0] == '~':
		return cli.Refuse(api.CodeUsage, "write the whole path; ~/ is your home directory, and ./~ begins the name of a file",
			"%s: %q begins as another user's home does in a shell, and that is not replaced there", option, path)
	}
	return nil
}

// hintIgnored says what of the caller's surroundings a user may count on, and makes no difference to the job.
func hintIgnored(a *cli.App, req api.SubmitRequest) {
	if a.Getenv("GPUSCHED_JOB_ID") == "" && req.EnvMode == contract.EnvInherit {
		hintDevices(a, req)
	}
	if readsInput(req.Argv) && inputWaits(os.Stdin) {
		a.Note("warning: the input of this command is not read: a job's input is empty (gpusched run --tty has a terminal)")
	}
}

// hintDevices warns of GPUs that are chosen in the ways of CUDA, which are not those that the job gets.
func hintDevices(a *cli.App, req api.SubmitRequest) {
	const devices = "CUDA_VISIBLE_DEVICES="
	chosen := ""
	for _, v := range req.Env {
		if value, is := strings.CutPrefix(v, devices); is {
			chosen = value
		}
	}
	list, err := job.ParseGPUList(chosen)
	switch {
	case req.GPUMilli == 0 || len(req.GPUIDs) > 0:
	case chosen != "" && err == nil && len(list) > 0:
		a.Note("warning: CUDA_VISIBLE_DEVICES=%s makes no difference: the job sees the GPUs that it gets (--gpu-ids %s for these)", chosen, chosen)
	default:
		for _, arg := range req.Argv {
			_, n, found := strings.Cut(arg, "cuda:")
			ids, err := job.ParseGPUList(n)
			one := found && err == nil && len(ids) == 1
			if one && ids[0]*job.WholeGPU >= max(req.GPUMilli, job.WholeGPU) {
				a.Note("warning: a job's GPUs are cuda:0 and following, so there is no cuda:%s in it (--gpu-ids %s for that GPU, and cuda:0)", n, n)
			}
			if n, is := strings.CutPrefix(arg, devices); is {
				ids, err := job.ParseGPUList(n)
				if err == nil && len(ids) > 0 && slices.Max(ids)*job.WholeGPU >= max(req.GPUMilli, job.WholeGPU) {
					a.Note("warning: a job's GPUs are 0 and following for CUDA, so %s leaves some out, or all (--gpu-ids %s for these, without the variable)", arg, n)
				}
			}
		}
	}
}

// readsInput reports whether a command is one that reads its input where it is typed so.
func readsInput(argv []string) bool {
	last := argv[len(argv)-1]
	readers := []string{"sh", "bash", "cat", "python", "python3"}
	return last == "-" || last == "-s" || len(argv) == 1 && slices.Contains(readers, last)
}

// inputWaits reports whether there is an input that somebody gave the command: a pipe, or a file of which nothing has
// been read.
func inputWaits(in *os.File) bool {
	info, err := in.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe != 0 {
		return err == nil
	}
	at, err := in.Seek(0, io.SeekCurrent)
	return info.Mode().IsRegular() && err == nil && at == 0 && info.Size() > 0
}
