package gres

import (
	"slices"
	"strconv"
	"strings"
)

// A Claim is the set of GPUs on a machine that belong to Slurm.
type Claim struct {
	Every  bool  // all GPUs that the driver has
	Minors []int // minor numbers, the N in /dev/nvidiaN, ascending
}

// None reports whether the claim is empty.
func (c Claim) None() bool { return !c.Every && len(c.Minors) == 0 }

// String describes the claim to people.
func (c Claim) String() string {
	if c.Every {
		return "every GPU"
	}
	var nodes []string
	for _, minor := range c.Minors {
		nodes = append(nodes, device+strconv.Itoa(minor))
	}
	return strings.Join(nodes, ", ")
}

// A node is this machine as slurm.conf describes it.
type node struct {
	names     []string // names of this machine in slurm.conf
	described bool     // slurm.conf has a line about this machine
	gpus      bool     // the generic resources in that line include GPUs
}

// thisNode finds a host in slurm.conf. The file may have the host's name with or without the
// domain.
func (b *budget) thisNode(slurmConf, host string) node {
	short, _, _ := strings.Cut(host, ".")
	n := node{names: []string{short, host}}
	gpus := false // value of NodeName=DEFAULT
	for l := range splitLines(slurmConf) {
		expr, ok := l["nodename"]
		if !ok {
			continue
		}
		gres, said := l["gres"]
		if strings.EqualFold(expr, "DEFAULT") {
			gpus = gpus && !said || hasGPU(gres)
			continue
		}
		mine := b.aliases(expr, l["nodehostname"], n.names[:2])
		if b.includesAny(expr, n.names[:2]) || len(mine) > 0 {
			n.names, n.described = append(n.names, mine...), true
			n.gpus = n.gpus || hasGPU(gres) || gpus && !said
		}
	}
	return n
}

// aliases returns the names of the nodes in a line of slurm.conf whose NodeHostname is this host.
func (b *budget) aliases(nodes, hosts string, mine []string) (list []string) {
	if hosts == "" {
		return nil
	}
	if !strings.ContainsAny(hosts, "[,") { // NodeHostname has one host, so all nodes are on it
		if !b.includesAny(hosts, mine) {
			return nil
		}
		return slices.Collect(b.expand(nodes))
	}
	all, i := slices.Collect(b.expand(hosts)), 0
	for name := range b.expand(nodes) {
		if i < len(all) && b.includesAny(all[i], mine) {
			list = append(list, name)
		}
		i++
	}
	return list
}

// hasGPU reports whether a list such as gpu:a100:4,shard:8 includes GPUs or parts of GPUs.
func hasGPU(gres string) bool {
	for item := range strings.SplitSeq(gres, ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(item), ":"); isGPU(name) {
			return true
		}
	}
	return false
}

// isGPU reports whether a generic resource is a GPU or a part of a GPU.
func isGPU(name string) bool {
	return slices.Contains([]string{"gpu", "mps", "shard"}, strings.ToLower(name))
}

// device is the beginning of the paths of the GPUs' device files.
const device = "/dev/nvidia"

// notNVIDIA has the values of AutoDetect that never find an NVIDIA GPU.
var notNVIDIA = []string{"off", "rsmi", "oneapi", "nrt"}

// parse finds the claim of a host in the texts of slurm.conf and gres.conf.
func parse(slurmConf, gresConf, host string) (c Claim) {
	left := budget(mostNames)
	b := &left
	n := b.thisNode(slurmConf, host)
	var everywhere, here string // AutoDetect as set for all nodes, and as set for this node
	var listed, counted bool    // some GPUs have a device file; some GPUs are only counted
	for l := range splitLines(gresConf) {
		expr, named := l["nodename"]
		if named && !b.includesAny(expr, n.names) {
			continue
		}
		if how := l["autodetect"]; how != "" && named {
			here = how
		} else if how != "" {
			everywhere = how
		}
		files := slices.DeleteFunc([]string{l["file"], l["multiplefiles"]}, func(f string) bool { return f == "" })
		listed = listed || len(files) > 0 && isGPU(l["name"])
		counted = counted || len(files) == 0 && strings.EqualFold(l["name"], "gpu") && l["count"] != "0"
		for _, expr := range files {
			for file := range b.expand(expr) {
				c.add(file)
			}
		}
	}
	if here == "" {
		here = everywhere
	}
	found := here != "" && !slices.Contains(notNVIDIA, strings.ToLower(here)) || counted
	if !listed && n.described && n.gpus && !slices.Contains(notNVIDIA[1:], strings.ToLower(here)) {
		found = true // only slurm.conf says that this machine has GPUs
	}
	c.Every = found && (!n.described || n.gpus) || left < 0
	slices.Sort(c.Minors)
	c.Minors = slices.Compact(c.Minors)
	if c.Every {
		c.Minors = nil
	}
	return c
}

// mostMinors is larger than the number of GPUs of any machine.
const mostMinors = 1024

// add adds a device file to the claim, if it is the file of a GPU.
func (c *Claim) add(file string) {
	number, ok := strings.CutPrefix(file, device)
	if minor, err := strconv.Atoi(number); ok && err == nil && minor >= 0 && minor < mostMinors {
		c.Minors = append(c.Minors, minor)
	}
}
