package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// sshArgs returns the options of every ssh command for the machine. With these options, ssh ignores
// the caller's own configuration.
func (e *emulated) sshArgs(more ...string) []string {
	args := []string{
		"-F", "none", "-i", e.image.file("id"), "-p", strconv.Itoa(e.port), "-l", "root", "-S", e.dir.file("ssh"),
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
		"-o", "UserKnownHostsFile=" + e.image.file("known_hosts"), "-o", "HostKeyAlias=" + sshHostName,
	}
	return append(append(args, more...), "127.0.0.1")
}

// sshHostName is the name that the image's host key has in known_hosts. Ports change, so the name
// does not contain one.
const sshHostName = "gpusched-vm"

// connect opens the connection that all commands share. After the login, ssh runs a local command
// that prints a line. The line shows that the connection is open.
func (e *emulated) connect(ctx context.Context) error {
	log, err := os.Create(e.dir.file("ssh.log"))
	if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	defer log.Close()
	up, theirs, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	defer up.Close()
	cmd := exec.Command("ssh", e.sshArgs("-M", "-N", "-o", "PermitLocalCommand=yes", "-o", "LocalCommand=echo up")...)
	cmd.Stdout, cmd.Stderr = theirs, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	e.master, err = e.group.startIn(cmd)
	theirs.Close()
	if err != nil {
		return fmt.Errorf("ssh: %w", err)
	}
	if deadline, ok := ctx.Deadline(); ok {
		up.SetReadDeadline(deadline)
	}
	if _, err := bufio.NewReader(up).ReadString('\n'); err != nil {
		err = errors.Join(err, e.master.kill())
		return fmt.Errorf("ssh: waiting for the log-in: %w\n%s", await.Cause(ctx, err), e.dir.text("ssh.log"))
	}
	return nil
}

// command returns a command in a new session of the shared connection. If a signal kills the
// program, the exit code is the one that a shell would report. The ssh process ends only when
// nothing in the machine keeps the output open.
func (e *emulated) command(ctx context.Context, argv []string, tty bool) *exec.Cmd {
	return e.session(ctx, quote(argv)+"; exit $?", tty)
}

// session returns a command that runs a line in root's shell. The shell writes its process group id
// into a file, so that a cancelled session can be killed.
func (e *emulated) session(ctx context.Context, line string, tty bool) *exec.Cmd {
	pidFile := fmt.Sprintf("/run/vm-run-%d", e.runs.Add(1))
	switches := []string{"-o", "ControlMaster=no"}
	if tty {
		switches = append(switches, "-tt")
	}
	cmd := exec.CommandContext(ctx, "ssh", append(e.sshArgs(switches...), "echo $$ >"+pidFile+"; "+line)...)
	cmd.Cancel = func() error {
		e.kill(pidFile)
		return cmd.Process.Kill()
	}
	return cmd
}

// kill ends the process group of a cancelled command.
// If the guest does not answer, kill gives up silently.
func (e *emulated) kill(pidFile string) {
	line := fmt.Sprintf("kill -KILL -- -$(cat %s)", pidFile)
	await.Output(context.Background(), 10*time.Second,
		append(append([]string{"ssh"}, e.sshArgs("-o", "ControlMaster=no")...), line))
}

// makeKeys creates a key with which root can log in, and a known_hosts line for the machine's host
// key.
func (i image) makeKeys(ctx context.Context) error {
	_, err := await.Output(ctx, time.Minute, []string{"ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", sshHostName,
		"-f", i.file("id")})
	if err == nil {
		err = os.MkdirAll(i.file("root/root/.ssh"), 0o700)
	}
	var public, host []byte
	if err == nil {
		public, err = os.ReadFile(i.file("id.pub"))
	}
	if err == nil {
		err = os.WriteFile(i.file("root/root/.ssh/authorized_keys"), public, 0o600)
	}
	if err == nil {
		host, err = os.ReadFile(i.file("root/etc/ssh/ssh_host_ed25519_key.pub"))
	}
	if err == nil {
		err = os.WriteFile(i.file("known_hosts"), append([]byte(sshHostName+" "), host...), 0o600)
	}
	if err != nil {
		return fmt.Errorf("ssh keys: %w", err)
	}
	return nil
}

// SSHCommand returns a command that opens a root shell in a running emulated machine. A person can
// type the command on the host. For a box SSHCommand returns "".
func (m *Machine) SSHCommand() string {
	if e := m.emulated(); e != nil {
		return "ssh " + quote(e.sshArgs())
	}
	return ""
}
