package vm

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

//go:embed image/box.sh
var boxScript string

// boxBootLimit is long enough for a host under heavy load. A boot usually takes half a second.
const boxBootLimit = 3 * time.Minute

// A box runs systemd-nspawn in its own mount and PID namespaces
// (image/box.sh) and in the control group of its scope.
type box struct {
	image  image
	dir    *runDir
	group  scope
	first  *child   // the first process of the namespace; when it ends, the box ends
	leader int      // pid of the container's systemd, as the host sees it
	runs   *os.File // control group inside the container for the commands of Run
	gpus   []string // options of systemd-nspawn that add the host's GPUs
	calls  string   // groups of system calls that systemd-nspawn allows in addition to its usual ones
}

// newBox makes the disk of the box: an overlay on the image or, if the host cannot make an overlay
// there, a copy of the image.
func newBox(ctx context.Context, img image, dir *runDir, group scope, opts Options) (guest, error) {
	// Without bpf, systemd silently runs units without their device filter.
	b := &box{image: img, dir: dir, group: group, calls: "bpf"}
	if slices.Contains(opts.Packages, "docker.io") {
		b.calls += " @keyring" // runc gives each container a session keyring
	}
	if opts.HostGPUs {
		driver, err := lookAtDriver(ctx)
		if err == nil {
			b.gpus, err = driver.switches()
		}
		if err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"upper", "work", "merged"} {
		if err := os.Mkdir(dir.file(name), 0o755); err != nil {
			return nil, fmt.Errorf("disk: %w", err)
		}
	}
	overlay := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", img.root(), dir.file("upper"), dir.file("work"))
	if runContained(ctx, "mount", "-t", "overlay", "overlay", "-o", overlay, dir.file("merged")) != nil {
		if _, err := await.Output(ctx, buildLimit, []string{"cp", "-a", "--reflink=auto", img.root(),
			dir.file("copy")}); err != nil {
			return nil, fmt.Errorf("disk: copy the image: %w", err)
		}
	}
	return b, nil
}

// boot starts the container and waits until the container's systemd has finished booting.
func (b *box) boot(ctx context.Context) error {
	ctx, cancel := await.For(ctx, "the container's systemd to finish booting", boxBootLimit)
	defer cancel()
	ready, err := listenReady(b.dir.file("notify"))
	if err != nil {
		return err
	}
	defer ready.Close()
	if err := b.spawn(); err != nil {
		return err
	}
	if err := b.awaitReady(ctx, ready); err != nil {
		err = errors.Join(err, b.halt())
		return fmt.Errorf("boot: %w\n%s", err, await.Tail(b.dir.text("console"), 20))
	}
	b.leader, err = onlyChild(b.first.cmd.Process.Pid)
	if err == nil {
		b.runs, err = b.group.openGroup("payload/vm-run")
	}
	return err
}

func (b *box) spawn() error {
	console, err := os.OpenFile(b.dir.file("console"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("console: %w", err)
	}
	defer console.Close()
	args := []string{"-c", boxScript, "box", b.image.root(), b.dir.path,
		"--machine=gpubox", "--register=no", "--keep-unit", "--console=pipe", "--private-network", "--capability=all",
		"--system-call-filter=" + b.calls, "--notify-ready=yes", "--link-journal=no", "--resolv-conf=off", "--timezone=off"}
	cmd := exec.Command("sh", append(args, b.gpus...)...)
	cmd.Dir = b.dir.path
	cmd.Env = append(os.Environ(), "NOTIFY_SOCKET="+b.dir.file("notify"))
	cmd.Stdout, cmd.Stderr = console, console
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Setsid: true}
	b.first, err = b.group.startIn(cmd)
	if err != nil {
		return fmt.Errorf("container: %w", err)
	}
	return nil
}

// listenReady opens a socket to which systemd-nspawn sends the container's READY=1.
func listenReady(path string) (*net.UnixConn, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("notify socket: %w", err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("notify socket: %w", err)
	}
	return conn, nil
}

// awaitReady waits for READY=1. It returns an error
// if the container ends or the time limit has passed.
func (b *box) awaitReady(ctx context.Context, conn *net.UnixConn) error {
	heard := make(chan error, 1)
	go func() { heard <- readReady(conn) }()
	var err error
	select {
	case err = <-heard:
		return err
	case <-b.first.done:
		err = fmt.Errorf("the container ended: %w", b.first.err)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	conn.Close()
	<-heard
	return err
}

func readReady(conn *net.UnixConn) error {
	message := make([]byte, 4096)
	for {
		n, err := conn.Read(message)
		if err != nil {
			return fmt.Errorf("notify socket: %w", err)
		}
		if slices.Contains(strings.Fields(string(message[:n])), "READY=1") {
			return nil
		}
	}
}

// onlyChild returns the only child of a single-threaded process.
func onlyChild(pid int) (int, error) {
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%[1]d/children", pid))
	if err != nil {
		return 0, fmt.Errorf("children of process %d: %w", pid, err)
	}
	children := strings.Fields(string(list))
	if len(children) != 1 {
		return 0, fmt.Errorf("children of process %d: there are %d, not one", pid, len(children))
	}
	return strconv.Atoi(children[0])
}

// command returns a command that runs in the namespaces and the control group of the container.
func (b *box) command(ctx context.Context, argv []string, tty bool) *exec.Cmd {
	args := []string{"-t", strconv.Itoa(b.leader), "-m", "-u", "-i", "-n", "-p", "-C", "--"}
	if tty {
		argv = []string{"script", "-qec", quote(argv), "/dev/null"} // script(1) opens a terminal inside the container
	}
	cmd := exec.CommandContext(ctx, "nsenter", append(args, argv...)...)
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}
	if tty {
		cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(b.runs.Fd()), Setpgid: !tty}
	if !tty {
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	}
	return cmd
}

// halt ends the container at once. It may be called on a box that never booted.
func (b *box) halt() error {
	var err error
	if b.first != nil {
		err = b.first.kill()
	}
	if b.runs != nil {
		b.runs.Close()
		b.runs = nil
	}
	return err
}

// reboot runs a command that makes the container's systemd reboot. This ends systemd-nspawn; reboot
// then boots the container again.
func (b *box) reboot(ctx context.Context, by []string) error {
	ctx, cancel := await.For(ctx, "the container to shut down", boxBootLimit)
	defer cancel()
	// The container may end before the command does, so reboot waits only for the container's end.
	asked := b.command(ctx, by, false).Run()
	select {
	case <-b.first.done:
	case <-ctx.Done():
		return errors.Join(context.Cause(ctx), asked, errors.New(await.Tail(b.dir.text("console"), 20)))
	}
	if err := b.halt(); err != nil {
		return err
	}
	return b.boot(ctx)
}
