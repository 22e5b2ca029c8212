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

// Typed is a command line that another machine's gpusched answers with the command's document.
type Typed struct {
	Words api.Words `json:"words"`
	// Called is the name that the machine has where the command was typed. If the ids name several
	// machines, the machine acts on the ids with this name.
	Called string `json:"called"`
	// Plain means that ids without a machine belong to this machine, too.
	Plain bool `json:"plain,omitempty"`
	// Job has what a new job takes from the machine where the command was typed. It is nil if the
	// command submits no job.
	Job *NewJob `json:"job,omitempty"`
}

// NewJob has the parts of a new job that the command line does not contain.
type NewJob struct {
	Environ api.Words `json:"environ,omitzero"` // nil: the other machine's own environment
	Dir     api.Bytes `json:"dir"`
	Umask   int       `json:"umask"`
	Key     string    `json:"key"` // the request's key; if the request is repeated, only one job is queued
	DryRun  bool      `json:"dry_run,omitempty"`
}

// Answer is the answer of another machine's gpusched.
type Answer struct {
	Doc    []byte // the document; nil if there is none
	Said   string // standard error, with the program's name removed from each line
	Status int    // exit status
}

// CutError means that the answer was cut off after the machine had begun to answer.
type CutError struct{ why *api.Error }

func (e *CutError) Error() string { return e.why.Error() }

func (e *CutError) Unwrap() error { return e.why }

// allAnswers limits the bytes of all answers together, if several machines are asked at once. Each
// answer may have leastAnswer bytes in any case. A listing of 100 000 jobs has about 60 MB.
const (
	allAnswers  = 1 << 30
	leastAnswer = 64 << 20
)

// lastWords is how long to read ssh's output after ssh has ended. A shared connection that ssh
// leaves behind keeps the output open. lastWords is also the time from SIGTERM to SIGKILL.
const lastWords = 2 * time.Second

// Ask sends a command line to a machine and returns the answer. The argument among is the number of
// machines that are asked at once. If the machine has not begun to answer after Patience, Ask gives
// up.
func Ask(ctx context.Context, host string, t Typed, among int) (Answer, error) {
	cmd, err := Command(host, false, DocCommand)
	if err != nil {
		return Answer{}, err
	}
	return AskBy(ctx, cmd, host, t, among)
}

// AskBy is like Ask, but runs another command instead of ssh, such as this program itself.
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
		go func() { _, _ = in.Write(append(question, '\n')) }() // keeps the pipe open: closing it would end the other side
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

// Run runs a command. When ctx is done, it ends the command, first with SIGTERM, so that ssh
// restores the terminal.
func Run(ctx context.Context, cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { End(cmd) })()
	return cmd.Wait()
}

// End sends SIGTERM, so that ssh restores the terminal and removes its sockets. After lastWords it
// sends SIGKILL.
func End(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM) // fails if the process has already ended
	time.AfterFunc(lastWords, func() { _ = cmd.Process.Kill() })
}

var errTooLong = errors.New("it is too long")

// gaveUp returns the error for an answer that did not arrive in time.
func gaveUp(cause error, host string, limit time.Duration, out *document) error {
	switch {
	case errors.Is(cause, context.Canceled):
		return cause
	case errors.Is(cause, errTooLong):
		return &CutError{&api.Error{Code: api.CodeInternal, Message: "its answer is too large", Hint: "ask for less of it"}}
	}
	if !out.hasBegun() {
		limit = min(limit, Patience)
	}
	e := unreachable(fmt.Sprintf("no answer within %s", limit), "see 'ssh "+host+" gpusched status'")
	if out.hasBegun() {
		return &CutError{e}
	}
	return e
}

// answer returns the answer or an error. It is called when ssh has ended with this status.
func (d *document) answer(host string, status int, said string) (Answer, error) {
	doc, noise := d.text()
	see := "see 'ssh " + host + " gpusched status'"
	switch begun := d.hasBegun(); {
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

// document collects the other side's output: text from a shell's start-up files, the line with
// which gpusched begins, and the document on a line of its own.
type document struct {
	most  int
	begun func() // called when the first line has arrived
	over  func()

	mu      sync.Mutex
	kept    []byte
	reached bool
}

// Write collects output. It returns an error if there is too much of it.
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

// This is the first line that the other gpusched prints.
var begins = []byte(beginsText)

const beginsText = "gpusched begins\n"

// Begin runs on the other side. It prints the line that says that gpusched was reached, and reads
// the command line. When nobody waits for the answer any more, it calls its last argument.
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

// hasBegun reports whether the other side has begun to answer.
func (d *document) hasBegun() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reached
}

// text returns the document, nil if there is none, and the first line of any other output.
func (d *document) text() (doc []byte, noise string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	before, rest, begun := bytes.Cut(d.kept, begins)
	for line := range bytes.Lines(before) {
		if noise == "" {
			noise = printable(string(line))
		}
	}
	if doc = bytes.TrimSpace(rest); !begun || len(doc) == 0 {
		doc = nil
	}
	return doc, noise
}

// tail keeps the first and the last part of ssh's messages.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is the size of each of the two parts, in bytes.
const maxTail = 64 << 10

// Write keeps the text. It never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - 2*maxTail; over > 0 {
		t.text = append(t.text[:maxTail], t.text[maxTail+over:]...)
	}
	return len(p), nil
}

// String returns the messages. They are safe to print, and the program's name is removed.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for line := range strings.Lines(string(t.text)) {
		if s := printable(strings.TrimPrefix(line, "gpusched: ")); s != "" {
			lines = append(lines, s)
		}
	}
	return strings.Join(lines, "\n")
}
