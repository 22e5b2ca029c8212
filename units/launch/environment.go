package launch

import (
	"cmp"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/gpusched/gpusched/units/contract"
)

// defaultPath is systemd's default for system services.
const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// pythonUnbuffered makes Python print at once even without a terminal. If the submitter or the site
// sets the variable, even to nothing, that value stays.
const pythonUnbuffered = "PYTHONUNBUFFERED"

// Environment returns the job's environment, with or without an active device filter. The argument
// base is the environment of the unit (or, in mode contract.EnvLogin, what the login shell made of
// it). Entries without a name are left out. If a name occurs several times, the last entry counts.
// Bytes are unchanged.
//
//	inherit  the submitter's variables; from the base those about the unit, those
//	         that a site sets for every job (not PATH and locale), and home and user
//	         if the submitter had none
//	clean    the base, home and user, PATH and LANG; then the requested variables
//	login    like clean
func Environment(s *Spec, filterActive bool, base []string) []string {
	return environmentOf(s, filterActive, base).variables()
}

// commandEnvironment returns the Environment after entering the conda and virtual environment of
// the job's set-up. The result front is what these environments put in front of PATH. If the set-up
// has modules, PATH does not have that part yet: the caller must put it there after loading the
// modules.
func commandEnvironment(s *Spec, filterActive bool, base []string) (env []string, front string) {
	e := environmentOf(s, filterActive, base)
	e.rendezvous(s, portFree)
	e.makeTemporary()
	for _, line := range e.say {
		os.Stderr.WriteString("gpusched: " + line + "\n")
	}
	if front = e.enter(&s.Setup); front != "" && len(s.Setup.Modules) == 0 {
		e.set("PATH", front+cmp.Or(e.get("PATH"), defaultPath))
	}
	return e.variables(), front
}

// variables returns the variables that are set.
func (e *environment) variables() []string {
	return slices.DeleteFunc(e.entries, func(kv string) bool { return kv == "" })
}

func environmentOf(s *Spec, filterActive bool, base []string) *environment {
	e := &environment{index: make(map[string]int, len(base)+len(s.Env)+16)}
	inherit := s.EnvMode == contract.EnvInherit
	inner := valueOf(s.Env, "GPUSCHED_JOB_ID") != ""
	told := outerHints(s.Env)
	for _, kv := range base {
		switch kindOf(nameOf(kv)) {
		case ours, notPassedOn:
		case preference:
			if !inherit {
				e.put(kv)
			}
		default:
			e.put(kv)
		}
	}
	e.fallbacks(s, inherit)
	for _, kv := range s.Env {
		name := nameOf(kv)
		switch kind := kindOf(name); {
		case kind == ours, kind == ofUnit, kind == notPassedOn, kind == ofSession && inherit:
		case inner && strings.HasPrefix(name, "SLURM_"), slices.Contains(told, kv): // of the job that submitted this one
		case name == "PWD" && inherit:
			e.set(name, s.Dir)
		default:
			e.put(kv)
		}
	}
	if _, set := e.index[pythonUnbuffered]; !set {
		e.set(pythonUnbuffered, "1")
	}
	for _, kv := range s.Variables {
		e.put(kv)
	}
	e.job(s)
	e.setGPUs(s, filterActive)
	return e
}

// outerHints returns the hints about GPU memory that are in the environment of the job that submitted
// this one.
func outerHints(env []string) []string {
	part, _ := strconv.ParseFloat(valueOf(env, contract.FractionVariable), 64)
	return contract.Hints([]contract.GPU{{HintMilli: int(part*1000 + 0.5)}}, true, func(string) bool { return false })
}

// siteVariables returns the variables that a file sets for all logins, such as proxies. It reads the
// file as pam_env does.
func siteVariables(file string) (list []string) {
	text, _ := os.ReadFile(file)
	for line := range strings.Lines(string(text)) {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name, value, ok := strings.Cut(line, "=")
		if ok && name != "" && !strings.ContainsFunc(name, notInName) {
			if n := len(value); n > 1 && value[0] == value[n-1] && (value[0] == '"' || value[0] == '\'') {
				value = value[1 : n-1]
			}
			list = append(list, name+"="+value)
		}
	}
	return list
}

// notInName reports whether pam_env allows a character in no variable's name.
func notInName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// afterShell returns the environment that a login shell left for the job.
func afterShell(environ []string) []string {
	var base []string
	for _, kv := range environ {
		if kindOf(nameOf(kv)) != ofShell && nameOf(kv) != "PWD" {
			base = append(base, kv)
		}
	}
	return base
}

// nameOf returns the part before "=", or "" if there is none.
func nameOf(kv string) string {
	if i := strings.IndexByte(kv, '='); i > 0 {
		return kv[:i]
	}
	return ""
}

// environment is an ordered set of variables.
type environment struct {
	entries []string
	index   map[string]int
	say     []string // lines for the job's output
}

func (e *environment) put(kv string) {
	name := nameOf(kv)
	if name == "" {
		return
	}
	if i, ok := e.index[name]; ok {
		e.entries[i] = kv
		return
	}
	e.index[name] = len(e.entries)
	e.entries = append(e.entries, kv)
}

func (e *environment) set(name, value string) { e.put(name + "=" + value) }

// remove removes a variable, and leaves an empty entry behind.
func (e *environment) remove(name string) {
	if i, ok := e.index[name]; ok {
		e.entries[i] = ""
		delete(e.index, name)
	}
}

func (e *environment) get(name string) string {
	i, ok := e.index[name]
	if !ok {
		return ""
	}
	return e.entries[i][len(name)+1:]
}

func (e *environment) has(name string) bool {
	_, ok := e.index[name]
	return ok
}

// orSet sets a variable that is missing or empty, unless the value is empty.
func (e *environment) orSet(name, value string) {
	if value != "" && e.get(name) == "" {
		e.set(name, value)
	}
}

func (e *environment) fallbacks(s *Spec, inherit bool) {
	e.orSet("HOME", s.Home)
	e.orSet("USER", s.User)
	e.orSet("LOGNAME", s.User)
	e.orSet("SHELL", s.Shell)
	if !inherit {
		e.orSet("PATH", defaultPath)
		e.orSet("LANG", "C.UTF-8")
	}
}

// job sets the job's id and, for a task, its array.
func (e *environment) job(s *Spec) {
	e.set("GPUSCHED_JOB_ID", strconv.FormatInt(s.JobID, 10))
	e.set("GPUSCHED_ATTEMPT", strconv.Itoa(s.Attempt))
	e.setScreenDir(s)
	if s.Scratch != "" {
		e.set(contract.ScratchVariable, s.Scratch)
		e.set("TMPDIR", s.Scratch)
	}
	if s.ArrayJob > 0 {
		e.set("GPUSCHED_ARRAY_JOB", strconv.FormatInt(s.ArrayJob, 10))
		e.set("GPUSCHED_ARRAY_TASK", strconv.Itoa(s.ArrayTask))
	}
}

// setGPUs sets the job's GPUs. Behind an active filter CUDA sees only the job's GPUs and counts
// them from 0. Without a filter the machine's numbers apply. Slices have no numbers, only UUIDs. A
// job without GPUs gets an empty list, because a missing list would mean all GPUs.
func (e *environment) setGPUs(s *Spec, filterActive bool) {
	var indexes, uuids []string
	for _, g := range s.GPUs {
		indexes = append(indexes, strconv.Itoa(g.Index))
		uuids = append(uuids, g.UUID)
	}
	visible := gpuNumbers(s, filterActive)
	if s.Visible == VisibleUUID || slices.ContainsFunc(s.GPUs, contract.GPU.IsSlice) {
		visible = uuids
	}
	e.set("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
	e.set("CUDA_VISIBLE_DEVICES", strings.Join(visible, ","))
	e.set("GPUSCHED_GPU_IDS", strings.Join(indexes, ","))
	e.set("GPUSCHED_GPU_UUIDS", strings.Join(uuids, ","))
	e.set("GPUSCHED_GPU_SHARE", formatMilli(s.ShareMilli))
	if s.GPUMemMiB > 0 {
		e.set("GPUSCHED_GPU_MEM_MIB", strconv.FormatInt(s.GPUMemMiB, 10))
	}
	if len(uuids) == 0 {
		uuids = []string{"void"}
	}
	e.set("NVIDIA_VISIBLE_DEVICES", strings.Join(uuids, ","))
	for _, kv := range contract.Hints(s.GPUs, s.Container.Engine != "", e.has) {
		e.put(kv)
	}
}

// formatMilli prints thousandths as 0, 0.25, 1 or 1.5.
func formatMilli(milli int) string {
	text := strconv.Itoa(milli / 1000)
	if frac := milli % 1000; frac > 0 {
		text += "." + strings.TrimRight(strconv.Itoa(1000 + frac)[1:], "0")
	}
	return text
}
