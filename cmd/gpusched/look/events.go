package look

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

type EventsCmd struct {
	Follow bool            `name:"follow" short:"f"`
	Since  *cli.EventsFrom `name:"since" type:"past-or-event" placeholder:"WHEN"`
	User   string          `name:"user" short:"u" placeholder:"USER" xor:"who"`
	Mine   bool            `name:"mine" xor:"who"`
	Job    []string        `name:"job" sep:"none" placeholder:"ID"`
	Output string          `short:"o" group:"output" placeholder:"FORMAT" enum:",table,json,jsonl" default:""`
	JSON   bool            `name:"json" group:"output"`
}

func (*EventsCmd) About() cli.About {
	return cli.About{
		Host: cli.RunThere, Hosts: cli.OneAtATime,
		Slurm: cli.NotForSlurm("Slurm does not tell others what changes",
			"'gpusched list --watch' refreshes the list; sbatch's --mail-type sends mail"),
	}
}

func (c *EventsCmd) Run(ctx context.Context, a *cli.App) error {
	form, err := c.form()
	if err != nil {
		return err
	}
	since := int64(0)
	if c.Since != nil {
		since = c.Since.Number // 0, all that are kept, with a time
	}
	if c.Follow {
		if c.Since == nil {
			since = -1
		}
		return c.follow(ctx, a, since, form)
	}
	all, err := api.PastEvents(ctx, a.Client, since)
	if err != nil {
		return err
	}
	list := []api.Event{}
	for _, e := range all {
		if e.Kind != job.EventPosition && c.isSelected(a, &e) {
			list = append(list, e)
		}
	}
	if form == "json" {
		return cli.WriteJSON(a.Out.W, eventsDoc{api.Schema, list}, "  ")
	}
	if len(list) == 0 && form == "table" {
		a.Note("no such event is kept; -f waits for new ones")
	}
	for i := range list {
		if err := writeEvent(a, &list[i], form); err != nil {
			return err
		}
	}
	return nil
}

// eventsDoc is the JSON document of past events.
type eventsDoc struct {
	Schema string      `json:"schema"`
	Events []api.Event `json:"events"`
}

func (c *EventsCmd) form() (string, error) {
	switch {
	case c.JSON && c.Follow:
		return "jsonl", nil
	case c.JSON:
		return "json", nil
	case c.Output == "json" && c.Follow:
		return "", cli.Usagef("-f never ends, so it is no single document: use -o jsonl")
	case c.Output == "":
		return "table", nil
	}
	return c.Output, nil
}

// follow prints events as they happen.
func (c *EventsCmd) follow(ctx context.Context, a *cli.App, since int64, form string) error {
	for e, err := range api.Events(ctx, a.Client, since) {
		if err != nil {
			return err
		}
		if form == "table" && e.Kind == job.EventPosition || !c.isSelected(a, &e) {
			continue
		}
		a.Out.Now = time.Now() // a new day may have begun
		if err := writeEvent(a, &e, form); err != nil {
			return err
		}
		a.Out.W.Flush()
	}
	return nil
}

// isSelected reports whether the options select an event. Lost events are reported to everybody.
func (c *EventsCmd) isSelected(a *cli.App, e *api.Event) bool {
	if e.Kind == job.EventGap || e.Kind == job.EventPosition {
		return true
	}
	if c.Since != nil && e.At.Before(c.Since.At) {
		return false
	}
	if c.Mine && (e.UID == nil || *e.UID != a.UID) || c.User != "" && e.User != c.User {
		return false
	}
	return len(c.Job) == 0 || slices.ContainsFunc(c.Job, func(id string) bool { return isOf(e, id) })
}

// isOf reports whether an event is about the job of this name, or about one of its tasks.
func isOf(e *api.Event, id string) bool {
	array, _, task := strings.Cut(e.Called, "_")
	return e.Called == id || task && array == id || e.Job != 0 && e.Job.String() == id
}

func writeEvent(a *cli.App, e *api.Event, form string) error {
	if form != "table" {
		return cli.WriteJSON(a.Out.W, e, "")
	}
	local := e.At.In(a.Out.Now.Location())
	at := local.Format(time.DateTime)
	if a.Out.TTY && local.Format(time.DateOnly) == a.Out.Now.Format(time.DateOnly) {
		at = local.Format(time.TimeOnly)
	}
	a.Out.Printf("%s  %s\n", at, a.Out.Paint(eventStyle(e), term.Clean(a.Out.Reader().Event(&e.Event))))
	return nil
}

func eventStyle(e *api.Event) term.Style {
	switch {
	case e.Kind == job.EventFault, e.Kind == job.EventGPU && !e.GPU.InService:
		return term.Red
	case e.Kind == job.EventEnded && e.State != job.Completed, e.Kind == job.EventGap:
		return term.Yellow
	case e.Kind == job.EventDrain && *e.On:
		return term.Yellow
	}
	return term.Plain
}
