package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/packaging/test/disk"
)

// emulatedBootLimit is long enough for a host under
// heavy load. A boot usually takes about 15 seconds.
const emulatedBootLimit = 8 * time.Minute

// errPortTaken reports that QEMU did not get a port that was free shortly before.
var errPortTaken = errors.New("the port for ssh was taken meanwhile: try again")

// An emulated machine consists of a QEMU process and an ssh connection that all commands share.
type emulated struct {
	image  image
	dir    *runDir
	group  scope
	listen net.Listener // QEMU connects the guest's second serial line to this listener
	boots  chan string  // boot ids that the guest wrote to its second serial line
	qemu   *child       // nil before the first boot
	disk   *disk.Disk   // a power cut loses its unflushed writes
	server *disk.Server // serves the disk to the QEMU process that runs now
	master *child       // ssh process that keeps the connection open
	port   int          // the guest's ssh port on the host's loopback
	runs   atomic.Int64 // number of commands that were started
}

// newEmulated makes the disk of the machine, which is a copy of the image's disk.
func newEmulated(ctx context.Context, img image, dir *runDir, group scope, _ Options) (guest, error) {
	if err := disk.Copy(ctx, img.disk(), dir.file("disk")); err != nil {
		return nil, err
	}
	file, err := disk.Open(dir.file("disk"))
	if err != nil {
		return nil, err
	}
	listen, err := net.Listen("unix", dir.file("ready"))
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("ready line: %w", err)
	}
	e := &emulated{image: img, dir: dir, group: group, listen: listen, disk: file}
	e.boots = make(chan string, 16)
	go hearBoots(listen, e.boots)
	return e, nil
}

// hearBoots reads the lines that a guest writes, and sends each line to the channel boots. It
// returns when the listener is closed. Each QEMU process connects once.
func hearBoots(listen net.Listener, boots chan<- string) {
	for {
		conn, err := listen.Accept()
		if err != nil {
			return
		}
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			select {
			case boots <- strings.TrimSpace(lines.Text()):
			default: // the channel is full because nobody reads it; drop this line
			}
		}
		conn.Close()
	}
}

// boot starts QEMU on the machine's disk and waits until the guest has booted and ssh is connected.
func (e *emulated) boot(ctx context.Context) error {
	ctx, cancel := await.For(ctx, "the guest to finish booting", emulatedBootLimit)
	defer cancel()
	var err error
	for range 3 {
		if err = e.spawn(); err != nil {
			return err
		}
		if err = e.awaitBoot(ctx); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err == nil {
		err = e.connect(ctx)
	}
	if err != nil {
		err = errors.Join(err, e.halt())
		return fmt.Errorf("boot: %w\n%s%s", err, await.Tail(e.dir.text("qemu.log"), 10), await.Tail(e.dir.text("console"), 10))
	}
	return nil
}

// spawn starts QEMU. The guest cannot reach any
// network; only ssh from this host can reach the guest.
func (e *emulated) spawn() error {
	port, err := freePort()
	if err != nil {
		return err
	}
	e.port = port
	if err := e.plug(); err != nil {
		return err
	}
	log, err := os.Create(e.dir.file("qemu.log"))
	if err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	defer log.Close()
	cmd := exec.Command("qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max", "-m", "4096", "-smp", "2",
		"-nodefaults", "-no-user-config", "-display", "none",
		"-kernel", e.image.file("vmlinuz"), "-initrd", e.image.file("initrd.img"),
		"-append", "console=ttyS0 root=/dev/vda rw quiet net.ifnames=0",
		"-drive", "file=nbd+unix:///?socket=disk.sock,if=virtio,format=raw,cache=writeback",
		"-nic", fmt.Sprintf("user,model=virtio,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port),
		"-serial", "file:console", "-chardev", "socket,id=ready,path=ready", "-serial", "chardev:ready")
	cmd.Dir = e.dir.path
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // so that Ctrl-C on the terminal reaches only our own process
	if e.qemu, err = e.group.startIn(cmd); err != nil {
		return fmt.Errorf("emulator: %w", err)
	}
	return nil
}

// freePort returns a loopback port that is free now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("port for ssh: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// awaitBoot waits until the guest reports that it has booted.
func (e *emulated) awaitBoot(ctx context.Context) error {
	select {
	case <-e.boots:
		return nil
	case <-e.qemu.done:
		if strings.Contains(e.dir.text("qemu.log"), "host forwarding") {
			return errPortTaken
		}
		return fmt.Errorf("the emulator ended: %w", e.qemu.err)
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reboot asks the guest's systemd to reboot. The same QEMU process boots the guest again.
func (e *emulated) reboot(ctx context.Context, by []string) error {
	ctx, cancel := await.For(ctx, "the guest to boot again", emulatedBootLimit)
	defer cancel()
	// The connection may end before the command does, so reboot waits only for the message of the
	// new boot.
	asked := e.command(ctx, by, false).Run()
	if err := e.awaitBoot(ctx); err != nil {
		return errors.Join(err, asked, errors.New(await.Tail(e.dir.text("console"), 10)))
	}
	if err := e.master.kill(); err != nil {
		return err
	}
	return e.connect(ctx)
}

// halt ends QEMU at once, as a power cut would end a machine. It may be called on a machine that
// never booted.
func (e *emulated) halt() error {
	var errs []error
	for _, c := range []*child{e.qemu, e.master} {
		if c != nil {
			errs = append(errs, c.kill())
		}
	}
	for len(e.boots) > 0 {
		<-e.boots // drop old boot messages
	}
	return errors.Join(append(errs, e.unplug())...)
}
