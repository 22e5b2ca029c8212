package units

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/units/contract"
)

// MPS shares a GPU among the jobs of one user, who all must run under that user's uid. NVIDIA's
// control program serves it in a unit of its own. The units of the jobs require that unit. So
// systemd starts it before the first of them, and stops it after the last: a daemon that dies leaves
// nothing to be done.

// Auxiliary is a further unit that a unit requires, as a property of that unit. If systemd does not
// have the further unit, it is made in the same call.
type Auxiliary struct {
	Name       string
	Properties []Property
}

// auxiliary is the name of a property whose value is an Auxiliary.
const auxiliary = "gpusched-auxiliary"

// CutAuxiliary separates the further unit from the properties. Without one, its name is "".
func CutAuxiliary(props []Property) (Auxiliary, []Property) {
	for i, p := range props {
		if aux, ok := p.Value.(Auxiliary); ok {
			return aux, append(props[:i:i], props[i+1:]...)
		}
	}
	return Auxiliary{}, props
}

func mpsInstance(uid, gpu int) string { return strconv.Itoa(uid) + "-" + strconv.Itoa(gpu) }

// MPSName returns the unit that serves MPS to a user's jobs on a GPU.
func MPSName(uid, gpu int) string {
	return contract.MPSPrefix + mpsInstance(uid, gpu) + contract.UnitSuffix
}

// IsMPS reports whether a unit serves MPS.
func IsMPS(name string) bool { return strings.HasPrefix(name, contract.MPSPrefix) }

// MPSDirectory returns the directory with the pipes of MPS. systemd makes it for the unit, and
// removes it after the unit's end.
func MPSDirectory(uid, gpu int) string {
	return "/run/" + contract.MPSDir + "/" + mpsInstance(uid, gpu)
}

// Time limits for the control program of MPS. When it is stopped, no program uses it any more.
const (
	mpsStart = 20 * time.Second
	mpsStop  = 5 * time.Second
)

// mpsProperties makes a job's unit require the unit that serves MPS.
func mpsProperties(s Spec) []Property {
	if !s.MPS || len(s.GPUs) != 1 {
		return nil
	}
	name := MPSName(s.UID, s.GPUs[0].Index)
	return []Property{
		{"Requires", []string{name}},
		{"After", []string{name}},
		{auxiliary, Auxiliary{name, servingMPS(s)}},
	}
}

// servingMPS returns the properties of the unit that serves MPS. Its program runs as the user, who
// may do with it what he likes: it serves nobody else, and can open no other GPU.
//
// systemd looks for the program in its own path, since the scheduler sees no programs of the machine.
// RuntimeDirectory makes the directory of the pipes without code of the scheduler's. CollectMode
// makes systemd drop the unit even if it failed, but not while a job's unit requires it.
func servingMPS(s Spec) []Property {
	g, dir := s.GPUs[0], MPSDirectory(s.UID, s.GPUs[0].Index)
	wait := []string{s.Launcher, contract.AwaitFlag, dir + "/" + contract.MPSPipe}
	p := []Property{
		{"Description", fmt.Sprintf("MPS for gpusched jobs of %s on GPU %d", toPrintable(s.User), g.Index)},
		{"Type", "exec"},
		{"StopWhenUnneeded", true},
		{"CollectMode", "inactive-or-failed"},
		{"ExecStart", []ExecCommand{{contract.MPSControl, []string{contract.MPSControl, "-f"}, false}}},
		{"ExecStartPost", []ExecCommand{{s.Launcher, wait, false}}},
		{"Environment", []string{
			"CUDA_VISIBLE_DEVICES=" + g.UUID, "CUDA_MPS_PIPE_DIRECTORY=" + dir, "CUDA_MPS_LOG_DIRECTORY=" + dir,
		}},
		{runtimeDirectory, []string{contract.MPSDir + "/" + mpsInstance(s.UID, g.Index)}},
		{"RuntimeDirectoryMode", uint32(0o700)},
		{"StandardInput", "null"},
		{"StandardOutput", "journal"},
		{"StandardError", "journal"},
		{"SyslogIdentifier", "gpusched-mps"},
		{"KillMode", "control-group"},
		{"TimeoutStartUSec", usec(mpsStart)},
		{"TimeoutStopUSec", usec(mpsStop)},
	}
	p = append(p, identity(Spec{UID: s.UID, GID: s.GID})...)
	if s.Limits.TasksMax > 0 {
		p = append(p, Property{"TasksMax", s.Limits.TasksMax})
	}
	return append(p, devices(Spec{GPUs: s.GPUs, Devices: s.Devices})...)
}

// MPSVariables returns the variables that make CUDA share a job's GPU by MPS. The driver itself
// refuses memory beyond the limit, to each process of the job on its own. Behind the device filter
// the GPU has the number 0.
func MPSVariables(uid int, gpus []contract.GPU, fair bool) []string {
	if len(gpus) != 1 {
		return nil
	}
	g, dir := &gpus[0], MPSDirectory(uid, gpus[0].Index)
	list := []string{"CUDA_MPS_PIPE_DIRECTORY=" + dir, "CUDA_MPS_LOG_DIRECTORY=" + dir}
	if mib := g.PromiseBytes >> 20; mib > 0 {
		list = append(list, fmt.Sprintf("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=%dM", mib))
	}
	if fair {
		list = append(list, fmt.Sprintf("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=%d", max(1, g.Milli/10)))
	}
	return list
}
