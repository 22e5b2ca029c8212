package step

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/jobenv"
	"github.com/gpusched/gpusched/cmd/gpusched/logs"
	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Run runs the command of an srun inside a job, in place of this process. The command gets the
// requested number of the job's GPUs. Its output goes to the requested file.
func Run(ctx context.Context, a *cli.App, call *alias.Call) error {
	if call.StepDir != "" {
		if err := os.Chdir(call.StepDir); err != nil {
			return err
		}
	}
	path, err := exec.LookPath(call.Step[0])
	if err != nil {
		return err
	}
	set, err := jobenv.SetVariables(call.StepSet, a.Environ, true)
	if err != nil {
		return err
	}
	a.Environ = jobenv.WithVars(a.Environ, set)
	tasks := call.StepTasks
	if tasks == 0 {
		tasks, _ = strconv.Atoi(a.Getenv("SLURM_NTASKS"))
	}
	tasks = max(tasks, 1)
	environs, err := boundGPUs(ctx, a, call, tasks)
	if err != nil {
		return err
	}
	if label := a.Getenv("SLURM_LABELIO"); label != "" && label != "0" {
		call.StepLabels = true
	}
	if kill := a.Getenv("SLURM_KILL_BAD_EXIT"); kill != "" && kill != "0" {
		call.StepKills = true
	}
	if tasks > 1 || call.StepLabels || call.StepInput != "" {
		return stepTasks(a, call, path, environs)
	}
	out, errs, err := stepFiles(a, call, "0", os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	for fd, file := range map[int]*os.File{1: out, 2: errs} {
		if int(file.Fd()) != fd {
			err = errors.Join(err, syscall.Dup3(int(file.Fd()), fd, 0))
		}
	}
	if err != nil {
		return err
	}
	return syscall.Exec(path, call.Step, jobenv.WithVars(environs[0], taskVariables("0", "1")))
}

// taskVariables returns what tells a task of a step its place among the others.
func taskVariables(rank, count string) []string {
	return []string{
		"SLURM_PROCID=" + rank, "SLURM_LOCALID=" + rank,
		"SLURM_NTASKS=" + count, "SLURM_NPROCS=" + count, "SLURM_STEP_NUM_TASKS=" + count,
	}
}

// passedOn lists the signals that a step forwards to its tasks.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGALRM,
	syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCONT,
}

// boundGPUs returns an environment for each task of a step. --gpu-bind decides which of the step's
// GPUs a task sees. Without options, a task sees the same GPUs as the job's script.
func boundGPUs(ctx context.Context, a *cli.App, call *alias.Call, tasks int) (environs [][]string, err error) {
	perTask, text := call.StepPerTask, cmp.Or(call.StepBind, a.Getenv(slurm.BindVariable))
	if perTask == 0 && call.StepGPUs == "" {
		perTask, _ = strconv.Atoi(a.Getenv(slurm.PerTaskVariable))
	}
	if perTask > 0 {
		call.StepGPUs, text = strconv.Itoa(perTask*tasks), cmp.Or(text, "per_task:"+strconv.Itoa(perTask))
	}
	bind, err := slurm.ParseBind(cmp.Or(text, "none"))
	if err != nil {
		return nil, fmt.Errorf("--gpu-bind: %w", err)
	}
	if n := min(bind.Needs(tasks), len(visible(a.Environ))); n > 0 && call.StepGPUs == "" {
		call.StepGPUs = strconv.Itoa(n) // other steps may use the remaining GPUs at the same time
	}
	environ, err := stepGPUs(ctx, a, call.StepGPUs, call.StepOverlaps)
	for i := 0; i < tasks && err == nil; i++ {
		var own []string
		if own, err = bind.Of(i, visible(environ)); len(own) > 0 {
			environs = append(environs, jobenv.WithVars(environ, []string{visibleVariable + "=" + strings.Join(own, ",")}))
		} else {
			environs = append(environs, environ)
		}
	}
	return environs, err
}

// stepTasks runs the command once for each environment, all at the same time. It forwards signals
// to the processes, and returns the highest exit status.
func stepTasks(a *cli.App, call *alias.Call, path string, environs [][]string) error {
	signals := make(chan os.Signal, len(passedOn))
	for _, s := range passedOn {
		if !signal.Ignored(s) { // signals are ignored under nohup, for example
			signal.Notify(signals, s)
		}
	}
	var tasks []*exec.Cmd
	var labels []*labelled
	var failed error
	out, errs := os.Stdout, os.Stderr
	pass := func(s os.Signal) {
		for _, cmd := range tasks {
			cmd.Process.Signal(s)
		}
	}
	for i, environ := range environs {
		rank, count := strconv.Itoa(i), strconv.Itoa(len(environs))
		if failed == nil {
			out, errs, failed = stepFiles(a, call, rank, out, errs)
		}
		cmd := &exec.Cmd{Path: path, Args: call.Step, Stdout: out, Stderr: errs,
			Env: jobenv.WithVars(environ, taskVariables(rank, count))}
		if failed == nil {
			var more []*labelled
			more, failed = connect(a, call, cmd, i, len(environs))
			labels = append(labels, more...)
		}
		if failed == nil {
			failed = cmd.Start()
		}
		if failed != nil {
			failed = fmt.Errorf("task %d of the step could not start, so the tasks before it were killed: %w", i, failed)
			killAll(tasks)
			break
		}
		tasks = append(tasks, cmd)
	}
	ended := make(chan struct{})
	go func() {
		passOn(signals, pass)
		close(ended)
	}()
	worst := await(tasks, call.StepKills)
	for _, l := range labels {
		l.end()
	}
	signal.Stop(signals)
	close(signals)
	<-ended
	if failed != nil {
		return failed
	}
	return cli.ExitStatus(worst)
}

// await waits for the processes, and returns the highest exit status. If a task that fails ends the
// others, await returns the status of that task.
func await(tasks []*exec.Cmd, kills bool) (worst int) {
	codes := make(chan int)
	for _, cmd := range tasks {
		go func() {
			cmd.Wait()
			code := cmd.ProcessState.ExitCode()
			if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
				code = 128 + int(status.Signal())
			}
			codes <- code
		}()
	}
	killed := false
	for range tasks {
		code := <-codes
		if !killed {
			worst = max(worst, code)
		}
		if killed = kills && worst > 0; killed {
			killAll(tasks)
		}
	}
	return worst
}

// passOn forwards the signals that only this process got, until the channel is closed. A signal to
// the whole job, or from its terminal, has reached the tasks already, and they must not get it
// twice. passOn recognizes such a signal because it has ended the witness process, too.
func passOn(signals <-chan os.Signal, pass func(os.Signal)) {
	in, gone := witness()
	for s := range signals {
		select {
		case <-gone:
			in, gone = witness()
		case <-time.After(100 * time.Millisecond):
			pass(s)
		}
	}
	if gone != nil {
		in.Close()
		<-gone
	}
}

// witness starts a process that ends at its first signal, or when the caller closes the first
// result. The second result is a channel that is closed when the process has ended. The channel is
// nil if the process can't start.
func witness() (in io.Closer, gone chan struct{}) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return nil, nil
	}
	gone = make(chan struct{})
	go func() {
		cmd.Wait()
		close(gone)
	}()
	return in, gone
}

const visibleVariable = "CUDA_VISIBLE_DEVICES"

// visible returns the GPUs that a program with this environment sees.
func visible(environ []string) (gpus []string) {
	for _, entry := range environ {
		if list, is := strings.CutPrefix(entry, visibleVariable+"="); is {
			gpus = strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
		}
	}
	return gpus
}

// stepGPUs returns an environment with the requested number of GPUs. If the argument request is "",
// the environment has all of the job's GPUs. If the GPUs may not be shared, stepGPUs waits until no
// other step has them.
func stepGPUs(ctx context.Context, a *cli.App, request string, shared bool) ([]string, error) {
	have := visible(a.Environ)
	n, err := strconv.Atoi(request)
	switch {
	case request == "":
		return a.Environ, nil
	case err != nil || n > len(have):
		return nil, fmt.Errorf("the step asks for %s, and the job has %d", cli.Count(n, "GPU"), len(have))
	}
	list := have[:min(n, len(have))]
	if a.Getenv("SLURM_STEP_GPUS") == "" && !shared { // otherwise the enclosing step has locked the GPUs
		list, err = takeGPUs(ctx, a, have, n)
	}
	text := strings.Join(list, ",")
	return jobenv.WithVars(a.Environ, []string{visibleVariable + "=" + text, "SLURM_STEP_GPUS=" + text}), err
}

// takeGPUs locks n GPUs. The processes of the step inherit the lock files, so the GPUs stay locked
// until these processes have ended.
func takeGPUs(ctx context.Context, a *cli.App, have []string, n int) ([]string, error) {
	machine, _ := os.Hostname() // several machines may share the directory
	dir := filepath.Join(jobenv.StateDir(a), "steps", machine+"-"+filepath.Base(a.Getenv("GPUSCHED_JOB_ID")))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("record the GPUs of the step in %s: %w", dir, err)
	}
	for n > 0 {
		var taken []string
		var files []int
		busy := ""
		for _, gpu := range have {
			name := filepath.Join(dir, filepath.Base(gpu))
			fd, err := syscall.Open(name, syscall.O_RDWR|syscall.O_CREAT|syscall.O_NOFOLLOW, 0o600)
			if err != nil {
				return nil, fmt.Errorf("open %q: %w", name, err)
			}
			if len(taken) == n || syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB) != nil {
				syscall.Close(fd)
				busy = name
				continue
			}
			taken, files = append(taken, gpu), append(files, fd)
		}
		if len(taken) == n {
			return taken, nil
		}
		for _, fd := range files {
			syscall.Close(fd)
		}
		if err := untilFree(ctx, busy); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// untilFree waits until no step has the GPU locked.
func untilFree(ctx context.Context, name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return LockFile(ctx, int(f.Fd()))
}

// stepFiles opens the files of --output and --error for a task. If a file's name is the same as for
// the previous task, stepFiles uses the same open file.
func stepFiles(a *cli.App, call *alias.Call, rank string, out, errs *os.File) (*os.File, *os.File, error) {
	open := func(pattern string, same ...*os.File) (*os.File, error) {
		name := stepLog(a, pattern, rank)
		for _, f := range same {
			if pattern == "" || f.Name() == name {
				return f, nil
			}
		}
		mode := os.O_TRUNC
		if strings.HasPrefix(cmp.Or(call.StepMode, a.Getenv(slurm.OpenModeVariable)), "a") {
			mode = os.O_APPEND
		}
		return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|mode, 0o666)
	}
	out, err := open(call.StepLog, out)
	if err == nil && call.StepLog != "" && call.StepErrors == "" {
		return out, out, nil
	}
	if err == nil {
		errs, err = open(call.StepErrors, errs, out)
	}
	return out, errs, err
}

// stepLog fills in the pattern of --output or --error for a task.
func stepLog(a *cli.App, pattern, rank string) string {
	id, task := a.Getenv("GPUSCHED_JOB_ID"), a.Getenv("GPUSCHED_ARRAY_TASK")
	array := a.Getenv("GPUSCHED_ARRAY_JOB")
	called := id
	if array != "" {
		called = array + "_" + task
	} else {
		array = id
	}
	return job.FillLog(pattern, map[byte]string{'%': "%", 'j': called, 'A': array, 'a': task, 't': rank,
		'n': a.Getenv("SLURM_JOB_NAME"), 'u': a.CallerName()})
}

// LockFile waits until it has an exclusive lock on a file.
func LockFile(ctx context.Context, fd int) error {
	for {
		err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB)
		if err != syscall.EWOULDBLOCK && err != syscall.EINTR {
			return err
		}
		if api.Pause(ctx, logs.JournalPoll) != nil {
			return ctx.Err()
		}
	}
}
