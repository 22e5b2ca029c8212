package api

import (
	"context"
	"net"
)

// elsewhere connects with the daemon of another machine.
func (c *Client) elsewhere(ctx context.Context) (net.Conn, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, &net.OpError{Op: "dial", Err: err}
	}
	return conn, nil
}

// Connect returns a connection with the daemon, for whoever passes on the words of another client. Its
// errors are those of the system.
func (c *Client) Connect(ctx context.Context) (net.Conn, error) { return c.transport().dial(ctx) }

// sign writes the name of the machine on the jobs and GPUs of an answer.
func (c *Client) sign(answer any) {
	if c.Host == "" {
		return
	}
	switch r := answer.(type) {
	case *ListReply:
		c.signJobs(r.Jobs)
		c.signGPUs(r.GPUs)
	case *StatusReply:
		c.signJobs(r.Running)
		c.signJobs(r.Waiting)
		c.signGPUs(r.GPUs)
	case *GPUsReply:
		c.signGPUs(r.GPUs)
	case *JobReply:
		r.Job.Host = c.Host
	case *SubmitReply:
		r.Job.Host = c.Host
	case *ManyPart:
		c.signJobs(r.Jobs)
	}
}

func (c *Client) signJobs(list []Job) {
	for i := range list {
		list[i].Host = c.Host
	}
}

func (c *Client) signGPUs(list []GPU) {
	for i := range list {
		list[i].Host = c.Host
	}
}
