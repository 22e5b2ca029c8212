package gputest

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// A Source is the subject of the suite.
type Source interface {
	Sample(ctx context.Context) (gpu.Snapshot, error)
	Look(ctx context.Context) (gpu.Snapshot, error)
	Close() error
}

// A Machine has the GPUs of a Source and can change them. The GPUs are A100 of 80 GiB. The minor
// number of each is its index.
type Machine interface {
	SetGPUs(n int) error // n idle GPUs on one NUMA node, for Sources that have not sampled yet
	// SetIslands sets eight GPUs in the same way: 4 NVLinks join each pair of GPUs 0 to 3, which
	// are on node 0 with CPU 0, and each pair of GPUs 4 to 7, which are on node 1 with CPU 1.
	SetIslands() error
	Claim(pid, minor int, bytes uint64) error // while pid lives
	Unclaim(pid, minor int) error             // succeeds without a claim
	Lose(minor int, lost bool) error          // off the bus, or back
}

// Run tests what is true for any GPUs. The argument newSource returns a new Source at each call.
// The suite closes these Sources.
func Run(t *testing.T, newSource func(t *testing.T) Source) {
	run := func(name string, test func(t *testing.T, s Source)) {
		t.Run(name, func(t *testing.T) {
			s := newSource(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("closing: %v", err)
				}
			})
			test(t, s)
		})
	}
	run("snapshots are sound", testSound)
	run("each is fresh", testFresh)
	run("a look", testLook)
	run("many callers", testManyCallers)
	run("a context that has ended", testEndedContext)
	run("closed", testClosed)
}

// RunScripted calls Run, and then tests that Snapshots show changes of the machine.
func RunScripted(t *testing.T, open func(t *testing.T) (Source, Machine)) {
	Run(t, func(t *testing.T) Source {
		s, _ := open(t)
		return s
	})
	run := func(name string, test func(t *testing.T, s Source, m Machine)) {
		t.Run(name, func(t *testing.T) {
			s, m := open(t)
			t.Cleanup(func() { _ = s.Close() })
			must(t, m.SetGPUs(3))
			test(t, s, m)
		})
	}
	run("three GPUs", testThreeGPUs)
	run("islands", testIslands)
	run("a claim shows, with its owner", testClaim)
	run("a claim ends with its process", testDeadClaim)
	run("a lost GPU affects only itself", testLost)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// sample returns a valid Snapshot of n GPUs, or of any number if n is negative.
func sample(t *testing.T, s Source, n int) gpu.Snapshot {
	t.Helper()
	snapshot, err := s.Sample(t.Context())
	must(t, err)
	if snapshot.Problem != gpu.ProblemNone {
		t.Fatalf("problem %q: %s", snapshot.Problem, snapshot.Detail)
	}
	if n >= 0 && len(snapshot.Devices) != n {
		t.Fatalf("%d GPUs, want %d", len(snapshot.Devices), n)
	}
	Check(t, snapshot)
	return snapshot
}

func testSound(t *testing.T, s Source) {
	for range 3 {
		sample(t, s, -1)
	}
}

func testFresh(t *testing.T, s Source) {
	began := time.Now().UnixNano()
	first := sample(t, s, -1)
	if first.TakenUnixNano < began {
		t.Error("taken before it was asked for")
	}
	for i := range first.Devices {
		first.Devices[i].UUID = "scribbled over"
	}
	second := sample(t, s, -1)
	if second.TakenUnixNano <= first.TakenUnixNano || second.Seq <= first.Seq {
		t.Errorf("taken at %d, then %d; seq %d, then %d", first.TakenUnixNano, second.TakenUnixNano, first.Seq, second.Seq)
	}
	for _, d := range second.Devices {
		if d.UUID == "scribbled over" {
			t.Error("two snapshots share their devices")
		}
	}
}

// testLook checks that a look has everything that a sample has, except the energy.
func testLook(t *testing.T, s Source) {
	sampled := sample(t, s, -1)
	looked, err := s.Look(t.Context())
	must(t, err)
	Check(t, looked)
	if looked.Problem != sampled.Problem || looked.TakenUnixNano <= sampled.TakenUnixNano {
		t.Errorf("a look: %+v, after a sample: %+v", looked, sampled)
	}
	if len(looked.Devices) != len(sampled.Devices) {
		t.Fatalf("a look shows %d GPUs, a sample %d", len(looked.Devices), len(sampled.Devices))
	}
	for i, d := range looked.Devices {
		want := sampled.Devices[i]
		want.EnergyMilliJ = 0
		if (d.TempC < 0) == (want.TempC < 0) && (d.PowerMilliW < 0) == (want.PowerMilliW < 0) { // these change
			want.TempC, want.PowerMilliW, want.UtilGPUPercent = d.TempC, d.PowerMilliW, d.UtilGPUPercent
		}
		want.MemUsedBytes, want.MemFreeBytes, want.Processes = d.MemUsedBytes, d.MemFreeBytes, d.Processes // these too
		if !reflect.DeepEqual(d, want) {
			t.Errorf("a look at GPU %d: %+v, want %+v", i, d, want)
		}
	}
	for i, d := range sample(t, s, len(sampled.Devices)).Devices {
		if before := sampled.Devices[i].EnergyMilliJ; d.EnergyMilliJ < before {
			t.Errorf("GPU %d used %d mJ, and before %d", i, d.EnergyMilliJ, before)
		}
	}
}

func testManyCallers(t *testing.T, s Source) {
	var callers sync.WaitGroup
	for range 8 {
		callers.Go(func() {
			for range 4 {
				snapshot, err := s.Sample(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				Check(t, snapshot)
			}
		})
	}
	callers.Wait()
}

func testEndedContext(t *testing.T, s Source) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	snapshot, err := s.Sample(ctx)
	if !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	wantStale(t, snapshot)
	sample(t, s, -1)
}

// wantStale checks that the Snapshot that comes with an error is valid.
func wantStale(t *testing.T, s gpu.Snapshot) {
	t.Helper()
	Check(t, s)
	if s.Problem != gpu.ProblemStale || s.Detail == "" || len(s.Devices) != 0 {
		t.Errorf("the snapshot beside an error is %+v", s)
	}
}

func testClosed(t *testing.T, s Source) {
	sample(t, s, -1)
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	snapshot, err := s.Sample(t.Context())
	if err == nil {
		t.Error("a closed source answers")
	}
	wantStale(t, snapshot)
}

func testThreeGPUs(t *testing.T, s Source, _ Machine) {
	snapshot := sample(t, s, 3)
	if !slices.Equal(snapshot.Links, NodeLinks(3)) {
		t.Errorf("links %+v", snapshot.Links)
	}
	for i, d := range snapshot.Devices {
		if d.Minor != i || d.Health != gpu.HealthOK || !d.TypeMatches("a100") || len(d.Processes) != 0 {
			t.Errorf("GPU %d is %+v", i, d)
		}
		if d.MemTotalBytes != 80<<30 || d.MemUsedBytes != 0 || d.MemFreeBytes != 80<<30-d.MemReservedBytes {
			t.Errorf("GPU %d: total %d, used %d, free %d", i, d.MemTotalBytes, d.MemUsedBytes, d.MemFreeBytes)
		}
	}
}

// testIslands checks the links and CPUs in every Snapshot.
func testIslands(t *testing.T, s Source, m Machine) {
	must(t, m.SetIslands())
	want := IslandLinks()
	for range 3 {
		snapshot := sample(t, s, 8)
		if !slices.Equal(snapshot.Links, want) {
			t.Errorf("links %+v", snapshot.Links)
		}
		for i, d := range snapshot.Devices {
			if d.NUMANode != i/4 || d.CPUs != strconv.Itoa(i/4) {
				t.Errorf("GPU %d is on node %d next to CPUs %q", i, d.NUMANode, d.CPUs)
			}
		}
	}
}

func testClaim(t *testing.T, s Source, m Machine) {
	const bytes = 3 << 30
	before := sample(t, s, 3)
	must(t, m.Claim(os.Getpid(), 1, bytes))
	d := sample(t, s, 3).Devices[1]
	o := gpu.OwnerOf("/proc", os.Getpid())
	want := gpu.Process{PID: os.Getpid(), Kind: gpu.KindCompute, UsedBytes: bytes, UID: o.UID, Comm: o.Comm, Unit: o.Unit,
		Start: o.Start, Age: o.Age}
	for i := range d.Processes { // its age grows between two readings
		if p := &d.Processes[i]; p.Age > 0 && p.Age <= want.Age {
			p.Age = want.Age
		}
	}
	if len(d.Processes) != 1 || d.Processes[0] != want {
		t.Errorf("processes %+v, want %+v", d.Processes, want)
	}
	if d.MemUsedBytes != bytes || d.MemFreeBytes != before.Devices[1].MemFreeBytes-bytes {
		t.Errorf("used %d, free %d", d.MemUsedBytes, d.MemFreeBytes)
	}
	must(t, m.Unclaim(os.Getpid(), 1))
	if d := sample(t, s, 3).Devices[1]; len(d.Processes) != 0 || d.MemUsedBytes != 0 {
		t.Errorf("after its end, processes %+v, used %d", d.Processes, d.MemUsedBytes)
	}
}

func testDeadClaim(t *testing.T, s Source, m Machine) {
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	must(t, err)
	must(t, cmd.Start())
	must(t, m.Claim(cmd.Process.Pid, 0, 1<<30))
	if d := sample(t, s, 3).Devices[0]; len(d.Processes) != 1 || d.Processes[0].Comm != "cat" {
		t.Errorf("processes %+v", d.Processes)
	}
	_ = in.Close()
	must(t, cmd.Wait())
	if d := sample(t, s, 3).Devices[0]; len(d.Processes) != 0 || d.MemUsedBytes != 0 {
		t.Errorf("after the process ended: %+v, used %d", d.Processes, d.MemUsedBytes)
	}
}

func testLost(t *testing.T, s Source, m Machine) {
	first := sample(t, s, 3)
	before := first.Devices
	must(t, m.Lose(1, true))
	lost := sample(t, s, 3)
	if len(first.Links) != 3 || !slices.Equal(lost.Links, first.Links) {
		t.Errorf("links %+v, without GPU 1 %+v", first.Links, lost.Links)
	}
	for i, d := range lost.Devices {
		want := gpu.HealthOK
		if i == 1 {
			want = gpu.HealthLost
		}
		if d.Health != want || d.UUID != before[i].UUID || d.Minor != before[i].Minor || d.CPUs != before[i].CPUs {
			t.Errorf("GPU %d is %s: %q, minor %d", i, d.Health, d.UUID, d.Minor)
		}
	}
	must(t, m.Lose(1, false))
	if d := sample(t, s, 3).Devices[1]; d.Health != gpu.HealthOK {
		t.Errorf("back on the bus, GPU 1 is %s: %s", d.Health, d.HealthDetail)
	}
}
