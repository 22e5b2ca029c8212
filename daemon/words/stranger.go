package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Strangers returns the line for the terminals of a user whose processes use GPUs of other users'
// jobs. Times are in the machine's zone.
func Strangers(s *job.Strangers, now time.Time) string {
	var gpus, processes []string
	belongs := " has belonged"
	for _, g := range s.GPUs {
		gpus = append(gpus, fmt.Sprintf("GPU %d%s to job %s of %s since %s", g.Index, belongs, g.Called, cleanText(g.User), timeOfDay(g.Since, now)))
		belongs = ""
	}
	for _, p := range s.Processes {
		processes = append(processes, strings.TrimSuffix(fmt.Sprintf("%d (%s)", p.PID, cleanText(p.Comm)), " ()"))
	}
	if more := s.Count - len(s.Processes); more > 0 {
		processes = append(processes, fmt.Sprintf("%d more", more))
	}
	use, what, ask := "process %s uses ", "it", "Please end it, and queue"
	if s.Count > 1 {
		use, ask = "processes %s use ", "Please end them, and queue"
	}
	if len(s.GPUs) > 1 {
		what = "them"
	}
	if s.Bytes > 0 {
		what = job.FormatSize(s.Bytes) + " of " + strings.NewReplacer("it", "its", "them", "their").Replace(what) + " memory"
	}
	if !s.Ends.IsZero() {
		then := fmt.Sprintf(" at %s. Please queue", timeOfDay(s.Ends, now))
		ask = strings.NewReplacer("Please end", "gpusched ends", ", and queue", then).Replace(ask)
	}
	return joinParts(gpus) + ". Your " + fmt.Sprintf(use, joinParts(processes)) + what + ". " + ask + " the work: gpusched run -- COMMAND"
}

// joinParts joins the parts of an enumeration.
func joinParts(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// timeOfDay returns a time of day, with its date if that is not today.
func timeOfDay(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return t.Format("15:04")
	}
	return t.Format("2006-01-02 15:04")
}
