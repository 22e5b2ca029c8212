package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// streamedReply is a reply that is made while it is sent. The user is charged for the bytes that
// pass through the counter.
type streamedReply interface {
	send(w http.ResponseWriter, out *counter)
}

// listing is an api.ListReply that is made while it is sent.
// The whole reply for a hundred thousand jobs would take a few hundred megabytes of memory.
type listing struct {
	api.ListReply // all fields but the jobs

	jobs  []job.JobView
	only  bool // each job has only its name
	brief bool // reasons have no sentences
	names *namer
}

// jobName is the part of an api.Job that names it.
type jobName struct {
	ID   job.ID    `json:"id,omitempty"`
	Task *api.Task `json:"task,omitempty"`
}

// stream writes the reply.
func (l listing) stream(to io.Writer) error {
	l.Schema, l.Jobs = api.Schema, []api.Job{}
	head, tail, _ := bytes.Cut(encodeJSON(l.ListReply), []byte("[]"))
	w := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	w.Write(append(head, '['))
	whole := new(api.Job) // one row for all jobs, because an api.Job is large
	for i := range l.jobs {
		if i > 0 {
			w.WriteByte(',')
		}
		row := any(whole)
		if l.only {
			row = jobName{l.jobs[i].ID, renderTask(l.jobs[i].Task)}
		} else {
			*whole = l.names.renderJob(&l.jobs[i])
		}
		for k := range whole.Reasons {
			if l.brief {
				whole.Reasons[k].Sentence, whole.Reasons[k].Detail = "", ""
			}
		}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	w.WriteByte(']')
	w.Write(tail)
	return w.Flush()
}

// send writes the reply through the counter. It disconnects a client that does not read. It also
// disconnects the client if the reply cannot be completed, because the client must not take a part
// for the whole.
func (l listing) send(w http.ResponseWriter, out *counter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
	w.Header().Set("Content-Type", "application/json")
	if err := l.stream(out); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// sendLines sends some of the JSON lines that a reply consists of.
// It returns false if the client does not read them.
func sendLines(w http.ResponseWriter, to *counter, lines []byte) bool {
	c := http.NewResponseController(w)
	c.SetWriteDeadline(time.Now().Add(replyTime))
	_, err := to.Write(lines)
	return err == nil && c.Flush() == nil
}

// counter counts the bytes that are written to it, even if they do not arrive.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.to.Write(b)
}
