package main

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
)

// foreign is what processes of no job use of a GPU.
type foreign struct {
	count, pid int   // pid is one's
	bytes      int64 // as far as the driver tells
	users      []string
}

func foreignUse(list []api.GPUProcess) foreign {
	var f foreign
	for _, p := range list {
		if p.Job != 0 {
			continue
		}
		f.count, f.pid = f.count+1, p.PID
		f.bytes += max(0, p.UsedBytes)
		if who := accountOf(p); !slices.Contains(f.users, who) {
			f.users = append(f.users, who)
		}
	}
	return f
}

// accountOf names whose a process is as well as it is known.
func accountOf(p api.GPUProcess) string {
	switch {
	case p.User != "":
		return p.User
	case p.UID >= 0:
		return "uid " + strconv.Itoa(p.UID)
	}
	return "somebody"
}
