package api

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/job"
)

// Foreign is what processes of no job use of a GPU.
type Foreign struct {
	Count, PID int   // PID is one's
	Bytes      int64 // as far as the driver tells
	Users      []string
}

// Foreign adds up the processes of no job.
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

// accountOf names whose a process is as well as it is known.
func accountOf(p job.GPUProcess) string {
	switch {
	case p.User != "":
		return p.User
	case p.UID >= 0:
		return "uid " + strconv.Itoa(p.UID)
	}
	return "somebody"
}
