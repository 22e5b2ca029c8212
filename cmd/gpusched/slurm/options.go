package slurm

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// arity says whether an option takes a value.
type arity int

const (
	required   arity = iota
	maybeEmpty       // the option needs a value; an empty value means that the option was not given
	none
	optional // the option may have a value, in the same word after =
)

// An option is an option of sbatch.
type option struct {
	long  string // the names, the usual one first
	short byte
	value arity
	read  func(b *Batch, name, value string) error
	about string // the meaning here; "" if there is none
}

func (o option) names() []string { return strings.Fields(o.long) }

// Word formats an option for sbatch or srun with its usual name. It panics if the table lacks the
// option.
func Word(name, value string) string {
	for _, o := range options {
		switch {
		case o.names()[0] != name:
		case o.value == none, o.value == optional && value == "":
			return "--" + name
		default:
			return "--" + name + "=" + value
		}
	}
	panic("sbatch has no option --" + name)
}

// options lists the options that scripts can have, as in sbatch(1) of Slurm 24.05.
var options = []option{
	{"job-name", 'J', required, renamed("name"), "the job's name"},
	{"time", 't', required, (*Batch).readTime, "its time limit, in minutes or as 1-2:30:00"},
	{"gres", 0, required, (*Batch).gres, "GPUs: gpu:2 or gpu:a100:2"},
	{"gpus", 'G', required, (*Batch).gpuCount, "GPUs"},
	{"gpus-per-node", 0, required, (*Batch).gpuCount, "GPUs"},
	{"gpus-per-task", 0, required, (*Batch).perTask, "GPUs"},
	{"mem", 0, required, (*Batch).readMem, "memory, in MB or as 64G"},
	{"mem-per-gpu", 0, required, (*Batch).readMem, "memory for each GPU"},
	{"mem-per-cpu", 0, required, (*Batch).readMem, "memory for each CPU"},
	{"cpus-per-task", 'c', required, (*Batch).cpuCount, "CPUs"},
	{"cpus-per-gpu", 0, required, (*Batch).cpuCount, "CPUs for each GPU"},
	{"array", 'a', required, renamed("array"), "one task for each number: 0-9%2"},
	{"dependency", 'd', required, (*Batch).dependency, "what it waits for: afterok:7, singleton"},
	{"begin", 'b', required, (*Batch).readBegin, "not before then"},
	{"hold", 'H', none, flagged("hold"), "not before it is released"},
	{"chdir workdir", 'D', required, renamed("chdir"), "directory to run in"},
	{"requeue", 0, none, (*Batch).requeue, "start it again after a reboot"},
	{"no-requeue", 0, none, (*Batch).requeue, "do not"},
	{"signal", 0, required, (*Batch).readSignal, "a signal before the time limit: USR1@60"},
	{"nice", 0, optional, (*Batch).readNice, "a lower priority"},
	{"comment", 0, required, renamed("comment"), "a comment"},
	{"export", 0, required, (*Batch).export, "the variables it gets"},
	{"container-image", 0, required, (*Batch).image, "the image that it runs in (pyxis)"},
	{"exclusive", 0, optional, (*Batch).exclusive, "no sharing of GPUs"},
	{"nodes", 'N', required, (*Batch).nodeCount, "1"},
	{"ntasks", 'n', required, (*Batch).taskCount, "tasks, each with its own CPUs"},
	{"ntasks-per-node tasks-per-node", 0, required, (*Batch).taskCount, "the same"},
	{"gpu-bind", 0, required, (*Batch).gpuBind, "which GPUs each task sees: single:1, map:0,1, none"},
	{"constraint", 'C', maybeEmpty, (*Batch).readConstraint, "the type of its GPUs: a100"},
	{"output", 'o', required, (*Batch).outputFile, "file for its output: out-%j.txt"},
	{"error", 'e', required, (*Batch).outputFile, "file for standard error alone"},
	{"open-mode", 0, required, (*Batch).outputFile, "append or truncate"},
	{"input", 'i', required, (*Batch).input, "/dev/null; inside a job, a file for srun"},
	{"kill-on-bad-exit", 'K', optional, (*Batch).killOnBadExit, "for srun inside a job: a task that fails ends the others"},
	{"mail-type", 0, required, (*Batch).mailType, "when mail is sent"},
	{"mail-user", 0, required, (*Batch).mailUser, "to whom"},

	{"partition", 'p', required, ignored, ""},
	{"account", 'A', required, ignored, ""},
	{"qos", 'q', maybeEmpty, ignored, ""},
	{"clusters cluster", 'M', required, ignored, ""},
	{"nodelist", 'w', required, (*Batch).nodeList, "this machine"},
	{"exclude", 'x', required, (*Batch).nodeList, "other machines"},
	{"reservation", 0, required, ignored, ""},
	{"licenses", 'L', required, ignored, ""},
	{"switches", 0, required, ignored, ""},
	{"tmp", 0, required, ignored, ""},
	{"wckey", 0, required, ignored, ""},
	{"profile", 0, required, ignored, ""},
	{"propagate", 0, optional, ignored, ""},
	{"hint", 0, required, ignored, ""},
	{"distribution", 'm', required, ignored, ""},
	{"gpu-freq", 0, required, ignored, ""},
	{"cpu-freq", 0, required, ignored, ""},
	{"mem-bind", 0, required, ignored, ""},
	{"threads-per-core", 0, required, ignored, ""},
	{"ntasks-per-core", 0, required, ignored, ""},
	{"ntasks-per-gpu", 0, required, (*Batch).taskCount, "the same, for each GPU"},
	{"ntasks-per-socket", 0, required, ignored, ""},
	{"cores-per-socket", 0, required, ignored, ""},
	{"sockets-per-node", 0, required, ignored, ""},
	{"extra-node-info", 'B', required, ignored, ""},
	{"wait-all-nodes", 0, required, ignored, ""},
	{"delay-boot", 0, required, ignored, ""},
	{"tres-bind", 0, required, ignored, ""},
	{"oom-kill-step", 0, optional, ignored, ""},
	{"extra", 0, required, ignored, ""},
	{"get-user-env", 0, optional, ignored, ""},
	{"no-kill", 'k', optional, ignored, ""},
	{"acctg-freq", 0, required, ignored, ""},
	{"ignore-pbs", 0, none, ignored, ""},
	{"spread-job", 0, none, ignored, ""},
	{"use-min-nodes", 0, none, ignored, ""},
	{"contiguous", 0, none, ignored, ""},
	{"core-spec", 'S', required, ignored, ""},
	{"cpu-bind", 0, optional, (*Batch).cpuBind, ""},
	{"gres-flags", 0, required, ignored, ""},
	{"power", 0, required, ignored, ""},
	{"prefer", 0, required, ignored, ""},
	{"reboot", 0, none, ignored, ""},
	{"kill-on-invalid-dep", 0, required, ignored, ""},
	{"oversubscribe", 's', none, ignored, ""},
	{"overcommit", 'O', none, ignored, ""},
	{"verbose", 'v', none, ignored, ""},
	{"quiet", 'Q', none, ignored, ""},
	{"parsable", 0, optional, ignored, ""},

	{"gpus-per-socket", 0, required, refused("is not known here: --gpus is for all of the job"), ""},
	{"tres-per-task", 0, required, refused("is not known here: use --cpus-per-task and --gpus-per-task"), ""},
	{"priority", 0, required, refused("has another scale there: use '#GPUSCHED -p N', where 0 is normal"), ""},
	{"wrap", 0, required, refuse("is for the command line, since a script has its own commands"), ""},
	{"wait", 'W', none, refuse("is for the command line: gpusched submit --wait"), ""},
	{"deadline", 0, required, refused("is not known here: a job has a time limit (--time)"), ""},
	{"time-min", 0, required, refused("is not known here: the limit is --time, and 'gpusched update --time' changes it"), ""},
	{"uid", 0, required, refuse("is not known here: a job runs as the user who submits it"), ""},
	{"gid", 0, required, refuse("is not known here: a job runs as the user who submits it"), ""},
}

// renamed returns a reader for an option that has a different name in gpusched.
func renamed(name string) func(*Batch, string, string) error {
	return func(b *Batch, _, value string) error { return b.set(name, value) }
}

func flagged(name string) func(*Batch, string, string) error {
	return func(b *Batch, _, _ string) error { return b.flag(name) }
}

// nodeCount accepts one node, also as the least of several: 1-4.
func (b *Batch) nodeCount(name, value string) error {
	if least, _, _ := strings.Cut(value, "-"); least == "1" && (value == "1" || value == "1-1" || !b.ForSlurm) {
		return nil
	}
	return refused(strconv.Quote(value)+" is not possible: a job here runs on one machine")(b, name, value)
}

// nodeList reads the machines that the job needs or avoids. It mentions a list that this machine
// does not satisfy.
func (b *Batch) nodeList(name, value string) error {
	nodes, err := Hostnames(value)
	short, _, _ := strings.Cut(b.Node, ".")
	here := slices.Contains(nodes, b.Node) || slices.Contains(nodes, short) || slices.Contains(nodes, "localhost")
	if b.ForSlurm || err == nil && here == (name == "-w" || name == "--nodelist") {
		b.addNative(name, value)
		return nil
	}
	b.note("%s=%s is ignored: the job runs on this machine, which is %s", name, value, cmp.Or(b.Node, "localhost"))
	return nil
}

// cpuBind ignores how tasks are bound to CPUs. It need not mention that tasks are not bound.
func (b *Batch) cpuBind(name, value string) error {
	switch strings.TrimPrefix(strings.TrimPrefix(value, "quiet,"), "q,") {
	case "q", "quiet", "none", "no":
		b.addNative(name, value)
		return nil
	}
	return ignored(b, name, value)
}

func (b *Batch) input(name, value string) (err error) {
	if b.Step {
		b.inputFile, err = b.pattern(value)
		return err
	}
	if value == "/dev/null" || value == "none" {
		return nil
	}
	return refused("a job's input is empty here: let its command read the file, as in program <"+value)(b, name, value)
}

func refused(why string) func(*Batch, string, string) error {
	return func(b *Batch, name, value string) error {
		if b.ForSlurm {
			b.addNative(name, value)
			return nil
		}
		return errors.New(why)
	}
}

// refuse returns a reader that always refuses the option, even if the job is for a Slurm.
func refuse(reason string) func(*Batch, string, string) error {
	return func(*Batch, string, string) error { return errors.New(reason) }
}

func ignored(b *Batch, name, value string) error {
	b.addNative(name, value)
	if !b.ForSlurm {
		b.ignored = append(b.ignored, name)
	}
	return nil
}
