package vm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An agent runs commands inside a box. It is this same program, which enters the box once and then starts every command
// itself. Entering anew for each command would start four more programs (nsenter, vm-as, env, setpriv), and tests
// poll so often that these would take most of the processor time.
type agent struct {
	entered *child        // nsenter, whose child the agent is
	calls   *net.UnixConn // a byte for each command, with the descriptors in the order of callFiles
}

// What comes with a call, in this order.
const (
	callStdin = iota
	callStdout
	callStderr
	callReply // a socket: takes a call, gives an answer; when our end is closed, the command is killed
	callFiles
)

// call is a command to run as a user of the box.
type call struct {
	User string
	Argv []string
}

// answer is how a command ended.
type answer struct {
	Code int    // exit code, or 128+N for a death by signal N
	Err  string // why it could not be started
}

// Codes of commands that could not be started, as of vm-as and of shells.
const (
	noUser   = 217
	notFound = 127
)

// agentVariable is set for the program that is to be an agent.
const agentVariable = "GPUSCHED_VM_AGENT"

// The descriptors that an agent starts with.
const (
	agentProgram = 3 // this program, which has no path in the box
	agentHello   = 4 // a socket, on which it sends the one for calls
)

// mayBeAgent is set by Main.
var mayBeAgent bool

// Main must be the first call of each program that starts boxes: where a box has started the program, as its agent, it
// does not return.
func Main() {
	if os.Getenv(agentVariable) == "" {
		mayBeAgent = true
		return
	}
	err := serveCalls()
	if err != nil && !errors.Is(err, io.EOF) {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// startAgent enters the box.
func (b *box) startAgent() (*agent, error) {
	if !mayBeAgent {
		return nil, errors.New("agent: this program did not call vm.Main")
	}
	program, err := os.Open("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	defer program.Close()
	hello, theirs, err := socketpair()
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	defer hello.Close()
	defer theirs.Close()
	cmd := b.command(context.Background(), []string{fmt.Sprintf("/proc/self/fd/%d", agentProgram)}, false)
	cmd.Env = append(cmd.Env, agentVariable+"=1")
	cmd.ExtraFiles = []*os.File{program, theirs}
	cmd.Stderr = os.Stderr
	a := &agent{}
	if a.entered, err = startChild(cmd); err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	theirs.Close() // as long as it is open here, the death of all who have it goes unnoticed
	hello.SetReadDeadline(time.Now().Add(boxBootLimit))
	var fds []int
	if fds, err = receive(hello, 1); err == nil {
		a.calls, err = unixConn(fds[0])
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("agent: %w", err), a.entered.kill())
	}
	go a.reap()
	return a, nil
}

// reap makes nsenter end when the agent has ended. A reboot sends SIGSTOP to all programs of the box before it kills
// them, and nsenter then stops itself as well. The box can't end before nsenter has waited for the dead agent.
func (a *agent) reap() {
	a.calls.Read(make([]byte, 1)) // the agent never says anything
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !a.entered.ended() {
		a.entered.cmd.Process.Signal(syscall.SIGCONT)
		<-tick.C
	}
}

// end ends the agent. Commands that it has started go on until they, or the box, end.
func (a *agent) end() error {
	a.calls.Close()
	return a.entered.kill()
}

// socketpair returns two connected sockets, the second one for another process.
func socketpair() (*net.UnixConn, *os.File, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("socketpair: %w", err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "socketpair")
	ours, err := unixConn(fds[0])
	if err != nil {
		theirs.Close()
	}
	return ours, theirs, err
}

// send hands descriptors to the process at the other end.
func send(to *net.UnixConn, files ...*os.File) error {
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	_, _, err := to.WriteMsgUnix([]byte{0}, syscall.UnixRights(fds...), nil)
	return err
}

// receive takes n descriptors; io.EOF is the end of the other side.
func receive(from *net.UnixConn, n int) ([]int, error) {
	message, rights := make([]byte, 1), make([]byte, syscall.CmsgSpace(n*4))
	got, size, _, _, err := from.ReadMsgUnix(message, rights)
	if err == nil && got == 0 {
		err = io.EOF
	}
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(rights[:size])
	if err != nil || len(messages) != 1 {
		return nil, fmt.Errorf("%d messages with descriptors (%v)", len(messages), err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != n {
		return nil, fmt.Errorf("%d descriptors (%v)", len(fds), err)
	}
	return fds, nil
}

// unixConn takes over a socket.
func unixConn(fd int) (*net.UnixConn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	return conn.(*net.UnixConn), nil
}

// call hands a command to the box's agent, which it starts again if that has died, and returns the socket on which the
// answer comes.
func (b *box) call(c call, stdin, stdout, stderr *os.File) (*net.UnixConn, error) {
	b.calling.Lock()
	defer b.calling.Unlock()
	for again := true; ; again = false {
		var reply *net.UnixConn
		err := b.ensureAgent()
		if err == nil {
			reply, err = b.agent.call(c, stdin, stdout, stderr)
		}
		if err == nil || !again || b.first.ended() {
			return reply, err
		}
		// A soft reboot ends all programs of the box, one that just enters it as well.
		if err := b.endAgent(); err != nil {
			return nil, err
		}
	}
}

// ensureAgent starts the agent unless there is one.
func (b *box) ensureAgent() (err error) {
	if b.agent == nil {
		b.agent, err = b.startAgent()
	}
	return err
}

func (b *box) endAgent() error {
	if b.agent == nil {
		return nil
	}
	err := b.agent.end()
	b.agent = nil
	return err
}

// call hands a command to the agent and returns the socket on which its answer comes.
func (a *agent) call(c call, stdin, stdout, stderr *os.File) (*net.UnixConn, error) {
	reply, theirs, err := socketpair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	if err = send(a.calls, stdin, stdout, stderr, theirs); err == nil {
		err = json.NewEncoder(reply).Encode(c)
	}
	if err != nil {
		reply.Close()
		return nil, err
	}
	return reply, nil
}

// serveCalls is the agent, inside the box. It returns when nobody can call any more.
func serveCalls() error {
	syscall.CloseOnExec(agentProgram)
	syscall.Umask(0o022)
	hello, err := unixConn(agentHello)
	if err != nil {
		return err
	}
	// nsenter has the socket that we were born with, too, and would keep it open after our death.
	calls, theirs, err := socketpair()
	if err != nil {
		return err
	}
	if err := send(hello, theirs); err != nil {
		return err
	}
	theirs.Close()
	hello.Close()
	for {
		fds, err := receive(calls, callFiles)
		if err != nil {
			return err
		}
		go answerCall(fds)
	}
}

// answerCall runs one command.
func answerCall(fds []int) {
	var files []*os.File
	for _, fd := range fds[:callReply] {
		files = append(files, os.NewFile(uintptr(fd), "call"))
	}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	reply, err := unixConn(fds[callReply])
	if err != nil {
		return
	}
	defer reply.Close()
	var c call
	if json.NewDecoder(reply).Decode(&c) != nil {
		return
	}
	a := answer{Code: noUser}
	cmd, err := c.command()
	if err == nil {
		a.Code = notFound
		cmd.Stdin, cmd.Stdout, cmd.Stderr = files[callStdin], files[callStdout], files[callStderr]
		err = cmd.Start()
	}
	for _, f := range files {
		f.Close()
	}
	if err != nil {
		a.Err = err.Error()
		json.NewEncoder(reply).Encode(a)
		return
	}
	ended := make(chan struct{})
	go func() {
		reply.Read(make([]byte, 1)) // they close it, or it is closed below
		select {
		case <-ended:
		default:
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		}
	}()
	var exit *exec.ExitError
	err = cmd.Wait()
	close(ended)
	a.Code = 0
	if errors.As(err, &exit) {
		a.Code = exitCode(exit)
	} else if err != nil {
		a.Err = err.Error()
	}
	json.NewEncoder(reply).Encode(a)
}

// command is what vm-as (image/customise.sh) would run.
func (c call) command() (*exec.Cmd, error) {
	u, err := lookUp(c.User)
	if err != nil {
		return nil, err
	}
	path := "/usr/local/bin:/usr/bin:/bin"
	if u.uid == 0 {
		path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
	}
	cmd := &exec.Cmd{Path: onPath(path, c.Argv[0]), Args: c.Argv, Dir: u.home, Env: []string{"HOME=" + u.home,
		"USER=" + c.User, "LOGNAME=" + c.User, "SHELL=" + u.shell, "LANG=C.UTF-8", "PATH=" + path}}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true,
		Credential: &syscall.Credential{Uid: u.uid, Gid: u.groups[0], Groups: u.groups}}
	return cmd, nil
}

// onPath finds a program; one that is nowhere stays as it is, for the start to fail on.
func onPath(path, program string) string {
	if strings.Contains(program, "/") {
		return program
	}
	for _, dir := range filepath.SplitList(path) {
		file := filepath.Join(dir, program)
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return file
		}
	}
	return program
}

// account is a user of the box.
type account struct {
	uid         uint32
	groups      []uint32 // that of the account first
	home, shell string
}

// lookUp reads the box's own files: a directory service may be what a test has stopped.
func lookUp(name string) (account, error) {
	var a account
	err := colons("/etc/passwd", 7, func(f []string) {
		uid, errUID := strconv.ParseUint(f[2], 10, 32)
		gid, errGID := strconv.ParseUint(f[3], 10, 32)
		if f[0] == name && a.groups == nil && errUID == nil && errGID == nil {
			a = account{uid: uint32(uid), groups: []uint32{uint32(gid)}, home: f[5], shell: f[6]}
		}
	})
	if err == nil && a.groups == nil {
		err = fmt.Errorf("there is no user %q in this machine", name)
	}
	if err != nil {
		return a, err
	}
	return a, colons("/etc/group", 4, func(f []string) {
		gid, err := strconv.ParseUint(f[2], 10, 32)
		if err == nil && slices.Contains(strings.Split(f[3], ","), name) {
			a.groups = append(a.groups, uint32(gid))
		}
	})
}

// colons calls each with the fields of every line of a file.
func colons(file string, fields int, each func([]string)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if f := strings.Split(lines.Text(), ":"); len(f) == fields {
			each(f)
		}
	}
	return lines.Err()
}
