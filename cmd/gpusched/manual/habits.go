package manual

import "strings"

// Habit is a word of other tools, with the word to type in gpusched instead.
type Habit struct {
	Words []string // commands or options of other tools
	Ours  string   // gpusched's word; "" if there is none
	Note  string   // more information, or why there is no such word
}

// Habits are the names that other tools have for a command's options.
type Habits struct {
	Title string // title of the table in the manual
	List  []Habit
}

// OtherCommands maps commands of other schedulers and programs to gpusched's commands.
var OtherCommands = []Habit{
	of("sbatch qsub bsub gbatch mgpu_srun enqueue", "submit", ""),
	of("srun", "run", ""),
	of("salloc", "shell", ""),
	of("squeue qstat bjobs gqueue mgpu_queue ps jobs list-jobs", "list", ""),
	of("sacct", "history", ""),
	of("sreport", "report", ""),
	of("sshare quota", "usage", ""),
	of("sinfo nvidia-smi ginfo gpustat", "gpus", ""),
	of("nvitop nvtop htop", "top", ""),
	of("scancel qdel bkill gcancel mgpu_cancel cancel-job kill rm delete remove stop", "cancel", ""),
	of("tail follow", "logs -f", ""),
	of("output cat", "logs", ""),
	of("info scontrol describe job gjob", "show", ""),
	of("restart", "requeue", ""),
	of("pause", "suspend", ""),
	of("stash", "hold", ""),
	of("edit", "update", ""),
	of("pause-gpu", "gpu pause", ""),
	of("resume-gpu", "gpu resume", ""),
	of("drain", "gpu drain", ""),
	of("undrain", "gpu undrain", ""),
	of("unhold", "release", ""),
	of("tsp ts", "aliases install --user", ""),
	of("unsuspend unpause continue cont", "resume", ""),
}

// OtherSubcommands maps other programs' commands of two words to gpusched's commands.
var OtherSubcommands = []Habit{
	{[]string{"daemon undrain", "daemon unpause", "daemon continue", "daemon open"}, "daemon resume", ""},
	{[]string{"daemon status", "daemon show"}, "status", ""},
	{[]string{"daemon reload", "config reload"}, "", "systemctl reload gpusched"},
	{[]string{"daemon restart"}, "", "systemctl restart gpusched"},
	{[]string{"daemon stop", "daemon start"}, "", "systemctl stop gpusched.socket gpusched, or start"},
	{[]string{"daemon pause", "daemon close"}, "daemon drain", ""},
	{[]string{"gpu unpause", "gpu enable", "gpu release"}, "gpu resume", ""},
	{[]string{"gpu disable", "gpu hold"}, "gpu pause", ""},
	{[]string{"reserve create", "reserve add", "reserve new"}, "reserve make", ""},
	{[]string{"reserve end", "reserve delete", "reserve remove", "reserve rm", "reserve unreserve"}, "reserve cancel", ""},
	{[]string{"config validate", "config test"}, "config check", ""},
	{[]string{"aliases add"}, "aliases install", ""},
	{[]string{"aliases uninstall"}, "aliases remove", ""},
}

// OptionsOfNewJobs has other schedulers' names for the options of a new job.
var OptionsOfNewJobs = &Habits{"OPTIONS OF OTHER TOOLS FOR A NEW JOB", []Habit{
	of("-J --job-name --label -L", "--name NAME", ""),
	of("-G --gres --gpus-per-node --gpus-per-task --num-gpus --ngpus", "--gpus N", ""),
	of("--device --devices", "--gpu-ids LIST", "--gpus is how many"),
	of("--exclusive", "--gpus 1", "whole GPUs are the job's alone"),
	of("-s --share --oversubscribe", "--gpus 0.5", "for a part of a GPU"),
	of("--constraint --gpu-model", "--gpu-type TYPE", ""),
	of("--gpu-memory --min-free-mem-mb --gpu-mem-mb --vram", "--gpu-mem SIZE", "with the unit, as in 8G"),
	of("--mem-per-gpu --mem-per-cpu --memory", "--mem SIZE", "for all of the job"),
	of("--cpus-per-task --cpus-per-gpu --ncpus --threads", "--cpus N", "for all of the job"),
	of("-N --nodes --nodelist -w", "", "a job runs on this machine; leave it out"),
	of("--ntasks --ntasks-per-node", "--cpus N", "for all tasks; the name srun (gpusched aliases) starts them in the job, by srun -n N"),
	of("--partition --queue --qos --group", "", "jobs wait in one queue; --priority is for the order, --gpu-type for the kind of GPU"),
	of("-A --account --project", "--tag project=NAME", "use is charged to your account on this machine"),
	of("--time-limit --timeout --walltime --max-time -l", "--time TIME", "with the unit, as in 10m"),
	of("--dependency --depend --depends-on -d -W", "--after-ok ID", "--after-any for any end"),
	of("-a", "--array TASKS", "--after ID for another job"),
	of("--max-concurrent --max-parallel", "--array 0-9%2", "two at a time"),
	of("-D --workdir --working-directory", "--chdir DIR", ""),
	of("--delay --start-time", "--begin +10m", ""),
	of("--stashed", "--hold", ""),
	of("--immediate", "", "a job starts as soon as it is its turn and fits; leave it out"),
	of("--retry --max-retries", "--retries N", ""),
	of("--nice --niceness", "--priority low", ""),
	of("--error --stdout --stderr --log-file --output-file", "--log FILE", "standard error is in it, too"),
	of("--open-mode", "--log-truncate", "a log is appended to without it"),
	of("--mail-type", "--notify end,fail", ""),
	of("--mail-user", "--notify-to ADDRESS", "together with --notify"),
	of("--export", "--set-env K=V", "jobs get your environment anyway; --env clean gives a minimal one"),
	of("--conda-env --env-name", "--conda ENV", ""),
	of("--env-setup-cmd --prolog", "--setup CMD", ""),
	of("--wrap --cmd", "", "the command comes last, as in gpusched submit -- sh -c '…'"),
	of("-f --follow --foreground", "--wait", "or 'gpusched run', which ends as the job does"),
	of("-I --interactive --pty", "", "use 'gpusched shell', or 'gpusched run --tty'"),
	of("--parsable --print-task-id", "--quiet", ""),
	of("--test-only --dryrun", "--dry-run", ""),
}}

// OptionsOfPast has other schedulers' names for the options of history and report.
var OptionsOfPast = &Habits{"OPTIONS OF OTHER TOOLS FOR WHAT IS PAST", []Habit{
	of("--starttime --start --from", "--since WHEN", ""),
	of("--endtime --end --to", "--until WHEN", ""),
	of("-a --all --allusers", "", "everybody's jobs are in it, and --mine leaves only yours"),
	of("-j --job --jobs", "", "ids need no option, as in 'gpusched history 7 9'"),
	of("-X --allocations", "", "a job is one line; leave it out"),
	of("--format", "-o cols=NAME,NAME", "or -o csv=NAME,NAME"),
	of("-p -P --parsable --parsable2", "-o csv", ""),
	of("-l --long", "-w", ""),
	of("-A --accounts --users", "--user USER", ""),
}}

// These tables have the options of squeue, scancel, tail, nvidia-smi and similar programs.
var (
	OptionsOfList = &Habits{"OPTIONS OF OTHER TOOLS FOR A LIST", []Habit{
		of("--me", "--mine", ""),
		of("-t --states --status", "--state STATE", "such as queued, running or failed"),
		of("-j --jobs --job", "", "ids come without an option, as in gpusched list 42 43"),
		of("-p --partition -q --qos -A --account", "", "jobs wait in one queue; --tag project=NAME chooses by a tag"),
		of("-l --long --full --detail", "--wide", ""),
		of("--format -O --Format -f", "-o cols=id,user,elapsed", "-o csv and --json are for programs"),
		of("--noheader", "-o ids", "the numbers alone; -o csv and --json are for programs"),
		of("-S --starttime", "--since WHEN", "also jobs that have ended since then"),
		of("--start", "", "expected starts are in the column START, and 'gpusched why ID' says more"),
		of("-i --iterate --refresh", "--watch", "with --interval 5s"),
	}}
	OptionsOfCancel = &Habits{"OPTIONS OF OTHER TOOLS TO CANCEL JOBS", []Habit{
		of("--me", "--mine", ""),
		of("-a", "--all", ""),
		of("-n --name --jobname --job-name", "", "a name is given as name:NAME, as in gpusched cancel name:train"),
		of("-t --state --status", "", "'gpusched list -s queued -o ids' chooses: gpusched cancel $(gpusched list --mine -s queued -o ids)"),
		of("-s", "--signal SIG", "such as USR1, which is sent and does not end the job"),
		of("-9 -k --kill -f --force", "--now", "SIGKILL at once"),
		of("-i --interactive", "", "you are asked before several jobs of --mine, --user or --all are ended; --yes is for scripts"),
		of("--dry-run", "", "'gpusched list' shows the jobs, with --mine, --user or their ids"),
	}}
	OptionsOfEstimate = &Habits{"OPTIONS OF A JOB FOR AN ESTIMATE", []Habit{
		of("-g --gpus --gpu-mem -m --mem -t --time", "", "'gpusched submit --dry-run' says where and when a job would start"),
	}}
	OptionsOfLogs = &Habits{"OPTIONS OF OTHER TOOLS FOR LOGS", []Habit{
		of("--tail", "--lines N", ""),
		of("-F", "--follow", ""),
		of("-t", "--timestamps", ""),
		of("-c", "--lines N", "lines, not bytes"),
		of("--since --until -S -U", "", "'journalctl -a -u gpujob-ID --since -1h' has that"),
		of("-e --err --stdout --stderr --out", "", "standard output and error are one stream; leave it out"),
		of("-g --grep", "", "gpusched logs ID | grep TEXT"),
	}}
	OptionsOfGPUs = &Habits{"OPTIONS OF OTHER TOOLS FOR GPUS", []Habit{
		of("-L --list-gpus -a --all", "", "all GPUs are shown; leave it out"),
		of("-l --loop -i", "--watch", "with --interval 5s; it shows all GPUs"),
		of("-q --query", "--wide", ""),
		of("--query-gpu --query-compute-apps --format", "--json", "or -o csv"),
		of("-u --show-user -p --show-pid -c --show-cmd", "", "processes and their users are shown anyway; leave it out"),
	}}
)

// OtherOptions lists all these tables of options in the manual's order.
var OtherOptions = []*Habits{
	OptionsOfNewJobs, OptionsOfPast, OptionsOfList, OptionsOfCancel, OptionsOfEstimate, OptionsOfLogs, OptionsOfGPUs,
}

func of(words, ours, note string) Habit { return Habit{strings.Fields(words), ours, note} }

// Find returns the Habit that has this word. The result is false if there is none.
func Find(list []Habit, word string) (Habit, bool) {
	for _, h := range list {
		for _, w := range h.Words {
			if w == word {
				return h, true
			}
		}
	}
	return Habit{}, false
}

// Here returns what to type in gpusched instead, followed by the note.
func (h Habit) Here() string {
	switch {
	case h.Ours == "":
		return h.Note
	case h.Note == "":
		return "here it is " + h.Ours
	}
	return "here it is " + h.Ours + "; " + h.Note
}

// entries returns rows for the manual. It puts a prefix in front of gpusched's words.
func entries(list []Habit, prefix string) (rows []Entry) {
	for _, h := range list {
		text := h.Note
		if h.Ours != "" {
			text = prefix + h.Ours
			if h.Note != "" {
				text += ": " + h.Note
			}
		}
		rows = append(rows, Entry{strings.Join(h.Words, ", "), text + "."})
	}
	return rows
}
