package client

import (
	"cmp"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// aboutProgram is the first thing that help says.
const aboutProgram = "Run jobs on the GPUs of this machine. 'gpusched submit -- python train.py' queues a command; " +
	"it starts as you, in the environment you submitted it from, when it is its turn and its GPUs are free. " +
	"Without a command it shows the status."

// groups are the headings of the commands, and of the options of long ones.
var groups = []kong.Group{
	{Key: "jobs", Title: "Jobs:"},
	{Key: "machine", Title: "GPUs and scheduler:"},
	{Key: "needs", Title: "What the job needs:"},
	{Key: "life", Title: "How it runs and ends:"},
	{Key: "queue", Title: "When it starts, and how often:"},
	{Key: "label", Title: "Name and tags:"},
	{Key: "around", Title: "Environment:"},
	{Key: "self", Title: "What this command does:"},
	{Key: "output", Title: "Output:"},
}

// grammar is the whole command line.
type grammar struct {
	Submit   submitCmd   `cmd:"" group:"jobs" usage:"[options] [--] COMMAND [ARG...]" help:"Queue a command."`
	Run      runCmd      `cmd:"" group:"jobs" usage:"[options] [--] COMMAND [ARG...]" help:"Queue a command, show what it prints, and exit as it does."`
	Shell    shellCmd    `cmd:"" group:"jobs" usage:"[options] [--] [COMMAND [ARG...]]" help:"Work in a shell, or another command, that has GPUs."`
	Attach   attachCmd   `cmd:"" group:"jobs" usage:"ID" help:"Come back to a job's terminal, or see what it prints."`
	Exec     execCmd     `cmd:"" group:"jobs" usage:"ID [--] COMMAND [ARG...]" help:"Run a command beside that of a running job, on its GPUs."`
	Import   importCmd   `cmd:"" group:"jobs" usage:"[options] FILE [-- SUBMIT-OPTION...] | slurm [FILE]" help:"Queue the jobs of another scheduler's file, or translate its settings."`
	Watch    watchCmd    `cmd:"" group:"jobs" usage:"[options] FILE [-- SUBMIT-OPTION...]" help:"Queue the jobs of a file of jobs, and those that are added to it later."`
	Add      addCmd      `cmd:"" group:"jobs" usage:"[options] SCRIPT" help:"Append a line to a file of jobs."`
	Screens  screensCmd  `cmd:"" group:"jobs" usage:"[options]" help:"List your jobs' sessions of GNU screen."`
	List     listCmd     `cmd:"" aliases:"queue,ls" group:"jobs" usage:"[options] [ID...]" help:"List the GPUs and the jobs."`
	Show     showCmd     `cmd:"" group:"jobs" usage:"[options] [ID]" help:"Show everything about a job."`
	Why      whyCmd      `cmd:"" group:"jobs" usage:"[options] [ID]" help:"Say why a job waits, GPU by GPU."`
	Logs     logsCmd     `cmd:"" aliases:"log" group:"jobs" usage:"[options] [ID...]" help:"Print what jobs printed."`
	History  historyCmd  `cmd:"" group:"jobs" usage:"[options] [ID...]" help:"List jobs that have ended."`
	Wait     waitCmd     `cmd:"" group:"jobs" usage:"[options] [ID...]" help:"Wait until jobs have ended, and exit as they did."`
	Cancel   cancelCmd   `cmd:"" group:"jobs" usage:"[options] ID... | --mine | --user USER" help:"End jobs, or send them a signal."`
	Hold     holdCmd     `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Keep waiting jobs from starting."`
	Release  releaseCmd  `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Let held jobs start."`
	Suspend  suspendCmd  `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Halt running jobs, which keep their GPUs."`
	Resume   resumeCmd   `cmd:"" group:"jobs" usage:"[options] ID... | --mine" help:"Let suspended jobs go on."`
	Requeue  requeueCmd  `cmd:"" group:"jobs" usage:"[options] ID..." help:"Stop running jobs and send them to the end of the queue."`
	Update   updateCmd   `cmd:"" group:"jobs" usage:"[options] ID..." help:"Change waiting jobs, or the time limit of running ones."`
	Resubmit resubmitCmd `cmd:"" group:"jobs" usage:"[options] ID..." help:"Queue jobs again that have ended, or failed tasks of an array."`
	Status   statusCmd   `cmd:"" group:"machine" usage:"[options]" help:"Show the scheduler at a glance."`
	Top      topCmd      `cmd:"" group:"machine" usage:"[--mine]" help:"Show GPUs and jobs on the whole screen, as they change."`
	GPUs     gpusCmd     `cmd:"" name:"gpus" group:"machine" usage:"[options]" help:"List the GPUs and what uses them."`
	GPU      gpuCmd      `cmd:"" name:"gpu" group:"machine" usage:"pause|resume|drain|undrain INDEX..." help:"Keep jobs off a GPU, or let them back (administrators)."`
	Reserve  reserveCmd  `cmd:"" group:"machine" usage:"make|list|cancel" help:"Keep GPUs for some users over a time (administrators)."`
	Daemon   daemonCmd   `cmd:"" group:"machine" usage:"drain|resume|log-level" help:"Let no job start, let jobs start again, or set the log level."`
	Report   reportCmd   `cmd:"" group:"machine" usage:"[options]" help:"Report what jobs used of the machine, by user, GPU, time and more."`
	Usage    usageCmd    `cmd:"" group:"machine" usage:"[options] [USER]" help:"Say what you have used, and what is left of your quotas."`
	Events   eventsCmd   `cmd:"" group:"machine" usage:"[options]" help:"Show what has changed; with -f, what changes as it happens."`
	Health   healthCmd   `cmd:"" group:"machine" usage:"[options]" help:"Check every part of the scheduler."`
	Metrics  metricsCmd  `cmd:"" group:"machine" usage:"[options]" help:"Print everything that is measured, for a monitoring system."`
	MCP      mcpCmd      `cmd:"" name:"mcp" group:"machine" usage:"[--write]" help:"Let an agent (MCP) look at the queue; --write lets it act for you."`
	Doctor   doctorCmd   `cmd:"" group:"machine" usage:"[--test | --report [FILE]] [options]" help:"Check the installation from your side, also by a job on each GPU."`
	Config   configCmd   `cmd:"" group:"machine" usage:"check|show|schema|sample" help:"Check and show the settings."`
	Export   exportCmd   `cmd:"" group:"machine" usage:"slurm" help:"Write this machine's settings for another scheduler."`
	Aliases  aliasesCmd  `cmd:"" group:"machine" usage:"[list]|install|remove" help:"Other tools' names for commands, such as sbatch and squeue."`
	Version  versionCmd  `cmd:"" group:"machine" usage:"[options]" help:"Show the versions of this program and of the scheduler."`

	Migrate  migrateCmd  `cmd:"" group:"jobs" usage:"--to slurm [--dry-run] ID... | --mine" help:"Move waiting jobs to a Slurm."`
	Estimate estimateCmd `cmd:"" group:"jobs" usage:"[options] MODEL" help:"Say how much GPU memory a model takes, and what to ask for."`
}

// grammarFor returns the part of the grammar that a command line needs: that
// of the command it begins with, or all of it. Building the parser for all of
// them takes longer than everything else a short command does.
func grammarFor(args []string) any {
	if f, known := commandField(args[0]); known {
		return reflect.New(reflect.StructOf([]reflect.StructField{f})).Interface()
	}
	return &grammar{}
}

// commandField is the field of the grammar that a word is a command of.
func commandField(word string) (f reflect.StructField, known bool) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[grammar]()) {
		if slices.Contains(commandNames(f), word) {
			return f, true
		}
	}
	return f, false
}

// commandNames are the words for the command of a field, its own first.
func commandNames(f reflect.StructField) []string {
	return append([]string{cmp.Or(f.Tag.Get("name"), strings.ToLower(f.Name))}, strings.Split(f.Tag.Get("aliases"), ",")...)
}
