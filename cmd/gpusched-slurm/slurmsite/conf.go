package slurmsite

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// conf gathers the lines of slurm.conf.
type conf struct{ strings.Builder }

func (c *conf) set(key string, value any) { fmt.Fprintf(c, "%s=%v\n", key, value) }

// about begins a group of settings by why they are so.
func (c *conf) about(text string) { fmt.Fprintf(c, "\n# %s\n", strings.ReplaceAll(text, "\n", "\n# ")) }

// slurmConf is the same on all nodes.
func (s Site) slurmConf() string {
	c := &conf{}
	c.WriteString("# Made by 'gpusched export slurm' of this machine's GPUs and settings. The same file belongs\n" +
		"# on every node, with gres.conf, cgroup.conf and the same /etc/munge/munge.key.\n")
	c.set("ClusterName", s.Cluster)
	c.set("SlurmctldHost", s.Nodes[0].Name)
	c.set("SlurmUser", "slurm")
	c.set("StateSaveLocation", "/var/lib/slurm/slurmctld")
	c.set("SlurmdSpoolDir", "/var/lib/slurm/slurmd")
	c.set("SlurmctldLogFile", "/var/log/slurm/slurmctld.log")
	c.set("SlurmdLogFile", "/var/log/slurm/slurmd.log")
	c.set("ReturnToService", 1)
	s.isolation(c)
	s.placement(c)
	s.order(c)
	s.jobs(c)
	s.machines(c)
	return c.String()
}

func (s Site) isolation(c *conf) {
	c.about("A job can use only its own GPUs, cores and memory (gpusched limits CPU time instead of cores); cgroup.conf has\nthe rest.")
	c.set("ProctrackType", "proctrack/cgroup")
	c.set("TaskPlugin", "task/affinity,task/cgroup")
	c.set("JobAcctGatherType", "jobacct_gather/cgroup")
	c.set("PrologFlags", "Contain")
}

func (s Site) placement(c *conf) {
	c.about("GPUs, cores and memory are counted, and short jobs fill what is kept for wide ones.")
	c.set("SelectType", "select/cons_tres")
	c.set("SelectTypeParameters", "CR_Core_Memory")
	if gpus := s.gpus(); len(gpus) > 0 {
		names := "gpu"
		for _, g := range gpus {
			if g.shards() > 0 {
				names = "gpu,shard"
			}
		}
		c.set("GresTypes", names)
	}
	c.set("SchedulerType", "sched/backfill")
}

// order is who goes first.
func (s Site) order(c *conf) {
	o := s.Settings.Scheduling
	if o.Policy == config.OrderFIFO {
		c.about("Who goes first (scheduling.policy = \"fifo\"): the priority class, which is a QOS of accounts.sh, then who\n" +
			"came first.")
		c.set("PriorityType", "priority/multifactor")
		c.set("PriorityWeightQOS", 1_000_000)
		c.set("PriorityWeightAge", 1000)
	} else {
		c.about("Who goes first (scheduling.policy = \"fair\"): the priority class, which is a QOS of accounts.sh, then who\n" +
			"used little of late, then who waited long. Slurm does not know how long jobs like this one take.")
		c.set("PriorityType", "priority/multifactor")
		c.set("PriorityWeightQOS", 1_000_000)
		c.set("PriorityWeightAge", 10_000)
		if o.HalfLife > 0 { // else use does not count
			c.set("PriorityWeightFairshare", 100_000)
			c.set("PriorityDecayHalfLife", span(o.HalfLife))
		}
	}
	if o.GuardAfter > 0 {
		c.set("PriorityMaxAge", span(o.GuardAfter))
	}
	c.about("What --preemptible is in gpusched is --qos=scavenger here: the job is stopped for others after PreemptExemptTime\nand queued again.")
	c.set("PreemptType", "preempt/qos")
	c.set("PreemptMode", "REQUEUE")
	if o.Slice > 0 {
		c.set("PreemptExemptTime", span(o.Slice))
	}
	c.about("Accounts, shares and quotas are in slurmdbd's database; accounts.sh fills it. Without slurmdbd, take the lines up\n" +
		"to the next comment out: then there are no shares, quotas and classes.")
	c.set("AccountingStorageType", "accounting_storage/slurmdbd")
	c.set("AccountingStorageHost", s.Nodes[0].Name)
	c.set("AccountingStorageEnforce", "associations,limits,qos")
	if len(s.gpus()) > 0 {
		c.set("AccountingStorageTRES", "gres/gpu")
	}
}

func (s Site) jobs(c *conf) {
	j := s.Settings.Jobs
	c.about("Jobs.")
	c.set("MaxJobCount", j.MaxQueued+j.MaxRunning)
	c.set("MaxArraySize", job.MaxTasks+1)
	c.set("JobRequeue", oneOrZero(j.Requeue))
	c.set("KillWait", int(j.DefaultGrace.Seconds()))
}

func oneOrZero(b bool) int {
	if b {
		return 1
	}
	return 0
}

// machines are the nodes, and the one partition that has them all.
func (s Site) machines(c *conf) {
	c.about("Machines. 'slurmd -C' on each prints what Slurm finds there. A node may be declared with less than that, never\n" +
		"with more. By the features 'gpusched --on slurm' knows the memory of GPUs (--gpu-mem): gpu_mem_80gb is that of each GPU\n" +
		"of the node, or of its smallest, and shard_1gb that of a shard.")
	types := s.types()
	for _, n := range s.Nodes {
		c.WriteString(n.line(types, s.Settings.Daemon.HostMemReserve) + "\n")
	}
	c.about("A job that asks no memory has DefMemPerGPU for each GPU, and one without whole GPUs DefMemPerCPU for each CPU, in\n" +
		"MiB. Without these it would have all memory of its node.")
	j := s.Settings.Jobs
	c.WriteString("PartitionName=gpu Nodes=ALL Default=YES State=UP")
	fmt.Fprintf(c, " MaxTime=%s DefaultTime=%s", limit(j.MaxTime), limit(j.DefaultTime))
	if cpus := s.cpusPerGPU(); cpus > 0 {
		fmt.Fprintf(c, " DefCpuPerGPU=%d", cpus)
	}
	if mem := s.memPerGPU(); mem > 0 {
		fmt.Fprintf(c, " DefMemPerGPU=%d", mem)
	}
	fmt.Fprintf(c, " DefMemPerCPU=%d\n", s.memPerCPU())
}

// line is a node of slurm.conf.
func (n Node) line(types map[string]string, reserve config.Share) string {
	l := n.Layout
	text := fmt.Sprintf("NodeName=%s CPUs=%d", n.Name, l.CPUs)
	if l.Sockets > 0 {
		text += fmt.Sprintf(" Sockets=%d CoresPerSocket=%d ThreadsPerCore=%d", l.Sockets, l.Cores, l.Threads)
	}
	bytes := n.MemMiB << 20
	text += fmt.Sprintf(" RealMemory=%d", (bytes-reserve.Of(bytes))>>20)
	if gres := n.gres(types); gres != "" {
		text += " Gres=" + gres
	}
	if list := n.features(); len(list) > 0 {
		text += " Feature=" + strings.Join(list, ",")
	}
	return text + " State=UNKNOWN"
}

// cpusPerGPU is what a job has that asks none, the least of all nodes.
func (s Site) cpusPerGPU() (least int64) {
	j := s.Settings.Jobs
	for _, n := range s.Nodes {
		if len(n.GPUs) == 0 {
			continue
		}
		cpus := max(1, j.DefaultCPUs.Of(j.CPUs.Of(int64(n.Layout.CPUs)))/int64(len(n.GPUs)))
		if least == 0 || cpus < least {
			least = cpus
		}
	}
	return least
}

// memPerGPU is the same in MiB.
func (s Site) memPerGPU() (least int64) {
	for _, n := range s.Nodes {
		if len(n.GPUs) == 0 {
			continue
		}
		bytes := s.defaultMem().For(job.WholeGPU, n.MemMiB<<20, 0, len(n.GPUs))
		if least == 0 || bytes>>20 < least {
			least = bytes >> 20
		}
	}
	return least
}

// memPerCPU is what a job without a GPU has, the least of all nodes in MiB.
func (s Site) memPerCPU() int64 {
	of := func(n Node) int64 { return s.defaultMem().For(0, n.MemMiB<<20, 0, len(n.GPUs)) >> 20 }
	least := of(s.Nodes[0])
	for _, n := range s.Nodes[1:] {
		least = min(least, of(n))
	}
	return least
}

// defaultMem is that of the settings, but that no limit, which would be all of a node, is the automatic one.
func (s Site) defaultMem() config.DefaultMem {
	if mem := s.Settings.Jobs.DefaultMem; mem.Kind != config.MemNone {
		return mem
	}
	return config.DefaultMem{Kind: config.MemAuto}
}

// limit is a time limit, which Slurm rounds up to minutes.
func limit(d time.Duration) string {
	if d <= 0 {
		return "UNLIMITED"
	}
	return span(d)
}

// span is a duration as days-hours:minutes:seconds, 0 for none.
func span(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	return slurm.Span(d)
}
