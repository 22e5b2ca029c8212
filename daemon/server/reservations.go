package server

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/units/contract"
)

// maxReservedFor limits the users and groups of one reservation.
const maxReservedFor = 256

// handleReservations answers with the reservations that have not ended.
func (s *Server) handleReservations(r *request) (any, error) {
	v, err := s.backend(r.Context()).Query(r.Context(), job.Query{IDs: []job.ID{}})
	if err != nil {
		return nil, err
	}
	return api.ReservationsReply{Schema: api.Schema, Reservations: renderReservations(v.Reservations)}, nil
}

// handleReserve keeps GPUs for some users for a period.
func (s *Server) handleReserve(r *request) (any, error) {
	in := r.body.(*api.ReserveRequest)
	res, err := s.accounts.reservation(r.person, *in, time.Now())
	if err != nil {
		return nil, err
	}
	c := job.Command{Kind: job.CommandReserve, Reason: res.Reason, Reservation: &res}
	if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	out, err := s.handleReservations(r)
	if err != nil {
		return nil, err
	}
	reply := out.(api.ReservationsReply)
	for _, old := range reply.Reservations {
		if old.By == r.who.User && old.From.Equal(res.From) && old.To.Equal(res.To) && sameGPUs(old.GPUs, in.GPUs) {
			reply.Made = max(reply.Made, old.ID)
		}
	}
	return reply, nil
}

func sameGPUs(refs []api.Allocation, indexes []int) bool {
	list := job.Each(refs, func(g api.Allocation) int { return g.Index })
	slices.Sort(list)
	return slices.Equal(list, slices.Compact(slices.Sorted(slices.Values(indexes))))
}

// handleUnreserve ends a reservation.
func (s *Server) handleUnreserve(r *request) (any, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil || id < 1 {
		return nil, usagef("%q is not a reservation (see 'gpusched reserve list')", r.PathValue("id"))
	}
	c := job.Command{Kind: job.CommandUnreserve, Reservation: &job.Reservation{ID: id}}
	if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
		return nil, err
	}
	return s.handleReservations(r)
}

// reservation converts a request. It returns all mistakes in the request.
func (a *accounts) reservation(asker int, req api.ReserveRequest, now time.Time) (job.Reservation, error) {
	out := job.Reservation{From: moment(req.From), To: moment(req.To), Reason: req.Reason}
	if req.From.IsZero() {
		out.From = moment(now.Truncate(time.Second))
	}
	var p job.Problems
	indexes := slices.Compact(slices.Sorted(slices.Values(req.GPUs)))
	if len(indexes) == 0 || indexes[0] < 0 || indexes[len(indexes)-1] >= job.MaxGPUs {
		p = append(p, job.Text("a reservation names the GPUs that it keeps, by their indexes (see 'gpusched gpus')"))
	}
	out.GPUs = job.Each(indexes, func(n int) job.Allocation { return job.Allocation{GPU: contract.GPU{Index: n}} })
	tooFar := out.To.Sub(out.From) > job.MaxDuration || out.To.After(now.Add(job.MaxDuration))
	if !out.To.After(out.From) || !out.To.After(now) || tooFar {
		p = append(p, job.Text("a reservation ends after its beginning, in the future, and within 10 years"))
	}
	if len(req.Users)+len(req.Groups) > maxReservedFor {
		p = append(p, job.Text("a reservation is for at most "+strconv.Itoa(maxReservedFor)+" users and groups"))
	} else {
		a.reservedFor(asker, &out, req, &p)
	}
	if !fitsComment(req.Reason) {
		p = append(p, job.Text(reasonProblem()))
	}
	return out, p.Err()
}

// reservedFor fills in the users and groups.
func (a *accounts) reservedFor(asker int, out *job.Reservation, req api.ReserveRequest, p *job.Problems) {
	for _, name := range req.Users {
		uid, err := a.parseUser(asker, name)
		if refusal := (*job.Refusal)(nil); errors.As(err, &refusal) {
			*p = append(*p, refusal.Message)
			continue
		}
		if err != nil || uid == nil {
			*p = append(*p, job.Text("no account named "+strconv.Quote(name)+" on this machine"))
			continue
		}
		out.Users = append(out.Users, job.Account{UID: *uid, User: a.userName(*uid)})
	}
	for _, name := range req.Groups {
		gid, ok := a.opt.GroupID(name)
		if !ok {
			*p = append(*p, job.Text("no group named "+strconv.Quote(name)+" on this machine"))
			continue
		}
		out.Groups = append(out.Groups, job.Group{Name: name, GID: gid})
	}
}

func renderReservations(list []job.Reservation) []api.Reservation {
	return job.Each(list, func(r job.Reservation) api.Reservation {
		r.From, r.To, r.At = moment(r.From), moment(r.To), moment(r.At)
		return api.Reservation{Reservation: r, GPUs: renderRefs(r.GPUs), Users: r.For().Users, Groups: r.For().Groups}
	})
}
