package remote

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// These are the commands that one gpusched runs on another.
const (
	// DocCommand reads a Typed from its input and prints the document for that command line.
	DocCommand = "__document"
	// HereCommand HOST WORD... runs a command line on this machine only. HOST is the name that this
	// machine has where the command was typed.
	HereCommand = "__here"
	// LabelledCommand is like HereCommand, but each line begins with the machine's name.
	LabelledCommand = "__labelled"
)

// Patience is the time in which a machine must begin to answer. If the answer takes no work, the
// machine must have answered in that time. ssh's time limit for connecting is the same.
const Patience = 10 * time.Second

// ssh checks the connection at intervals of aliveEvery. After lostAfter checks without an answer it
// closes the connection. Without these checks, a connection over a dead link would never end.
const (
	aliveEvery = 15 * time.Second
	lostAfter  = 4
)

// options returns ssh's options. With them, ssh asks nothing, runs one command, and prints only
// errors.
//
// They override a RemoteCommand in the user's settings. They also turn off forwarded ports, X11 and
// the agent, which users may want for logins only. A port that is in use would end the connection,
// and with an agent the other side could act as the user.
//
// If the user's settings share connections (ControlMaster), ControlPersist gives the shared
// connection to a process in the background. Without ControlPersist, the ssh that opened the
// connection would keep it, and would not end before all others that use the connection.
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

// Command returns an ssh command that runs gpusched on another machine. If tty is set, gpusched
// gets a terminal there.
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
	// This ssh may start a second ssh for a ProxyJump, which does not inherit BatchMode. Its questions
	// go to a program that always answers no.
	cmd.Env = append(cmd.Environ(), "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force")
	return cmd, nil
}

// maxLine is a little less than the longest argument that Linux accepts, in bytes.
const maxLine = 120 << 10

// quote quotes a word so that sh, bash, zsh and fish read it unchanged. csh does so, too, unless
// the word contains a line end. In quotation marks, a backslash and an exclamation mark mean
// different things to these shells.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.NewReplacer(`'`, `'\''`, `\`, `'\\'`, `!`, `'\!'`).Replace(word) + "'"
}
