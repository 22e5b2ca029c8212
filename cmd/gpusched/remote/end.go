package remote

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Calls are the connections of one run of the program. A nil one forgets them.
type Calls struct {
	mu   sync.Mutex // guards open
	open map[*conn]bool
}

// add remembers a connection until its ssh has ended.
func (l *Calls) add(c *conn) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open == nil {
		l.open = map[*conn]bool{}
	}
	l.open[c] = true
	go func() {
		<-c.over
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.open, c)
	}()
}

// End closes all connections, and returns when each ssh has ended, or has been told to.
func (l *Calls) End() {
	if l == nil {
		return
	}
	var all sync.WaitGroup
	for _, c := range l.list() {
		all.Go(func() {
			_ = c.UnixConn.Close() // it may be closed
			c.end()
		})
	}
	all.Wait()
}

// list is what has not ended.
func (l *Calls) list() []*conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.open))
}

// endTime is how long an ssh may take to end by itself.
const endTime = time.Second

// Close ends the connection. ssh ends with it, soon.
func (c *conn) Close() error {
	err := c.UnixConn.Close()
	go c.end()
	return err
}

// end has ssh end once the connection is closed. It does so by itself, but where something on the other side holds
// its output open: then it is told to, unless it carries the sessions of others as well.
func (c *conn) end() {
	c.ended.Do(func() {
		select {
		case <-c.over:
		case <-time.After(endTime):
			if !c.isMaster() {
				c.signal(syscall.SIGTERM)
			}
		}
	})
}

// isMaster reports whether the user's other sessions may share the connection of this ssh: with ControlMaster it has
// become their master, and without ControlPersist that is no process of its own. It stays for them, as any ssh does.
func (c *conn) isMaster() bool {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.ssh.Path)
	cmd.Args = append(append([]string{"ssh"}, options("-T")...), "-O", "check", "--", c.host)
	cmd.WaitDelay = lastWords
	NeverAsk(cmd)
	said, _ := cmd.CombinedOutput() // it fails where there is no master
	return strings.Contains(string(said), fmt.Sprintf("(pid=%d)", c.ssh.Process.Pid))
}

// kill ends an ssh that nobody waits for any more. It is told to, so that it leaves no control socket behind, and
// killed where it does not listen.
func (c *conn) kill() {
	c.signal(syscall.SIGTERM)
	time.AfterFunc(time.Second, func() { c.signal(syscall.SIGKILL) })
}

// signal is for an ssh that has not ended.
func (c *conn) signal(s os.Signal) {
	select {
	case <-c.over:
	default:
		_ = c.ssh.Process.Signal(s) // it may have ended just now
	}
}
