package nvml

import "strings"

// A need identifies a function of the library that this package calls.
type need int

const (
	needInit need = iota
	needShutdown
	needCount
	needHandle
	needUUID
	needName
	needMinor
	needPCI
	needMemory1
	needMemory2
	needMemoryNode
	needCompute
	needGraphics
	needMPS
	needUtil
	needTemp
	needPower
	needEnergy
	needMode
	needMIG
	needMostSlices
	needSlice
	needGPUInstance
	needComputeInstance
	needRows
	needFields
	needCPUs
	needNodes
	needAncestor
	needNVLink
	needNVLinkEnd
	needNVLinkPCI
	needP2P
	needDriver
	needVersion
	needCUDA
	needErrorString
	needOf535      // never called: present since 535
	needOf535Fixed // never called: present in repaired versions of 535
	needs
)

// An entry describes the function that a need identifies: its names, newest first, and what does
// not work without the function. go-nvml calls the newest name that the library has. If loss is
// empty, nothing works without the function.
type entry struct {
	names []string
	loss  string
}

func entries() [needs]entry {
	return [needs]entry{
		needInit:            {newestNames("nvmlInit", "v2"), ""},
		needShutdown:        {newestNames("nvmlShutdown"), ""},
		needCount:           {newestNames("nvmlDeviceGetCount", "v2"), ""},
		needHandle:          {newestNames("nvmlDeviceGetHandleByIndex", "v2"), ""},
		needUUID:            {newestNames("nvmlDeviceGetUUID"), ""},
		needName:            {newestNames("nvmlDeviceGetName"), ""},
		needMinor:           {newestNames("nvmlDeviceGetMinorNumber"), ""},
		needPCI:             {newestNames("nvmlDeviceGetPciInfo", "v3", "v2"), ""},
		needMemory1:         {newestNames("nvmlDeviceGetMemoryInfo"), ""},
		needMemory2:         {[]string{"nvmlDeviceGetMemoryInfo_v2"}, "reserved memory, which otherwise counts as used"},
		needMemoryNode:      {newestNames("nvmlDeviceGetNumaNodeId"), "whether the kernel manages a GPU's memory"},
		needCompute:         {newestNames("nvmlDeviceGetComputeRunningProcesses", "v3", "v2"), "which processes compute"},
		needGraphics:        {newestNames("nvmlDeviceGetGraphicsRunningProcesses", "v3", "v2"), "which processes draw"},
		needMPS:             {newestNames("nvmlDeviceGetMPSComputeRunningProcesses", "v3", "v2"), "which processes compute through MPS"},
		needUtil:            {newestNames("nvmlDeviceGetUtilizationRates"), "utilisation"},
		needTemp:            {newestNames("nvmlDeviceGetTemperature"), "temperature"},
		needPower:           {newestNames("nvmlDeviceGetPowerUsage"), "power"},
		needEnergy:          {newestNames("nvmlDeviceGetTotalEnergyConsumption"), "the driver's count of energy, which is estimated from the power instead"},
		needMode:            {newestNames("nvmlDeviceGetComputeMode"), "compute mode"},
		needMIG:             {newestNames("nvmlDeviceGetMigMode"), "whether MIG is on"},
		needMostSlices:      {newestNames("nvmlDeviceGetMaxMigDeviceCount"), "which slices a GPU in MIG mode has"},
		needSlice:           {newestNames("nvmlDeviceGetMigDeviceHandleByIndex"), "the slices of GPUs in MIG mode"},
		needGPUInstance:     {newestNames("nvmlDeviceGetGpuInstanceId"), "which GPU instance a slice is in"},
		needComputeInstance: {newestNames("nvmlDeviceGetComputeInstanceId"), "which compute instance a slice is"},
		needRows:            {newestNames("nvmlDeviceGetRemappedRows"), "whether bad memory rows wait for a reset"},
		needFields:          {newestNames("nvmlDeviceGetFieldValues"), "whether a GPU is well again after an error"},
		needCPUs:            {newestNames("nvmlDeviceGetCpuAffinity"), "which CPUs are near a GPU, if the kernel does not say"},
		needNodes:           {newestNames("nvmlDeviceGetMemoryAffinity"), "the NUMA node of a GPU, if the kernel does not say"},
		needAncestor:        {newestNames("nvmlDeviceGetTopologyCommonAncestor"), "how GPUs are connected by PCIe"},
		needNVLink:          {newestNames("nvmlDeviceGetNvLinkState"), "how many NVLinks join two GPUs"},
		needNVLinkEnd:       {newestNames("nvmlDeviceGetNvLinkRemoteDeviceType"), "how many NVLinks lead to NVSwitches"},
		needNVLinkPCI:       {newestNames("nvmlDeviceGetNvLinkRemotePciInfo", "v2"), "how many NVLinks lead straight to another GPU"},
		needP2P:             {newestNames("nvmlDeviceGetP2PStatus"), "whether two GPUs can really use their NVLinks"},
		needDriver:          {newestNames("nvmlSystemGetDriverVersion"), "version of the driver"},
		needVersion:         {newestNames("nvmlSystemGetNVMLVersion"), "version of the library"},
		needCUDA:            {[]string{"nvmlSystemGetCudaDriverVersion_v2"}, "version of CUDA"},
		needErrorString:     {newestNames("nvmlErrorString"), "the driver's messages in words"},
		needOf535:           {newestNames("nvmlDeviceGetConfComputeMemSizeInfo"), "nothing, it only identifies the driver"},
		needOf535Fixed:      {newestNames("nvmlDeviceGetRunningProcessDetailList"), "nothing, it only identifies the driver"},
	}
}

// newestNames returns the names name_vN … name_v2, name.
func newestNames(name string, versions ...string) []string {
	var names []string
	for _, v := range versions {
		names = append(names, name+"_"+v)
	}
	return append(names, name)
}

// A Symbol describes one function of the library.
type Symbol struct {
	Name    string // the newest name that the library has, or else the newest possible
	Present bool
	Loss    string // what does not work without it; "": nothing works
}

// symbols has, for each need, the newest name that the library has, or "".
type symbols [needs]string

// findSymbols finds the functions of the library. The argument lookup returns an error for a
// missing name.
func findSymbols(lookup func(string) error) symbols {
	var has symbols
	for n, e := range entries() {
		for _, name := range e.names {
			if lookup(name) == nil {
				has[n] = name
				break
			}
		}
	}
	return has
}

func (has symbols) any(n need) bool {
	return has[n] != ""
}

// missingNames lists the required functions that the library lacks.
func (has symbols) missingNames() string {
	var names []string
	for n, e := range entries() {
		if e.loss == "" && !has.any(need(n)) {
			names = append(names, e.names[0])
		}
	}
	return strings.Join(names, ", ")
}

// overruns reports whether the driver writes past the buffer of a process list (invariant 5).
func (has symbols) overruns() bool {
	return has.any(needOf535) && !has.any(needOf535Fixed)
}

func (has symbols) list() []Symbol {
	var lines []Symbol
	for n, e := range entries() {
		name := e.names[0]
		if has.any(need(n)) {
			name = has[n]
		}
		lines = append(lines, Symbol{Name: name, Present: has.any(need(n)), Loss: e.loss})
	}
	return lines
}
