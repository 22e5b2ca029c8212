package gres

import (
	"slices"
	"strconv"
	"strings"
)

// A Claim is the set of a machine's GPUs that its Slurm manages.
type Claim struct {
	Every  bool  // all that the driver shows
	Minors []int // the N of /dev/nvidiaN, ascending
}

// None reports whether the claim is empty.
func (c Claim) None() bool { return !c.Every && len(c.Minors) == 0 }

// Has reports whether the claim includes the GPU with a minor number. An unknown number (-1) is
// only included if every GPU is.
func (c Claim) Has(minor int) bool { return c.Every || slices.Contains(c.Minors, minor) }

func (c Claim) Equal(o Claim) bool { return c.Every == o.Every && slices.Equal(c.Minors, o.Minors) }

// String returns the claim for people.
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

// A node is what slurm.conf says about this machine.
type node struct {
	names     []string // the machine's names there
	described bool     // whether it has a line
	gpus      bool     // whether its generic resources include GPUs
}

// thisNode reads slurm.conf for a host, known by its name with and without the domain.
func (b *budget) thisNode(slurmConf, host string) node {
	short, _, _ := strings.Cut(host, ".")
	n := node{names: []string{short, host}}
	gpus := false // from NodeName=DEFAULT
	for l := range lines(slurmConf) {
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
		if b.among(expr, n.names[:2]) || len(mine) > 0 {
			n.names, n.described = append(n.names, mine...), true
			n.gpus = n.gpus || hasGPU(gres) || gpus && !said
		}
	}
	return n
}

// aliases returns the names of the nodes in a line whose NodeHostname is this host.
func (b *budget) aliases(nodes, hosts string, mine []string) (list []string) {
	if hosts == "" {
		return nil
	}
	if !strings.ContainsAny(hosts, "[,") { // one host for all nodes
		if !b.among(hosts, mine) {
			return nil
		}
		return slices.Collect(b.names(nodes))
	}
	var all []string
	for host := range b.names(hosts) {
		all = append(all, host)
	}
	i := 0
	for name := range b.names(nodes) {
		if i < len(all) && b.among(all[i], mine) {
			list = append(list, name)
		}
		i++
	}
	return list
}

// hasGPU reports whether a list such as gpu:a100:4,shard:8 includes GPUs or parts of them.
func hasGPU(gres string) bool {
	for item := range strings.SplitSeq(gres, ",") {
		if name, _, _ := strings.Cut(strings.TrimSpace(item), ":"); isGPU(name) {
			return true
		}
	}
	return false
}

// isGPU reports whether a generic resource is a GPU or a part of one.
func isGPU(name string) bool {
	return slices.Contains([]string{"gpu", "mps", "shard"}, strings.ToLower(name))
}

// device is the prefix of GPUs' device nodes.
const device = "/dev/nvidia"

// notNVIDIA are the values of AutoDetect that find no NVIDIA GPU.
var notNVIDIA = []string{"off", "rsmi", "oneapi", "nrt"}

// parse reads both files for a host.
func parse(slurmConf, gresConf, host string) (c Claim) {
	left := budget(mostNames)
	b := &left
	n := b.thisNode(slurmConf, host)
	var everywhere, here string // AutoDetect of all nodes, and of this one
	var listed, counted bool    // whether there are GPUs with a file, and without
	for l := range lines(gresConf) {
		expr, named := l["nodename"]
		if named && !b.among(expr, n.names) {
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
			for file := range b.names(expr) {
				c.add(file)
			}
		}
	}
	if here == "" {
		here = everywhere
	}
	found := here != "" && !slices.Contains(notNVIDIA, strings.ToLower(here)) || counted
	if !listed && n.described && n.gpus && !slices.Contains(notNVIDIA[1:], strings.ToLower(here)) {
		found = true // the GPUs in slurm.conf are some of this machine's
	}
	c.Every = found && (!n.described || n.gpus) || left < 0
	slices.Sort(c.Minors)
	c.Minors = slices.Compact(c.Minors)
	if c.Every {
		c.Minors = nil
	}
	return c
}

// mostMinors is more GPUs than a machine has.
const mostMinors = 1024

// add adds a device file to the claim if it is a GPU's.
func (c *Claim) add(file string) {
	number, ok := strings.CutPrefix(file, device)
	if minor, err := strconv.Atoi(number); ok && err == nil && minor >= 0 && minor < mostMinors {
		c.Minors = append(c.Minors, minor)
	}
}
