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

// Typed is a command line that the gpusched of another machine is to answer with its document.
type Typed struct {
	Words api.Words `json:"words"`
	// Called is the machine's name where the command was typed. Among ids with machines, the
	// machine takes those with its own name.
	Called string `json:"called"`
	// Plain says that ids without a machine are the machine's, too.
	Plain bool `json:"plain,omitempty"`
	// Job is what a new job takes from where it was typed; nil if the command submits none.
	Job *NewJob `json:"job,omitempty"`
}

// NewJob has the parts of a new job that are not on the command line.
type NewJob struct {
	Environ api.Words `json:"environ,omitzero"` // nil: the machine's own
	Dir     api.Bytes `json:"dir"`
	Umask   int       `json:"umask"`
	Key     string    `json:"key"` // the request's key: a request that is asked twice queues one job
	DryRun  bool      `json:"dry_run,omitempty"`
}

// Answer is the answer of another machine's gpusched.
type Answer struct {
	Doc    []byte // the document, nil if there is none
	Said   string // its standard error, without the program's name on each line
	Status int    // its exit status
}

// CutError is the error of an answer that was cut off after the machine had begun.
type CutError struct{ why *api.Error }

func (e *CutError) Error() string { return e.why.Error() }

func (e *CutError) Unwrap() error { return e.why }

// allAnswers is the most bytes that the answers of all machines asked at once may have together,
// and leastAnswer the bytes that each may have in any case. A listing of 100 000 jobs has about 60
// MB.
const (
	allAnswers  = 1 << 30
	leastAnswer = 64 << 20
)

// lastWords is how long to wait for ssh's output after its end: a shared connection that it leaves
// behind keeps the output open. It is also the time from SIGTERM to SIGKILL.
const lastWords = 2 * time.Second

// Ask makes a machine answer; among is the number of machines that are asked at once. It gives up
// if the machine has not begun after Patience.
func Ask(ctx context.Context, host string, t Typed, among int) (Answer, error) {
	cmd, err := Command(host, false, DocCommand)
	if err != nil {
		return Answer{}, err
	}
	return AskBy(ctx, cmd, host, t, among)
}

// AskBy is Ask with a command other than ssh, such as this program itself.
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
		go func() { _, _ = in.Write(append(question, '\n')) }() // the pipe stays open, since its end ends the other side
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
		return Answer{}, gaveUp(context.Cause(ctx), host, limit, out)
	case cmd.ProcessState == nil:
		return Answer{}, unreachable(fmt.Sprintf("wait for ssh: %v", err), "")
	}
	return out.answer(host, cmd.ProcessState.ExitCode(), said.String())
}

// Run runs a command and ends it when ctx is done, with SIGTERM first, so that ssh restores the
// terminal.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { End(cmd) })()
	return cmd.Wait()
}

// End sends SIGTERM, so that ssh tidies up the terminal and its sockets, and SIGKILL after
// lastWords.
func End(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	time.AfterFunc(lastWords, func() { _ = cmd.Process.Kill() })
}

var errTooLong = errors.New("it is too long")

// gaveUp returns the error for an answer that was given up.
func gaveUp(cause error, host string, limit time.Duration, out *document) error {
	switch {
	case errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, errTooLong):
		return &CutError{&api.Error{Code: api.CodeInternal, Message: "its answer is too large", Hint: "ask for less of it"}}
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

// answer returns the answer, or the error, once ssh has ended with the given status.
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
		return Answer{}, notGpusched(host, noise, status)
	case begun && doc == nil && (said == "" || status > killed || status < 0):
		return Answer{}, &CutError{unreachable(fmt.Sprintf("gpusched there has ended with status %d and without an answer", status), see)}
	case doc != nil && (!json.Valid(doc) || tooMany(doc)):
		return Answer{}, &CutError{unreachable("its answer is not the expected document", see)}
	}
	return Answer{Doc: doc, Said: said, Status: status}, nil
}

// document collects the other side's output: whatever a shell's start-up files print, the line with
// which gpusched begins, and the document on a line of its own.
type document struct {
	most  int
	begun func() // called once
	over  func()

	mu      sync.Mutex
	kept    []byte
	reached bool
}

// Write refuses more than fits.
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

// begins is the first line that gpusched prints.
var begins = []byte(beginsText)

const beginsText = "gpusched begins\n"

// Begin, on the other side, says that gpusched has been reached, and reads the command line. It
// calls left once nobody waits for the answer any more.
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

// text returns the document, nil if there is none, and the first line of other output.
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

// tail keeps the beginning and the end of ssh's messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the number of bytes kept at each end.
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

// String returns the messages, safe to show and without the program's name.
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
