package onslurm

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched-slurm/sbatch"
	"github.com/gpusched/gpusched/cmd/gpusched/engines"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// Run returns the srun that runs a request in the foreground. The job has the caller's input,
// output and, if requested, terminal. srun's exit status is the job's exit status.
func (e *Engine) Run(ctx context.Context, r api.SubmitRequest) (engines.Program, error) {
	s, err := e.submission(ctx, r, sbatch.Run)
	if err == nil {
		err = e.checkDependencies(ctx, r.After)
	}
	if err != nil {
		return engines.Program{}, err
	}
	p, err := e.slurm.Program("srun", s.Args...)
	p.Notes, p.Environ = s.Notes, sbatch.Environ(p.Environ)
	return p, err
}

// Within returns the srun that runs a command in a running job, with or without a terminal. The
// command gets the variables that describe the job.
func (e *Engine) Within(j api.Job, tty bool, argv ...string) (engines.Program, error) {
	args := []string{"--jobid=" + j.ID.String(), "--overlap", "--ntasks=1"}
	if tty {
		args = append(args, "--pty")
	}
	p, err := e.slurm.Program("srun", append(args, sbatch.Inside(j.GPUMilli, argv...)...)...)
	p.Environ = append(slices.DeleteFunc(p.Environ, describesJob),
		"GPUSCHED_ENGINE=slurm", "GPUSCHED_JOB_ID="+j.ID.String(), "GPUSCHED_ATTEMPT="+strconv.Itoa(j.Attempt),
		"GPUSCHED_GPU_SHARE="+job.FormatGPUs(j.GPUMilli), "CUDA_DEVICE_ORDER=PCI_BUS_ID")
	if mib := j.GPUMemBytes >> 20; mib > 0 {
		p.Environ = append(p.Environ, "GPUSCHED_GPU_MEM_MIB="+strconv.FormatInt(mib, 10))
	}
	if t := j.Task; t != nil {
		p.Environ = append(p.Environ, "GPUSCHED_ARRAY_JOB="+t.Array.String(), "GPUSCHED_ARRAY_TASK="+strconv.Itoa(t.Index))
	}
	return p, err
}

// describesJob reports whether a variable describes a job. The caller itself may run in another
// job, whose variables must not be passed on.
func describesJob(variable string) bool {
	name, _, _ := strings.Cut(variable, "=")
	others := []string{"CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS"}
	return strings.HasPrefix(name, "GPUSCHED_") || slices.Contains(others, name)
}
