package api

import (
	"context"
	"net"
	"strings"
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
		c.signJob(&r.Job)
		if r.Queue != nil {
			for i := range r.Queue.Ahead {
				x := &r.Queue.Ahead[i]
				x.Called, x.Sentence = c.Host+":"+x.Called, NameJobs(c.Host, x.Sentence)
			}
		}
	case *SubmitReply:
		c.signJob(&r.Job)
	case *ManyPart:
		c.signJobs(r.Jobs)
	}
}

func (c *Client) signJobs(list []Job) {
	for i := range list {
		c.signJob(&list[i])
	}
}

func (c *Client) signJob(j *Job) {
	j.Host, j.Why = c.Host, NameJobs(c.Host, j.Why)
	for i := range j.Reasons {
		j.Reasons[i].Sentence = NameJobs(c.Host, j.Reasons[i].Sentence)
	}
	if j.Result != nil {
		j.Result.Sentence = NameJobs(c.Host, j.Result.Sentence)
	}
}

func (c *Client) signGPUs(list []GPU) {
	for i := range list {
		g := &list[i]
		g.Host, g.StateDetail = c.Host, NameJobs(c.Host, g.StateDetail)
		for k := range g.Shares {
			s := &g.Shares[k]
			if s.Called == "" { // of an older daemon
				s.Called = s.Job.String()
			}
			s.Called = c.Host + ":" + s.Called
		}
	}
}

// NameJobs is a sentence of the daemon of a machine, with that before the numbers of its jobs: "held by jobs 1 and 7_3"
// is "held by jobs a:1 and a:7_3". How many more there are, and what else has a number, stays.
func NameJobs(host, text string) string {
	if !strings.Contains(text, "job") {
		return text
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(text, "job")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString("job")
		text = rest
		if begins := before == "" || strings.HasSuffix(before, " ") || strings.HasSuffix(before, "("); !begins {
			continue
		}
		list, several := strings.CutPrefix(text, "s ")
		if !several {
			if list, found = strings.CutPrefix(text, " "); !found {
				continue
			}
		}
		b.WriteString(text[:len(text)-len(list)])
		text = namedList(&b, host, list, several)
	}
}

// namedList writes the numbers at the beginning of a text, one or several, and returns what is behind them.
func namedList(b *strings.Builder, host, text string, several bool) string {
	for {
		n := 0
		for n < len(text) && (text[n] >= '0' && text[n] <= '9' || n > 0 && text[n] == '_') {
			n++
		}
		if n == 0 || strings.HasPrefix(text[n:], " more") {
			return text
		}
		b.WriteString(host + ":" + text[:n])
		text = text[n:]
		if !several {
			return text
		}
		for _, between := range []string{", ", " and "} {
			if rest, ok := strings.CutPrefix(text, between); ok {
				b.WriteString(between)
				text = rest
				break
			}
		}
	}
}
