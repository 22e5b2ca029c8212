package main

import "github.com/gpusched/gpusched/packaging/test/vm"

const (
	// unitOfJob1 prints the main process of job 1 and the invocation id of its unit.
	unitOfJob1 = "systemctl show -p MainPID,InvocationID gpujob-1"
	// seen succeeds if the scheduler has sampled the GPUs since its start.
	seen = "gpusched why 3 | grep -q 'held by job 1'"
)

// These are the three jobs in their expected states.
var all = []string{"1 alice train running 0,1", "2 bob eval running 2", "3 bob wide queued (2)"}

// demoSteps returns the steps of the demo. With two accounts and four GPUs of 80 GiB, they show
// what the first page of the README promises.
func demoSteps(kind vm.Kind) []step {
	glance := "Every user can see the scheduler, the GPUs and the jobs at a glance"
	if kind == vm.Box {
		glance += " (DEGRADED: a box has no kernel log to watch)"
	}
	return []step{
		{"The scheduler runs and has found four simulated GPUs", []line{
			{typed: "systemctl is-active gpusched gpusched.socket", prints: []string{"active active"}},
			{user: "alice", typed: "gpusched gpus", prints: []string{"4 x NVIDIA A100-SXM4-80GB", "3 free 0% 0B of 80G"},
				once: "gpusched gpus | grep -q A100"},
		}},
		{"alice submits a job that takes two GPUs, bob one that takes one; both run", []line{
			{user: "alice", typed: "gpusched submit -g 2 --gpu-mem 40G --mem 400M -n train -- simcuda --mem 40G --print --hold 600",
				prints: []string{"job 1 queued"}},
			{user: "bob", typed: "gpusched submit -g 1 --mem 400M -n eval -- simcuda --mem 10G --hold 600",
				prints: []string{"job 2 queued, starts on GPU 2"}},
			{user: "alice", typed: "gpusched gpus", once: "[ $(gpusched gpus | grep -c 'busy  *100%  *[14]0G') = 3 ]",
				prints: []string{"1 busy 100% 40G of 80G", "2 busy 100% 10G of 80G", "alice 40G 1 simcuda"}},
		}},
		{`bob asks for two more GPUs and must wait; "why" tells him what holds each GPU`, []line{
			{user: "bob", typed: "gpusched submit -g 2 --mem 400M -n wide -- simcuda --mem 1G",
				prints: []string{"job 3 queued: needs 2 GPUs, 1 available now"}},
			{user: "bob", typed: "gpusched why 3", prints: []string{"GPU 0 held by job 1", "GPU 2 held by job 2", "GPU 3 free"}},
		}},
		{glance, []line{
			{user: "alice", typed: "gpusched status", prints: append([]string{"2 running, 1 queued"}, all...)},
		}},
		{"A job is a systemd unit, and runs under the account that submitted it", []line{
			{typed: "systemctl --no-pager -n 0 status gpujob-1",
				prints: []string{"gpusched job 1 (train) of alice on GPU 0,1", "Active: active (running)"}},
			{typed: "ps -o user,pid,unit,args -p $(systemctl show -P MainPID gpujob-1)", prints: []string{"alice", "gpujob-1.service"}},
		}},
		{"alice reads the command of her job, and what it printed, in the journal or by gpusched", []line{
			{user: "alice", typed: "gpusched show 1 | grep command", prints: []string{"command simcuda --mem 40G"}},
			{user: "alice", typed: "journalctl --no-pager -q -u gpujob-1 | head -5", once: "gpusched logs 1 | grep -q '^uid '",
				prints: []string{"node nvidia0 ENXIO", "CUDA_VISIBLE_DEVICES=0,1"}},
			{user: "alice", typed: "gpusched logs 1 | tail -3", prints: []string{"cuda:1 nvidia1 GPU-", "uid 1001"}},
		}},
		{"bob gets neither of them, and can't cancel alice's job", []line{
			{user: "bob", typed: "gpusched logs 1", code: 4, prints: []string{"the output of job 1 belongs to alice"}},
			{user: "bob", typed: "journalctl --no-pager -q -u gpujob-1 | grep -c gpujob", code: 1, prints: []string{"0"}},
			{user: "bob", typed: "gpusched show 1 | grep command", code: 1},
			{user: "bob", typed: "gpusched cancel 1", code: 4, prints: []string{"job 1 belongs to alice"}},
		}},
		{`The kernel lets a job on GPU 3 through to GPU 3, where only the driver is missing, and keeps it from GPU 0`, []line{
			{user: "bob", typed: "gpusched run -g 1 -t 1m -n fence -- cat /dev/nvidia3 /dev/nvidia0", code: 1, prints: []string{
				"job 4 starts on GPU 3", "/dev/nvidia3: No such device or address", "/dev/nvidia0: Operation not permitted"}},
		}},
		{"After kill -9 the scheduler comes back by itself and knows every job; alice's is still the same process", []line{
			{typed: unitOfJob1, prints: []string{"MainPID="}},
			{typed: "systemctl kill -s KILL gpusched"},
			{typed: "systemctl show -p ActiveState,NRestarts gpusched",
				once:   "[ $(systemctl show -P ActiveState gpusched)$(systemctl show -P NRestarts gpusched) = active1 ]",
				prints: []string{"NRestarts=1", "ActiveState=active"}},
			{typed: unitOfJob1, again: true},
			{user: "alice", typed: "gpusched list", once: seen, prints: all},
		}},
		{"A restart, as at an upgrade, touches no job either", []line{
			{typed: "systemctl restart gpusched"},
			{typed: unitOfJob1, again: true},
			{user: "alice", typed: "gpusched list", once: seen, prints: all},
		}},
		{`alice cancels her job, whose exit status is wait's (143: SIGTERM); bob's waiting job gets the GPUs and runs`, []line{
			{user: "alice", typed: "gpusched cancel 1 && gpusched wait 1", code: 143, prints: []string{"job 1 cancelled by alice"}},
			{user: "bob", typed: "gpusched wait 3", prints: []string{"job 3 completed: exit code 0"}},
		}},
		{"Jobs that have ended are listed with what became of them", []line{
			{user: "bob", typed: "gpusched list -a", prints: []string{"3 bob wide completed 0,1", "1 alice train cancelled 0,1",
				"4 bob fence failed 3"}},
		}},
	}
}

// memoryStep is the last step. It needs a machine whose kernel limits the memory of units.
var memoryStep = step{"A job that takes more host memory than its --mem is killed by the kernel, and the scheduler says so", []line{
	{user: "alice", typed: "gpusched submit -g 0 --mem 100M -n hungry --wait -- simcuda --alloc-host 300M", code: 137,
		prints: []string{"job 5 killed for going over its host memory limit of 100M"}},
}}

// memoryNotShown is printed instead of memoryStep on other machines.
const memoryNotShown = `Not shown: the host memory limit, as this host gives a container no memory controller (cgroup v2);
     "make vm" boots an emulated machine that has one, and "make demo MACHINE=emulated" plays all of this there.`
