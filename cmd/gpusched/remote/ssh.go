package remote

import (
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
)

// The commands by which one gpusched asks another.
const (
	// DocCommand reads a Typed from its input, and prints the document of that command line.
	DocCommand = "__document"
	// HereCommand HOST WORD... is a command line for this machine alone, which is called HOST where it was typed.
	HereCommand = "__here"
	// LabelledCommand is HereCommand whose lines say whose they are.
	LabelledCommand = "__labelled"
)

// Patience is how long a machine may take to begin, and to answer what it can answer at once. ssh is told the
// same of its connection.
const Patience = 10 * time.Second

// After lostAfter times aliveEvery without a word from the other side ssh gives up its connection: nothing else
// ends one whose link has died.
const (
	aliveEvery = 15 * time.Second
	lostAfter  = 4
)

// options make ssh ask nothing, run one command, and say nothing but errors. The command is ours where the user's
// settings have one (RemoteCommand), and the machine gets no ports, screen or keys of here, which a login there may
// want: a port that is taken would end the connection, and with an agent the other side could act as the user.
// Where the user's settings share a connection (ControlMaster) it is one in the background: an ssh that has it itself
// would end only after all others.
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

// Command is the ssh that runs gpusched on another machine; tty gives it a terminal there.
func Command(host string, tty bool, words ...string) (*exec.Cmd, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return nil, &api.Error{Code: api.CodeUnreachable, Message: "there is no ssh here, by which other machines are asked",
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

// maxLine is below what Linux takes as one argument of a program.
const maxLine = 120 << 10

// neverAsk makes ssh, and the ssh that it starts for a ProxyJump, which gets no BatchMode of it, ask nobody: what they
// would ask on the terminal a program answers that says no.
func neverAsk(c *exec.Cmd) {
	c.Env = append(c.Environ(), "SSH_ASKPASS=/bin/false", "SSH_ASKPASS_REQUIRE=force")
}

// quote writes a word so that any shell reads it as it is: sh, bash, zsh and fish, and csh unless there is the end of a
// line in it. They differ in what a backslash and an exclamation mark mean between quotation marks.
func quote(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.NewReplacer(`'`, `'\''`, `\`, `'\\'`, `!`, `'\!'`).Replace(word) + "'"
}
