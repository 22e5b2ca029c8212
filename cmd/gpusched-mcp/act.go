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

// submitIn describes a job to queue.
type submitIn struct {
	Command   []string       `json:"command"`
	Directory string         `json:"directory"`
	Array     string         `json:"array,omitempty"`
	After     []string       `json:"after_ok,omitempty"`
	Log       string         `json:"log,omitempty"`
	Image     string         `json:"image,omitempty"`
	Mounts    []string       `json:"mounts,omitempty"`
	Options   map[string]any `json:"options,omitempty"`
}

// changeIn describes new options: for a waiting job, or for a job that is queued again.
type changeIn struct {
	ID      string         `json:"id"`
	Failed  bool           `json:"failed,omitempty"`
	Options map[string]any `json:"options,omitempty"`
}

type jobsIn struct {
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

// submitTool returns the tool that queues a job. If readOnly is set, it returns the tool that only
// predicts what would happen to the job.
func (t *tools) submitTool(name, does string, readOnly bool) *mcp.Tool {
	return &mcp.Tool{
		Name: name, Description: does,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: new(false), OpenWorldHint: new(false)},
		InputSchema: schemaOf(requestOptions, map[string]*jsonschema.Schema{
			"command":   texts("the program and its arguments, one word per element; no shell reads them"),
			"directory": text("the directory to run the job in, an absolute path"),
			"array":     text("queue many tasks as one job, such as 0-9, or 0-99%4 to run at most 4 at once"),
			"after_ok":  texts("start only after these jobs have completed"),
			"image":     text("run the command in a container of this image, such as docker.io/library/python:3 or x.sif; the directory and the user's home are there, too"),
			"mounts":    texts("further directories and files for the image: PATH, PATH:/mnt or PATH:/mnt:ro"),
			"log":       text("also write the output to this file; %j stands for the job's number"),
		}, "command", "directory"),
	}
}

// addActing adds the tools that change something.
func (t *tools) addActing(s *mcp.Server) {
	add(s, t.submitTool("submit", "Queue a job as the user who runs this server. The answer has the job, and a sentence that says where it starts or why it waits.", false), t.submit)
	addActTool(s, &mcp.Tool{
		Name: "update", Description: "Change a waiting job, or the time limit of a running one.",
		InputSchema: schemaOf(changeOptions, map[string]*jsonschema.Schema{"id": idSchema()}, "id", "options"),
	}, false, t.update)
	addActTool(s, &mcp.Tool{
		Name: "resubmit", Description: "Queue a job that has ended again, with changes if options has any.",
		InputSchema: schemaOf(changeOptions, map[string]*jsonschema.Schema{
			"id": idSchema(), "failed": {Type: "boolean", Description: "queue only the tasks of an array that failed"},
		}, "id"),
	}, false, t.resubmit)
	each := func(r *api.Route, does string, ends bool) {
		addActTool(s, &mcp.Tool{Name: r.Name, Description: does}, ends, func(ctx context.Context, in jobsIn) (any, error) {
			return t.sendEach(ctx, in.IDs, r)
		})
	}
	each(api.RouteCancel, "Cancel waiting or running jobs.", true)
	each(api.RouteHold, "Keep waiting jobs from starting until release.", false)
	each(api.RouteRelease, "Let held jobs start.", false)
	each(api.RouteRequeue, "Stop running jobs and put them at the end of the queue.", true)
	each(api.RouteSuspend, "Suspend running jobs: they are frozen and keep their GPUs until resume.", true)
	each(api.RouteResume, "Let suspended jobs continue.", false)
	each(api.RoutePark, "Park running jobs: their GPU memory moves to host memory, and other jobs get their GPUs until unpark.", true)
	each(api.RouteUnpark, "Give parked jobs their GPUs back as soon as these are free.", false)
}

// mayAct refuses to act on another user's job, whatever the rights of the user who runs this
// server. The agent of an administrator reads names and output that other users wrote, and might
// obey them (invariant 6).
func (t *tools) mayAct(ctx context.Context, id string) error {
	if t.others {
		return nil
	}
	reply, err := api.Show(ctx, t.client, id, api.JobQuery{})
	if err == nil && (reply.Job.UID != t.uid || reply.Job.UIDNow != "") {
		return fmt.Errorf("job %s belongs to %s: this server acts only on jobs of its own user, "+
			"unless it is started with --others", id, reply.Job.User)
	}
	return err
}

// eachOut lists the jobs whose request succeeded, and an error for each of the remaining jobs.
type eachOut struct {
	Jobs   []api.Job `json:"jobs"`
	Errors []string  `json:"errors,omitempty"`
}

// sendEach sends one request for each job. If one request is refused, the remaining requests are
// still sent.
func (t *tools) sendEach(ctx context.Context, ids []string, r *api.Route) (any, error) {
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
	return t.submitCommand(ctx, in, "--json")
}
func (t *tools) dryRun(ctx context.Context, in submitIn) (any, error) {
	return t.submitCommand(ctx, in, "--json", "--dry-run")
}

// submitCommand runs 'gpusched submit' for the command that the agent gave, in the directory that
// the agent gave.
func (t *tools) submitCommand(ctx context.Context, input submitIn, how ...string) (any, error) {
	switch {
	case len(input.Command) == 0 || input.Command[0] == "":
		return nil, errors.New("command is empty: give the program and its arguments, one word per element")
	case !filepath.IsAbs(input.Directory):
		return nil, fmt.Errorf("directory %q is not an absolute path", stripControls(input.Directory))
	}
	words := arguments(requestOptions, input.Options)
	args := append([]string{"submit"}, how...)
	args = append(args, words...)
	for name, value := range map[string]string{
		"array": input.Array, "log": input.Log, "after-ok": strings.Join(input.After, ","), "image": input.Image,
	} {
		if value != "" {
			args = append(args, "--"+name+"="+value)
		}
	}
	for _, m := range input.Mounts {
		args = append(args, "--mount="+m)
	}
	return t.runJSON(ctx, input.Directory, append(append(args, "--"), input.Command...)...)
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
	return t.runJSON(ctx, "", append(append(how, words...), in.ID)...)
}
