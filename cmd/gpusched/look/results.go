package look

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// shownGroups is the largest number of kinds of results that a terminal shows for an array, so that
// the output fits.
const shownGroups = 8

// writeResults prints one line for each kind of result that tasks of an array have. The line lists
// the numbers of the tasks.
func writeResults(a *cli.App, j api.Job, r *api.Results, wide bool) {
	if r == nil {
		return
	}
	t, list := a.Out, r.Tasks
	t.Printf("%s %s\n", t.Paint(term.Bold, "tasks"), resultsLine(j, r))
	beyond := 0
	if !wide && len(list) > shownGroups {
		list, beyond = list[:shownGroups], len(list)-shownGroups
	}
	for _, g := range list {
		line := fmt.Sprintf("%6d  %s", g.Count, term.Pad(groupName(g), 18, false))
		tasks := g.Tasks
		if t.Width > 0 && !wide {
			tasks = term.Cut(tasks, max(20, t.Width-len(line)-4))
		}
		t.Printf("  %s  %s\n", t.Paint(cli.StateStyle(g.State), line), tasks)
	}
	if beyond > 0 {
		t.Printf("  %6s  %s ('gpusched show -o wide %s')\n", "…", cli.Count(beyond, "other result"), cli.NameOfJob(j))
	}
	if r.Forgotten > 0 {
		t.Printf("  %6d  %s  %s\n", r.Forgotten, term.Pad("no longer on record", 18, false), term.Cut(r.ForgottenTasks, 40))
	}
	if line := runTimesLine(a, r); line != "" {
		t.Printf("%s %s\n", t.Paint(term.Bold, "times"), line)
	}
}

// resultsLine returns a summary of an array's progress.
func resultsLine(j api.Job, r *api.Results) string {
	ended, completed, failed, cancelled, live, waiting := 0, 0, 0, 0, 0, 0
	for _, g := range r.Tasks {
		switch {
		case g.State == job.Completed:
			completed += g.Count
		case g.State == job.Cancelled:
			cancelled += g.Count
		case g.State.Terminal():
			failed += g.Count
		case g.State == job.Queued:
			waiting += g.Count
		default:
			live += g.Count
		}
	}
	ended = completed + failed + cancelled + r.Forgotten
	var parts cli.Phrases
	parts.Add(true, "%d of %d have ended", ended, j.Array.Size)
	parts.Add(completed > 0, "%d completed", completed)
	parts.Add(failed > 0, "%d failed", failed)
	parts.Add(cancelled > 0, "%d cancelled", cancelled)
	parts.Add(live > 0, "%d run", live)
	parts.Add(waiting > 0, "%d wait", waiting)
	return strings.Join(parts, ", ")
}

// groupName describes the result or state of a group of tasks in one or two words.
func groupName(g api.TaskGroup) string {
	switch {
	case g.State == job.Failed && g.Code == 125:
		return "could not start"
	case g.State == job.Failed && g.Signal != 0:
		return fmt.Sprintf("failed, signal %s", job.SignalName(g.Signal))
	case g.State == job.Failed:
		return fmt.Sprintf("failed, exit %d", g.Code)
	case g.State == job.Queued && g.Started:
		return "queued again"
	case g.State == job.Cancelled && !g.Started:
		return "cancelled, unstarted"
	case g.State == job.Queued:
		return "waiting"
	}
	return string(g.State)
}

// runTimesLine says how long completed tasks took, and when the last task is expected to end.
func runTimesLine(a *cli.App, r *api.Results) string {
	var parts cli.Phrases
	if m := r.Runs; m != nil {
		parts.Add(true, "%s the median of %d that completed", seconds(m.Median), m.Of)
		parts.Add(m.Of > 1, "%s to %s", seconds(m.Shortest), seconds(m.Longest))
	}
	if at := r.ExpectedEnd; !at.IsZero() {
		parts.Add(true, "all are expected to have ended %s", a.Out.About(at))
	}
	return strings.Join(parts, ", ")
}

func seconds(s float64) string {
	if s < 10 {
		return fmt.Sprintf("%.1fs", s)
	}
	return term.Age(time.Duration(s * float64(time.Second)))
}

// expectedEnd estimates when the last task ends. It assumes that the number of running tasks does
// not change, and that each task takes the median time of the completed tasks, or else the time
// that the scheduler expects. If no time is known, expectedEnd returns the zero time.
func expectedEnd(j api.Job, r *api.Results, now time.Time) time.Time {
	each, running, left := j.Expected.Duration().Seconds(), 0, 0
	if r.Runs != nil {
		each = r.Runs.Median
	}
	for _, g := range r.Tasks {
		switch {
		case g.State.Live():
			running += g.Count
		case g.State == job.Queued:
			left += g.Count
		}
	}
	if running == 0 || each == 0 || j.State.Terminal() || left > 0 && j.Held() {
		return time.Time{}
	}
	work := each * (float64(running)/2 + float64(left)) // on average, running tasks are half done
	rounds := max(work/float64(running), each/2)
	return now.Add(time.Duration(rounds * float64(time.Second)))
}
