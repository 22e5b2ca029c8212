package tools

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/oldconfig"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
)

// Translate translates the command line of another tool. Package alias translates the words and
// opens no files. Translate adds what the tool itself would read: its settings, its table of
// models, and its home directory.
func Translate(a *cli.App, name string, args []string) (*alias.Call, error) {
	args, options, err := withSettings(a, name, slices.Clone(args))
	if err != nil {
		return nil, err
	}
	verb := ""
	if len(args) > 0 {
		verb = args[0]
	}
	if isScheduler(name) && verb == "metrics" && len(args) == 1 {
		return &alias.Call{Words: []string{"report", "--by", "gpu", "-w"}}, nil
	}
	background := verb == "start" && isScheduler(name) && slices.Contains(args, "--daemon")
	args = slices.DeleteFunc(args, func(w string) bool { return background && w == "--daemon" })
	node, err := os.Hostname()
	if err != nil {
		node = "localhost"
	}
	within := a.Getenv("GPUSCHED_JOB_ID")
	if args, err = withVariables(a, name, within, args); err != nil {
		return nil, err
	}
	call, err := withFormat(a, name, within, node, args)
	if err != nil || len(call.Words) == 0 {
		return call, err
	}
	switch {
	case verb == "start" && isScheduler(name):
		if name == "scheduler.py" {
			options = append(options, "--cuda-arg")
		}
		given := func(w string) bool { return strings.HasPrefix(w, "--llm-config") }
		if !slices.ContainsFunc(slices.Concat(options, call.Words), given) && submit.IsRegular(defaultModels) {
			options = append(options, "--llm-config="+defaultModels)
		}
		if !slices.Contains(call.Words, "--screen") { // with --screen, the screen sessions show the output
			call.Words = slices.Insert(call.Words, 1, "--follow")
		}
	case verb == "status" && strings.HasPrefix(name, "cudaq"):
		call.Words = append(call.Words, "-o", "cols=state,gpus,pid,command")
	case name == "mgpu_srun":
		addMgpuDefaults(a, call)
	case name == "tgpu" && verb == "submit":
		nameBySh(call.Words)
	}
	if len(options) > 0 {
		call.Words = withOptions(call.Words, options)
	}
	if background {
		return call, inBackground(call)
	}
	return call, nil
}

// formatVariables are variables that set the default format of Slurm's tools.
var formatVariables = map[string]string{"squeue": "SQUEUE_FORMAT", "sacct": "SACCT_FORMAT", "sinfo": "SINFO_FORMAT"}

// withFormat translates a command line whose default format may be in the environment. An error
// because of that format names the variable.
func withFormat(a *cli.App, name, within, node string, args []string) (*alias.Call, error) {
	format := a.Getenv(formatVariables[name])
	if format == "" || slices.ContainsFunc(args, isOwn) {
		return alias.Translate(name, args, within, node)
	}
	call, err := alias.Translate(name, append([]string{"--format=" + format}, args...), within, node)
	if err == nil {
		return call, nil
	}
	if _, otherwise := alias.Translate(name, args, within, node); otherwise == nil {
		err = fmt.Errorf("the variable %s: %w", formatVariables[name], err)
	}
	return call, err
}

// isOwn reports whether a word asks about the tool itself.
func isOwn(w string) bool { return slices.Contains([]string{"--version", "-V", "--help"}, w) }

// optionVariables are the prefixes of variables that set options of Slurm's tools.
var optionVariables = map[string]string{"sbatch": "SBATCH_", "salloc": "SALLOC_", "srun": "SLURM_"}

// withVariables puts the options that the environment sets before those of the command line, which
// override them. In a job, the variables of srun describe the job and not a step. Slurm itself reads
// the variables of a job for Slurm.
func withVariables(a *cli.App, name, within string, args []string) ([]string, error) {
	prefix := optionVariables[name]
	if engine, _ := a.WhichEngine(); prefix == "" || engine == cli.EngineSlurm || name == "srun" && within != "" ||
		len(args) > 0 && (isOwn(args[0]) || args[0] == "-h") {
		return args, nil
	}
	words, err := slurm.FromEnvironment(prefix, a.Getenv)
	return append(words, args...), err
}

// inBackground turns a call into a service of the user, which survives the terminal.
func inBackground(call *alias.Call) error {
	program, err := engines.Gpusched()
	if err != nil {
		return err
	}
	call.Notes = append(call.Notes, "it runs as a service of yours, which ends at your last logout unless 'loginctl enable-linger' is set; "+
		"its output is in journalctl --user")
	words := slices.DeleteFunc(call.Words, func(w string) bool { return w == "--follow" })
	call.Step = append([]string{"systemd-run", "--user", "--collect", "--same-dir", program}, words...)
	return nil
}

// defaultModels is the table of models that scheduler.py reads if the command line names none.
const defaultModels = "llm_config.json"

func isScheduler(name string) bool { return name == "scheduler.py" || name == "scheduler_10x.py" }

// withOptions puts options for a file's jobs before the options that were typed, so that the typed
// options override them.
func withOptions(words, options []string) []string {
	if i := slices.Index(words, "--"); i >= 0 {
		return slices.Insert(words, i+1, options...)
	}
	return append(append(words, "--"), options...)
}

// withSettings reads the file that --config names. It replaces the option with the jobs file that
// the settings name. It also returns, as options, the settings that apply to each job.
func withSettings(a *cli.App, name string, args []string) (words, options []string, err error) {
	file, jobs := "", "--jobs-file"
	switch {
	case len(args) == 0:
		return args, nil, nil
	case strings.HasPrefix(name, "cudaq") && args[0] == "run":
		jobs = "--commands-file"
	case !isScheduler(name) || args[0] != "start":
		return args, nil, nil
	}
	for i := 1; i < len(args); i++ {
		value, joined := strings.CutPrefix(args[i], "--config=")
		switch {
		case joined:
			file, args = value, slices.Delete(args, i, i+1)
		case args[i] == "--config" && i+1 < len(args):
			file = args[i+1]
			args = slices.Delete(args, i, i+2)
		default:
			continue
		}
		i--
	}
	if file == "" {
		return args, nil, nil
	}
	text, err := submit.FileText(context.Background(), file,
		func(info os.FileInfo) error { return submit.RefuseShared(a, file, info) })
	if err != nil {
		return nil, nil, err
	}
	said, err := oldconfig.Jobs(file, text)
	if err != nil {
		return nil, nil, cli.Usagef("%s: %v", file, err)
	}
	typed := func(option string) bool {
		return slices.ContainsFunc(args, func(w string) bool { return w == option || strings.HasPrefix(w, option+"=") })
	}
	if said.File != "" && !typed(jobs) {
		args = append(args, jobs, said.File)
	}
	if jobs == "--commands-file" && !typed(jobs) && said.File == "" {
		return nil, nil, errors.New(file + " names no commands_file: say --commands-file FILE")
	}
	for _, o := range said.Options {
		if table, ok := strings.CutPrefix(o, "--llm-config="); !ok || submit.IsRegular(table) {
			options = append(options, o)
		}
	}
	a.Note("%s: only its jobs file and the options of the jobs are used; the rest is for the scheduler's administrator: "+
		"'gpusched import %s'", filepath.Base(file), file)
	return args, options, nil
}

// addMgpuDefaults adds the defaults of mgpu_srun: the command runs in the home directory, and at
// its time limit it is queued again.
func addMgpuDefaults(a *cli.App, call *alias.Call) {
	var more []string
	end := slices.Index(call.Words, "--")
	if slices.ContainsFunc(call.Words[:end], func(w string) bool { return strings.HasPrefix(w, "--time=") }) {
		more = append(more, "--on-timeout=requeue")
	}
	if home := a.Getenv("HOME"); filepath.IsAbs(home) && !jobenv.SameDir(home, ".") {
		more = append(more, "--chdir="+home)
		call.Notes = append(call.Notes, "the job runs in your home directory, as with mgpu_srun; 'gpusched submit' runs it in the current one")
	}
	call.Words = slices.Insert(call.Words, 1, more...)
}

// nameBySh gives a job the name of the command that its shell runs.
func nameBySh(words []string) {
	if i := slices.Index(words, "--name=cmd"); i >= 0 {
		if typed := strings.Fields(words[len(words)-1]); len(typed) > 0 {
			words[i] = "--name=" + submit.DefaultName(typed)
		}
	}
}

// CapsPriority reports whether a tool lets all users raise priorities. In gpusched, only
// administrators may do that.
func CapsPriority(tool string) bool { return tool == "mgpu_srun" || tool == "tgpu" }
