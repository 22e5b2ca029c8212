package server

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
)

// streamed is a reply that is made while it is sent. What goes through the counter is
// charged as requests.
type streamed interface {
	send(w http.ResponseWriter, out *counter)
}

// listing is an api.ListReply that is made while it is sent: with a hundred
// thousand jobs it would take a few hundred megabytes at once.
type listing struct {
	jobs    []job.JobView
	only    bool // what names a job, of each
	brief   bool // its reasons without their sentences
	names   *namer
	gpus    []api.GPU
	omitted int
	drain   *api.Drain
	recent  *api.Recent
}

// jobName is the part of an api.Job that names it.
type jobName struct {
	ID   job.ID    `json:"id,omitempty"`
	Task *api.Task `json:"task,omitempty"`
}

// stream writes the reply.
func (l listing) stream(to io.Writer) error {
	w := bufio.NewWriterSize(to, 64<<10)
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	w.WriteString(`{"schema":"` + api.Schema + `","jobs":[`)
	whole := new(api.Job) // one for all rows: it is big
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
			if r := &whole.Reasons[k]; l.brief {
				r.Sentence, r.Detail, r.Foreign = "", "", nil
			}
		}
		if err := enc.Encode(row); err != nil {
			return err
		}
	}
	w.WriteString(`],"gpus":`)
	if err := enc.Encode(l.gpus); err != nil {
		return err
	}
	if l.omitted > 0 {
		w.WriteString(`,"omitted":`)
		if err := enc.Encode(l.omitted); err != nil {
			return err
		}
	}
	if l.drain != nil {
		w.WriteString(`,"drain":`)
		if err := enc.Encode(l.drain); err != nil {
			return err
		}
	}
	if l.recent != nil {
		w.WriteString(`,"recent":`)
		if err := enc.Encode(l.recent); err != nil {
			return err
		}
	}
	w.WriteString("}\n")
	return w.Flush()
}

// send streams the reply through the counter. A client that does not read it is
// cut off; so is one whose reply can't be completed, which must not look whole.
func (l listing) send(w http.ResponseWriter, out *counter) {
	http.NewResponseController(w).SetWriteDeadline(time.Now().Add(replyTime))
	w.Header().Set("Content-Type", "application/json")
	if err := l.stream(out); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// counter counts what is made to go through it, arriving or not.
type counter struct {
	to io.Writer
	n  int
}

func (c *counter) Write(b []byte) (int, error) {
	c.n += len(b)
	return c.to.Write(b)
}
