package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

func GPUColumns(t *term.Terminal) []term.Column[api.GPU] {
	return []term.Column[api.GPU]{
		{Title: "GPU", Key: "index", Right: true, Cell: GPUName, Raw: func(g api.GPU) string { return strconv.Itoa(g.Index) }},
		{Title: "MODEL", Key: "name", Least: 8, Cell: func(g api.GPU) string { return g.Name }},
		{Title: "STATE", Key: "state", Least: 7, Cell: func(g api.GPU) string { return gpuState(t, g) }, Raw: func(g api.GPU) string { return string(g.State) }, Style: func(g api.GPU) term.Style { return gpuStyle(job.GPUState(gpuWord(g))) }},
		{Title: "ALLOC", Name: "allocated", Right: true, Cell: allocatedOf},
		{Title: "FREE", Key: "free_milli", Extra: true, Right: true, Cell: func(g api.GPU) string { return job.FormatGPUs(g.FreeMilli) }, Raw: func(g api.GPU) string { return strconv.Itoa(g.FreeMilli) }},
		{Title: "MEMORY", Cell: func(g api.GPU) string {
			if lacksMemory(g) {
				return "-"
			}
			if g.MemTotalBytes == 0 && g.Name != "" {
				return "the host's"
			}
			return job.FormatSize(int64(g.MemUsedBytes)) + " of " + job.FormatSize(int64(g.MemTotalBytes))
		}},
		{Key: "mem_total_bytes", Cell: func(g api.GPU) string { return strconv.FormatUint(g.MemTotalBytes, 10) }},
		{Key: "mem_used_bytes", Cell: func(g api.GPU) string { return strconv.FormatUint(g.MemUsedBytes, 10) }},
		{Title: "MEM-FREE", Key: "mem_free_bytes", Extra: true, Right: true, Cell: func(g api.GPU) string {
			if lacksMemory(g) {
				return "-"
			}
			return job.FormatSize(int64(g.MemFreeBytes))
		}, Raw: func(g api.GPU) string { return strconv.FormatUint(g.MemFreeBytes, 10) }},
		{Title: "UTIL", Key: "util_percent", Right: true, Cell: func(g api.GPU) string { return Measured(g.UtilPercent, "%") }, Raw: func(g api.GPU) string { return Measured(g.UtilPercent, "") }},
		{Title: "TEMP", Key: "temp_c", Right: true, Cell: func(g api.GPU) string { return Measured(g.TempC, "C") }, Raw: func(g api.GPU) string { return Measured(g.TempC, "") }},
		{Title: "POWER", Key: "power_milli_w", Extra: true, Right: true, Cell: powerOf, Raw: func(g api.GPU) string { return Measured(int(g.PowerMilliW), "") }},
		{Title: "JOBS", Key: "jobs", Cell: sharesOf, Raw: func(g api.GPU) string { return Joined(g.Jobs, ",", job.ID.String) }},
		{Title: "MEM OF JOBS", Extra: true, Maybe: true, Cell: memoryOfJobs},
		{Title: "OUTSIDE JOBS", Maybe: true, Cell: foreignOf, Style: func(api.GPU) term.Style { return term.Yellow }},
		{Title: "UUID", Key: "uuid", Extra: true, Cell: func(g api.GPU) string { return g.UUID }},
		{Title: "PCI", Key: "pci", Extra: true, Cell: func(g api.GPU) string { return g.PCI }},
	}
}

// lacksMemory reports whether the GPU belongs to Slurm, which does not report GPU memory.
func lacksMemory(g api.GPU) bool { return g.MemTotalBytes == 0 && strings.Contains(g.UUID, "/") }

// GPUName returns the number of a GPU. If another machine has the GPU, the machine's name comes
// first: "a:0".
func GPUName(g api.GPU) string { return NameAt(g.Host, strconv.Itoa(g.Index)) }

// allocatedOf returns how much of a GPU is allocated to jobs, as a percentage.
func allocatedOf(g api.GPU) string {
	return strconv.Itoa((job.WholeGPU-g.FreeMilli)*100/job.WholeGPU) + "%"
}

// inUse is the state shown for a GPU that other processes use although it has no jobs.
const inUse = "in use"

// gpuWord returns the state of a GPU for people. A GPU without jobs is not shown as free while
// processes from outside gpusched use it.
func gpuWord(g api.GPU) string {
	if g.State == job.GPUFree && foreignOf(g) != "" {
		return inUse
	}
	return string(g.State)
}

// IsFree reports whether no job has a GPU, and no process from outside gpusched uses it.
func IsFree(g api.GPU) bool { return gpuWord(g) == string(job.GPUFree) }

// gpuState returns the state of a GPU with its cause.
func gpuState(t *term.Terminal, g api.GPU) string {
	state, detail := gpuWord(g), g.Detail(t.Reader())
	if g.Paused {
		detail = g.PausedReason
		if word := controlWord(g); word != "" {
			state += ", " + word
		}
		if !g.PausedUntil.IsZero() {
			detail = strings.TrimPrefix(detail+", until "+t.Clock(g.PausedUntil), ", ")
		}
	}
	if detail == "" {
		return state
	}
	return state + " (" + detail + ")"
}

// controlWord says that an administrator has paused or drained a GPU. It returns "" if the GPU's
// state already says that.
func controlWord(g api.GPU) string {
	switch {
	case g.State == job.GPUPaused || g.State == job.GPUDraining || g.State == job.GPUDrained:
		return ""
	case g.Drain:
		return "drained"
	}
	return "paused"
}

// sharesOf lists the jobs on a GPU. A job with only a part of the GPU is listed with its fraction.
func sharesOf(g api.GPU) string {
	if len(g.Shares) == 0 {
		return Dash(Joined(g.Jobs, ",", func(id job.ID) string { return wordOf(g, job.GPUShare{Job: id}) }))
	}
	return Joined(g.Shares, ",", func(s job.GPUShare) string {
		if s.Milli < job.WholeGPU {
			return wordOf(g, s) + ":" + job.FormatGPUs(s.Milli)
		}
		return wordOf(g, s)
	})
}

// wordOf names the job that has a share of the GPU. The job's machine or engine comes first. If
// several machines were asked, the job's name contains its machine already.
func wordOf(g api.GPU, s job.GPUShare) string {
	if s.Called == "" {
		return NameAt(cmp.Or(g.Host, g.Engine), Number(s.Job))
	}
	return NameAt(g.Engine, term.Clean(s.Called))
}

// memoryOfJobs lists the memory that each job uses on a GPU. For jobs that share the GPU it also
// lists the memory that was promised to them.
func memoryOfJobs(g api.GPU) string {
	if lacksMemory(g) {
		return ""
	}
	return Joined(g.Shares, ",", func(s job.GPUShare) string {
		used := "?"
		if s.UsedBytes >= 0 {
			used = job.FormatSize(s.UsedBytes)
		}
		if s.Milli < job.WholeGPU && s.PromiseBytes > 0 {
			used += "/" + job.FormatSize(s.PromiseBytes)
		}
		return wordOf(g, s) + ":" + used
	})
}

func gpuStyle(state job.GPUState) term.Style {
	switch state {
	case job.GPUFree:
		return term.Green
	case job.GPUBusy, job.GPUShared:
		return term.Plain
	case job.GPULost, job.GPUSuspect, job.GPUSick:
		return term.Red
	}
	return term.Yellow
}

// foreignOf lists the processes that use a GPU outside gpusched, with their memory.
func foreignOf(g api.GPU) string {
	var parts []string
	if f := g.Foreign(); f.Count > 0 {
		words, have := fmt.Sprintf("%s's process %d", strings.Join(f.Users, ", "), f.PID), " has "
		if f.Count > 1 {
			words, have = fmt.Sprintf("%d processes of %s", f.Count, strings.Join(f.Users, ", ")), " have "
		}
		if f.Bytes > 0 {
			words += have + job.FormatSize(f.Bytes)
		}
		parts = append(parts, words)
	}
	if g.UnlistedBytes > 0 {
		parts = append(parts, "unlisted processes have "+job.FormatSize(g.UnlistedBytes))
	}
	return strings.Join(parts, "; ")
}

func powerOf(g api.GPU) string {
	if g.PowerMilliW < 0 {
		return "-"
	}
	return strconv.FormatInt(g.PowerMilliW/1000, 10) + "W"
}

// Measured formats a measurement. An unknown value, -1, is a dash for people, "" for programs.
func Measured(n int, unit string) string {
	switch {
	case n >= 0:
		return strconv.Itoa(n) + unit
	case unit == "":
		return ""
	}
	return "-"
}

func Dash(s string) string { return cmp.Or(s, "-") }

// WriteGPUs prints the GPUs. If all GPUs have the same model, it prints the model once, above the
// table.
func (a *App) WriteGPUs(gpus []api.GPU, wide bool) {
	alike := !wide && len(gpus) > 0 && !slices.ContainsFunc(gpus, func(g api.GPU) bool { return g.Name != gpus[0].Name })
	if alike {
		a.Out.Printf("%d x %s\n", len(gpus), term.Clean(gpus[0].Name))
	}
	cols := slices.DeleteFunc(GPUColumns(a.Out), func(c term.Column[api.GPU]) bool { return c.Key == "name" && alike })
	term.WriteTable(a.Out, cols, gpus, wide)
}

// GPUProcess is a process and the GPU that it uses.
type GPUProcess struct {
	GPU api.GPU
	job.GPUProcess
}

func ProcessColumns(t *term.Terminal) []term.Column[GPUProcess] {
	return []term.Column[GPUProcess]{
		{Title: "GPU", Right: true, Cell: func(p GPUProcess) string { return GPUName(p.GPU) }},
		{Title: "PID", Right: true, Cell: func(p GPUProcess) string { return strconv.Itoa(p.PID) }},
		{Title: "USER", Cell: func(p GPUProcess) string { return Dash(p.User) }},
		{Title: "MEMORY", Right: true, Cell: func(p GPUProcess) string {
			if p.UsedBytes < 0 {
				return "-"
			}
			return job.FormatSize(p.UsedBytes)
		}},
		{Title: "JOB", Cell: func(p GPUProcess) string {
			switch {
			case p.Job == 0 && !p.EndsAt.IsZero():
				return "none, ends at " + t.Clock(p.EndsAt)
			case p.Job == 0 && !p.ToldAt.IsZero():
				return "none, told at " + t.Clock(p.ToldAt)
			case p.Job == 0:
				return "none"
			}
			return NameAt(p.GPU.Host, Number(p.Job))
		}},
		{Title: "PROGRAM", Least: 8, Cell: func(p GPUProcess) string { return strings.TrimSpace(p.Comm) }},
	}
}
