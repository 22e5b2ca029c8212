package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/gpusched/gpusched/daemon/api"
)

// submitIn is a job to be queued.
type submitIn struct {
	Command   []string       `json:"command"`
	Directory string         `json:"directory"`
	Array     string         `json:"array,omitempty"`
	After     []string       `json:"after_ok,omitempty"`
	Log       string         `json:"log,omitempty"`
	Options   map[string]any `json:"options,omitempty"`
}

// changeIn is a change of a job, or what is to be different when it is queued again.
type changeIn struct {
	ID      string         `json:"id"`
	Failed  bool           `json:"failed,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

// manyIn names jobs.
type manyIn struct {
	IDs []string `json:"ids" jsonschema:"the jobs: numbers such as 12, or tasks of an array such as 7_3"`
}

func text(does string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Description: does}
}

func texts(does string) *jsonschema.Schema {
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{Type: "string"}, Description: does}
}

func idSchema() *jsonschema.Schema {
	return text("the job: a number such as 12, or a task of an array such as 7_3")
}

// submitTool is the tool that queues a job, or only says what would become of it.
func (t *tools) submitTool(name, does string, readOnly bool) *mcp.Tool {
	return &mcp.Tool{
		Name: name, Description: does,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: new(false), OpenWorldHint: new(false)},
		InputSchema: schemaOf(requestOptions, map[string]*jsonschema.Schema{
			"command":   texts("the program and its arguments, a word each; no shell reads them"),
			"directory": text("the directory that the job runs in, an absolute path"),
			"array":     text("many tasks in one job, such as 0-9 or 0-99%4"),
			"after_ok":  texts("start only after these jobs have completed"),
			"log":       text("a file for the output, besides the journal; %j is the job's number"),
		}, "command", "directory"),
	}
}

// addActing adds the tools that act.
func (t *tools) addActing(s *mcp.Server) {
	add(s, t.submitTool("submit", "Queue a job as the user who runs this server. Answers with the job, and in a sentence with where it starts or why it waits.", false), t.submit)
	act(s, &mcp.Tool{
		Name: "update", Description: "Change a job that waits, or the time limit of one that runs.",
		InputSchema: schemaOf(changeOptions, map[string]*jsonschema.Schema{"id": idSchema()}, "id", "options"),
	}, false, t.update)
	act(s, &mcp.Tool{
		Name: "resubmit", Description: "Queue a job again that has ended, with changes.",
		InputSchema: schemaOf(changeOptions, map[string]*jsonschema.Schema{
			"id": idSchema(), "failed": {Type: "boolean", Description: "of an array, only the tasks that failed"},
		}, "id"),
	}, false, t.resubmit)
	each := func(r *api.Route, does string, ends bool) {
		act(s, &mcp.Tool{Name: r.Name, Description: does}, ends, func(ctx context.Context, in manyIn) (any, error) {
			return t.each(ctx, in.IDs, r)
		})
	}
	each(api.RouteCancel, "End jobs that wait or run.", true)
	each(api.RouteHold, "Keep waiting jobs from starting.", false)
	each(api.RouteRelease, "Let held jobs start.", false)
	each(api.RouteRequeue, "Stop running jobs and send them to the end of the queue.", true)
	each(api.RouteSuspend, "Freeze running jobs; they keep their GPUs.", true)
	each(api.RouteResume, "Let suspended jobs go on.", false)
}

// mayAct refuses a job of another user's, whatever rights the user of this server has: an
// administrator's agent reads names and output that others choose (invariant 6).
func (t *tools) mayAct(ctx context.Context, id string) error {
	if t.others {
		return nil
	}
	reply, err := api.Show(ctx, t.client, id, api.JobQuery{})
	if err == nil && (reply.Job.UID != t.uid || reply.Job.UIDNow != "") {
		return fmt.Errorf("job %s belongs to %s: this server acts on jobs of its own user alone, "+
			"unless it is started with --others", id, reply.Job.User)
	}
	return err
}

// eachOut says what became of each job.
type eachOut struct {
	Jobs   []api.Job `json:"jobs"`
	Errors []string  `json:"errors,omitempty"`
}

// each has a route act on each of the jobs; one that is refused does not keep it from the others.
func (t *tools) each(ctx context.Context, ids []string, r *api.Route) (any, error) {
	if err := checkIDs(ids); err != nil {
		return nil, err
	}
	out := eachOut{Jobs: []api.Job{}}
	for _, id := range ids {
		err := t.mayAct(ctx, id)
		var reply api.JobReply
		if err == nil {
			reply, err = api.ActOnJob(ctx, t.client, r, id, nil)
		}
		if err != nil {
			out.Errors = append(out.Errors, err.Error())
			continue
		}
		out.Jobs = append(out.Jobs, reply.Job)
	}
	if len(out.Jobs) == 0 {
		return nil, errors.New(strings.Join(out.Errors, "; "))
	}
	return out, nil
}

func (t *tools) submit(ctx context.Context, in submitIn) (any, error) {
	return t.queue(ctx, in, "--json")
}
func (t *tools) dryRun(ctx context.Context, in submitIn) (any, error) {
	return t.queue(ctx, in, "--json", "--dry-run")
}

// queue has gpusched submit the command, in its directory.
func (t *tools) queue(ctx context.Context, in submitIn, how ...string) (any, error) {
	switch {
	case len(in.Command) == 0 || in.Command[0] == "":
		return nil, errors.New("command is empty: give the program and its arguments, a word each")
	case !filepath.IsAbs(in.Directory):
		return nil, fmt.Errorf("directory %q is not an absolute path", clean(in.Directory))
	}
	words := arguments(requestOptions, in.Options)
	args := append([]string{"submit"}, how...)
	args = append(args, words...)
	for name, value := range map[string]string{"array": in.Array, "log": in.Log, "after-ok": strings.Join(in.After, ",")} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	return t.asked(ctx, in.Directory, append(append(args, "--"), in.Command...)...)
}

func (t *tools) update(ctx context.Context, in changeIn) (any, error) {
	return t.changed(ctx, in, "update", "--json")
}

func (t *tools) resubmit(ctx context.Context, in changeIn) (any, error) {
	how := []string{"resubmit", "--json"}
	if in.Failed {
		how = append(how, "--failed")
	}
	return t.changed(ctx, in, how...)
}

func (t *tools) changed(ctx context.Context, in changeIn, how ...string) (any, error) {
	if err := checkID(in.ID); err != nil {
		return nil, err
	}
	if err := t.mayAct(ctx, in.ID); err != nil {
		return nil, err
	}
	words := arguments(changeOptions, in.Options)
	return t.asked(ctx, "", append(append(how, words...), in.ID)...)
}
