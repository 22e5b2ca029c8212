package slurmsite

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cgroup/cpuset"
)

// A cpuPlace is the position of a CPU: its socket and its core within the socket.
type cpuPlace struct{ socket, core int }

// Host reads the CPUs and the memory of a machine from its /proc and /sys.
func Host(root fs.FS, name string) (Node, error) {
	n := Node{Name: name}
	text, err := fs.ReadFile(root, "proc/meminfo")
	if err != nil {
		return n, err
	}
	var kib int64
	if _, err := fmt.Sscanf(string(text), "MemTotal: %d kB", &kib); err != nil {
		return n, fmt.Errorf("/proc/meminfo: MemTotal is not its first line")
	}
	n.MemMiB = kib >> 10
	places, err := cpuPlaces(root)
	n.Layout = layoutOf(places)
	return n, err
}

// cpuPlaces returns the positions of the online CPUs, by the number of the CPU.
func cpuPlaces(root fs.FS) (map[int]cpuPlace, error) {
	const dir = "sys/devices/system/cpu"
	online, err := fs.ReadFile(root, path.Join(dir, "online"))
	if err != nil {
		return nil, err
	}
	cpus, err := cpuset.Parse(strings.TrimSpace(string(online)))
	if err != nil {
		return nil, err
	}
	places := map[int]cpuPlace{}
	for cpu := range 8 * len(cpus) {
		if !cpus.Has(cpu) {
			continue
		}
		at := path.Join(dir, fmt.Sprintf("cpu%d/topology", cpu))
		places[cpu] = cpuPlace{readNumber(root, path.Join(at, "physical_package_id")), readNumber(root, path.Join(at, "core_id"))}
	}
	return places, nil
}

// readNumber reads a number from a file. If that fails, it returns -1.
func readNumber(root fs.FS, name string) int {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return -1
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return -1
	}
	return n
}

// layoutOf counts sockets, cores and threads. If the sockets or the cores are not all alike, as
// with big and small cores, it returns only the number of CPUs: Slurm refuses a node that has less
// than its line in slurm.conf says.
func layoutOf(places map[int]cpuPlace) Layout {
	l := Layout{CPUs: len(places)}
	threads, cores := map[cpuPlace]int{}, map[int]int{}
	for _, p := range places {
		if p.socket < 0 || p.core < 0 {
			return l
		}
		if threads[p]++; threads[p] == 1 {
			cores[p.socket]++
		}
	}
	perCore := slices.Compact(slices.Sorted(maps.Values(threads)))
	perSocket := slices.Compact(slices.Sorted(maps.Values(cores)))
	if len(perCore) == 1 && len(perSocket) == 1 {
		l.Sockets, l.Cores, l.Threads = len(cores), perSocket[0], perCore[0]
	}
	return l
}

// Near returns the cores of some CPUs, such as 0-7,16. Slurm numbers the cores continuously over
// all sockets. Near returns "" for all cores, and if the cores are unknown.
func Near(root fs.FS, cpus string) string {
	list, err := cpuset.Parse(cpus)
	places, err2 := cpuPlaces(root)
	if err != nil || err2 != nil || layoutOf(places).Sockets == 0 {
		return ""
	}
	every := func(int) bool { return true }
	all := slices.SortedFunc(maps.Keys(coresOf(places, every)), func(a, b cpuPlace) int {
		if a.socket != b.socket {
			return a.socket - b.socket
		}
		return a.core - b.core
	})
	of := coresOf(places, list.Has)
	if len(of) == len(all) {
		return ""
	}
	var near cpuset.Set
	for i, p := range all {
		if of[p] {
			near = near.With(i)
		}
	}
	return near.String()
}

// coresOf returns the cores of some CPUs.
func coresOf(places map[int]cpuPlace, has func(cpu int) bool) map[cpuPlace]bool {
	set := map[cpuPlace]bool{}
	for cpu, p := range places {
		if has(cpu) {
			set[p] = true
		}
	}
	return set
}
