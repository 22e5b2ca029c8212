package slurmsite

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/slurm"
	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
)

// conf collects the lines of slurm.conf.
type conf struct{ strings.Builder }

func (c *conf) set(key string, value any) { fmt.Fprintf(c, "%s=%v\n", key, value) }

// heading starts a group of settings with a comment.
func (c *conf) heading(text string) {
	fmt.Fprintf(c, "\n# %s\n", strings.ReplaceAll(text, "\n", "\n# "))
}

// slurmConf returns slurm.conf. The file is the same on all nodes.
func (s Site) slurmConf() string {
	c := &conf{}
	c.WriteString("# Made by 'gpusched export slurm' from this machine's GPUs and settings. Copy it to every node,\n" +
		"# with gres.conf, cgroup.conf and the same /etc/munge/munge.key.\n")
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
	s.addNodes(c)
	return c.String()
}

func (s Site) isolation(c *conf) {
	c.heading("A job can use only its own GPUs, cores and memory (gpusched limits CPU time instead of cores). See also\ncgroup.conf.")
	c.set("ProctrackType", "proctrack/cgroup")
	c.set("TaskPlugin", "task/affinity,task/cgroup")
	c.set("JobAcctGatherType", "jobacct_gather/cgroup")
	c.set("PrologFlags", "Contain")
}

func (s Site) placement(c *conf) {
	c.heading("Slurm counts GPUs, cores and memory. Short jobs fill the gaps in front of wide ones (backfill).")
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

// order adds the settings about priority and preemption.
func (s Site) order(c *conf) {
	o := s.Settings.Scheduling
	if o.Policy == config.OrderFIFO {
		c.heading("The order of jobs (scheduling.policy = \"fifo\"): by priority class, which is a QOS in accounts.sh, then by\n" +
			"submission.")
		c.set("PriorityType", "priority/multifactor")
		c.set("PriorityWeightQOS", 1_000_000)
		c.set("PriorityWeightAge", 1000)
	} else {
		c.heading("The order of jobs (scheduling.policy = \"fair\"): by priority class, which is a QOS in accounts.sh, then by\n" +
			"recent use, then by waiting time. Slurm does not know how long such jobs usually take.")
		c.set("PriorityType", "priority/multifactor")
		c.set("PriorityWeightQOS", 1_000_000)
		c.set("PriorityWeightAge", 10_000)
		if o.HalfLife > 0 { // without a half-life, past use does not count
			c.set("PriorityWeightFairshare", 100_000)
			c.set("PriorityDecayHalfLife", span(o.HalfLife))
		}
	}
	if o.GuardAfter > 0 {
		c.set("PriorityMaxAge", span(o.GuardAfter))
	}
	c.heading("gpusched's --preemptible is --qos=scavenger here: after PreemptExemptTime, other jobs may preempt the job, which is\nthen queued again.")
	c.set("PreemptType", "preempt/qos")
	c.set("PreemptMode", "REQUEUE")
	if o.Slice > 0 {
		c.set("PreemptExemptTime", span(o.Slice))
	}
	c.heading("Accounts, shares and quotas are in slurmdbd's database; accounts.sh fills it. Without slurmdbd, remove the lines\n" +
		"up to the next comment: then there are no shares, quotas and classes.")
	c.set("AccountingStorageType", "accounting_storage/slurmdbd")
	c.set("AccountingStorageHost", s.Nodes[0].Name)
	c.set("AccountingStorageEnforce", "associations,limits,qos")
	if len(s.gpus()) > 0 {
		c.set("AccountingStorageTRES", "gres/gpu")
	}
}

func (s Site) jobs(c *conf) {
	j := s.Settings.Jobs
	c.heading("Jobs.")
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

// addNodes adds the nodes, and a partition that contains all of them.
func (s Site) addNodes(c *conf) {
	c.heading("Machines. 'slurmd -C' on each prints what Slurm finds there. A node may be declared with less than that, never\n" +
		"with more. The features tell 'gpusched --on slurm' the memory of GPUs (--gpu-mem): gpu_mem_80gb is the memory of the\n" +
		"node's smallest GPU, and shard_1gb that of a shard.")
	types := s.types()
	for _, n := range s.Nodes {
		c.WriteString(n.line(types, s.Settings.Daemon.HostMemReserve) + "\n")
	}
	c.heading("A job that asks for no memory gets DefMemPerGPU for each GPU, or without whole GPUs DefMemPerCPU for each CPU, in\n" +
		"MiB. Otherwise it would get all its node's memory.")
	j := s.Settings.Jobs
	c.WriteString("PartitionName=gpu Nodes=ALL Default=YES State=UP")
	fmt.Fprintf(c, " MaxTime=%s DefaultTime=%s", formatLimit(j.MaxTime), formatLimit(j.DefaultTime))
	if cpus := s.cpusPerGPU(); cpus > 0 {
		fmt.Fprintf(c, " DefCpuPerGPU=%d", cpus)
	}
	if mem := s.memPerGPU(); mem > 0 {
		fmt.Fprintf(c, " DefMemPerGPU=%d", mem)
	}
	fmt.Fprintf(c, " DefMemPerCPU=%d\n", s.memPerCPU())
}

// line returns the node's line in slurm.conf.
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

// cpusPerGPU returns the default number of CPUs per GPU: the smallest value of all nodes.
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

// memPerGPU returns the default memory per GPU in MiB: the smallest value of all nodes.
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

// memPerCPU returns the default memory of a job without
// GPUs in MiB: the smallest value of all nodes.
func (s Site) memPerCPU() int64 {
	of := func(n Node) int64 { return s.defaultMem().For(0, n.MemMiB<<20, 0, len(n.GPUs)) >> 20 }
	least := of(s.Nodes[0])
	for _, n := range s.Nodes[1:] {
		least = min(least, of(n))
	}
	return least
}

// defaultMem returns the default memory from the settings. "no limit" would mean the memory of a
// whole node, so defaultMem replaces it with the automatic value.
func (s Site) defaultMem() config.DefaultMem {
	if mem := s.Settings.Jobs.DefaultMem; mem.Kind != config.MemNone {
		return mem
	}
	return config.DefaultMem{Kind: config.MemAuto}
}

// formatLimit formats a time limit. Slurm rounds time limits up to minutes.
func formatLimit(d time.Duration) string {
	if d <= 0 {
		return "UNLIMITED"
	}
	return span(d)
}

// span formats a duration as days-hours:minutes:seconds, or as 0.
func span(d time.Duration) string {
	if d <= 0 {
		return "0"
	}
	return slurm.Span(d)
}
