package client

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// choiceFlags choose jobs of a list by what they are like; all that are given have to hold.
type choiceFlags struct {
	User  string    `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine  bool      `name:"mine" xor:"who"`
	State string    `name:"state" short:"s" placeholder:"STATE"`
	Name  string    `name:"name" short:"n" placeholder:"NAME"`
	Tag   []string  `name:"tag" placeholder:"KEY=VALUE" sep:"none"`
	Since time.Time `name:"since" placeholder:"WHEN" type:"past"`
}

// chooses reports whether an option leaves jobs out.
func (c *choiceFlags) chooses() bool {
	return c.User != "" || c.Mine || c.State != "" || c.Name != "" || len(c.Tag) > 0 || !c.Since.IsZero()
}

// choose adds to a query what was asked for.
func (c *choiceFlags) choose(a *app, q *api.ListQuery) (err error) {
	q.User, q.Since = c.User, c.Since
	if c.Mine {
		q.UID = &a.uid
	}
	if q.Name = c.Name; isPattern(c.Name) {
		q.Name, q.Like = "", c.Name
	}
	if len(c.Tag) > 0 {
		q.Tags, err = parseTags(c.Tag)
	}
	for word := range strings.SplitSeq(c.State, ",") {
		if word != "" {
			q.States = append(q.States, job.State(word))
		}
	}
	return err
}

// isPattern reports whether a name stands for all that it matches.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// leftOut is what a list does not show.
type leftOut struct {
	Tasks int  `json:"tasks,omitempty"` // ended ones of arrays that were named
	Ended bool `json:"ended,omitempty"` // more jobs have ended
}

// writeLeftOut says what a list does not show, and how to see it.
func (c *listCmd) writeLeftOut(a *app, reply api.ListReply, left leftOut) {
	if reply.Omitted > 0 {
		a.out.Printf("… and %d more wait ('gpusched list --waiting 0' shows all)\n", reply.Omitted)
	}
	if left.Tasks > 0 {
		a.out.Printf("… and %s ended ('gpusched list %s --ended %d' shows these too)\n",
			moreTasks(left.Tasks), term.Clean(strings.Join(c.IDs, " ")), mostEnded)
	}
	if left.Ended {
		a.out.Printf("… and more have ended ('--ended 1000' shows 1000, '--since 7d' those of a week)\n")
	}
}

func moreTasks(n int) string {
	if n == 1 {
		return "1 more task has"
	}
	return fmt.Sprintf("%d more tasks have", n)
}

// writeRecent says what of one's own has ended lately.
func (a *app) writeRecent(r *api.Recent) {
	if r == nil || r.Ended == 0 {
		return
	}
	text := fmt.Sprintf("%d of yours ended in the last hour", r.Ended)
	if r.Failed > 0 {
		text += fmt.Sprintf(", %d failed", r.Failed)
	}
	a.out.Printf("%s: 'gpusched list -a --mine'\n", text)
}
