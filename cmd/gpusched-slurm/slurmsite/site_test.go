package slurmsite

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

// twoMachines returns a site with two machines that uses all settings.
func twoMachines() Site {
	settings := config.Default()
	settings.Classes = map[job.Class]config.Class{job.Interactive: {MaxTime: 8 * time.Hour}}
	settings.Jobs.MaxTime = 7 * 24 * time.Hour
	settings.Jobs.DefaultTime = 90 * time.Minute
	own, students := settings.Quotas.Default, job.Quota{GPUMilli: 1500, Share: 3, GPUHours: 300}
	own.GPUMilli, own.Share = 4000, 2
	settings.Quotas.Users = map[string]job.Quota{"alice": own}
	settings.Quotas.Groups = map[string]job.Quota{"Students": students, "night owls": students, "gpusched": students, "students": students}
	a100 := func(minor int, near string, links ...int) GPU {
		return GPU{Minor: minor, Model: "NVIDIA A100-SXM4-80GB", MemMiB: 81920, Near: near, Links: links, Parts: minor > 0}
	}
	return Site{
		Cluster: "lab", Settings: settings, Set: []string{"gpus.max_load", "jobs.max_time", "quota.user.alice.gpus"}, Users: []string{"bob", "root", "alice", "$(reboot)"}, Members: map[string][]string{"Students": {"bob"}},
		Nodes: []Node{
			{Name: "gpu1", Layout: Layout{CPUs: 32, Sockets: 2, Cores: 8, Threads: 2}, MemMiB: 257_000,
				GPUs: []GPU{a100(0, "0-7", -1, 12), a100(1, "8,10-11", 12, -1)}},
			{Name: "gpu2", Layout: Layout{CPUs: 20}, MemMiB: 64_000, GPUs: []GPU{
				{Minor: 0, Model: "NVIDIA A100-SXM4-40GB", MemMiB: 40960}, {Minor: 2, Model: "NVIDIA GeForce RTX 3090 Ti", MemMiB: 24576}}},
		},
	}
}

// Invariant 3: the files are always the same, and contain the expected lines.
func TestFiles(t *testing.T) {
	files, notes, err := twoMachines().Files()
	if err != nil {
		t.Fatal(err)
	}
	files = append(files, File{"notes", strings.Join(notes, "\n") + "\n"})
	for _, f := range files {
		golden.Check(t, filepath.Join("two", f.Name), f.Text)
	}
}

// Invariant 2: no file contains a name with special characters.
func TestNamesAreNames(t *testing.T) {
	files, notes, err := twoMachines().Files()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(f.Text, "reboot") || strings.Contains(f.Text, "owls") {
			t.Errorf("%s contains a name that is not plain", f.Name)
		}
	}
	for _, name := range []string{`"$(reboot)"`, `"night owls"`} {
		if !strings.Contains(strings.Join(notes, "\n"), name) {
			t.Errorf("the notes do not mention %s: %q", name, notes)
		}
	}
	for what, change := range map[string]func(*Site){
		"cluster":    func(s *Site) { s.Cluster = "A b" },
		"two alike":  func(s *Site) { s.Nodes[1].Name = "gpu1" },
		"a line":     func(s *Site) { s.Nodes[0].Name = "x\nSlurmUser=root" },
		"no CPUs":    func(s *Site) { s.Nodes[0].Layout.CPUs = 0 },
		"an option":  func(s *Site) { s.Nodes[0].Name = "-x" },
		"odd cores":  func(s *Site) { s.Nodes[0].GPUs[0].Near = "0 File=/dev/sda" },
		"no machine": func(s *Site) { s.Nodes = nil },
	} {
		s := twoMachines()
		if change(&s); s.check() == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// Whatever the settings are, a job that requests no memory does not get all memory of its node.
func TestDefaultMemory(t *testing.T) {
	for mem, want := range map[config.DefaultMem]string{
		{Kind: config.MemAuto}:                   " DefMemPerGPU=24000 DefMemPerCPU=2000\n",
		{Kind: config.MemNone}:                   " DefMemPerGPU=24000 DefMemPerCPU=2000\n",
		{Kind: config.MemFixed, Bytes: 16 << 30}: " DefMemPerGPU=16384 DefMemPerCPU=16384\n",
	} {
		s := twoMachines()
		s.Settings.Jobs.DefaultMem = mem
		if text := s.slurmConf(); !strings.Contains(text, want) {
			t.Errorf("%v: no %q in %s", mem, want, text[strings.Index(text, "PartitionName"):])
		}
	}
}

func TestShortType(t *testing.T) {
	for model, want := range map[string]string{
		"NVIDIA A100-SXM4-80GB": "a100", "NVIDIA H100 80GB HBM3": "h100", "Tesla V100-PCIE-16GB": "v100", "NVIDIA GeForce RTX 4090": "rtx_4090",
		"NVIDIA RTX 6000 Ada Generation": "rtx_6000_ada_generation", "Quadro RTX 6000": "rtx_6000", "NVIDIA L40S": "l40s", "NVIDIA H100 NVL": "h100",
		"80GB": "80gb", "": "gpu", "NVIDIA": "gpu", "a:b,c=d e": "a_b_c_d_e",
	} {
		if got := shortType(model); got != want {
			t.Errorf("%q is %q, want %q", model, got, want)
		}
	}
}

// machine returns the /proc and /sys of a machine with 2 sockets, 2 cores per socket and 2 threads
// per core. The core numbers have gaps, as on real machines.
func machine() fstest.MapFS {
	root := fstest.MapFS{
		"proc/meminfo":                  {Data: []byte("MemTotal:       263856432 kB\nMemFree: 1 kB\n")},
		"sys/devices/system/cpu/online": {Data: []byte("0-7\n")},
	}
	for cpu, p := range []cpuPlace{{0, 0}, {0, 4}, {1, 0}, {1, 4}, {0, 0}, {0, 4}, {1, 0}, {1, 4}} {
		at := "sys/devices/system/cpu/cpu" + string(rune('0'+cpu)) + "/topology/"
		root[at+"physical_package_id"] = &fstest.MapFile{Data: []byte{byte('0' + p.socket), '\n'}}
		root[at+"core_id"] = &fstest.MapFile{Data: []byte{byte('0' + p.core), '\n'}}
	}
	return root
}

func TestHost(t *testing.T) {
	n, err := Host(machine(), "gpu1")
	if want := (Layout{CPUs: 8, Sockets: 2, Cores: 2, Threads: 2}); err != nil || n.Layout != want || n.MemMiB != 257_672 {
		t.Errorf("%+v (%v)", n, err)
	}
	for cpus, want := range map[string]string{"2-3,6-7": "2-3", "1,5": "1", "0-7": "", "": "", "x": "", "0,2,4": "0,2"} {
		if got := Near(machine(), cpus); got != want {
			t.Errorf("next to CPUs %q are the cores %q, want %q", cpus, got, want)
		}
	}
	uneven := machine()
	delete(uneven, "sys/devices/system/cpu/cpu7/topology/core_id")
	if n, err := Host(uneven, "x"); err != nil || n.Layout != (Layout{CPUs: 8}) {
		t.Errorf("with an unknown core: %+v (%v)", n.Layout, err)
	}
	big := machine()
	big["sys/devices/system/cpu/online"] = &fstest.MapFile{Data: []byte("0-6")}
	if n, _ := Host(big, "x"); n.Layout != (Layout{CPUs: 7}) {
		t.Errorf("cores that are not alike: %+v", n.Layout)
	}
}
