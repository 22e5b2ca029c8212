package look

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// shortPatience is how long a login waits for the line.
const shortPatience = time.Second

// mostAwaited is how many of the user's waiting jobs are read to find the next start.
const mostAwaited = 20

// showShort prints one line for a login. If the scheduler does not answer in time, showShort prints
// nothing: a login must neither fail nor wait.
func showShort(ctx context.Context, a *cli.App) error {
	ctx, cancel := context.WithTimeout(ctx, shortPatience)
	defer cancel()
	s, err := api.Status(ctx, a.Client)
	if err != nil {
		return nil
	}
	var own api.ListReply
	if a.UID != 0 { // the message of the day is made as root, but is not about root's jobs
		q := api.ListQuery{UID: &a.UID, Waiting: mostAwaited, Reasons: api.ReasonCodes} // with the expected starts
		if own, err = api.List(ctx, a.Client, q); err != nil {
			return nil
		}
	}
	a.Out.Printf("gpusched: %s\n", shortLine(a, &s, &own))
	return nil
}

// shortLine says how many GPUs are free, what the user's jobs do, and what is due on the machine.
func shortLine(a *cli.App, s *api.StatusReply, own *api.ListReply) string {
	var parts cli.Phrases
	free, waiting := 0, s.Counts[job.Queued]
	for _, g := range s.GPUs {
		if cli.IsFree(g) {
			free++
		}
	}
	parts.Add(len(s.GPUs) > 0, "%d of %d GPUs free", free, len(s.GPUs))
	parts.Add(waiting > 0, "%s waiting", cli.Count(waiting, "job"))
	parts.Add(waiting == 0, "no job waiting")
	line := strings.Join(parts, ", ")
	for _, more := range []string{ownJobs(a, own), ownStranger(a, s.GPUs), drained(a, s.Drain), rebootDue(s)} {
		if more != "" {
			line += "; " + more
		}
	}
	return line
}

// ownJobs counts the user's jobs, and says when the next of them is expected to start.
func ownJobs(a *cli.App, own *api.ListReply) string {
	running, waiting, next := 0, own.Omitted, time.Time{}
	for _, j := range own.Jobs {
		switch {
		case j.State.Live():
			running++
		case j.State == job.Queued:
			waiting++
			next = job.Earlier(next, j.ExpectedStart)
		}
	}
	var parts cli.Phrases
	parts.Add(running > 0, "%d running", running)
	parts.Add(waiting > 0, "%d waiting", waiting)
	if len(parts) == 0 {
		return ""
	}
	line := "yours: " + strings.Join(parts, ", ")
	if !next.IsZero() {
		line += " (the next is expected to start " + startWord(a.Out, next) + ")"
	}
	return line
}

func startWord(t *term.Terminal, next time.Time) string {
	if !next.After(t.Now) {
		return "soon"
	}
	return "at " + t.Clock(next)
}

// ownStranger names a process of the user that uses a GPU of another user's job.
func ownStranger(a *cli.App, gpus []api.GPU) string {
	for _, g := range gpus {
		for _, p := range g.Processes {
			if p.Job == 0 && p.UID == a.UID && !p.ToldAt.IsZero() && len(g.Jobs) > 0 {
				return fmt.Sprintf("your process %d uses GPU %d, which job %d has", p.PID, g.Index, g.Jobs[0])
			}
		}
	}
	return ""
}

// drained says why no job starts, or that the machine will be shut down.
func drained(a *cli.App, d *api.Drain) string {
	if d == nil {
		return ""
	}
	return term.Clean(d.Text(a.Out.Reader()))
}

// rebootDue says that a reboot is due. A reboot without which a GPU can't be used comes first.
func rebootDue(s *api.StatusReply) string {
	for _, g := range s.GPUs {
		if g.StateWhy.Code != "detail/needs" || len(g.StateWhy.Args) == 0 {
			continue
		}
		if why, is := g.StateWhy.Args[0].(job.Message); is && why.Code == "detail/driver" {
			return "reboot due: the driver was upgraded"
		}
	}
	return term.Clean(s.RebootDue)
}
