package nvml

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// A card is a GPU. In MIG mode it has slices, in NVML's order. Their indexes are not set.
type card struct {
	gpu.Device
	slices []gpu.Device
}

// slices reads the slices of a GPU in MIG mode. The handle of a slice is invalid once its instances
// are destroyed, so each reading asks for new handles. A slice that disappears meanwhile is left
// out.
func (r *reader) slices(dev nvml.Device) (list []gpu.Device) {
	for _, n := range []need{needSlice, needGPUInstance, needComputeInstance} {
		if !r.has.any(n) {
			return nil
		}
	}
	most, ok := askOptional(r, needMostSlices, "counting the slices", dev.GetMaxMigDeviceCount)
	for i := 0; ok && i < most; i++ {
		handle := func() (nvml.Device, nvml.Return) { return dev.GetMigDeviceHandleByIndex(i) }
		slice, found := askOptional(r, needSlice, "finding a slice", handle)
		if !found {
			continue
		}
		if d, there := r.slice(slice); there {
			list = append(list, d)
		}
	}
	return list
}

// slice reads one slice. The driver reports neither utilisation nor power of a slice. All other
// values that are not read here are those of the whole GPU.
func (r *reader) slice(dev nvml.Device) (d gpu.Device, there bool) {
	s := *r
	s.out = blankDevice(r.out.Index)
	o := &s.out
	o.Minor, o.PCI, o.TempC = r.out.Minor, r.out.PCI, r.out.TempC
	o.NUMANode, o.CPUs = r.out.NUMANode, r.out.CPUs
	o.RowsPending, o.RowsFailed, o.Well = r.out.RowsPending, r.out.RowsFailed, r.out.Well
	if o.UUID, there = askOptional(&s, needUUID, "reading the UUID of a slice", dev.GetUUID); !there {
		return d, false
	}
	o.Name, _ = askRequired(&s, needName, "reading the name", dev.GetName)
	if s.ok() && !strings.Contains(o.Name, " MIG ") {
		o.Name += " MIG"
	}
	o.Slice = gpu.Slice{Card: r.out.Index, Caps: [2]int{-1, -1}}
	o.Slice.GPUInstance, _ = askRequired(&s, needGPUInstance, "reading the GPU instance", dev.GetGpuInstanceId)
	o.Slice.ComputeInstance, _ = askRequired(&s, needComputeInstance, "reading the compute instance", dev.GetComputeInstanceId)
	s.caps()
	s.readMemory(dev)
	s.mode(dev)
	s.processes(dev)
	if o.Health == gpu.HealthLost {
		r.fail(o.Health, o.HealthDetail)
	}
	return s.out, true
}

// caps finds the nodes that open the slice's instances. The driver lists their numbers in /proc.
func (r *reader) caps() {
	s := &r.out.Slice
	dir := fmt.Sprintf("driver/nvidia/capabilities/gpu%d/mig/gi%d", r.out.Minor, s.GPUInstance)
	for i, file := range []string{"access", fmt.Sprintf("ci%d/access", s.ComputeInstance)} {
		number, err := readCap(filepath.Join(r.procRoot, dir, file))
		if err != nil {
			r.fail(gpu.HealthError, "the node that opens the slice is unknown: "+err.Error())
			return
		}
		s.Caps[i] = number
	}
}

// readCap reads the number of a node in /dev/nvidia-caps from a line "DeviceFileMinor: 30".
func readCap(path string) (int, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "DeviceFileMinor:"); ok {
			if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 20); err == nil && n > 0 {
				return int(n), nil
			}
		}
	}
	return 0, fmt.Errorf("%s has no DeviceFileMinor", path)
}

// knownSlices returns the GPU's slices with the identities that were read last. The slices have the
// place and the health of d.
func (k card) knownSlices(d gpu.Device) (list []gpu.Device) {
	for _, s := range k.slices {
		o := blankDevice(d.Index)
		o.UUID, o.Name, o.Slice = s.UUID, s.Name, s.Slice
		o.Minor, o.PCI = d.Minor, d.PCI
		o.NUMANode, o.CPUs = d.NUMANode, d.CPUs
		o.Health, o.HealthDetail = d.Health, d.HealthDetail
		list = append(list, o)
	}
	return list
}
