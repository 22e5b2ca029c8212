//go:build machine

package suite

import (
	"strings"
	"testing"
)

// seedFiles creates the files that the lines of TestOtherToolsNames use: scripts that print their
// arguments, a virtual environment and a conda environment.
const seedFiles = `cd; rm -rf seeds ~/miniconda3; mkdir -p seeds/venv/bin ~/miniconda3/conda-meta ~/miniconda3/condabin ~/miniconda3/bin
e=~/miniconda3/envs/myenv; mkdir -p $e/conda-meta $e/bin ~/.local/bin; ln -sf /usr/bin/python3 $e/bin/python; ln -sf /usr/bin/python3 ~/.local/bin/python
printf '#!/bin/sh\n' >~/miniconda3/bin/conda; chmod 755 ~/miniconda3/bin/conda; ln -s /usr/bin/python3 ~/miniconda3/bin/python
echo 'export IN_VENV=yes' >seeds/venv/bin/activate; cd seeds
printf 'import os, sys\nprint(os.environ.get("CONDA_DEFAULT_ENV"), os.environ.get("IN_VENV"), os.environ["GPUSCHED_GPU_IDS"], sys.argv[1:])\n' | tee train.py >inference.py
printf 'python train.py --batch-size 128\npython inference.py --input-dir ./data\n' >commands.txt
cp commands.txt more.txt; printf 'min_free_mem_mb: 10000\npoll_interval: 30\ncommands_file: more.txt\n' >config.yaml
printf '#!/bin/bash\nsrun bash -c "trap \\"echo the step is warned; exit\\" USR2; while :; do sleep 0.1; done"\necho the shell goes on\n' >warned.sh
printf '#!/bin/bash\n#SBATCH -t 1 --signal=USR2@58 --open-mode=append\nsrun -o step.log ./requeues.sh\n' >again.sh
printf '#!/bin/bash\necho "attempt $GPUSCHED_ATTEMPT"\n[ -z "$SLURM_RESTART_COUNT" ] || exit 0\ntrap "scontrol requeue $SLURM_JOB_ID" USR2\nwhile :; do sleep 0.1; done\n' >requeues.sh
chmod +x requeues.sh; printf '#!/bin/sh\necho "nightly $SLURM_JOB_ID $1"\n' >job.sh; gpusched aliases install --user`

// TestOtherToolsNames types command lines under the names that 'gpusched aliases' installs, and
// checks the resulting jobs. The lines are examples from the READMEs of five schedulers, and
// examples of Slurm, task-spooler and gflow.
func TestOtherToolsNames(t *testing.T) {
	begin(t)
	sh(t, "alice", seedFiles)
	t.Cleanup(func() {
		try(t, "alice", "kill $(cat ~/seeds/watch.pid); gpusched cancel --mine -y; gpusched aliases remove --user; rm -rf ~/seeds ~/miniconda3 ~/.local/bin/python")
	})
	const as = "export PATH=~/.local/bin:$PATH; cd ~/seeds; "
	// checkLine types a line and checks what the line prints. checkJob types a line that submits a
	// job, and checks what the job prints.
	checkLine := func(line, want string) {
		t.Helper()
		r := try(t, "alice", as+line)
		if r.Code != 0 || !strings.Contains(r.Stdout+r.Stderr, want) {
			t.Errorf("%s: exit %d and %q, want %q", line, r.Code, r.Stdout+r.Stderr, want)
		}
	}
	checkJob := func(line, want string) {
		t.Helper()
		r := try(t, "alice", as+line)
		try(t, "alice", "gpusched wait @")
		got := sh(t, "alice", "gpusched logs @ --attempt all")
		if r.Code != 0 || !strings.Contains(got, want) {
			t.Errorf("%s: exit %d, %q; its job prints %q, want %q", line, r.Code, r.Stdout+r.Stderr, got, want)
		}
	}
	// names of cudaq
	checkLine("cudaq.py run --commands-file commands.txt --min-free-mem-mb 8000", "2")
	checkJob("true", "['--input-dir', './data']")
	checkLine("cudaq.py status", "completed")
	checkLine("cudaq.py run --config config.yaml", "2 jobs queued")
	// scheduler.py: its GNU screen session exists while the job runs.
	sh(t, "alice", as+`printf 'import time\nprint("seed", flush=True)\ntime.sleep(600)\n' >script.py
		(scheduler.py start --gpus 8 --screen >watch.log 2>&1 & echo $! >watch.pid)`)
	checkLine(`scheduler.py add script.py --conda myenv --args "--llm qwen2.5-7b-inst --mode train"`, "line 1 of jobs.txt")
	poll(t, "the line is a job in a session", func() bool {
		return strings.Contains(try(t, "alice", as+"scheduler.py screens").Stdout, "_train_")
	})
	checkLine("scheduler.py status", "script.py")
	checkLine("scheduler_10x.py list-jobs --status running", "script.py")
	checkLine("scheduler_10x.py status --detailed", "script.py")
	checkLine("screen -ls", "_train_")
	checkLine("scheduler_10x.py cancel-job @", "being ended")
	sh(t, "alice", "gpusched wait @ || true; kill $(cat ~/seeds/watch.pid)")
	noSessions(t, "cancel-job")
	for _, line := range []string{"scheduler.py pause 0", "scheduler.py resume 0", "scheduler_10x.py pause-gpu 0", "scheduler_10x.py resume-gpu 0"} {
		if r := try(t, "", "ln -sf /usr/bin/gpusched /tmp/"+strings.Fields(line)[0]+"; /tmp/"+line); r.Code != 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	sh(t, "", "rm /tmp/scheduler.py /tmp/scheduler_10x.py")
	// names of tgpu
	checkJob(`tgpu submit --gpus 2 -- cmd="python train.py"`, "None None 0,1 []")
	checkLine("tgpu list", "GPU")
	// names of mgpu; its jobs run in the home directory
	checkJob("mgpu_srun --gpu-ids 0 -- python seeds/train.py", "None None 0 []")
	checkLine("mgpu_srun --gpu-ids 0 --interactive -- python seeds/train.py", "None None 0 []")
	checkJob("mgpu_srun --gpu-ids 0,1 --mem 8000 --time-limit 600 -- python seeds/train.py", "None None 0,1 []")
	checkJob(`mgpu_srun --gpu-ids 2 --env-setup-cmd ". seeds/venv/bin/activate" -- python seeds/train.py`, "None yes 2 []")
	checkLine("id=$(gpusched submit -q -- sleep 600); mgpu_queue; mgpu_cancel $id", "sleep")
	// Names of Slurm, task-spooler and gflow.
	checkJob("sbatch --gres=gpu:1 job.sh 7", "nightly ")
	checkJob("sbatch -t 1 --signal=USR2@58 warned.sh", "the step is warned\nthe shell goes on")
	checkLine(`sbatch --parsable --wrap "sleep 600"`, "")
	checkLine("squeue -u alice", "wrap")
	checkLine("scancel $(squeue -h --me -o %i)", "")
	checkLine("until [ -z \"$(squeue -h --me)\" ]; do sleep 0.1; done; sacct -n -X -o JobID,State", "CANCELLED")
	// as submitit does: the step asks to be queued again before the limit, and its output is kept
	checkLine("gpusched wait $(sbatch --parsable again.sh); grep attempt step.log", "attempt 1\nattempt 2\n")
	checkLine("sbatch -W --wrap 'echo in a file' >submitted; cat slurm-$(tr -dc 0-9 <submitted).out", "in a file\n")
	const array = "id=$(sbatch --parsable -H --array=1-9 --wrap true); scancel ${id}_[3-8]; "
	checkLine(array+"squeue -rh -j $id -o %K | tr '\\n' ,; scancel $id", "1,2,9,")
	checkLine(array+"sacct -nP -j ${id}_2,${id}_4 -o state | sort; scancel $id", "CANCELLED\nPENDING\n")
	checkLine("id=$(sbatch --parsable -H --wrap true); scontrol update JobId=$id TimeLimit=90; squeue -hj $id -o %l; scancel $id", "1:30:00\n")
	checkLine("id=$(sbatch --parsable --wrap 'sleep 600'); until [ $(squeue -hj $id -o %t) = R ]; do sleep 0.1; done; "+
		"srun --jobid $id cat /proc/self/cgroup; scancel $id", "/gpujob-")
	checkJob("tsp echo spooled", "spooled")
	checkLine("tsp -c", "spooled")
	checkJob("gbatch --gpus 1 --name flow python train.py", "[]")
	checkLine("gqueue -a", "flow")
	if left := sh(t, "alice", "gpusched list -o ids --mine"); left != "" {
		t.Errorf("left: %s", left)
	}
}
