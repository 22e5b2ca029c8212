package units

import (
	"fmt"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/units/contract"
)

// ProofSpec describes the unit that tests a GPU with CUDA.
type ProofSpec struct {
	GPU     contract.GPU
	Devices []cgroup.Device // further devices that CUDA needs
	GIDs    []uint32        // groups that may open the GPU's node
	Program string          // absolute path of gpusched-nvml
	Scope   Scope           // of the systemd that runs the unit
}

// Limits of a unit that tests a GPU. A test takes less than a second, but where nothing keeps the
// driver loaded, CUDA's start alone takes several seconds.
const (
	proofTime   = 20 * time.Second
	proofGrace  = time.Second
	proofMemory = 2 << 30
	proofTasks  = 256
)

// ProofName returns the name of the unit that tests a GPU.
func ProofName(gpu int) string {
	return contract.ProofPrefix + strconv.Itoa(gpu) + contract.UnitSuffix
}

// ProofProperties returns the properties of the unit. The unit runs under an account that exists
// only as long as the unit, and can open no other GPU than the tested one. A user's own systemd can
// enforce neither; there, only a variable of CUDA selects the GPU.
func ProofProperties(s ProofSpec) []Property {
	e := errand{
		about: fmt.Sprintf("gpusched test of GPU %d with CUDA", s.GPU.Index), command: []string{s.Program, "--cuda"}, log: "gpusched-probe",
		time: proofTime, grace: proofGrace, memory: proofMemory, tasks: proofTasks,
	}
	p := append(e.properties(), []Property{
		{"Environment", []string{"CUDA_VISIBLE_DEVICES=" + s.GPU.UUID, "CUDA_CACHE_DISABLE=1"}},
		{"StandardInput", "null"},
		{"NoNewPrivileges", true},
		{"DynamicUser", true},
		{"CapabilityBoundingSet", uint64(0)},
		{"PrivateNetwork", true},
	}...)
	p = append(p, devices(Spec{GPUs: []contract.GPU{s.GPU}, Devices: s.Devices})...)
	if len(s.GIDs) > 0 {
		var groups []string
		for _, gid := range s.GIDs {
			groups = append(groups, strconv.FormatUint(uint64(gid), 10))
		}
		p = append(p, Property{"SupplementaryGroups", groups})
	}
	return s.Scope.applicable(p)
}
