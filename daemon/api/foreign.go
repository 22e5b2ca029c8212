package api

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/job"
)

// Foreign sums up the foreign processes on a GPU, which belong to no job.
type Foreign struct {
	Count, PID int   // PID is the pid of the last foreign process
	Bytes      int64 // sum of the memory that the driver reports for them
	Users      []string
}

// Foreign sums up the foreign processes on the GPU.
func (g *GPU) Foreign() Foreign {
	var f Foreign
	for _, p := range g.Processes {
		if p.Job != 0 {
			continue
		}
		f.Count, f.PID = f.Count+1, p.PID
		f.Bytes += max(0, p.UsedBytes)
		if who := accountOf(p); !slices.Contains(f.Users, who) {
			f.Users = append(f.Users, who)
		}
	}
	return f
}

// accountOf returns the best known name for the owner of a process.
func accountOf(p job.GPUProcess) string {
	switch {
	case p.User != "":
		return p.User
	case p.UID >= 0:
		return "uid " + strconv.Itoa(p.UID)
	}
	return "somebody"
}
