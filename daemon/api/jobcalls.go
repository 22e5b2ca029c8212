package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/gpusched/gpusched/daemon/job"
)

// Job returns all of one job; Private only for those who may see it. Here and
// below a job is named by its id or, if it is a task of an array, as "7_3".
func (c *Client) Job(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodGet, c.jobPath(id, ""), nil, &out)
}

// Results is Job, of an array with what became of its tasks.
func (c *Client) Results(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodGet, c.jobPath(id, "?results=1"), nil, &out)
}

// Why is Job, of a waiting job with what is before it in the queue and, for those who may change it,
// what would make it start sooner.
func (c *Client) Why(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodGet, c.jobPath(id, "?why=1"), nil, &out)
}

// Cancel ends a job, or with a signal only sends it.
func (c *Client) Cancel(ctx context.Context, id string, r CancelRequest) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/cancel"), r, &out)
}

// Hold keeps a waiting job from starting.
func (c *Client) Hold(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/hold"), nil, &out)
}

// Release undoes Hold.
func (c *Client) Release(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/release"), nil, &out)
}

// Requeue stops a running job and sends it to the end of the queue.
func (c *Client) Requeue(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/requeue"), nil, &out)
}

// Suspend halts a running job, which keeps its GPUs.
func (c *Client) Suspend(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/suspend"), nil, &out)
}

// Resume undoes Suspend.
func (c *Client) Resume(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/resume"), nil, &out)
}

// Open has a process in the unit of a running job listen for commands that its owner
// wants to run there, as 'gpusched exec' does.
func (c *Client) Open(ctx context.Context, id string) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/open"), nil, &out)
}

// Update changes a waiting job, or the time limit of a running one.
func (c *Client) Update(ctx context.Context, id string, r job.Change) (out JobReply, err error) {
	return out, c.call(ctx, http.MethodPost, c.jobPath(id, "/update"), r, &out)
}

func (c *Client) jobPath(id, verb string) string {
	return "/v1/jobs/" + url.PathEscape(id) + verb
}
