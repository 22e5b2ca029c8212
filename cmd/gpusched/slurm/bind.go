package slurm

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/units/contract"
)

// As in sbatch, these variables pass --gpu-bind, --gpus-per-task and --open-mode from a script to its
// steps.
const (
	BindVariable     = "SLURM_GPU_BIND"
	PerTaskVariable  = "SLURM_GPUS_PER_TASK"
	OpenModeVariable = "SLURM_OPEN_MODE"
)

// tasksPerNodeVariable is only there with --ntasks-per-node. PyTorch Lightning compares its value.
const tasksPerNodeVariable = "SLURM_NTASKS_PER_NODE"

// OneTask is the option of a job that asks for a single task.
const OneTask = "--set-env=" + contract.TasksVariable + "=1"

// maxBound is the largest number in a --gpu-bind, and the largest length of its lists.
const maxBound = 1024

// A Bind says which of a step's GPUs each task sees.
type Bind struct {
	perTask     int     // GPUs that each task has to itself; 0 if not given
	tasksPerGPU int     // tasks that share one GPU; 0 if not given
	sets        [][]int // for each task, indexes into the step's GPUs; repeated if there are more tasks
}

// ParseBind parses --gpu-bind. "closest" has no effect: tasks are not bound to CPUs here, so no GPU
// is closer to a task than others.
func ParseBind(text string) (b Bind, err error) {
	wrong := fmt.Errorf("%q is not a way to bind tasks to GPUs: use single:1, per_task:2, map:0,1, mask:0x1,0x2, closest or none", text)
	kind, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(text, "verbose,"), "v,"), ":")
	number := func() (n int) {
		if n, err = strconv.Atoi(value); err != nil || n < 1 || n > maxBound {
			err = wrong
		}
		return n
	}
	switch strings.TrimSuffix(kind, "_gpu") {
	case "none", "closest":
		if value != "" {
			err = wrong
		}
	case "single":
		b.tasksPerGPU = number()
	case "per_task":
		b.perTask = number()
	case "map", "mask":
		for item := range strings.SplitSeq(value, ",") {
			gpus, times, many := strings.Cut(item, "*")
			n, bad := strconv.ParseUint(gpus, 0, 64)
			again, badTimes := 1, error(nil)
			if many {
				again, badTimes = strconv.Atoi(times)
			}
			mask := strings.HasPrefix(kind, "mask")
			if bad != nil || badTimes != nil || again < 1 || len(b.sets)+again > maxBound ||
				n > maxBound && !mask || n == 0 && mask {
				return b, wrong
			}
			set := []int{int(n)}
			if mask {
				for set = nil; n != 0; n &= n - 1 {
					set = append(set, bits.TrailingZeros64(n))
				}
			}
			for range again {
				b.sets = append(b.sets, set)
			}
		}
	default:
		err = wrong
	}
	return b, err
}

// Needs returns how many GPUs the tasks see together. 0 means all of the step's GPUs.
func (b Bind) Needs(tasks int) int {
	if b.tasksPerGPU > 0 {
		return (tasks + b.tasksPerGPU - 1) / b.tasksPerGPU
	}
	return b.perTask * tasks
}

// Of returns which of the step's GPUs a task sees. Without a binding, it returns all of them.
func (b Bind) Of(task int, gpus []string) (own []string, err error) {
	var places []int
	switch {
	case len(gpus) == 0:
		return nil, nil
	case b.tasksPerGPU > 0:
		places = append(places, task/b.tasksPerGPU%len(gpus))
	case b.perTask > 0:
		for i := range b.perTask {
			places = append(places, task*b.perTask+i)
		}
	case len(b.sets) > 0:
		places = b.sets[task%len(b.sets)]
	default:
		return gpus, nil
	}
	for _, at := range places {
		if at >= len(gpus) {
			return nil, fmt.Errorf("--gpu-bind: task %d needs GPU %d of the step, which has %d, counted from 0", task, at, len(gpus))
		}
		own = append(own, gpus[at])
	}
	return own, nil
}

// gpuBind checks the value of --gpu-bind and keeps it for the steps.
func (b *Batch) gpuBind(name, value string) error {
	if b.ForSlurm {
		b.addNative(name, value)
		return nil
	}
	_, err := ParseBind(value)
	b.bind = value
	return err
}

// OpenMode returns the value of --open-mode, or "" if not given.
func (b *Batch) OpenMode() string { return b.openMode }

// Input returns the value of a step's --input, or "" if not given.
func (b *Batch) Input() string { return b.inputFile }

// Kills reports whether a task of the step that fails ends the others.
func (b *Batch) Kills() bool { return b.kills }

func (b *Batch) killOnBadExit(name, value string) error {
	b.addNative(name, value)
	b.kills = value != "0"
	return nil
}

// Bind returns how tasks are bound to GPUs, as in --gpu-bind, or "" if not given. GPUsPerTask also
// binds tasks to GPUs.
func (b *Batch) Bind() string {
	switch n := b.tasks["--ntasks-per-gpu"]; {
	case b.bind != "":
		return b.bind
	case n > 0:
		return "single:" + strconv.Itoa(n)
	}
	return ""
}

// stepWords returns options that pass on to the steps how many tasks there are on the machine, how
// they bind GPUs and how they open their files.
func (b *Batch) stepWords(several bool) (words []string) {
	if b.openMode != "" {
		words = append(words, "--set-env="+OpenModeVariable+"="+b.openMode[:1])
	}
	if n := b.tasks["--ntasks-per-node"]; n > 0 {
		words = append(words, "--set-env="+tasksPerNodeVariable+"="+strconv.Itoa(n))
	}
	if b.gpusPerTask > 0 && several {
		words = append(words, "--set-env="+PerTaskVariable+"="+strconv.Itoa(b.gpusPerTask))
	}
	if bind := b.Bind(); b.bind != "" || bind != "" && several {
		words = append(words, "--set-env="+BindVariable+"="+bind)
	}
	return words
}
