package remote

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// These are the commands by which one gpusched asks another.
const (
	// DocCommand reads a Typed from its input and prints the document of that command line.
	DocCommand = "__document"
	// HereCommand HOST WORD... runs a command line for this machine alone, which has the name HOST
	// where it was typed.
	HereCommand = "__here"
	// LabelledCommand is HereCommand with the machine's name on each line.
	LabelledCommand = "__labelled"
)

// Patience is the longest that a machine may take to begin, and to answer what needs no work. ssh
// gets the same limit for connecting.
const Patience = 10 * time.Second

// After lostAfter times aliveEvery without a sign of the other side, ssh closes its connection.
// Nothing else would end a connection whose link is dead.
const (
	aliveEvery = 15 * time.Second
	lostAfter  = 4
)

// options returns ssh's options: it asks nothing, runs one command, and prints only errors. They
// override a RemoteCommand in the user's settings. They also keep forwarded ports, X11 and the
// agent from the machine, which the user's settings may want for logins: a port in use would end
// the connection, and with an agent the other side could act as the user. If the user's settings
// share connections (ControlMaster), the shared one runs in the background: an ssh that held it
// itself would end only after all others.
func options(tty bool) []string {
	list := []string{"-T"}
	if tty {
		list[0] = "-t"
	}
	for _, o := range []string{
		"BatchMode=yes", fmt.Sprintf("ConnectTimeout=%d", int(Patience/time.Second)),
		fmt.Sprintf("ServerAliveInterval=%d", int(aliveEvery/time.Second)), fmt.Sprintf("ServerAliveCountMax=%d", lostAfter),
		"LogLevel=ERROR", "RemoteCommand=none", "ClearAllForwardings=yes", "ForwardAgent=no", "ForwardX11=no", "ControlPersist=10m",
	} {
		list = append(list, "-o", o)
	}
	return list
}

// Command returns the ssh that runs gpusched on another machine; tty gives it a terminal there.
func Command(host string, tty bool, words ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &api.Error{Code: api.CodeUnreachable, Message: "ssh, which gpusched needs to ask other machines, is not installed here",
			Hint: "it is in the package openssh-client"}
	}
	line := "gpusched"
	for _, w := range words {
		if strings.IndexByte(w, 0) >= 0 {
			return nil, fmt.Errorf("%q has a NUL byte, which no command can have", w)
		}
		line += " " + quote(w)
	}
	if len(line) > maxLine {
		return nil, fmt.Errorf("the command is too long to be sent")
	}
	cmd := &exec.Cmd{Path: path, Args: append(append([]string{"ssh"}, options(tty)...), "--", host, line), WaitDelay: lastWords}
	neverAsk(cmd)
	return cmd, nil
}

// maxLine is below the most bytes that Linux takes as one argument.
const maxLine = 120 << 10

// neverAsk keeps ssh from asking. It also works for the ssh that this one starts for a ProxyJump,
// which does not inherit BatchMode: questions go to a program that says no.
func neverAsk(c *exec.Cmd) {
	c.Env = append(c.Environ(), "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force")
}

// quote writes a word so that sh, bash, zsh and fish read it unchanged, and csh too unless it
// contains a line end. They differ in the meaning of a backslash and an exclamation mark inside
// quotation marks.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.NewReplacer(`'`, `'\''`, `\`, `'\\'`, `!`, `'\!'`).Replace(word) + "'"
}
