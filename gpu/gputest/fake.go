package gputest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/gpusched/gpusched/gpu"
)

// ErrClosed is the error of a closed Fake.
var ErrClosed = errors.New("the source is closed")

// A Fake is a source of Snapshots in memory. Several goroutines may call its methods. A Sample that
// ends after a change shows that change.
type Fake struct {
	mu      sync.Mutex // guards the following fields
	devices []gpu.Device
	links   []gpu.Link
	claims  []claim
	lost    map[int]bool // by minor
	seq     uint64
	closed  bool
}

// A claim is a process on a GPU. A claim of a real process counts as long as its pid lives, and its
// owner is read from /proc. Other claims are reported as they were given.
type claim struct {
	minor   int
	process gpu.Process
	real    bool
}

// A100 returns an idle GPU of 80 GiB whose minor is its index. The driver reserves 700 MiB, as on
// an H200; other GPUs were seen with 328 MiB to 2.3 GiB.
func A100(index int) gpu.Device {
	const total, reserved = 80 << 30, 700 << 20
	return gpu.Device{
		Index: index, UUID: fmt.Sprintf("GPU-fa4e0000-0000-4000-8000-%012d", index), Minor: index, Name: "NVIDIA A100-SXM4-80GB",
		PCI: fmt.Sprintf("00000000:%02X:00.0", 7+8*index), NUMANode: -1, Health: gpu.HealthOK,
		MemTotalBytes: total, MemFreeBytes: total - reserved, MemReservedBytes: reserved,
		TempC: 34, PowerMilliW: 62000, EnergyMilliJ: 5_000_000, ComputeMode: "default",
	}
}

// NewFake returns a Fake with n idle A100 on one NUMA node.
func NewFake(n int) *Fake {
	f := &Fake{lost: make(map[int]bool)}
	_ = f.SetGPUs(n)
	return f
}

// SetGPUs replaces the GPUs with n idle A100, and drops all claims.
func (f *Fake) SetGPUs(n int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.devices, f.claims = nil, nil
	for i := range n {
		f.devices = append(f.devices, A100(i))
	}
	f.links = NodeLinks(n)
	clear(f.lost)
	return nil
}

// Change modifies the GPU with this minor, if it exists.
func (f *Fake) Change(minor int, change func(*gpu.Device)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.devices {
		if f.devices[i].Minor == minor {
			change(&f.devices[i])
		}
	}
}

// Claim makes a process of this machine hold memory on a GPU as long as it lives.
func (f *Fake) Claim(pid, minor int, bytes uint64) error {
	f.put(claim{minor: minor, process: gpu.Process{PID: pid, Kind: gpu.KindCompute, UsedBytes: int64(bytes)}, real: true})
	return nil
}

// Put puts a process on a GPU. The process need not exist on this machine.
func (f *Fake) Put(minor int, p gpu.Process) {
	f.put(claim{minor: minor, process: p})
}

func (f *Fake) put(c claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims = append(f.without(c.process.PID, c.minor), c)
}

// Unclaim removes a process from a GPU.
func (f *Fake) Unclaim(pid, minor int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.claims = f.without(pid, minor)
	return nil
}

func (f *Fake) without(pid, minor int) []claim {
	return slices.DeleteFunc(slices.Clone(f.claims), func(c claim) bool {
		return c.process.PID == pid && c.minor == minor
	})
}

// Lose takes the GPU off the bus, or puts it back.
func (f *Fake) Lose(minor int, lost bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost[minor] = lost
	return nil
}

// Close makes all later Samples fail.
func (f *Fake) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return nil
}

// Sample behaves like the Sample of package source, including its errors.
func (f *Fake) Sample(ctx context.Context) (gpu.Snapshot, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seq++
	s := gpu.Snapshot{Seq: f.seq, TakenUnixNano: time.Now().UnixNano(), Devices: []gpu.Device{}}
	err := context.Cause(ctx)
	if err == nil && f.closed {
		err = ErrClosed
	}
	if err != nil {
		err = fmt.Errorf("sampling the GPUs: %w", err)
		s.Problem, s.Detail = gpu.ProblemStale, err.Error()
		return s, err
	}
	s.Driver, s.NVMLVersion, s.CUDAVersion = "550.54.14", "12.550.54.14", "12.4"
	for _, d := range f.devices {
		s.Devices = append(s.Devices, f.device(d))
	}
	s.Links = slices.Clone(f.links)
	return s, nil
}

// Look behaves like the Look of package source.
func (f *Fake) Look(ctx context.Context) (gpu.Snapshot, error) {
	s, err := f.Sample(ctx)
	s.Look = true
	for i := range s.Devices {
		s.Devices[i].EnergyMilliJ = 0
	}
	return s, err
}

// device applies the claims and losses to d.
func (f *Fake) device(d gpu.Device) gpu.Device {
	if f.lost[d.Minor] {
		return gpu.Device{
			Index: d.Index, UUID: d.UUID, Minor: d.Minor, Name: d.Name, PCI: d.PCI, NUMANode: d.NUMANode, CPUs: d.CPUs,
			Health: gpu.HealthLost, HealthDetail: "GPU is lost", UtilGPUPercent: -1, TempC: -1,
			PowerMilliW: -1, Processes: []gpu.Process{},
		}
	}
	d.Processes = append([]gpu.Process{}, d.Processes...)
	for _, c := range f.claims {
		p := c.process
		if c.minor != d.Minor {
			continue
		}
		if c.real {
			o := gpu.OwnerOf("/proc", p.PID)
			p.UID, p.Comm, p.Unit = o.UID, o.Comm, o.Unit
			p.Start, p.Age = o.Start, o.Age
			if !o.Alive {
				continue
			}
		}
		d.Processes = append(d.Processes, p)
		if p.UsedBytes > 0 {
			used := min(uint64(p.UsedBytes), d.MemFreeBytes)
			d.MemUsedBytes += used
			d.MemFreeBytes -= used
		}
	}
	slices.SortFunc(d.Processes, func(a, b gpu.Process) int { return a.PID - b.PID })
	return d
}
