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

// variable matches the start of a shell variable.
var variable = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$(\{|[A-Za-z_])`) })

// unexpanded refuses a path that contains a variable or another user's home. Only a shell would
// replace these.
func unexpanded(option, path string) error {
	const hint = "let your shell expand it, in double quotes or none; ~/ is your home directory"
	user, _, _ := strings.Cut(strings.TrimPrefix(path, "~"), "/")
	switch {
	case variable().MatchString(path):
		return cli.Refuse(api.CodeUsage, hint, "%s: %q contains a variable, which gpusched does not expand", option, path)
	case user != "" && path[0] == '~':
		return cli.Refuse(api.CodeUsage, "write the whole path; ~/ is your home directory, and ./~ begins the name of a file",
			"%s: %q begins like another user's home directory, which gpusched does not expand", option, path)
	}
	return nil
}

// hintIgnored prints warnings about parts of the caller's environment that do not reach the job
// although the user may rely on them.
func hintIgnored(a *cli.App, req api.SubmitRequest) {
	if a.Getenv("GPUSCHED_JOB_ID") == "" && req.EnvMode == contract.EnvInherit {
		hintDevices(a, req)
	}
	if readsInput(req.Argv) && inputWaits(os.Stdin) {
		const lost = "warning: the input of this command is not read: a job's input is empty (gpusched run --tty gives it a terminal)"
		if a.Note(lost); a.As.Strict && a.As.Submitted == "" { // srun would read it
			a.Say("gpusched: %s\n", lost)
		}
	}
}

// hintDevices prints a warning if the user selects GPUs in a way that only CUDA knows. A job sees
// only its own GPUs, numbered from 0.
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
		a.Note("warning: CUDA_VISIBLE_DEVICES=%s makes no difference: the job sees only the GPUs that it gets (--gpu-ids %s asks for these)", chosen, chosen)
	default:
		for _, arg := range req.Argv {
			_, n, found := strings.Cut(arg, "cuda:")
			ids, err := job.ParseGPUList(n)
			one := found && err == nil && len(ids) == 1
			if one && ids[0]*job.WholeGPU >= max(req.GPUMilli, job.WholeGPU) {
				a.Note("warning: a job's GPUs are numbered from cuda:0, so it has no cuda:%s (for that GPU: --gpu-ids %s, and cuda:0 in the command)", n, n)
			}
			if n, is := strings.CutPrefix(arg, devices); is {
				ids, err := job.ParseGPUList(n)
				if err == nil && len(ids) > 0 && slices.Max(ids)*job.WholeGPU >= max(req.GPUMilli, job.WholeGPU) {
					a.Note("warning: CUDA numbers a job's GPUs from 0, so %s hides some or all of them (use --gpu-ids %s instead of the variable)", arg, n)
				}
			}
		}
	}
}

// readsInput reports whether a command reads standard input. It judges by the command's arguments.
func readsInput(argv []string) bool {
	last := argv[len(argv)-1]
	readers := []string{"sh", "bash", "cat", "python", "python3"}
	return last == "-" || last == "-s" || len(argv) == 1 && slices.Contains(readers, last)
}

// inputWaits reports whether the standard input is a pipe, or a file that has not been read.
func inputWaits(in *os.File) bool {
	info, err := in.Stat()
	if err != nil || info.Mode()&os.ModeNamedPipe != 0 {
		return err == nil
	}
	at, err := in.Seek(0, io.SeekCurrent)
	return info.Mode().IsRegular() && err == nil && at == 0 && info.Size() > 0
}
