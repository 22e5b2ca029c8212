package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/gpusched/gpusched/cmd/gpusched-top/screen"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// A program connects a screen to bubbletea. It passes messages on and performs effects.
type program struct {
	model   *screen.Model
	client  *api.Client
	command command
	colour  bool
	send    func(tea.Msg)
}

// Init starts the clock.
func (p *program) Init() tea.Cmd { return tea.Batch(now, tick()) }

func now() tea.Msg { return screen.Tick{Now: time.Now()} }

// tick fires at full seconds. At other times, a displayed number of seconds would sometimes skip a
// value.
func tick() tea.Cmd {
	return tea.Every(time.Second, func(at time.Time) tea.Msg { return ticked{at} })
}

type ticked struct{ at time.Time }

// Update translates a message for the screen and performs the effects.
func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var also tea.Cmd
	var given any = msg
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		given = screen.Key{Name: msg.String(), Text: msg.Key().Text}
	case tea.PasteMsg:
		given = screen.Key{Name: "paste", Text: msg.Content}
	case tea.WindowSizeMsg:
		given = screen.Size{Width: msg.Width, Height: msg.Height}
		p.command.resize(msg.Width, msg.Height)
	case ticked:
		given, also = screen.Tick{Now: msg.at}, tick()
	case tea.ResumeMsg:
		given = screen.Tick{Now: time.Now()}
	}
	cmds := []tea.Cmd{also}
	for _, effect := range p.model.Update(given) {
		cmds = append(cmds, p.perform(effect))
	}
	return p, tea.Batch(slices.DeleteFunc(cmds, func(c tea.Cmd) bool { return c == nil })...)
}

func (p *program) View() tea.View {
	v := tea.NewView(p.model.Frame().Styled(p.colour))
	v.AltScreen = true
	return v
}

// perform returns the command that carries out an effect.
func (p *program) perform(effect any) tea.Cmd {
	switch e := effect.(type) {
	case screen.Fetch:
		return func() tea.Msg { return p.fetch(e) }
	case screen.Cancel:
		return func() tea.Msg { return p.cancel(e.IDs) }
	case screen.Control:
		return func() tea.Msg { return p.control(e) }
	case screen.Open:
		return func() tea.Msg { return p.command.runCommand(e, p.send) }
	case screen.Close:
		return func() tea.Msg { p.command.close(); return nil }
	case screen.Suspend:
		if !canResume() {
			return func() tea.Msg {
				return screen.Done{Text: "cannot suspend: no shell started this, so nothing could resume it"}
			}
		}
		return tea.Suspend
	case screen.Quit:
		return tea.Quit
	}
	return nil
}

// requestTimeout is the timeout of a request to the scheduler.
const requestTimeout = 30 * time.Second

// fetch requests the data of a picture from the scheduler.
func (p *program) fetch(f screen.Fetch) tea.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	begun := time.Now()
	picture, err := p.picture(ctx, f)
	if ctx.Err() != nil {
		err = errSilent
	}
	if err != nil {
		return screen.Failed{Asked: f, At: time.Now(), Took: time.Since(begun), Err: err}
	}
	picture.Asked, picture.At = f, time.Now()
	return picture
}

var errSilent = errors.New("the scheduler does not answer")

func (p *program) picture(ctx context.Context, f screen.Fetch) (out screen.Picture, err error) {
	begun := time.Now()
	out.GPUs, err = api.GPUs(ctx, p.client)
	out.TookGPUs = time.Since(begun)
	if err != nil || !f.Jobs {
		return out, err
	}
	begun = time.Now()
	uid := p.model.UID
	q := api.ListQuery{Reasons: api.WithReasons, Waiting: f.Waiting}
	if f.Mine {
		q.UID = &uid
	}
	list, err := api.List(ctx, p.client, q)
	out.List, out.TookJobs = &list, time.Since(begun)
	if err != nil || !f.Status {
		return out, err
	}
	status, err := api.Status(ctx, p.client)
	if err != nil {
		return out, err
	}
	first := api.ListQuery{UID: &uid, States: []job.State{job.Queued}, Reasons: api.WithReasons, Waiting: 1}
	own, err := api.List(ctx, p.client, first)
	out.Status, out.Own, out.TookJobs = &status, &own, time.Since(begun)
	return out, err
}

// cancel cancels jobs and reports the outcome.
func (p *program) cancel(ids []string) tea.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	what, is, was := "job "+ids[0], " is", " was"
	if len(ids) > 1 {
		what, is, was = fmt.Sprintf("%d tasks", len(ids)), " are", " were"
	}
	done, ending, refused := 0, 0, []api.RefusedJob(nil)
	order := api.ManyRequest{Command: job.CommandCancel, Jobs: ids, Brief: true}
	err := api.Many(ctx, p.client, order, func(part api.ManyPart) {
		done, refused = done+len(part.Jobs), append(refused, part.Refused...)
		for i := range part.Jobs {
			if !part.Jobs[i].State.Terminal() {
				ending++
			}
		}
	})
	switch {
	case err != nil && done > 0 && len(ids) > 1:
		return screen.Done{Text: fmt.Sprintf("%d of %s were cancelled:", done, what), Err: err}
	case err != nil:
		return screen.Done{Text: what + was + " not cancelled:", Err: err}
	case len(refused) > 0 && len(ids) > 1:
		return screen.Done{Text: fmt.Sprintf("%d of %s were not cancelled:", len(refused), what), Err: &refused[0].Error}
	case len(refused) > 0:
		return screen.Done{Text: what + was + " not cancelled:", Err: &refused[0].Error}
	case ending > 0:
		return screen.Done{Text: what + is + " ending"}
	}
	return screen.Done{Text: what + is + " cancelled"}
}

// control pauses or resumes a GPU.
func (p *program) control(c screen.Control) tea.Msg {
	ctx, cancel := context.WithTimeout(context.Background(), requestTimeout)
	defer cancel()
	if !c.Pause {
		if _, err := api.ActOnGPU(ctx, p.client, api.RouteResumeGPU, c.GPU, nil); err != nil {
			return screen.Done{Text: fmt.Sprintf("GPU %d was not resumed:", c.GPU), Err: err}
		}
		return screen.Done{Text: fmt.Sprintf("GPU %d is resumed", c.GPU)}
	}
	if _, err := api.ActOnGPU(ctx, p.client, api.RoutePauseGPU, c.GPU, api.PauseRequest{}); err != nil {
		return screen.Done{Text: fmt.Sprintf("GPU %d was not paused:", c.GPU), Err: err}
	}
	return screen.Done{Text: fmt.Sprintf("GPU %d is paused: its jobs continue, and no new job gets it", c.GPU)}
}
