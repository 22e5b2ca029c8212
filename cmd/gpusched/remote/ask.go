package remote

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// Typed is a command line, for the gpusched of another machine to answer with its document.
type Typed struct {
	Words api.Words `json:"words"`
	// Called is the name of the machine where this was typed. Of ids that name machines it takes those with its own.
	Called string `json:"called"`
	// Plain: ids that name no machine are its, too.
	Plain bool `json:"plain,omitempty"`
	// Job is what a new job has of where it was typed; nil: it is none.
	Job *NewJob `json:"job,omitempty"`
}

// NewJob is what surrounds the command line of a new job.
type NewJob struct {
	Environ api.Words `json:"environ,omitzero"` // nil: that of the machine itself
	Dir     api.Bytes `json:"dir"`
	Umask   int       `json:"umask"`
	Key     string    `json:"key"` // of the request: asked twice it queues one job
	DryRun  bool      `json:"dry_run,omitempty"`
}

// Answer is how the gpusched of a machine answered.
type Answer struct {
	Doc    []byte // the document, nil where there is none
	Said   string // on standard error, each line without the program's name
	Status int    // its exit status
}

// CutError is an answer that was cut off after the machine had begun with it.
type CutError struct{ why *api.Error }

// Error says why it was.
func (e *CutError) Error() string { return e.why.Error() }

// Unwrap gives the error that says why.
func (e *CutError) Unwrap() error { return e.why }

// The answers of several machines that are asked at once may hold so much together, and each so much in any case: a
// listing of 100 000 jobs is about 60 MB.
const (
	allAnswers  = 1 << 30
	leastAnswer = 64 << 20
)

// lastWords is how long after its end what ssh says is waited for: a shared connection that it has left behind keeps
// its output open. Whatever does not end when it is told to is killed after as long.
const lastWords = 2 * time.Second

// Ask has a machine answer, one of so many that are asked at once. It is left if it has not begun after Patience.
func Ask(ctx context.Context, host string, t Typed, among int) (Answer, error) {
	cmd, err := Command(host, false, DocCommand)
	if err != nil {
		return Answer{}, err
	}
	return AskBy(ctx, cmd, host, t, among)
}

// AskBy is Ask by another command, such as this program itself.
func AskBy(ctx context.Context, cmd *exec.Cmd, host string, t Typed, among int) (Answer, error) {
	question, err := json.Marshal(t)
	if err != nil {
		return Answer{}, &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("encode the question: %v", err)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limit := Patience
	if until, ok := ctx.Deadline(); ok {
		limit = time.Until(until).Round(time.Second)
	}
	patience := time.AfterFunc(Patience, func() { cancel(context.DeadlineExceeded) })
	defer patience.Stop()
	out := &document{
		most: max(leastAnswer, allAnswers/max(among, 1)),
		over: func() { cancel(errTooLong) },
	}
	said := &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = out, said, lastWords
	in, err := cmd.StdinPipe()
	out.begun = func() {
		patience.Stop()
		go func() { _, _ = in.Write(append(question, '\n')) }() // it stays open: with its end the other side ends
	}
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return Answer{}, unreachable(fmt.Sprintf("start ssh: %v", err), "")
	}
	defer context.AfterFunc(ctx, func() { End(cmd) })()
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return Answer{}, left(context.Cause(ctx), host, limit, out)
	case cmd.ProcessState == nil:
		return Answer{}, unreachable(fmt.Sprintf("wait for ssh: %v", err), "")
	}
	return out.answer(host, cmd.ProcessState.ExitCode(), said.String())
}

// Run runs a command, which is told to end when nobody waits for it any more: ssh gives the terminal back as it
// was.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { End(cmd) })()
	return cmd.Wait()
}

// End tells a command to end, so that ssh leaves the terminal and its sockets in order, and kills it where it does not.
func End(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	time.AfterFunc(lastWords, func() { _ = cmd.Process.Kill() })
}

var errTooLong = errors.New("it is too long")

// left is the error of an answer that was not waited for.
func left(cause error, host string, limit time.Duration, out *document) error {
	switch {
	case errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, errTooLong):
		return &CutError{&api.Error{Code: api.CodeInternal, Message: "it answers with more than can be held", Hint: "ask for less of it"}}
	}
	if !out.has() {
		limit = min(limit, Patience)
	}
	e := unreachable(fmt.Sprintf("no answer within %s", limit), "see 'ssh "+host+" gpusched status'")
	if out.has() {
		return &CutError{e}
	}
	return e
}

// answer is what has come, once ssh has ended so.
func (d *document) answer(host string, status int, said string) (Answer, error) {
	doc, noise := d.text()
	see := "see 'ssh " + host + " gpusched status'"
	switch begun := d.has(); {
	case status == sshFailed && !begun:
		return Answer{}, failed(host, said)
	case status == sshFailed:
		return Answer{}, &CutError{failed(host, said)}
	case !begun && (status == notFound || status == notAllowed):
		return Answer{}, notThere(host, said)
	case !begun && (status == 0 || said == ""):
		return Answer{}, strange(host, noise, status)
	case begun && doc == nil && (said == "" || status > killed || status < 0):
		return Answer{}, &CutError{unreachable(fmt.Sprintf("gpusched there has ended with status %d and without an answer", status), see)}
	case doc != nil && (!json.Valid(doc) || tooMany(doc)):
		return Answer{}, &CutError{unreachable("what it answers is not the document that is expected", see)}
	}
	return Answer{Doc: doc, Said: said, Status: status}, nil
}

// document keeps what the other side prints: whatever a shell's start-up files say, an empty line once gpusched has
// begun, and the document on a line of its own.
type document struct {
	most  int
	begun func() // called once
	over  func()

	mu      sync.Mutex
	kept    []byte
	reached bool
}

// Write takes no more than fits.
func (d *document) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.kept)+len(p) > d.most {
		d.over()
		return 0, errTooLong
	}
	d.kept = append(d.kept, p...)
	if !d.reached && bytes.Contains(d.kept, begins) {
		d.reached = true
		d.begun()
	}
	return len(p), nil
}

// begins is the line that gpusched prints first.
var begins = []byte(beginsText)

const beginsText = "gpusched begins\n"

// Begin says on the other side that gpusched has been reached, and reads what it is asked. Once nobody waits for the
// answer any more it calls left.
func Begin(in io.Reader, out io.Writer, left func()) (t Typed, err error) {
	if _, err := io.WriteString(out, beginsText); err != nil {
		return t, err
	}
	if err := json.NewDecoder(in).Decode(&t); err != nil {
		return t, fmt.Errorf("read what is asked: %w", err)
	}
	go func() {
		_, _ = io.Copy(io.Discard, in)
		left()
	}()
	return t, Check(t.Called)
}

// has reports whether the other side has begun.
func (d *document) has() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reached
}

// text is the document, nil if there is none, and the first line that says something else.
func (d *document) text() (doc []byte, noise string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, rest, begun := bytes.Cut(d.kept, begins)
	for line := range bytes.Lines(before) {
		if noise == "" {
			noise = said(string(line))
		}
	}
	if doc = bytes.TrimSpace(rest); !begun || len(doc) == 0 {
		doc = nil
	}
	return doc, noise
}

// tail keeps the beginning and the end of what ssh says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much is kept, at each end.
const maxTail = 64 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - 2*maxTail; over > 0 {
		t.text = append(t.text[:maxTail], t.text[maxTail+over:]...)
	}
	return len(p), nil
}

// String is what is kept, as it may be shown, without the name of the program in front.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.text)) {
		if s := said(strings.TrimPrefix(line, "gpusched: ")); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}
