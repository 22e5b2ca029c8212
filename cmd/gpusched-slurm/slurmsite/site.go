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

// Site is what the files are made of.
type Site struct {
	Cluster  string
	Nodes    []Node // the first one is where slurmctld runs
	Settings config.Config
	Set      []string            // the keys of Settings that the site has set, sorted
	Users    []string            // who may submit, besides those that have a quota of their own
	Members  map[string][]string // of the groups with a quota, as far as they are known
}

// Node is the hardware of one machine.
type Node struct {
	Name   string `json:"name"` // the short name of the host
	Layout Layout `json:"layout"`
	MemMiB int64  `json:"mem_mib"`
	GPUs   []GPU  `json:"gpus,omitempty"` // by minor number
}

// Layout is how the CPUs of a machine lie. Where its cores are not all alike, only CPUs is known.
type Layout struct {
	CPUs    int `json:"cpus"`
	Sockets int `json:"sockets,omitempty"`
	Cores   int `json:"cores,omitempty"`   // of a socket
	Threads int `json:"threads,omitempty"` // of a core
}

// GPU is one that Slurm may give away.
type GPU struct {
	Minor  int    `json:"minor"` // of /dev/nvidia<Minor>
	Model  string `json:"model"` // as the driver calls it
	MemMiB int64  `json:"mem_mib"`
	Near   string `json:"near,omitempty"`  // cores next to it, counted over the sockets, 0-7,16; "": all, or unknown
	Links  []int  `json:"links,omitempty"` // NVLinks to each GPU of the list, -1 for itself; none: unknown
	Parts  bool   `json:"parts,omitempty"` // whether parts of it are given
}

// File is one that is to be written.
type File struct {
	Name string
	Text string
}

// Files are what a Slurm of this site reads, and what its administrator is told besides.
func (s Site) Files() (files []File, notes []string, err error) {
	if err := s.check(); err != nil {
		return nil, nil, err
	}
	accounts, notes := s.accounts()
	if lost := s.lost(); len(lost) > 0 {
		notes = append(notes, "without an equal in Slurm, and left out: "+strings.Join(lost, ", "))
	}
	return []File{
		{"slurm.conf", s.slurmConf()}, {"gres.conf", s.gresConf()}, {"cgroup.conf", cgroupConf},
		{"slurmdbd.conf", slurmdbdConf}, {"accounts.sh", accounts},
	}, notes, nil
}

// carried are the settings, and with a dot at the end the sections, that the files say in Slurm's
// words.
var carried = strings.Fields(`quota. class. scheduling.policy scheduling.half_life scheduling.guard_after scheduling.slice
	jobs.default_mem jobs.default_time jobs.max_time jobs.default_grace jobs.default_cpus jobs.max_running jobs.max_queued
	jobs.requeue jobs.allow_raised_priority gpus.only gpus.smallest_part gpus.parts_on daemon.host_mem_reserve`)

// lost are the settings of the site that are in none of the files.
func (s Site) lost() (keys []string) {
	for _, key := range s.Set {
		is := func(c string) bool { return key == c || strings.HasSuffix(c, ".") && strings.HasPrefix(key, c) }
		if !slices.ContainsFunc(carried, is) {
			keys = append(keys, key)
		}
	}
	return keys
}

// plainName is what a name may be that gets into a file as it is.
var plainName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })

// clusterName is what Slurm takes as the name of a cluster: its database makes tables of it.
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
			return fmt.Errorf("%s: the number of its CPUs or its memory is not known", n.Name)
		}
		names = append(names, n.Name)
	}
	return nil
}

// types are the names of the site's kinds of GPU, by the driver's name. Two kinds that would be
// called alike have their whole names.
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
				types[model] = slug(strings.Fields(strings.ToLower(model)))
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

// shortType is what people call a model: "a100" for "NVIDIA A100-SXM4-80GB".
func shortType(model string) string {
	var words []string
	for word := range strings.FieldsFuncSeq(strings.ToLower(model), func(r rune) bool { return r == ' ' || r == '-' }) {
		switch {
		case len(words) == 0 && slices.Contains([]string{"nvidia", "tesla", "geforce", "quadro"}, word):
			continue
		case len(words) > 0 && isForm(word):
			return slug(words)
		}
		words = append(words, word)
	}
	return slug(words)
}

// isForm reports whether a word of a model's name tells its size or how it is plugged in.
func isForm(word string) bool {
	if size, ok := strings.CutSuffix(word, "gb"); ok {
		_, err := strconv.Atoi(size)
		return err == nil
	}
	return strings.HasPrefix(word, "sxm") || strings.HasPrefix(word, "hbm") || word == "pcie" || word == "nvl"
}

// slug makes one word of some, of what Slurm allows in the name of a type.
func slug(words []string) string {
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
