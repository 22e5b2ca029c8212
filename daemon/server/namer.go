package server

import (
	"slices"
	"strconv"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// namer converts the jobs of one reply. It looks up each account only once.
type namer struct {
	s     *Server
	names map[int]string
	own   ownership
}

func (s *Server) namer() *namer { return &namer{s: s, names: map[int]string{}, own: s.ownership()} }

// renderJob converts a job to the form that everybody may see, with the names of accounts.
func (n *namer) renderJob(v *job.JobView) api.Job {
	v.Reasons = slices.Clone(v.Reasons) // other replies may share these reasons
	for i := range v.Reasons {
		r := &v.Reasons[i]
		r.Foreign = slices.Clone(r.Foreign)
		for k := range r.Foreign {
			if f := &r.Foreign[k]; f.UID >= 0 {
				f.User = n.s.accounts.nameOfProcess(f.UID)
			}
		}
	}
	now := n.name(v.Owner.UID)
	taken := now != strconv.Itoa(v.Owner.UID) && !v.Owner.Is(v.Owner.UID, now)
	// A directory service that did not answer when the job was submitted may answer now.
	if v.Owner.User == strconv.Itoa(v.Owner.UID) {
		v.Owner.User = now
	}
	out := renderJob(v)
	if taken {
		out.UIDNow = now
	}
	n.own.render(&out)
	return out
}

func (n *namer) name(uid int) string {
	if uid < 0 {
		return ""
	}
	name, known := n.names[uid]
	if !known {
		name = n.s.accounts.knownName(uid)
		n.names[uid] = name
	}
	return name
}
