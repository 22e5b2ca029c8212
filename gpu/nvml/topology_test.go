package nvml_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/gpu"
	"github.com/gpusched/gpusched/gpu/fakenvml"
	"github.com/gpusched/gpusched/gpu/gputest"
)

func wantLinks(t *testing.T, s gpu.Snapshot, want ...gpu.Link) {
	t.Helper()
	if !slices.Equal(s.Links, want) {
		t.Errorf("links %+v\nwant  %+v", s.Links, want)
	}
}

// Two GPUs can be connected in each of these ways.
func TestLinksBetweenTwo(t *testing.T) {
	tests := []struct {
		name, a, b string
		kind       gpu.LinkKind
		lanes      int
	}{
		{"plain", "", "", gpu.LinkNode, 0},
		{"PCIe switch", "pcie=3 bridge=1", "pcie=3 bridge=1", gpu.LinkSwitch, 0},
		{"host bridge", "pcie=3 bridge=1", "pcie=4 bridge=1", gpu.LinkBridge, 0},
		{"NUMA node", "bridge=1 numa=1", "bridge=2 numa=1", gpu.LinkNode, 0},
		{"two nodes", "numa=0", "numa=1", gpu.LinkCross, 0},
		{"NVLinks", "island=1 lanes=12 numa=0", "island=1 lanes=12 numa=1", gpu.LinkNVLink, 12},
		{"NVSwitch", "island=1 lanes=18 nvswitch=1", "island=1 lanes=18 nvswitch=1", gpu.LinkNVLink, 18},
		{"NVSwitch, some links down", "island=1 lanes=18 nvswitch=1", "island=1 lanes=16 nvswitch=1", gpu.LinkNVLink, 16},
		{"two partitions of one NVSwitch", "island=1 lanes=18 nvswitch=1 numa=0", "island=2 lanes=18 nvswitch=1 numa=1", gpu.LinkCross, 0},
		{"NVLinks to others", "island=1 pcie=1", "island=2 pcie=1", gpu.LinkSwitch, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newRig(t).gpus(tt.a, tt.b).start().sample()
			wantLinks(t, s, gpu.Link{A: 0, B: 1, Kind: tt.kind, Lanes: tt.lanes})
		})
	}
}

// With NVSwitches, all NVLinks of a GPU count as links to each of the other GPUs.
func TestLinksThroughNVSwitches(t *testing.T) {
	lines := make([]string, 8)
	for i := range lines {
		lines[i] = "island=1 lanes=12 nvswitch=1 numa=" + strconv.Itoa(i/4)
	}
	want := gputest.Links(8, func(int, int) gpu.Link { return gpu.Link{Kind: gpu.LinkNVLink, Lanes: 12} })
	wantLinks(t, newRig(t).gpus(lines...).start().sample(), want...)
}

// Invariant 6: what an older driver does not report is left out or less exact.
func TestLinksOfOlderDrivers(t *testing.T) {
	straight := []string{"island=1 lanes=6", "island=1 lanes=6", "numa=1"}
	link := func(a, b int, kind gpu.LinkKind, lanes int) gpu.Link {
		return gpu.Link{A: a, B: b, Kind: kind, Lanes: lanes}
	}
	cross := []gpu.Link{link(0, 2, gpu.LinkCross, 0), link(1, 2, gpu.LinkCross, 0)}
	tests := []struct {
		name string
		hide []string
		want []gpu.Link
	}{
		{"no ancestor", []string{"nvmlDeviceGetTopologyCommonAncestor"}, []gpu.Link{link(0, 1, gpu.LinkNVLink, 6)}},
		{"older address", []string{"nvmlDeviceGetNvLinkRemotePciInfo_v2"}, append([]gpu.Link{link(0, 1, gpu.LinkNVLink, 6)}, cross...)},
		{"no kind of end", []string{"nvmlDeviceGetNvLinkRemoteDeviceType"}, append([]gpu.Link{link(0, 1, gpu.LinkNVLink, 6)}, cross...)},
		{"no word of the driver's", []string{"nvmlDeviceGetP2PStatus"}, append([]gpu.Link{link(0, 1, gpu.LinkNVLink, 6)}, cross...)},
		{"no number", []string{"nvmlDeviceGetNvLinkState"}, append([]gpu.Link{link(0, 1, gpu.LinkNVLink, 1)}, cross...)},
		{"nothing of NVLink", []string{"nvmlDeviceGetNvLinkState", "nvmlDeviceGetP2PStatus"}, append([]gpu.Link{link(0, 1, gpu.LinkNode, 0)}, cross...)},
		{"nothing", []string{"nvmlDeviceGetNvLinkState", "nvmlDeviceGetP2PStatus", "nvmlDeviceGetTopologyCommonAncestor"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			wantLinks(t, newRig(t).gpus(straight...).hide(tt.hide...).start().sample(), tt.want...)
		})
	}
}

// Links are not read again with every Snapshot, unless the GPUs change.
func TestLinksAreReadOnce(t *testing.T) {
	r := newRig(t).gpus("", "uuid=GPU-b").start()
	node, bridge := gpu.Link{A: 0, B: 1, Kind: gpu.LinkNode}, gpu.Link{A: 0, B: 1, Kind: gpu.LinkBridge}
	wantLinks(t, r.sample(), node)
	wantLinks(t, r.gpus("bridge=1", "bridge=1 uuid=GPU-b").sample(), node)
	wantLinks(t, r.gpus("bridge=1", "bridge=1 uuid=GPU-b lost=1").sample(), node)
	wantLinks(t, r.gpus("bridge=1", "bridge=1 uuid=GPU-c").sample(), bridge)
}

// A GPU that was not well during the survey is surveyed once it is well. Links through NVSwitches
// that start later are found too.
func TestLaterLinksAreFound(t *testing.T) {
	r := newRig(t).gpus("", "", "lost=1").start(variableTopology + "=1ns")
	node := gpu.Link{A: 0, B: 1, Kind: gpu.LinkNode}
	wantLinks(t, r.sample(), node)
	wantLinks(t, r.gpus("", "", "").sample(), gputest.NodeLinks(3)...)
	r.gpus("island=1 nvswitch=1 lanes=18", "island=1 nvswitch=1 lanes=18", "")
	for s := r.sample(); len(s.Links) != 3 || s.Links[0].Lanes != 18; s = r.sample() { // until the test times out
	}
}

// If a survey hangs, only one Snapshot waits for it (invariant 6).
func TestASurveyThatHangsIsNotWaitedForAgain(t *testing.T) {
	r := newRig(t).gpus("", "").start(variableTimeout + "=1s")
	if err := r.state.SetTopology("hang"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		wantLinks(t, settled(r, gpu.HealthOK, gpu.HealthOK))
	}
}

// evenCPUs lists CPUs with even numbers in the kernel's format.
func evenCPUs(n int) string {
	var set cpuset.Set
	for i := range n {
		set = set.With(2 * i)
	}
	return set.String()
}

// The kernel's files take precedence over the driver, and neither is required.
func TestNodeAndCPUs(t *testing.T) {
	tests := []struct {
		name        string
		node, cpus  string // contents of files, "-" for no file
		line        string
		wantNode    int
		wantedCPUs  string
		hideTheRest bool
	}{
		{"kernel", "1\n", "16-31,48-63\n", "numa=0 cpus=0", 1, "16-31,48-63", false},
		{"driver", "-", "-", "numa=2 cpus=0-3,8,200-255", 2, "0-3,8,200-255", false},
		{"the kernel knows no node", "-1\n", "0-7\n", "numa=2", -1, "0-7", false},
		{"the kernel lists no CPU", "0\n", "\n", "cpus=5", 0, "5", false},
		{"damaged", "many\n", "all\n", "numa=2 cpus=1", -1, "", false},
		{"longer than a sample may have", "0\n", evenCPUs(3000) + "\n", "numa=2 cpus=1", 0, "", false},
		{"nobody", "-", "-", "", -1, "", false},
		{"an old driver", "-", "-", "numa=2 cpus=1", -1, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sys := t.TempDir()
			slot := filepath.Join(sys, "bus/pci/devices/0000:07:00.0")
			if err := os.MkdirAll(slot, 0o755); err != nil {
				t.Fatal(err)
			}
			for name, text := range map[string]string{"numa_node": tt.node, "local_cpulist": tt.cpus} {
				if text == "-" {
					continue
				}
				if err := os.WriteFile(filepath.Join(slot, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			r := newRig(t).gpus(tt.line)
			if tt.hideTheRest {
				r.hide("nvmlDeviceGetCpuAffinity", "nvmlDeviceGetMemoryAffinity")
			}
			d := wellDevices(t, r.start(variableSys+"="+sys).sample(), 1)[0]
			if d.NUMANode != tt.wantNode || d.CPUs != tt.wantedCPUs {
				t.Errorf("node %d, CPUs %q; want %d, %q", d.NUMANode, d.CPUs, tt.wantNode, tt.wantedCPUs)
			}
		})
	}
}

// A GPU that is not well keeps its node and CPUs.
func TestALostGPUKeepsItsPlace(t *testing.T) {
	r := newRig(t).gpus(fakenvml.Islands()...).start()
	wellDevices(t, r.sample(), 8)
	lines := fakenvml.Islands()
	lines[6] = "lost=1"
	s := r.gpus(lines...).sample()
	if d := wellDevices(t, s, 8)[6]; d.Health != gpu.HealthLost || d.NUMANode != 1 || d.CPUs != "1" {
		t.Errorf("got %+v", d)
	}
	wantLinks(t, s, gputest.IslandLinks()...)
}
