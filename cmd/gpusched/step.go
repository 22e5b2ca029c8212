package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
)

// step goes on as the command of srun within a job: with the GPUs that it asks of those of the job, and its
// output in the file that it names.
func (a *app) step(call *alias.Call) error {
	path, err := exec.LookPath(call.Step[0])
	if err != nil {
		return err
	}
	environ, err := a.stepGPUs(call.StepGPUs)
	if err == nil && call.StepLog != "" {
		err = a.stepLog(call.StepLog)
	}
	if err != nil {
		return err
	}
	return syscall.Exec(path, call.Step, environ)
}

// stepGPUs is the environment with so many of the job's GPUs, which no other step has that asked for some. It
// waits until they are free. Asked is "" where the step has all of them.
func (a *app) stepGPUs(asked string) ([]string, error) {
	const variable = "CUDA_VISIBLE_DEVICES"
	have := strings.FieldsFunc(a.getenv(variable), func(r rune) bool { return r == ',' })
	n, err := strconv.Atoi(asked)
	switch {
	case asked == "" || err == nil && n == len(have):
		return a.environ, nil
	case err != nil || n > len(have):
		return nil, fmt.Errorf("the step asks for %s GPUs, and the job has %d", asked, len(have))
	}
	list, err := a.takeGPUs(have, n)
	text := strings.Join(list, ",")
	return withVars(a.environ, []string{variable + "=" + text, "SLURM_STEP_GPUS=" + text}), err
}

// takeGPUs locks so many GPUs as long as the processes of the step live, which inherit the files.
func (a *app) takeGPUs(have []string, n int) ([]string, error) {
	job := filepath.Base(a.getenv("GPUSCHED_JOB_ID"))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("gpusched-steps-%d-%s", a.uid, job))
	if err := os.Mkdir(dir, 0o700); err != nil && ownerOf(dir) != os.Getuid() {
		return nil, fmt.Errorf("which GPUs of the job other steps have is noted in %s: %w", dir, err)
	}
	for n > 0 {
		var taken []string
		var files []int
		busy := ""
		for at, gpu := range have {
			name := filepath.Join(dir, strconv.Itoa(at))
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
		if err := untilFree(busy); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// untilFree waits until no step has the GPU.
func untilFree(name string) error {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
}

// stepLog has the output go to a file, as that of --output.
func (a *app) stepLog(pattern string) error {
	id, task := a.getenv("GPUSCHED_JOB_ID"), a.getenv("GPUSCHED_ARRAY_TASK")
	array := a.getenv("GPUSCHED_ARRAY_JOB")
	called := id
	if array != "" {
		called = array + "_" + task
	} else {
		array = id
	}
	name := strings.NewReplacer("%%", "%", "%j", called, "%A", array, "%a", task,
		"%n", a.getenv("SLURM_JOB_NAME"), "%u", a.callerName()).Replace(pattern)
	fd, err := syscall.Open(name, syscall.O_WRONLY|syscall.O_CREAT|syscall.O_TRUNC|syscall.O_CLOEXEC, 0o666)
	if err != nil {
		return fmt.Errorf("open %q: %w", name, err)
	}
	for _, out := range []int{1, 2} {
		if err := syscall.Dup3(fd, out, 0); err != nil {
			return err
		}
	}
	return nil
}
