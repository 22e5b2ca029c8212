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

// streamed is a reply that is made while it is sent. The bytes that the counter counts are charged
// to the user.
type streamed interface {
	send(w http.ResponseWriter, out *counter)
}

// listing is an api.ListReply that is made while it is sent, because a hundred thousand jobs would
// take a few hundred megabytes at once.
type listing struct {
	api.ListReply // without the jobs

	jobs  []job.JobView
	only  bool // send each job's name alone
	brief bool // leave out the sentences of reasons
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
	whole := new(api.Job) // one for all rows, because it is large
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

// send streams the reply through the counter. It cuts off a client that does not read, and a reply
// that it cannot complete, because that must not look whole.
func (l listing) send(w http.ResponseWriter, out *counter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
	w.Header().Set("Content-Type", "application/json")
	if err := l.stream(out); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// sendLines sends a part of a reply that consists of lines of JSON. It returns false if the client
// does not take it.
func sendLines(w http.ResponseWriter, to *counter, lines []byte) bool {
	c := http.NewResponseController(w)
	c.SetWriteDeadline(time.Now().Add(replyTime))
	_, err := to.Write(lines)
	return err == nil && c.Flush() == nil
}

// counter counts the bytes that are written to it, whether they arrive or not.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.to.Write(b)
}
