package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// Patience is how long a machine may take to greet, and to answer what it can answer at once. ssh is told the
// same of its connection.
const Patience = 10 * time.Second

// After lostAfter times aliveEvery without a word from the other side ssh gives up its connection: nothing else
// ends one whose link has died.
const (
	aliveEvery = 15 * time.Second
	lostAfter  = 4
)

// options has ssh ask nothing, run one command, and say nothing but errors. The command is ours where the user's
// settings have one (RemoteCommand), and the machine gets no ports, screen or keys of here, which a login there may
// want: a port that is taken would end the connection, and with an agent the other side could act as the user.
// Whatever else it needs, such as a shared connection (ControlMaster), is the user's to set.
func options(tty string) []string {
	list := []string{tty}
	for _, o := range []string{
		"BatchMode=yes", fmt.Sprintf("ConnectTimeout=%d", int(Patience/time.Second)),
		fmt.Sprintf("ServerAliveInterval=%d", int(aliveEvery/time.Second)), fmt.Sprintf("ServerAliveCountMax=%d", lostAfter),
		"LogLevel=ERROR", "RemoteCommand=none", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no",
	} {
		list = append(list, "-o", o)
	}
	return list
}

// NeverAsk has a command of ssh, and the ssh that it starts for a ProxyJump, which gets no BatchMode of it, ask nobody:
// what they would ask on the terminal a program answers that says no.
func NeverAsk(c *exec.Cmd) {
	c.Env = append(c.Environ(), "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force")
}

// Command is the command line of ssh for one of gpusched on another machine; tty gives that a terminal.
func Command(host string, tty bool, words ...string) []string {
	kind := "-T"
	if tty {
		kind = "-t"
	}
	return append(append(append([]string{"ssh"}, options(kind)...), "--", host, "gpusched"), words...)
}

// Dial connects with the scheduler of another machine. The end of ctx ends the attempt, not the connection.
// Errors are *api.Error, with Code Unreachable where nobody has answered.
func (l *Calls) Dial(ctx context.Context, host string, q Question) (net.Conn, Greeting, error) {
	question, err := json.Marshal(q)
	if err != nil {
		return nil, Greeting{}, &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("encode the question: %v", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	c, err := begin(host)
	if err != nil {
		return nil, Greeting{}, err
	}
	l.add(c)
	stop := context.AfterFunc(ctx, c.kill)
	g, err := c.greet(append(question, '\n'))
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err == nil && g.Refused != nil {
		err = g.Refused
	}
	if err != nil {
		c.Close()
		if ctx.Err() != nil {
			err = late(ctx.Err())
		}
		return nil, g, err
	}
	return c, g, nil
}

// late is the error of an attempt that took too long, or that nobody waits for.
func late(cause error) error {
	if errors.Is(cause, context.Canceled) {
		return cause
	}
	return &api.Error{Code: api.CodeUnreachable, Message: fmt.Sprintf("no answer within %s", Patience)}
}

// conn is a connection over a process of ssh. Its embedded end is that of a pair of sockets, of which ssh
// has the other as its input and output.
type conn struct {
	*net.UnixConn
	host   string
	ssh    *exec.Cmd
	stderr tail
	over   chan struct{} // closed when ssh has ended
	ended  sync.Once     // of end
}

// begin starts ssh.
func begin(host string) (*conn, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &api.Error{Code: api.CodeUnreachable, Message: "there is no ssh here, by which other machines are asked",
			Hint: "it is in the package openssh-client"}
	}
	mine, its, err := pair()
	if err != nil {
		return nil, &api.Error{Code: api.CodeInternal, Message: fmt.Sprintf("make a pair of sockets: %v", err)}
	}
	defer its.Close()
	c := &conn{UnixConn: mine, host: host, over: make(chan struct{})}
	argv := Command(host, false, DialCommand)
	c.ssh = &exec.Cmd{Path: path, Args: argv, Stdin: its, Stdout: its, Stderr: &c.stderr, WaitDelay: lastWords}
	NeverAsk(c.ssh)
	if err := c.ssh.Start(); err != nil {
		mine.Close()
		return nil, &api.Error{Code: api.CodeUnreachable, Message: fmt.Sprintf("start ssh: %v", err)}
	}
	go func() {
		_ = c.ssh.Wait() // how it ended is in its state
		close(c.over)
	}()
	return c, nil
}

// lastWords is how long after its end what ssh says is waited for: a shared connection that it has left
// behind keeps its output open.
const lastWords = 300 * time.Millisecond

// pair makes two sockets that are connected with each other.
func pair() (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	file, its := os.NewFile(uintptr(fds[0]), "ssh"), os.NewFile(uintptr(fds[1]), "ssh")
	defer file.Close()
	end, err := net.FileConn(file)
	if err != nil {
		its.Close()
		return nil, nil, err
	}
	mine, ok := end.(*net.UnixConn)
	if !ok {
		its.Close()
		return nil, nil, fmt.Errorf("it is a %T", end)
	}
	return mine, its, nil
}

// greet sends the question and reads the greeting.
func (c *conn) greet(question []byte) (Greeting, error) {
	// An ssh that has ended leaves its reason below.
	_, _ = c.UnixConn.Write(question)
	g, noise, err := readGreeting(byteReader{c.UnixConn})
	if err == nil {
		return g, nil
	}
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		return g, c.reason(noise)
	}
	return g, strange(noise)
}

// byteReader reads byte by byte: what comes after a greeting is not the greeting's.
type byteReader struct{ io.Reader }

// ReadByte is that of io.ByteReader.
func (r byteReader) ReadByte() (byte, error) {
	var b [1]byte
	_, err := io.ReadFull(r.Reader, b[:])
	return b[0], err
}

// Read is that of the socket; its end is an error with the reason, where ssh has failed.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.UnixConn.Read(p)
	if n == 0 && errors.Is(err, io.EOF) {
		select {
		case <-c.over:
			if state := c.ssh.ProcessState; state != nil && !state.Success() {
				return 0, fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, c.reason(""))
			}
		case <-time.After(lastWords):
		}
	}
	return n, err
}

// tail keeps the beginning and the end of what ssh says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// maxTail is how much is kept, at each end.
const maxTail = 4 << 10

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

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.ToValidUTF8(string(t.text), "?")
}
