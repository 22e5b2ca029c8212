//go:build machine

package suite

import (
	"strings"
	"testing"
)

// TestLimitsSlurm: the kernel isolates Slurm's jobs as it isolates the machine's own jobs. A job
// gets only the GPUs, memory and time that 'gpusched --on slurm' requests. If a job ends at such a
// limit, gpusched says so. This is tested on a Slurm with two nodes, and on the Slurm that
// 'gpusched export slurm' describes.
func TestLimitsSlurm(t *testing.T) {
	begin(t)
	if err := prepareSlurm(t.Context(), the.Machine); err != nil {
		t.Fatal(err)
	}
	box := slurmBox{the.Machine}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(box.try(t, "", "tail -n 25 /var/log/slurm/*.log").Stdout)
		}
		box.sh(t, "", "slurm.sh remove; rm -rf ~alice/up[01] ~alice/.cache/gpusched; systemctl restart gpusched")
	})
	box.restartSlurm(t, "cgroup")
	w := walker{t, box, "slurm"}
	late := w.submit("-g 0 -m 50M -t 1m -- sleep 1000") // Slurm's shortest limit; it passes during the other parts
	for _, part := range []struct {
		name string
		walk func(walker)
	}{{"devices", limitDevices}, {"memory", limitMemory}, {"nodes", limitNodes}, {"pause", limitPause}} {
		t.Run(part.name, func(t *testing.T) { part.walk(walker{t, box, "slurm"}) })
	}
	t.Run("time", func(t *testing.T) {
		w := walker{t, box, "slurm"}
		w.gs(124, "wait "+late)
		w.checkOutput("show "+late, "timed-out", "time limit of 1m")
	})
	t.Run("export", func(t *testing.T) { limitExported(walker{t, box, "slurm"}) })
}

// openGPUs returns a shell command that opens each file of a list and prints the error. The files
// have no driver, so an allowed open fails because the device is missing.
func openGPUs(files string) string {
	return "for f in " + files + `; do (: <$f) 2>&1 | sed "s,.*: ,$f ,"; done`
}

// quotedSh returns a command line that runs a script with sh.
func quotedSh(script string) string { return "sh -c '" + strings.ReplaceAll(script, "'", `'\''`) + "'" }

const (
	opens   = " No such device or address"
	refuses = " Operation not permitted"
)

// limitDevices checks two array tasks that run at the same time on a node with two GPUs. Each task
// can open only its own GPU.
func limitDevices(w walker) {
	script := openGPUs("/dev/slurm-gpu0 /dev/slurm-gpu1") +
		`; echo "task $GPUSCHED_ARRAY_TASK sees $CUDA_VISIBLE_DEVICES"; touch ~/up$GPUSCHED_ARRAY_TASK; until [ -e ~/up0 -a -e ~/up1 ]; do sleep 1; done`
	id := w.submit("-g 1 --gpu-type a100 -m 50M -t 10m --array 0-1 -- " + quotedSh(script))
	w.gs(0, "wait "+id)
	w.checkPrinted(id+"_0", "/dev/slurm-gpu0"+opens, "/dev/slurm-gpu1"+refuses, "task 0 sees 0")
	w.checkPrinted(id+"_1", "/dev/slurm-gpu0"+refuses, "/dev/slurm-gpu1"+opens, "task 1 sees 0")
}

// limitMemory checks that a job that exceeds its memory is killed, that gpusched names this reason,
// and that another job continues. A command that joins a job has the GPU and the memory limit of
// the job.
func limitMemory(w walker) {
	neighbour := w.submit("-g 1 --gpu-type a100 -m 200M -t 10m -- sleep 1000")
	w.awaitState(neighbour, "running")
	hungry := w.submit("-g 1 --gpu-type a100 -m 100M -t 10m -- simcuda --alloc-host 300M")
	w.gs(137, "wait "+hungry)
	w.checkOutput("show "+hungry, "out-of-memory", "host memory limit of 100M")
	w.checkOutput("why "+hungry, "host memory limit of 100M")
	inside := w.gs(0, "exec "+neighbour+" -- "+quotedSh(openGPUs("/dev/slurm-gpu0 /dev/slurm-gpu1")))
	if inside != "/dev/slurm-gpu0"+opens+"\n/dev/slurm-gpu1"+refuses {
		w.Errorf("a command that joins the neighbour: %s", inside)
	}
	for _, command := range []string{"exec " + neighbour, "run -g 0 -m 100M"} { // both commands exit with srun's status
		if r := w.run(1, command+" -- simcuda --alloc-host 400M"); !strings.Contains(r.Stderr, "Out Of Memory") {
			w.Errorf("%s: %s", command, r.Stderr)
		}
	}
	if state := w.state(neighbour); state != "running" {
		w.Errorf("the neighbour is %s", state)
	}
	max := w.box.sh(w.T, "", "cat /sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_"+neighbour+"/memory.max")
	if max != "209715200" {
		w.Errorf("the neighbour may have %s bytes", max)
	}
	w.gs(0, "cancel "+neighbour)
}

// limitNodes checks that a job for two GPUs runs on the node that has two GPUs of the requested
// type. Another user can neither read nor end the job. A job that wants one of these GPUs waits
// until the first job is requeued.
func limitNodes(w walker) {
	wide := w.submit("-g 2 --gpu-type h100 -m 50M -t 10m -- sleep 1000")
	w.awaitState(wide, "running")
	w.row("gpus", "h100", "n2", "busy", w.name(wide))
	for _, command := range []string{"cancel", "requeue", "logs", "update --name mine"} {
		if r := w.box.try(w.T, "bob", "gpusched --on slurm "+command+" "+wide); r.Code != 4 {
			w.Errorf("bob's %s: exit %d\n%s%s", command, r.Code, r.Stdout, r.Stderr)
		}
	}
	next := w.submit("-g 1 --gpu-type h100 -m 50M -t 10m -- true")
	poll(w.T, "Slurm has looked at job "+next+" and says why it waits", func() bool {
		return strings.Contains(w.gs(0, "why "+next), "not free yet")
	})
	w.gs(0, "requeue "+wide)
	poll(w.T, "job "+wide+" is queued again", func() bool { j := w.job(wide); return j.Requeues == 1 && j.State == "queued" })
	w.gs(0, "wait "+next)
	w.gs(0, "cancel "+wide)
	w.gs(143, "wait "+wide)
}

// limitPause checks that only an administrator can take
// the GPUs of a node out of service and put them back.
func limitPause(w walker) {
	pause := "gpusched --on slurm gpu pause 0-1 --reason fan"
	if r := w.box.try(w.T, "alice", pause); r.Code != 4 {
		w.Errorf("alice pauses: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	if r := w.box.try(w.T, "", "gpusched --on slurm gpu pause 1"); r.Code != 6 || !strings.Contains(r.Stderr, "gpusched --on slurm gpu pause 0-1") {
		w.Errorf("half a node: exit %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	w.box.sh(w.T, "", pause)
	w.row("gpus", "0", "a100", "drained", "(fan)")
	waits := w.submit("-g 1 --gpu-type a100 -m 50M -t 10m -- true")
	poll(w.T, "a job waits for the node", func() bool { return strings.Contains(w.gs(0, "why "+waits), "drained") })
	w.box.sh(w.T, "", "gpusched --on slurm gpu resume 0-1")
	w.gs(0, "wait "+waits)
}

// limitExported runs a Slurm with accounting on this machine, with the unchanged files of 'gpusched
// export slurm'. Each job of this Slurm is confined to its GPU, cores and memory. The machine's
// scheduler leaves the GPUs to Slurm.
func limitExported(w walker) {
	w.box.sh(w.T, "alice", "gpusched submit -g 0 --wait -- true") // after this the daemon knows alice
	w.box.sh(w.T, "", `set -e; slurm.sh down; rm -r /etc/slurm/*.conf ~alice/.cache/gpusched
gpusched export slurm --dir /etc/slurm
systemctl start munge mariadb
eval "$(grep -o 'mysql -e .*' /etc/slurm/slurmdbd.conf)"
chown slurm /etc/slurm/slurmdbd.conf; chmod 600 /etc/slurm/slurmdbd.conf
systemctl start slurmdbd`)
	accounts := func(what, command string) {
		poll(w.T, what, func() bool { return w.box.try(w.T, "", command).Code == 0 })
	}
	accounts("slurmdbd answers", "sacctmgr -n show cluster </dev/null")
	w.box.sh(w.T, "", "systemctl start slurmctld")
	accounts("the cluster has accounts", "sacctmgr -n show cluster </dev/null | grep gpus")
	w.box.sh(w.T, "", "/etc/slurm/accounts.sh && systemctl start slurmd")
	poll(w.T, "the node takes jobs", func() bool { return w.box.sh(w.T, "", "sinfo -h -o %T") == "idle" })
	files := "/dev/nvidia0 /dev/nvidia1 /dev/nvidia2 /dev/nvidia3"
	job := openGPUs(files) + "; echo $CUDA_VISIBLE_DEVICES on $(nproc) CPU"
	id := w.submit("-g 1 -c 1 -m 100M -t 10m -- " + quotedSh(job))
	none := w.submit("-g 0 -c 1 -m 100M -t 10m -- " + quotedSh(job))
	hungry := w.submit("-g 0 -c 1 -m 100M -t 10m -- simcuda --alloc-host 300M")
	w.gs(0, "wait "+id+" "+none)
	w.checkPrinted(id, "/dev/nvidia0"+opens, "/dev/nvidia1"+refuses, "/dev/nvidia2"+refuses, "/dev/nvidia3"+refuses, "0 on 1 CPU")
	w.checkPrinted(none, "/dev/nvidia0"+refuses, "/dev/nvidia1"+refuses, "/dev/nvidia2"+refuses, "/dev/nvidia3"+refuses, "on 1 CPU")
	w.gs(137, "wait "+hungry)
	w.checkOutput("history", "out-of-memory")
	exportedMemory(w)
	now := w.gs(0, "run -g 1 -c 1 -m 50M -- "+quotedSh(openGPUs("/dev/nvidia0 /dev/nvidia1")))
	if now != "/dev/nvidia0"+opens+"\n/dev/nvidia1"+refuses {
		w.Errorf("run: %s", now)
	}
	poll(w.T, "the GPUs are Slurm's", func() bool {
		return strings.Count(w.box.sh(w.T, "bob", "gpusched gpus -o wide"), "Slurm has it") == 4
	})
	for _, command := range []string{"health -o wide", "doctor", "config check"} {
		r := w.box.try(w.T, "", "gpusched "+command)
		if text := r.Stdout + r.Stderr; !strings.Contains(text, "Slurm has /dev/nvidia0, /dev/nvidia1, /dev/nvidia2, /dev/nvidia3") {
			w.Errorf("'gpusched %s' does not say so:\n%s", command, text)
		}
	}
	waits := w.box.sh(w.T, "alice", "gpusched submit -q -g 1 -- true")
	if text := w.box.sh(w.T, "alice", "gpusched why "+waits); !strings.Contains(text, "Slurm has it") {
		w.Errorf("why a job of the machine's own waits: %s", text)
	}
}

// exportedMemory checks that the exported files declare the memory of the GPUs, so that jobs can
// request it. A job that requests no host memory gets its share of the node's memory.
func exportedMemory(w walker) {
	w.Helper()
	for args, mem := range map[string]string{"-g 0.5 --gpu-mem 1G": "mem=512M,", "-g 1 --gpu-mem 1G": "mem=", "-g 0": "mem=512M,"} {
		id := w.submit(args + " -t 10m -- sleep 1000")
		w.awaitState(id, "running")
		if got := w.box.sh(w.T, "alice", "squeue --noheader --jobs="+id+" --Format=tres-alloc:200"); !strings.Contains(got, mem) {
			w.Errorf("a job with %s has %s", args, got)
		}
		w.gs(0, "cancel "+id)
	}
	for _, args := range []string{"-g 1", "-g 0.5"} {
		if r := w.run(6, "submit "+args+" --gpu-mem 900G -- true"); !strings.Contains(r.Stderr, "gpu_mem_") && !strings.Contains(r.Stderr, "shards of 1G") {
			w.Errorf("%s with too much memory: %s", args, r.Stderr)
		}
	}
}
