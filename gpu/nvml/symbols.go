package nvml

import "strings"

// A need is one function of the library that is called here.
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
	needOf535      // never called: 535 and newer have it
	needOf535Fixed // never called: of those, the repaired ones have it
	needs
)

// entry is what a need is called, newest name first (go-nvml calls the newest
// that is there), and what is lost without it; "" means that nothing works.
type entry struct {
	names []string
	loss  string
}

func entries() [needs]entry {
	return [needs]entry{
		needInit:        {newest("nvmlInit", "v2"), ""},
		needShutdown:    {newest("nvmlShutdown"), ""},
		needCount:       {newest("nvmlDeviceGetCount", "v2"), ""},
		needHandle:      {newest("nvmlDeviceGetHandleByIndex", "v2"), ""},
		needUUID:        {newest("nvmlDeviceGetUUID"), ""},
		needName:        {newest("nvmlDeviceGetName"), ""},
		needMinor:       {newest("nvmlDeviceGetMinorNumber"), ""},
		needPCI:         {newest("nvmlDeviceGetPciInfo", "v3", "v2"), ""},
		needMemory1:     {newest("nvmlDeviceGetMemoryInfo"), ""},
		needMemory2:     {[]string{"nvmlDeviceGetMemoryInfo_v2"}, "memory that the driver reserves, told apart from used"},
		needMemoryNode:  {newest("nvmlDeviceGetNumaNodeId"), "whether the kernel gives out a GPU's memory"},
		needCompute:     {newest("nvmlDeviceGetComputeRunningProcesses", "v3", "v2"), "which processes compute"},
		needGraphics:    {newest("nvmlDeviceGetGraphicsRunningProcesses", "v3", "v2"), "which processes draw"},
		needMPS:         {newest("nvmlDeviceGetMPSComputeRunningProcesses", "v3", "v2"), "which processes compute through MPS"},
		needUtil:        {newest("nvmlDeviceGetUtilizationRates"), "utilisation"},
		needTemp:        {newest("nvmlDeviceGetTemperature"), "temperature"},
		needPower:       {newest("nvmlDeviceGetPowerUsage"), "power"},
		needEnergy:      {newest("nvmlDeviceGetTotalEnergyConsumption"), "energy as the driver counts it: it is reckoned from the power"},
		needMode:        {newest("nvmlDeviceGetComputeMode"), "compute mode"},
		needMIG:         {newest("nvmlDeviceGetMigMode"), "whether MIG is on"},
		needRows:        {newest("nvmlDeviceGetRemappedRows"), "whether bad rows of memory wait for a reset"},
		needFields:      {newest("nvmlDeviceGetFieldValues"), "whether a GPU is well again after an error"},
		needCPUs:        {newest("nvmlDeviceGetCpuAffinity"), "which CPUs are next to a GPU, where the kernel does not tell"},
		needNodes:       {newest("nvmlDeviceGetMemoryAffinity"), "the NUMA node of a GPU, where the kernel does not tell"},
		needAncestor:    {newest("nvmlDeviceGetTopologyCommonAncestor"), "how GPUs are connected by PCIe"},
		needNVLink:      {newest("nvmlDeviceGetNvLinkState"), "how many NVLinks join two GPUs"},
		needNVLinkEnd:   {newest("nvmlDeviceGetNvLinkRemoteDeviceType"), "how many NVLinks lead to NVSwitches"},
		needNVLinkPCI:   {newest("nvmlDeviceGetNvLinkRemotePciInfo", "v2"), "how many NVLinks lead straight to another GPU"},
		needP2P:         {newest("nvmlDeviceGetP2PStatus"), "whether two GPUs can really use their NVLinks"},
		needDriver:      {newest("nvmlSystemGetDriverVersion"), "version of the driver"},
		needVersion:     {newest("nvmlSystemGetNVMLVersion"), "version of the library"},
		needCUDA:        {[]string{"nvmlSystemGetCudaDriverVersion_v2"}, "version of CUDA"},
		needErrorString: {newest("nvmlErrorString"), "the driver's messages in words"},
		needOf535:       {newest("nvmlDeviceGetConfComputeMemSizeInfo"), "nothing, it only tells which driver this is"},
		needOf535Fixed:  {newest("nvmlDeviceGetRunningProcessDetailList"), "nothing, it only tells which driver this is"},
	}
}

// newest returns the names name_vN … name_v2, name.
func newest(name string, versions ...string) []string {
	var names []string
	for _, v := range versions {
		names = append(names, name+"_"+v)
	}
	return append(names, name)
}

// Symbol is one line of a Symbols.
type Symbol struct {
	Name    string // the newest that is there, or the newest there could be
	Present bool
	Loss    string // what is lost without it; "" means everything
}

// symbols holds, per need, the newest name that the library has, "" if none.
type symbols [needs]string

// look finds out by lookup, which returns an error for a name that is not there.
func look(lookup func(string) error) symbols {
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

// missing lists what nothing works without, "" if it is all there.
func (has symbols) missing() string {
	var names []string
	for n, e := range entries() {
		if e.loss == "" && !has.any(need(n)) {
			names = append(names, e.names[0])
		}
	}
	return strings.Join(names, ", ")
}

// overruns says whether this is a driver of invariant 5.
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
