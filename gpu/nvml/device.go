package nvml

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gpusched/gpusched/gpu"
)

// A reader reads one GPU once. It has only copies of what it needs, because it may outlive the
// Snapshot that started it.
type reader struct {
	nv                nvml.Interface
	has               symbols
	words             func(nvml.Return) string
	procRoot, sysRoot string
	below             string
	look              bool // leave out the energy
	known             card // the GPU at this index, as it was last read without an error
	out               gpu.Device
}

func (l *Library) reader(index int, look bool) *reader {
	return &reader{
		look: look,
		nv:   l.nv, has: l.has, words: l.errorText, procRoot: l.opts.ProcRoot, sysRoot: l.opts.SysRoot, below: l.opts.Below,
		known: l.slots[index].known, out: blankDevice(index),
	}
}

// blankDevice returns a GPU about which nothing is known.
func blankDevice(index int) gpu.Device {
	return gpu.Device{
		Index: index, Minor: -1, NUMANode: -1, Health: gpu.HealthOK,
		UtilGPUPercent: -1, TempC: -1, PowerMilliW: -1,
		Processes: []gpu.Process{},
	}
}

// readAll reads everything. go-nvml may panic on an unusual answer, because it slices by numbers
// that the driver returned. Such a panic makes only this GPU count as not well.
func (r *reader) readAll() (c card) {
	defer func() {
		if p := recover(); p != nil {
			r.fail(gpu.HealthError, fmt.Sprintf("reading the driver's answer: %v", p))
			c = card{Device: r.out}
		}
	}()
	dev, ok := askRequired(r, needHandle, "finding the GPU", func() (nvml.Device, nvml.Return) {
		return r.nv.DeviceGetHandleByIndex(r.out.Index)
	})
	if ok {
		r.identity(dev)
		r.readAffinity(dev)
		r.readMemory(dev)
		r.gauges(dev)
		r.mode(dev)
		r.processes(dev)
	}
	c.Device = r.out
	if ok && r.out.MIG {
		c.slices = r.slices(dev)
		c.Device = r.out // it may have been lost meanwhile
	}
	return c
}

func (r *reader) ok() bool {
	return r.out.Health == gpu.HealthOK
}

func (r *reader) fail(h gpu.Health, detail string) {
	if r.ok() {
		r.out.Health, r.out.HealthDetail = h, detail
	}
}

// askRequired asks for something that every GPU has. If the GPU does not answer, it is not well and
// gets no more questions.
func askRequired[T any](r *reader, n need, doing string, call func() (T, nvml.Return)) (T, bool) {
	v, ret, asked := ask(r, n, doing, call)
	if asked && ret != nvml.SUCCESS {
		r.fail(gpu.HealthError, doing+": "+r.words(ret))
	}
	return v, asked && ret == nvml.SUCCESS
}

// askOptional asks for something that only some GPUs have.
func askOptional[T any](r *reader, n need, doing string, call func() (T, nvml.Return)) (T, bool) {
	v, ret, asked := ask(r, n, doing, call)
	return v, asked && ret == nvml.SUCCESS
}

// ask makes one call if the GPU is well so far and the library has the function. Some errors say
// that the GPU is not well, whatever the call asked for.
func ask[T any](r *reader, n need, doing string, call func() (T, nvml.Return)) (v T, ret nvml.Return, asked bool) {
	if !r.ok() || !r.has.any(n) {
		return v, nvml.SUCCESS, false
	}
	v, ret = call()
	switch ret {
	case nvml.ERROR_GPU_IS_LOST:
		r.fail(gpu.HealthLost, doing+": "+r.words(ret))
	case nvml.ERROR_RESET_REQUIRED:
		r.fail(gpu.HealthError, doing+": "+r.words(ret))
	}
	return v, ret, true
}

func (r *reader) identity(dev nvml.Device) {
	if v, ok := askRequired(r, needUUID, "reading the UUID", dev.GetUUID); ok {
		r.out.UUID = v
	}
	if v, ok := askRequired(r, needMinor, "reading the minor number", dev.GetMinorNumber); ok {
		r.out.Minor = v
	}
	if v, ok := askRequired(r, needName, "reading the name", dev.GetName); ok {
		r.out.Name = v
	}
	if v, ok := askRequired(r, needPCI, "reading the PCI address", dev.GetPciInfo); ok {
		r.out.PCI = text(v.BusId[:])
	}
}

func text[C int8 | uint8](chars []C) string {
	var b strings.Builder
	for _, c := range chars {
		if c == 0 {
			break
		}
		b.WriteByte(byte(c))
	}
	return b.String()
}

// readMemory reads the driver's own figure for free memory. The total minus the used memory can be
// more, because only version 1 of the driver's function counts reserved memory as used. GPUs that
// use the host's memory (GB10) report nothing. If the memory is a NUMA node of the host (GH200),
// the kernel manages it and keeps pages there after processes have ended, according to the comment
// on nvmlDeviceGetMemoryInfo in nvml.h.
func (r *reader) readMemory(dev nvml.Device) {
	_, r.out.MemIsNode = askOptional(r, needMemoryNode, "asking whether its memory is a NUMA node", dev.GetNumaNodeId)
	if v, ok := askOptional(r, needMemory2, "reading the memory", dev.GetMemoryInfo_v2); ok {
		r.out.MemTotalBytes, r.out.MemReservedBytes = v.Total, v.Reserved
		r.out.MemUsedBytes, r.out.MemFreeBytes = v.Used, v.Free
		return
	}
	const doing = "reading the memory"
	switch v, ret, asked := ask(r, needMemory1, doing, dev.GetMemoryInfo); {
	case !asked || ret == nvml.ERROR_NOT_SUPPORTED:
	case ret == nvml.SUCCESS:
		r.out.MemTotalBytes, r.out.MemUsedBytes, r.out.MemFreeBytes = v.Total, v.Used, v.Free
	default:
		r.fail(gpu.HealthError, doing+": "+r.words(ret))
	}
}

func (r *reader) gauges(dev nvml.Device) {
	if v, ok := askOptional(r, needUtil, "reading the utilisation", dev.GetUtilizationRates); ok {
		r.out.UtilGPUPercent = int(v.Gpu)
	}
	temperature := func() (uint32, nvml.Return) { return dev.GetTemperature(nvml.TEMPERATURE_GPU) }
	if v, ok := askOptional(r, needTemp, "reading the temperature", temperature); ok {
		r.out.TempC = int(v)
	}
	if v, ok := askOptional(r, needPower, "reading the power", dev.GetPowerUsage); ok {
		r.out.PowerMilliW = int64(v)
	}
	if !r.look {
		if v, ok := askOptional(r, needEnergy, "reading the energy", dev.GetTotalEnergyConsumption); ok {
			r.out.EnergyMilliJ = v
		}
	}
	mig := func() (bool, nvml.Return) {
		current, _, ret := dev.GetMigMode()
		return current == nvml.DEVICE_MIG_ENABLE, ret
	}
	if v, ok := askOptional(r, needMIG, "reading the MIG mode", mig); ok {
		r.out.MIG = v
	}
	rows := func() (v [2]bool, ret nvml.Return) {
		_, _, v[0], v[1], ret = dev.GetRemappedRows()
		return v, ret
	}
	if v, ok := askOptional(r, needRows, "reading the remapped rows", rows); ok {
		r.out.RowsPending, r.out.RowsFailed = v[0], v[1]
	}
	action := func() (bool, nvml.Return) {
		v := []nvml.FieldValue{{FieldId: nvml.FI_DEV_GET_GPU_RECOVERY_ACTION}}
		if ret := dev.GetFieldValues(v); ret != nvml.SUCCESS {
			return false, ret
		}
		return binary.NativeEndian.Uint32(v[0].Value[:]) == uint32(nvml.GPU_RECOVERY_ACTION_NONE),
			nvml.Return(v[0].NvmlReturn)
	}
	if v, ok := askOptional(r, needFields, "reading the recovery action", action); ok {
		r.out.Well = v
	}
}

func (r *reader) mode(dev nvml.Device) {
	if v, ok := askOptional(r, needMode, "reading the compute mode", dev.GetComputeMode); ok {
		r.out.ComputeMode = modeName(v)
	}
}

func modeName(m nvml.ComputeMode) string {
	switch m {
	case nvml.COMPUTEMODE_DEFAULT:
		return "default"
	case nvml.COMPUTEMODE_EXCLUSIVE_THREAD, nvml.COMPUTEMODE_EXCLUSIVE_PROCESS:
		return "exclusive-process"
	case nvml.COMPUTEMODE_PROHIBITED:
		return "prohibited"
	default:
		return ""
	}
}
