package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/user"
	"runtime"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/alias"
	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// runAs is run under the name that the program was called by: another tool's words are
// read as ours.
func runAs(ctx context.Context, a *app, name string, args []string) int {
	if !alias.Known(name) {
		return run(ctx, a, args)
	}
	if engine, _ := a.whichEngine(); engine == engineSlurm && a.slurm == nil { // before a script is read from the input
		return a.finish(a.becomeSlurm())
	}
	call, err := a.translate(name, args)
	if err == nil && call.FromInput != nil {
		err = a.scriptFromInput(call)
	}
	if err == nil {
		err = a.readScript(call)
	}
	if call != nil {
		a.as.strict = call.Strict && !a.err.TTY
	}
	if err == nil && len(call.Step) > 0 {
		a.tellNotes(name, call)
		a.err.W.Flush()
		err = a.step(ctx, call)
	}
	var status exitStatus
	if err != nil && !errors.As(err, &status) {
		text := err.Error()
		if !strings.HasPrefix(text, name+" ") {
			text = name + ": " + text
		}
		err = refuse(api.CodeUsage, "see '"+name+" --help'", "%s", text)
	}
	if err == nil {
		a.out.Printf("%s", call.Help)
		a.as = manner{
			other: true, submitted: call.Submitted, silent: call.Silent, noGPU: call.NoGPU, table: call.Table, check: call.Check,
			caps:   capsPriority(name),
			strict: a.as.strict, only: call.Only, states: call.States, all: call.Everybodys, keeps: call.Keeps,
		}
		a.tellNotes(name, call)
		if call.Lane != nil && call.Lane.Take == 0 {
			err = a.laneSlots(ctx, call.Lane.Slots)
		} else if call.Lane != nil {
			a.as.turns = &heldLane{Lane: *call.Lane}
		}
	}
	if err == nil && call.Site != nil {
		err = a.tellSite(ctx, call.Site)
	}
	if err == nil && call.Account != nil {
		a.out.Printf("%s\n", term.Clean(call.Account(a.callerName())))
	}
	if err == nil && len(call.Words) > 0 {
		return run(ctx, a, call.Words)
	}
	code := a.finish(err)
	if err := errors.Join(a.out.W.Flush(), a.err.W.Flush()); err != nil && code == 0 {
		return 1
	}
	return code
}

// tellSite prints what sinfo says of the machine.
func (a *app) tellSite(ctx context.Context, lines func(alias.Machine) []string) error {
	reply, err := api.GPUs(ctx, a.client)
	if err != nil {
		return err
	}
	live, err := api.List(ctx, a.client, api.ListQuery{States: []job.State{job.Starting, job.Running, job.Ending}})
	if err != nil {
		return err
	}
	busy := map[int]bool{}
	for _, j := range live.Jobs {
		for _, g := range j.GPUs {
			busy[g.Index] = true
		}
	}
	m := alias.Machine{CPUs: runtime.NumCPU(), GPUs: len(reply.GPUs), Busy: len(busy)}
	for _, line := range lines(m) {
		a.out.Printf("%s\n", term.Clean(line))
	}
	return nil
}

// callerName is the name of the account that called.
func (a *app) callerName() string {
	if u, err := user.LookupId(strconv.Itoa(a.uid)); err == nil {
		return u.Username
	}
	return a.getenv("USER")
}

// tellNotes says what is to be known of the words before they are carried out.
func (a *app) tellNotes(name string, call *alias.Call) {
	lost := ""
	if engine, _ := a.whichEngine(); engine != engineSlurm { // which sends the mail itself
		call.Words, lost = withoutMail(call.Words)
	}
	if lost != "" {
		call.Notes = append(call.Notes, lost)
	}
	for _, text := range call.Notes {
		a.note("%s: %s", name, text)
	}
}

// scriptFromInput keeps the script that stands in the standard input, and has it run.
func (a *app) scriptFromInput(call *alias.Call) error {
	if a.interactive {
		return errNoScript
	}
	text, err := readKept(os.Stdin)
	if err != nil {
		return err
	}
	if !bytes.HasPrefix(text, []byte("#!")) {
		return errNoScript
	}
	path, err := a.keepText("sbatch", text)
	if err != nil {
		return err
	}
	return call.FromInput(path)
}

var errNoScript = errors.New("there is no script: name a file, put one that begins with #! into the input, " +
	"or use --wrap COMMAND")

// readScript tells a call what is in the script that it runs.
func (a *app) readScript(call *alias.Call) error {
	if call.Script == nil {
		return nil
	}
	dir, err := a.getwd()
	if err != nil {
		return err
	}
	f, _ := openRegular(inDir(dir, call.Script.File))
	if f == nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxScriptHead))
	if err != nil || !strings.HasPrefix(string(text), "#!") {
		return nil // the command says what is wrong with it
	}
	return call.Script.Read(string(text))
}

// narrowed are the jobs that filters leave: of those that are named, or of all that may be meant. That
// none is left is not an error, as with scancel.
func (c *cancelCmd) narrowed(ctx context.Context, a *app) (names []string, err error) {
	ids, err := a.resolve(ctx, c.IDs)
	if err != nil {
		return nil, err
	}
	q := api.ListQuery{User: c.User, IDs: strings.Join(ids, ",")}
	if c.Mine || c.User == "" && len(ids) == 0 && !a.as.all {
		q.UID = &a.uid
	}
	jobs, err := api.List(ctx, a.client, q)
	if err != nil {
		return nil, err
	}
	list := jobs.Jobs
	for _, j := range jobs.Jobs {
		if len(ids) > 0 && j.Array != nil && !j.State.Terminal() && len(a.as.states) > 0 {
			tasks, err := api.List(ctx, a.client, api.ListQuery{Array: j.ID})
			if err != nil {
				return nil, err
			}
			list = append(list, tasks.Jobs...)
		}
	}
	whole := map[job.ID]bool{}
	for _, j := range list {
		switch {
		case j.State.Terminal() || !a.as.only(j):
		case j.Array != nil && len(a.as.states) == 0:
			whole[j.ID] = true
			names = append(names, nameOfJob(j))
		case j.Array != nil:
			some, err := a.waitingTasks(j)
			if err != nil {
				return nil, err
			}
			names = append(names, some...)
		case j.Task != nil && whole[j.Task.Array]:
		case alias.In(a.as.states, j) && (c.Signal.signal == 0 || j.State == job.Running):
			names = append(names, nameOfJob(j))
		}
	}
	return names, nil
}

// waitingTasks are those of an array that have not become jobs, where such are meant. The others are
// jobs, and have states of their own.
func (a *app) waitingTasks(j api.Job) (names []string, err error) {
	if !alias.Pending(a.as.states) || j.State != job.Queued {
		return nil, nil
	}
	tasks, err := alias.Unbegun(j)
	if err != nil {
		return nil, refuse(api.CodeUsage, "name the tasks, such as "+numberOfJob(j)+"_[20-90]",
			"which tasks of array %s wait can't be told from the others, as it has so many parts", numberOfJob(j))
	}
	for at := range tasks.Size() {
		names = append(names, job.Task{Array: j.ID, Index: tasks.At(at)}.String())
	}
	return names, nil
}
