package daemon

import (
	"os"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// compatVariables returns the environment variables of another scheduler, such as Slurm, that the
// job asked for.
func compatVariables(j *job.Job, p *job.Payload) []string {
	if p.Setup.Compat != contract.CompatSlurm {
		return nil
	}
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return slurmVariables(j, p, host)
}

// tasksOf returns how many Slurm tasks a job's script asked for, or 0 if it named no number.
func tasksOf(p *job.Payload) int {
	for _, entry := range p.Env {
		text, is := strings.CutPrefix(entry, contract.TasksVariable+"=")
		if n, err := strconv.Atoi(text); is && err == nil && n > 0 {
			return n
		}
	}
	return 0
}

// slurmVariables returns the SLURM_ variables of a job on one node. As in Slurm, a variable is
// missing if it is about an option that the job did not use.
func slurmVariables(j *job.Job, p *job.Payload, host string) []string {
	var list []string
	set := func(value string, names ...string) {
		for _, name := range names {
			list = append(list, "SLURM_"+name+"="+value)
		}
	}
	number := func(n int64, names ...string) {
		if n > 0 {
			set(strconv.FormatInt(n, 10), names...)
		}
	}
	set(strconv.FormatInt(int64(j.ID), 10), "JOB_ID", "JOBID")
	set(j.Label.Name, "JOB_NAME")
	set(j.Owner.User, "JOB_USER")
	set(p.Dir, "SUBMIT_DIR")
	set(host, "JOB_NODELIST", "NODELIST", "SUBMIT_HOST")
	list = append(list, "SLURMD_NODENAME="+host)
	set("gpu", "JOB_PARTITION")
	set(j.Owner.User, "JOB_ACCOUNT")
	set("normal", "JOB_QOS")
	set(strconv.Itoa(j.Owner.UID), "JOB_UID")
	number(int64(tasksOf(p)), "NTASKS", "NPROCS") // PyTorch Lightning takes them for a sign of srun
	tasks := max(tasksOf(p), 1)
	set(strconv.Itoa(tasks), "TASKS_PER_NODE")
	set("1", "NNODES", "JOB_NUM_NODES")
	set("0", "PROCID", "LOCALID", "NODEID")
	if j.Task != nil {
		set(strconv.FormatInt(int64(j.Task.Array), 10), "ARRAY_JOB_ID")
		set(strconv.Itoa(j.Task.Index), "ARRAY_TASK_ID")
	}
	number(int64(j.Request.CPUs/tasks), "CPUS_PER_TASK")
	number(int64(max(j.Request.CPUs, 1)), "CPUS_ON_NODE", "JOB_CPUS_PER_NODE") // 1 as in squeue
	number(j.Request.MemBytes>>20, "MEM_PER_NODE")
	number(int64(j.Attempt.Number-1), "RESTART_COUNT")
	indexes := job.Each(job.Indexes(j.Attempt.GPUs), strconv.Itoa)
	number(int64(len(indexes)), "GPUS", "GPUS_ON_NODE")
	if len(indexes) > 0 {
		set(strings.Join(indexes, ","), "JOB_GPUS")
	}
	return list
}
