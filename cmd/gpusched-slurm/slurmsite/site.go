package slurmsite

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/daemon/config"
)

// A Site is the data from which the files are made.
type Site struct {
	Cluster  string
	Nodes    []Node // slurmctld runs on the first node
	Settings config.Config
	Set      []string            // keys of Settings that the site has set, sorted
	Users    []string            // users who may submit, in addition to those with their own quota
	Members  map[string][]string // known members of each group with a quota
}

// A Node is the hardware of one machine.
type Node struct {
	Name   string `json:"name"` // short host name
	Layout Layout `json:"layout"`
	MemMiB int64  `json:"mem_mib"`
	GPUs   []GPU  `json:"gpus,omitempty"` // ordered by minor number
}

// A Layout is a machine's CPU topology. If the cores differ, only the field CPUs is set.
type Layout struct {
	CPUs    int `json:"cpus"`
	Sockets int `json:"sockets,omitempty"`
	Cores   int `json:"cores,omitempty"`   // per socket
	Threads int `json:"threads,omitempty"` // per core
}

// A GPU is a GPU that Slurm may assign to jobs.
type GPU struct {
	Minor  int    `json:"minor"` // N in /dev/nvidiaN
	Model  string `json:"model"` // model name from the driver
	MemMiB int64  `json:"mem_mib"`
	Near   string `json:"near,omitempty"`  // closest cores over all sockets, 0-7,16; "" for all or unknown
	Links  []int  `json:"links,omitempty"` // number of NVLinks to each GPU in the list, -1 for itself; empty if unknown
	Parts  bool   `json:"parts,omitempty"` // jobs may have parts of it
}

// A File is a configuration file to write.
type File struct {
	Name string
	Text string
}

// Files returns the files of a Slurm for this site, and notes for its administrator.
func (s Site) Files() (files []File, notes []string, err error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	accounts, notes := s.accounts()
	if lost := s.unexported(); len(lost) > 0 {
		notes = append(notes, "without a counterpart in Slurm, and left out: "+strings.Join(lost, ", "))
	}
	return []File{
		{"slurm.conf", s.slurmConf()}, {"gres.conf", s.gresConf()}, {"cgroup.conf", cgroupConf},
		{"slurmdbd.conf", slurmdbdConf}, {"accounts.sh", accounts},
	}, notes, nil
}

// This table lists the settings that the files contain. A name that ends with a dot means a whole
// section.
var exported = strings.Fields(`quota. class. scheduling.policy scheduling.half_life scheduling.guard_after scheduling.slice
	jobs.default_mem jobs.default_time jobs.max_time jobs.default_grace jobs.default_cpus jobs.max_running jobs.max_queued
	jobs.requeue jobs.allow_raised_priority gpus.only gpus.smallest_part gpus.parts_on daemon.host_mem_reserve`)

// unexported returns the settings of the site that no file contains.
func (s Site) unexported() (keys []string) {
	for _, key := range s.Set {
		is := func(c string) bool { return key == c || strings.HasSuffix(c, ".") && strings.HasPrefix(key, c) }
		if !slices.ContainsFunc(exported, is) {
			keys = append(keys, key)
		}
	}
	return keys
}

// plainName matches names that can be written into a file unchanged.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })

// clusterName matches names that Slurm accepts for a
// cluster. The database names tables after the cluster.
var clusterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_]*$`) })

func (s Site) check() error {
	if !clusterName().MatchString(s.Cluster) {
		return fmt.Errorf("%q is not a cluster name: Slurm takes lower-case letters, digits and _, a letter first", s.Cluster)
	}
	if len(s.Nodes) == 0 {
		return errors.New("there is no machine")
	}
	var names []string
	for _, n := range s.Nodes {
		switch {
		case !plainName().MatchString(n.Name):
			return fmt.Errorf("%q is not a host name", n.Name)
		case slices.Contains(names, n.Name):
			return fmt.Errorf("there are two hosts called %s", n.Name)
		case slices.ContainsFunc(n.GPUs, func(g GPU) bool { _, err := cpuset.Parse(g.Near); return err != nil }):
			return fmt.Errorf("%s: the cores next to a GPU are not a list", n.Name)
		case n.Layout.CPUs <= 0 || n.MemMiB <= 0:
			return fmt.Errorf("%s: the number of its CPUs or its memory is unknown", n.Name)
		}
		names = append(names, n.Name)
	}
	return nil
}

// types returns a gres type for each GPU model. If two models
// would get the same type, the type of each is its whole name.
func (s Site) types() map[string]string {
	models := map[string][]string{}
	for _, g := range s.gpus() {
		short := shortType(g.Model)
		if !slices.Contains(models[short], g.Model) {
			models[short] = append(models[short], g.Model)
		}
	}
	types := map[string]string{}
	for short, list := range models {
		for _, model := range list {
			if types[model] = short; len(list) > 1 {
				types[model] = typeName(strings.Fields(strings.ToLower(model)))
			}
		}
	}
	return types
}

func (s Site) gpus() (list []GPU) {
	for _, n := range s.Nodes {
		list = append(list, n.GPUs...)
	}
	return list
}

// shortType returns the common name of a model, such as "a100" for "NVIDIA A100-SXM4-80GB".
func shortType(model string) string {
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(model), func(r rune) bool { return r == ' ' || r == '-' }) {
		switch {
		case len(words) == 0 && slices.Contains([]string{"nvidia", "tesla", "geforce", "quadro"}, word):
			continue
		case len(words) > 0 && isVariant(word):
			return typeName(words)
		}
		words = append(words, word)
	}
	return typeName(words)
}

// isVariant reports whether a word in a model's name is a memory size or a form factor.
func isVariant(word string) bool {
	if size, ok := strings.CutSuffix(word, "gb"); ok {
		_, err := strconv.Atoi(size)
		return err == nil
	}
	return strings.HasPrefix(word, "sxm") || strings.HasPrefix(word, "hbm") || word == "pcie" || word == "nvl"
}

// typeName joins words to a name for a type of GPU. It uses only characters that Slurm allows.
func typeName(words []string) string {
	clean := func(r rune) rune {
		if 'a' <= r && r <= 'z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}
	if s := strings.Trim(strings.Map(clean, strings.Join(words, "_")), "_"); s != "" {
		return s
	}
	return "gpu"
}
