package config

import (
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// GPUMemory has the settings about jobs that use more memory of a shared GPU than their budget.
type GPUMemory struct {
	Policy    MemoryPolicy
	Tolerance int64         // bytes above the budget that are tolerated
	Grace     time.Duration // time from the warning until the job may be stopped
}

// MemoryPolicy says how budgets of GPU memory are enforced.
type MemoryPolicy string

// The memory policies.
const (
	MemoryOff     MemoryPolicy = "off"     // usage is recorded only
	MemoryWarn    MemoryPolicy = "warn"    // the job is warned
	MemoryEnforce MemoryPolicy = "enforce" // the job is also stopped, if another job can't get its own memory
)

// Idle has the settings about jobs that do not use their GPUs.
type Idle struct {
	Action IdleAction
	After  time.Duration // time from the last use to the warning
	Grace  time.Duration // time from the warning until the job is stopped or parked
}

// Park has the settings about parking: the driver copies a job's GPU memory to the host and lets go
// of its GPUs.
type Park struct {
	Allow     bool     // whether jobs may be parked
	Preempt   bool     // whether a job that is to make room for another is parked instead of stopped, if it can be
	MaxMemory job.Part // part of the host's memory for the copies
}

// IdleAction says what to do with a job that does not use its GPUs.
type IdleAction string

const (
	IdleOff  IdleAction = "off"
	IdleWarn IdleAction = "warn"
	IdleStop IdleAction = "stop"
	IdlePark IdleAction = "park"
)

func gpuMemoryKeys(in, _ string) []key {
	return []key{
		{section: in, name: "policy", doc: "off (usage is only recorded), warn (a job over its budget gets a warning in its journal) or enforce (after the warning and the grace it is stopped, but only while another job on the GPU lacks memory of its own budget).",
			bind: func(c *Config) value {
				return oneOf(&c.GPUMemory.Policy, "a policy", MemoryOff, MemoryWarn, MemoryEnforce)
			}},
		{section: in, name: "tolerance", doc: "Memory above its budget that a job may use without consequence.",
			bind: func(c *Config) value { return size(&c.GPUMemory.Tolerance) }},
		{section: in, name: "grace", doc: "With enforce, the time from the warning until a job that stays over its budget may be stopped.",
			bind: func(c *Config) value { return timeBetween(&c.GPUMemory.Grace, second, day) }},
	}
}

func idleKeys(in, _ string) []key {
	return []key{
		{section: in, name: "action", doc: "off, warn (the job gets a warning in its journal), stop (after the warning and the grace it is ended, if it uses none of its GPUs) or park (it is parked instead, see [park], and gets its GPUs back when it works again).",
			bind: func(c *Config) value {
				return oneOf(&c.Idle.Action, "an action", IdleOff, IdleWarn, IdleStop, IdlePark)
			}},
		{section: in, name: "after", doc: "The time that a job may leave a GPU unused before it is warned: no process of it is there, or none that computes or takes more memory. A notebook that waits for its user keeps its memory and still counts as idle.",
			bind: func(c *Config) value { return timeBetween(&c.Idle.After, second, longest) }},
		{section: in, name: "grace", doc: "With stop and park, the time from the warning until the job is ended or parked.",
			bind: func(c *Config) value { return timeBetween(&c.Idle.Grace, second, longest) }},
	}
}

func parkKeys(in, _ string) []key {
	return []key{
		{section: in, name: "allow", doc: "Whether jobs may be parked. Parking needs x86-64 and driver 570 or newer. It was tested only with a stand-in for the driver, never on a real GPU: try it on a job of your own first.",
			bind: func(c *Config) value { return onOff(&c.Park.Allow) }},
		{section: in, name: "preempt", doc: "Whether a running job is parked where it would be stopped to make room for another. Then every job that can be parked may be, not only preemptible ones, once it has run for scheduling.slice. Jobs submitted with --park never are left out.",
			bind: func(c *Config) value { return onOff(&c.Park.Preempt) }},
		{section: in, name: "max_memory", doc: "Host memory for the copies of all parked jobs together: a size, or a percentage of what jobs may have. It is part of the memory that jobs are promised, and none means no limit of its own.",
			bind: func(c *Config) value { return memOrNone(&c.Park.MaxMemory) }},
	}
}
