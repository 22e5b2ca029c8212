package submit

import (
	"fmt"
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

// These match what a command says about GPUs to CUDA: one device, and the list of visible devices.
var (
	oneDevice = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`cuda:([0-9]+)(?:$|[\s'";,)\]])`)
	})
	deviceList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(visible + `['"]?([0-9,]+)`) })
)

const visible = "CUDA_VISIBLE_DEVICES="

// hintDevices prints a warning if the user selects GPUs in a way that only CUDA knows. A job sees
// only its own GPUs, numbered from 0.
func hintDevices(a *cli.App, req api.SubmitRequest) {
	chosen := ""
	for _, v := range req.Env {
		if value, is := strings.CutPrefix(v, visible); is {
			chosen = value
		}
	}
	instead := "--gpu-ids " + chosen + " asks for these"
	list, err := job.ParseGPUList(chosen)
	switch {
	case req.GPUMilli == 0 || len(req.GPUIDs) > 0:
		return
	case strings.HasPrefix(chosen, "GPU-") || strings.HasPrefix(chosen, "MIG-"):
		instead = "--gpu-ids asks for GPUs by number"
	case chosen == "-1":
		instead = "-g 0 asks for none"
	case err != nil || len(list) == 0:
		HintCommand(a, req)
		return
	}
	a.Note("warning: %s%s makes no difference: the job sees only the GPUs that it gets (%s)", visible, chosen, instead)
}

// HintCommand prints a warning if a command names a GPU that CUDA does not show to the job. The
// name may be in the text of a shell.
func HintCommand(a *cli.App, req api.SubmitRequest) {
	lacks := func(list string) bool {
		ids, err := job.ParseGPUList(list)
		return err == nil && len(ids) > 0 && slices.Max(ids)*job.WholeGPU >= max(req.GPUMilli, job.WholeGPU)
	}
	if req.GPUMilli == 0 || len(req.GPUIDs) > 0 {
		return
	}
	for _, arg := range req.Argv {
		if !strings.Contains(arg, "cuda:") && !strings.Contains(arg, visible) {
			continue
		}
		if n := oneDevice().FindStringSubmatch(arg); n != nil && lacks(n[1]) {
			a.NoteOnce(fmt.Sprintf("warning: a job's GPUs are numbered from cuda:0, so it has no cuda:%[1]s "+
				"(for that GPU: --gpu-ids %[1]s, and cuda:0 in the command)", n[1]))
		}
		if n := deviceList().FindStringSubmatch(arg); n != nil && lacks(n[1]) {
			a.NoteOnce(fmt.Sprintf("warning: CUDA numbers a job's GPUs from 0, so %s%[2]s hides some or all of them "+
				"(use --gpu-ids %[2]s instead of the variable)", visible, n[1]))
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
