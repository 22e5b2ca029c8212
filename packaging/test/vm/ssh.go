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

// sshArgs are the switches that every ssh command of the machine has; nothing of the caller's own ssh set-up is read.
func (e *emulated) sshArgs(more ...string) []string {
	args := []string{
		"-F", "none", "-i", e.image.file("id"), "-p", strconv.Itoa(e.port), "-l", "root", "-S", e.dir.file("ssh"),
		"-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR",
		"-o", "UserKnownHostsFile=" + e.image.file("known_hosts"), "-o", "HostKeyAlias=" + sshHostName,
	}
	return append(append(args, more...), "127.0.0.1")
}

// sshHostName is what the image's host key is known by: ports change.
const sshHostName = "gpusched-vm"

// connect opens the connection that all commands share; it is up when the local command, run after the log-in, has
// spoken.
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
	e.master, err = e.group.start(cmd)
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

// command is one more session on the shared connection, which turns a death by signal into the code that shells give
// it. Its ssh ends only when nothing in the machine holds its output open any more.
func (e *emulated) command(ctx context.Context, argv []string, tty bool) *exec.Cmd {
	return e.session(ctx, quote(argv)+"; exit $?", tty)
}

// session runs a line of root's shell, which leaves its process group's number behind for a cancelled session to be
// killed by.
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

// kill ends the process group of a command that was given up. A guest that does not answer is no concern of the caller.
func (e *emulated) kill(pidFile string) {
	line := fmt.Sprintf("kill -KILL -- -$(cat %s)", pidFile)
	await.Output(context.Background(), 10*time.Second,
		append(append([]string{"ssh"}, e.sshArgs("-o", "ControlMaster=no")...), line))
}

// makeKeys makes the key of root for the machine, and what the machine's own key is known by.
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

// SSHCommand is what to type on the host for a root shell in an emulated machine while it runs; "" for a box.
func (m *Machine) SSHCommand() string {
	if e := m.emulated(); e != nil {
		return "ssh " + quote(e.sshArgs())
	}
	return ""
}
