package server

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// handleGPUs answers with the GPUs, and with what the driver says.
func (s *Server) handleGPUs(r *request) (any, error) {
	v, err := s.backend(r.Context()).Query(r.Context(), job.Query{IDs: []job.ID{}}) // no jobs
	if err != nil {
		return nil, err
	}
	reply := api.GPUsReply{
		Schema: api.Schema, GPUSource: v.GPUSource, GPUs: s.accounts.renderGPUs(v.GPUs, r.who), Links: v.Links,
		Reservations: renderReservations(v.Reservations),
	}
	reply.SampledAt = v.SampledAt.UTC()
	return reply, nil
}

// control returns the handler of a command that pauses, drains or resumes one GPU or all GPUs.
// After the command, the argument next makes the answer.
func control(kind job.CommandKind, next func(*Server, *request) (any, error)) func(*Server, *request) (any, error) {
	return func(s *Server, r *request) (any, error) {
		c := job.Command{Kind: kind}
		in, keeps := r.body.(*api.PauseRequest)
		if all, is := r.body.(*api.DrainRequest); is {
			if err := rebootProblem(all, s.opt.Own != nil, time.Now()); err != nil {
				return nil, err
			}
			if in, keeps = &all.PauseRequest, true; all.Reboot {
				c.Reboot = &job.Reboot{By: moment(all.By), Force: all.Force}
			}
		}
		if keeps {
			if !fitsComment(in.Reason) {
				return nil, usagef("%s", reasonProblem())
			}
			if now := time.Now(); !in.Until.IsZero() && (!in.Until.After(now) || in.Until.After(now.Add(job.MaxDuration))) {
				return nil, usagef("%s has passed or is too far away: name a time within 10 years (--until)", in.Until.Format(time.RFC3339))
			}
			c.Reason, c.Until = in.Reason, moment(in.Until)
		}
		if text := r.PathValue("index"); text != "" {
			index, err := strconv.ParseUint(text, 10, 16)
			if err != nil || index >= job.MaxGPUs {
				return nil, usagef("%q is not a GPU index (see 'gpusched gpus')", text)
			}
			c.GPU = int(index)
		}
		if err := s.backend(r.Context()).Do(r.Context(), r.who, c); err != nil {
			return nil, err
		}
		return next(s, r)
	}
}

// rebootProblem returns what is wrong with a request to drain the machine for a reboot, or nil. The
// argument own says whether this is a user's own scheduler.
func rebootProblem(in *api.DrainRequest, own bool, now time.Time) error {
	switch {
	case in.Reboot && own:
		return usagef("a user's own scheduler can't reboot the machine: leave out --then reboot")
	case !in.Reboot && (in.Force || !in.By.IsZero()):
		return usagef("--by and --force are about a reboot: add --then reboot")
	case in.Reboot && !in.Until.IsZero():
		return usagef("a drain for a reboot ends with the reboot: leave out --until, or use --by")
	case in.Force && in.By.IsZero():
		return usagef("--force counts from the hour of --by: name one, such as --by now")
	case !in.By.IsZero() && (in.By.Before(now.Add(-time.Minute)) || in.By.After(now.Add(job.MaxDuration))):
		return usagef("%s has passed or is too far away: name a time within 10 years (--by)", in.By.Format(time.RFC3339))
	}
	return nil
}

// renderDrain converts an administrator's order that no job may start. Without such an order, it
// converts the planned shutdown of the machine. It returns nil if there is neither.
func renderDrain(g *job.GPUControl, ends *job.Shutdown) *api.Drain {
	switch {
	case g != nil:
	case ends != nil:
		return &api.Drain{By: ends.By, Ends: ends, Sentence: words.Say(job.Say("detail/ends-soon", ends.Say()))}
	default:
		return nil
	}
	return &api.Drain{
		By: g.By, Reason: g.Reason, At: moment(g.At), Until: moment(g.Until), Reboot: g.Reboot,
		Sentence: words.Reason(job.Reason{Code: job.ReasonDrained, GPU: job.NoGPU, Detail: g.Say()}),
	}
}

func fitsComment(text string) bool { return len(text) <= job.MaxCommentBytes && job.Printable(text) }

func reasonProblem() string {
	return fmt.Sprintf("the reason must be printable and at most %d bytes (--reason)", job.MaxCommentBytes)
}

// renderGPUs converts the GPUs for a reader. It shows the name of a process only to the owner of
// the process and to administrators, because the name says what a user is working on (invariant 3).
func (a *accounts) renderGPUs(list []job.GPUView, who job.Actor) []api.GPU {
	out := make([]api.GPU, len(list))
	for i, g := range list {
		out[i].GPU, out[i].StateDetail, out[i].StateWhy = g.GPU, words.Say(g.StateDetail), g.StateDetail
		if c := g.Control; c.Paused { // if the GPU is not paused, the control says who resumed it
			out[i].Paused, out[i].Drain, out[i].PausedReason = true, c.Drain, c.Reason
			out[i].PausedBy, out[i].PausedAt, out[i].PausedUntil = c.By, moment(c.At), moment(c.Until)
		}
		out[i].Processes = slices.Clone(g.Processes)
		for n := range out[i].Processes {
			p := &out[i].Processes[n]
			if p.UID >= 0 {
				p.User = a.nameOfProcess(p.UID)
			}
			person, certain := a.opt.Person(p.UID)
			if !who.Admin && p.UID != who.UID && (person != who.UID || !certain) {
				p.Comm = ""
			}
		}
	}
	return out
}
