package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// ChoiceFlags select the jobs of a list. A job must match every given flag.
type ChoiceFlags struct {
	User  string    `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine  bool      `name:"mine" xor:"who"`
	State string    `name:"state" short:"s" placeholder:"STATE"`
	Name  string    `name:"name" short:"n" placeholder:"NAME"`
	Tag   []string  `name:"tag" placeholder:"KEY=VALUE" sep:"none"`
	Since time.Time `name:"since" placeholder:"WHEN" type:"past"`
}

// Chooses reports whether any of these flags is given.
func (c *ChoiceFlags) Chooses() bool {
	return c.User != "" || c.Mine || c.State != "" || c.Name != "" || len(c.Tag) > 0 || !c.Since.IsZero()
}

// Choose adds the flags to a query.
func (c *ChoiceFlags) Choose(a *App, q *api.ListQuery) (err error) {
	q.User, q.Since = c.User, c.Since
	if c.Mine {
		q.UID = &a.UID
	}
	if q.Name = c.Name; isPattern(c.Name) {
		q.Name, q.Like = "", c.Name
	}
	if len(c.Tag) > 0 {
		q.Tags, err = ParseTags(c.Tag)
	}
	for word := range strings.SplitSeq(c.State, ",") {
		if word != "" {
			q.States = append(q.States, job.State(word))
		}
	}
	return err
}

// isPattern reports whether a name has wildcards.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// LeftOut says which jobs a list does not show.
type LeftOut struct {
	Tasks int  `json:"tasks,omitempty"` // how many ended tasks of named arrays are left out
	Ended bool `json:"ended,omitempty"` // there are more ended jobs than the list shows
}

func MoreTasks(n int) string {
	if n == 1 {
		return "1 more task has"
	}
	return fmt.Sprintf("%d more tasks have", n)
}

// WriteRecent prints how many of the caller's jobs ended in the last hour.
func (a *App) WriteRecent(r *api.Recent) {
	if r == nil || r.Ended == 0 {
		return
	}
	text := fmt.Sprintf("%d of yours ended in the last hour", r.Ended)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	a.Out.Printf("%s: 'gpusched list -a --mine'\n", text)
}

const MostEnded = 10_000
