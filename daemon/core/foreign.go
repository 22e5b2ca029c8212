package core

import (
	"slices"

	"github.com/gpusched/gpusched/daemon/job"
)

// nameForeign adds to the reasons that lie with what is used of a GPU who uses
// it without a job.
func (c *Core) nameForeign(why []job.Reason) []job.Reason {
	for i := range why {
		switch why[i].Code {
		case job.ReasonGPUMemory, job.ReasonGPUUsed, job.ReasonGPULoad:
			if at := c.byIndex(why[i].GPU); at >= 0 {
				why[i].Foreign = c.devices[at].foreigners()
			}
		}
	}
	return why
}

// foreigners are the processes of no job on the GPU, those with the most memory.
// They are looked for once in each sample; nobody may change them.
func (d *device) foreigners() []job.Foreign {
	if d.outside != nil {
		return d.outside
	}
	list := []job.Foreign{}
	for _, p := range d.Processes {
		if d.jobs[p.PID] == 0 {
			list = append(list, job.Foreign{PID: p.PID, UID: p.UID, Bytes: p.UsedBytes})
		}
	}
	slices.SortStableFunc(list, func(a, b job.Foreign) int { return int(max(-1, min(1, b.Bytes-a.Bytes))) })
	d.outside = list[:min(len(list), job.MaxForeign)]
	return d.outside
}
