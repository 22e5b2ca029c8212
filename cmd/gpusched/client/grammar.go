package client

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/act"
	"github.com/gpusched/gpusched/cmd/gpusched/attach"
	"github.com/gpusched/gpusched/cmd/gpusched/doctor"
	"github.com/gpusched/gpusched/cmd/gpusched/editor"
	"github.com/gpusched/gpusched/cmd/gpusched/estimate"
	"github.com/gpusched/gpusched/cmd/gpusched/feed"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/look"
	"github.com/gpusched/gpusched/cmd/gpusched/past"
	"github.com/gpusched/gpusched/cmd/gpusched/site"
	"github.com/gpusched/gpusched/cmd/gpusched/submit"
	"github.com/gpusched/gpusched/cmd/gpusched/tools"
)

// grammar declares all commands.
type grammar struct {
	Submit    submit.Cmd         `cmd:"" group:"jobs" usage:"[options] [--] COMMAND [ARG...]" help:"Queue a command."`
	Run       submit.RunCmd      `cmd:"" group:"jobs" usage:"[options] [--] COMMAND [ARG...]" help:"Queue a command, show its output, and exit with its status."`
	Shell     submit.ShellCmd    `cmd:"" group:"jobs" usage:"[options] [--] [COMMAND [ARG...]]" help:"Open a shell, or another command, with GPUs."`
	Attach    attach.Cmd         `cmd:"" group:"jobs" usage:"ID" help:"Return to a job's terminal, or follow its output."`
	Exec      attach.ExecCmd     `cmd:"" group:"jobs" usage:"ID [--] COMMAND [ARG...]" help:"Run a command inside a running job, on its GPUs."`
	SSHConfig editor.ConfigCmd   `cmd:"" name:"ssh-config" group:"jobs" usage:"[options] [MACHINE]" help:"Print what lets an editor or ssh into a job."`
	Proxy     editor.ProxyCmd    `cmd:"" group:"jobs" usage:"[options]" help:"Connect ssh to a job, and start the job if needed."`
	Jupyter   editor.JupyterCmd  `cmd:"" group:"jobs" usage:"[options] [-- ARG...]" help:"Run Jupyter as a job, and show how to reach it."`
	Import    feed.ImportCmd     `cmd:"" group:"jobs" usage:"[options] FILE [-- SUBMIT-OPTION...] | slurm [FILE]" help:"Queue the jobs of another scheduler's file, or translate its settings."`
	Watch     feed.WatchCmd      `cmd:"" group:"jobs" usage:"[options] FILE [-- SUBMIT-OPTION...]" help:"Queue the jobs of a file, and those added to it later."`
	Add       feed.AddCmd        `cmd:"" group:"jobs" usage:"[options] SCRIPT" help:"Append a line to a file of jobs."`
	Screens   submit.ScreensCmd  `cmd:"" group:"jobs" usage:"[options]" help:"List the GNU screen sessions of your jobs."`
	List      look.ListCmd       `cmd:"" aliases:"queue,ls" group:"jobs" usage:"[options] [ID...]" help:"List the GPUs and the jobs."`
	Show      look.ShowCmd       `cmd:"" group:"jobs" usage:"[options] [ID]" help:"Show everything about a job."`
	Why       look.WhyCmd        `cmd:"" group:"jobs" usage:"[options] [ID]" help:"Explain why a job waits, GPU by GPU."`
	Logs      logs.Cmd           `cmd:"" aliases:"log" group:"jobs" usage:"[options] [ID...]" help:"Print the output of jobs."`
	History   past.HistoryCmd    `cmd:"" group:"jobs" usage:"[options] [ID...]" help:"List jobs that have ended."`
	Wait      attach.WaitCmd     `cmd:"" group:"jobs" usage:"[options] [ID...]" help:"Wait until jobs have ended, and exit with their status."`
	Cancel    act.CancelCmd      `cmd:"" group:"jobs" usage:"[options] ID... | --mine | --user USER" help:"End jobs, or send them a signal."`
	Hold      act.HoldCmd        `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Keep waiting jobs from starting."`
	Release   act.ReleaseCmd     `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Let held jobs start."`
	Suspend   act.SuspendCmd     `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Freeze running jobs; they keep their GPUs."`
	Resume    act.ResumeCmd      `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Let suspended jobs go on."`
	Park      act.ParkCmd        `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Move running jobs off their GPUs, into host memory."`
	Unpark    act.UnparkCmd      `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Let parked jobs have their GPUs again."`
	Requeue   act.RequeueCmd     `cmd:"" group:"jobs" usage:"[options] ID..." help:"Stop running jobs and send them to the end of the queue."`
	Update    act.UpdateCmd      `cmd:"" group:"jobs" usage:"[options] ID..." help:"Change waiting jobs, or the limits of running ones."`
	Resubmit  submit.ResubmitCmd `cmd:"" group:"jobs" usage:"[options] ID..." help:"Queue ended jobs again, or failed tasks of an array."`
	Status    look.StatusCmd     `cmd:"" group:"machine" usage:"[options]" help:"Show the scheduler at a glance."`
	Top       site.TopCmd        `cmd:"" group:"machine" usage:"[--mine]" help:"Show GPUs and jobs live on the whole screen."`
	GPUs      look.GPUsCmd       `cmd:"" name:"gpus" group:"machine" usage:"[options]" help:"List the GPUs and what uses them."`
	GPU       act.GPUCmd         `cmd:"" name:"gpu" group:"machine" usage:"pause|resume|drain|undrain INDEX..." help:"Keep jobs off a GPU, or let them back (administrators)."`
	Reserve   act.ReserveCmd     `cmd:"" group:"machine" usage:"make|list|cancel" help:"Reserve GPUs for users over a time (administrators)."`
	Daemon    act.DaemonCmd      `cmd:"" group:"machine" usage:"drain|resume|log-level" help:"Let no job start, let jobs start again, or set the log level."`
	Report    past.ReportCmd     `cmd:"" group:"machine" usage:"[options]" help:"Report how jobs used the machine, by user, GPU, time and more."`
	Usage     past.UsageCmd      `cmd:"" group:"machine" usage:"[options] [USER]" help:"Show what you have used, and what is left of your quotas."`
	Events    look.EventsCmd     `cmd:"" group:"machine" usage:"[options]" help:"Show what has changed; with -f, changes as they happen."`
	Health    look.HealthCmd     `cmd:"" group:"machine" usage:"[options]" help:"Check every part of the scheduler."`
	Metrics   site.MetricsCmd    `cmd:"" group:"machine" usage:"[options]" help:"Print all measurements, for a monitoring system."`
	MCP       site.MCPCmd        `cmd:"" name:"mcp" group:"machine" usage:"[--write]" help:"Let an agent (MCP) look at the queue; --write lets it act for you."`
	Doctor    doctor.Cmd         `cmd:"" group:"machine" usage:"[--test | --report [FILE]] [options]" help:"Check the installation as you see it, also by a job on each GPU."`
	Config    site.ConfigCmd     `cmd:"" group:"machine" usage:"check|show|schema|sample" help:"Check and show the settings."`
	Export    feed.ExportCmd     `cmd:"" group:"machine" usage:"slurm" help:"Write this machine's settings for another scheduler."`
	Aliases   tools.AliasesCmd   `cmd:"" group:"machine" usage:"[list]|install|remove" help:"Offer other tools' names for commands, such as sbatch and squeue."`
	Version   site.VersionCmd    `cmd:"" group:"machine" usage:"[options]" help:"Show the versions of this program and of the scheduler."`

	Migrate  feed.MigrateCmd `cmd:"" group:"jobs" usage:"--to slurm [--dry-run] ID... | --mine" help:"Move waiting jobs to Slurm."`
	Estimate estimate.Cmd    `cmd:"" group:"jobs" usage:"[options] MODEL" help:"Estimate a model's GPU memory, and what to ask for."`
}

// grammarFor returns the part of the grammar for the command at the start of a command line. If
// there is no such command, it returns the whole grammar. Building the parser for the whole grammar
// takes longer than anything else that a short command does.
func grammarFor(args []string) any {
	if f, known := commandField(args[0]); known {
		return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
	}
	return &grammar{}
}

// commandField returns the field of grammar that declares the command of this name.
func commandField(word string) (f reflect.StructField, known bool) {
	for f := range reflect.TypeFor[grammar]().Fields() {
		if slices.Contains(commandNames(f), word) {
			return f, true
		}
	}
	return f, false
}

// commandNames returns the names of the command that a field declares, the main name first.
func commandNames(f reflect.StructField) []string {
	return append([]string{cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))}, strings.Split(f.Tag.Get("aliases"), ",")...)
}
