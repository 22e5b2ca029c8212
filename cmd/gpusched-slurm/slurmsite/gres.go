package slurmsite

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

const gresHead = `# The GPUs are listed, since Debian's and Ubuntu's Slurm is built without NVML (with it, AutoDetect=nvml
# finds the same). A job's cgroup may open File; see cgroup.conf.
`

// shardHead is a comment in the file that explains shards.
const shardHead = `
# Parts of GPUs: a shard is 1 GiB of a GPU's memory. Slurm counts them but does not enforce them.
`

// gresConf returns gres.conf. The file is the same on all nodes.
func (s Site) gresConf() string {
	var b strings.Builder
	b.WriteString(gresHead)
	types := s.types()
	shards := false
	for _, n := range s.Nodes {
		for i, g := range n.GPUs {
			fmt.Fprintf(&b, "NodeName=%s Name=gpu Type=%s File=/dev/nvidia%d%s%s\n", n.Name, types[g.Model], g.Minor, cores(g.Near), n.links(i))
			shards = shards || g.shards() > 0
		}
	}
	if !shards {
		return b.String()
	}
	b.WriteString(shardHead)
	for _, n := range s.Nodes {
		for _, g := range n.GPUs {
			if count := g.shards(); count > 0 {
				fmt.Fprintf(&b, "NodeName=%s Name=shard Count=%d File=/dev/nvidia%d%s\n", n.Name, count, g.Minor, cores(g.Near))
			}
		}
	}
	return b.String()
}

// shards returns the number of shards of a GPU.
func (g GPU) shards() int64 {
	if !g.Parts {
		return 0
	}
	return g.MemMiB >> 10
}

// features returns the features of a node. They state the memory of a GPU, if it is known for all
// GPUs, and the memory of a shard. Package sbatch reads them.
func (n Node) features() (list []string) {
	if len(n.GPUs) == 0 {
		return nil
	}
	least := slices.MinFunc(n.GPUs, func(a, b GPU) int { return cmp.Compare(a.MemMiB, b.MemMiB) })
	if gib := least.MemMiB >> 10; gib > 0 {
		list = append(list, fmt.Sprintf("gpu_mem_%dgb", gib))
	}
	if slices.ContainsFunc(n.GPUs, func(g GPU) bool { return g.shards() > 0 }) {
		list = append(list, "shard_1gb")
	}
	return list
}

// gres returns the value of Gres for a node in slurm.conf, such as "gpu:a100:4,shard:160".
func (n Node) gres(types map[string]string) string {
	counts, shards := map[string]int{}, int64(0)
	var names []string
	for _, g := range n.GPUs {
		name := types[g.Model]
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
		shards += g.shards()
	}
	words := job.Each(names, func(name string) string { return fmt.Sprintf("gpu:%s:%d", name, counts[name]) })
	if shards > 0 {
		words = append(words, fmt.Sprintf("shard:%d", shards))
	}
	return strings.Join(words, ",")
}

// cores returns the cores closest to a GPU in the form " Cores=0-7,16".
func cores(near string) string {
	if near == "" {
		return ""
	}
	return " Cores=" + near
}

// links returns the number of NVLinks to each GPU in
// the form " Links=-1,4,4,4"; -1 is the GPU itself.
func (n Node) links(i int) string {
	g := n.GPUs[i]
	if len(g.Links) != len(n.GPUs) || !slices.ContainsFunc(g.Links, func(l int) bool { return l > 0 }) {
		return ""
	}
	return " Links=" + strings.Join(job.Each(g.Links, strconv.Itoa), ",")
}

const cgroupConf = `# This keeps a job to its GPUs, cores and memory. Whatever is set here, Slurm 22.05 with cgroup v2 lets a job also
# use as much swap as memory (see memory.swap.max of a job), unless swap is off (swapoff).
ConstrainDevices=yes
ConstrainCores=yes
ConstrainRAMSpace=yes
ConstrainSwapSpace=yes
AllowedSwapSpace=0
`

// slurmdbdConf has no password: MariaDB identifies the user through the socket.
const slurmdbdConf = `# For slurmdbd, which keeps accounts in MariaDB. It must belong to user slurm and have mode 600. Run once:
#   mysql -e "create database slurm_acct_db"
#   mysql -e "create user slurm@localhost identified via unix_socket; grant all on slurm_acct_db.* to slurm@localhost"
DbdHost=localhost
SlurmUser=slurm
LogFile=/var/log/slurm/slurmdbd.log
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=slurm
StorageLoc=slurm_acct_db
`
