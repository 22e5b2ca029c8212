package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/step"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/cmd/gpusched/tools"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// runAs runs the program under the name by which it was called. If that is another tool's name, it
// translates the tool's command line.
func runAs(ctx context.Context, a *cli.App, name string, args []string) int {
	if !alias.Known(name) {
		return run(ctx, a, args)
	}
	// must happen before standard input is read
	if engine, _ := a.WhichEngine(); engine == cli.EngineSlurm && a.Slurm == nil {
		return a.Finish(site.BecomeSlurm(a))
	}
	call, err := tools.Translate(a, name, args)
	if err == nil && call.FromInput != nil {
		err = scriptFromInput(a, call)
	}
	if err == nil {
		err = readScript(a, call)
	}
	if call != nil {
		a.As.Strict = call.Strict && !a.Err.TTY
	}
	if err == nil && len(call.Step) > 0 {
		printNotes(a, name, call)
		a.Err.W.Flush()
		err = step.Run(ctx, a, call)
	}
	var status cli.ExitStatus
	if err != nil && !errors.As(err, &status) {
		text := err.Error()
		if !strings.HasPrefix(text, name+" ") {
			text = name + ": " + text
		}
		err = cli.Refuse(api.CodeUsage, "see '"+name+" --help'", "%s", text)
	}
	if err == nil {
		a.Out.Printf("%s", call.Help)
		a.As = cli.Manner{
			Other: true, Submitted: call.Submitted, Silent: call.Silent, NoGPU: call.NoGPU, Log: call.Log,
			Table: call.Table, Check: call.Check,
			Caps:   tools.CapsPriority(name),
			Strict: a.As.Strict, Only: call.Only, States: call.States, All: call.AllUsers, Keeps: call.Keeps,
		}
		printNotes(a, name, call)
		if call.Lane != nil && call.Lane.Take == 0 {
			err = tools.LaneSlots(ctx, a, call.Lane.Slots)
		} else if call.Lane != nil {
			a.As.Turns = &tools.HeldLane{Lane: *call.Lane}
		}
	}
	if err == nil && call.Site != nil {
		err = printSite(ctx, a, call.Site)
	}
	if err == nil && call.Account != nil {
		a.Out.Printf("%s\n", term.Clean(call.Account(a.CallerName())))
	}
	if err == nil && len(call.Words) > 0 {
		return run(ctx, a, call.Words)
	}
	code := a.Finish(err)
	if err := errors.Join(a.Out.W.Flush(), a.Err.W.Flush()); err != nil && code == 0 {
		return 1
	}
	return code
}

// printSite prints the lines of sinfo about the machine.
func printSite(ctx context.Context, a *cli.App, lines func(alias.Machine) []string) error {
	reply, err := api.GPUs(ctx, a.Client)
	if err != nil {
		return err
	}
	live, err := api.List(ctx, a.Client, api.ListQuery{States: []job.State{job.Starting, job.Running, job.Ending}})
	if err != nil {
		return err
	}
	busy, cpus := map[int]bool{}, 0
	for _, j := range live.Jobs {
		cpus += max(j.CPUs, j.PromisedCPUs)
		for _, g := range j.GPUs {
			busy[g.Index] = true
		}
	}
	var system syscall.Sysinfo_t
	if err := syscall.Sysinfo(&system); err != nil {
		return err
	}
	m := alias.Machine{
		CPUs: runtime.NumCPU(), GPUs: len(reply.GPUs), Busy: len(busy),
		BusyCPUs: cpus, MemBytes: int64(system.Totalram) * int64(system.Unit),
	}
	for _, line := range lines(m) {
		a.Out.Printf("%s\n", term.Clean(line))
	}
	return nil
}

// printNotes prints the notes about a translated command line. Those of srun and salloc belong into
// the log of a job, too: both print messages in Slurm, so programs do not read standard error.
func printNotes(a *cli.App, name string, call *alias.Call) {
	if name == "srun" || name == "salloc" {
		defer func(strict bool) { a.As.Strict = strict }(a.As.Strict)
		a.As.Strict = false
	}
	lost := ""
	if engine, _ := a.WhichEngine(); engine != cli.EngineSlurm { // Slurm sends mail itself
		call.Words, lost = submit.WithoutMail(call.Words)
	}
	if lost != "" {
		call.Notes = append(call.Notes, lost)
	}
	for _, text := range call.Notes {
		a.Note("%s: %s", name, text)
	}
}

// scriptFromInput saves the script from a pipe and makes it the command that the call runs.
func scriptFromInput(a *cli.App, call *alias.Call) error {
	in := os.Stdin
	switch {
	case strings.HasPrefix(call.Pipe, "/dev/fd/"):
		f, err := os.Open(call.Pipe)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	case a.Interactive:
		return errNoScript
	}
	text, err := jobenv.ReadKept(in)
	switch {
	case err != nil:
		return err
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf#!")):
		return errors.New("the script begins with a byte order mark, so neither its first line nor its options can be read")
	case !bytes.HasPrefix(text, []byte("#!")):
		return errNoScript
	}
	path, err := jobenv.KeepText(a, "sbatch", text)
	if err != nil {
		return err
	}
	return call.FromInput(path)
}

var errNoScript = errors.New("there is no script: name a file, pass one that begins with #! on standard input, " +
	"or use --wrap COMMAND")

// readScript adds the text of the script to a call.
func readScript(a *cli.App, call *alias.Call) error {
	if call.Script == nil {
		return nil
	}
	dir, err := a.Getwd()
	if err != nil {
		return err
	}
	f, _ := jobenv.OpenRegular(jobenv.InDir(dir, call.Script.File))
	if f == nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, submit.MaxScriptHead))
	if err != nil || !strings.HasPrefix(string(text), "#!") {
		return nil // the command itself reports the error
	}
	return call.Script.Read(string(text))
}
