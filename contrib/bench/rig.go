package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/contrib/bench/ratios"
	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/systemd"
)

// rig is what the measurements share.
type rig struct {
	uid     int
	dir     string
	socket  string // the daemon's
	limits  limits
	manager *systemd.Manager
	next    atomic.Int64
	record  ratios.Record
	when    string // of the record's rows
	filled  bool   // jobs are queued that nobody needs any more when all has been measured
}

// firstUnit keeps the bare units' numbers away from those of real jobs.
const firstUnit = 900_000_000

// limits are how long is waited at most.
type limits struct {
	begin   time.Duration // for a command to begin, a unit to start or to be stopped, an answer of the daemon's
	command time.Duration // for one command
	many    time.Duration // for a loop of commands, and for many jobs to get somewhere
	part    time.Duration // for a part of the bench, whatever it waits for
}

func usual() limits {
	return limits{begin: 30 * time.Second, command: time.Minute, many: 10 * time.Minute, part: 20 * time.Minute}
}

func newRig(ctx context.Context, uid int) (*rig, error) {
	dir, err := os.MkdirTemp("/var/tmp", "gpusched-bench-")
	if err != nil {
		return nil, err
	}
	b := &rig{uid: uid, dir: dir, socket: api.SocketPath, limits: usual()}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	ctx, stop := await.For(ctx, "a connection to systemd", b.limits.begin)
	defer stop()
	b.manager, err = systemd.Connect(ctx, systemd.Options{})
	return b, await.Cause(ctx, err)
}

func (b *rig) close() {
	if b.manager != nil {
		b.manager.Close()
	}
	os.RemoveAll(b.dir)
}

// client asks the daemon over its socket.
func (b *rig) client() *api.Client { return &api.Client{Socket: b.socket} }

// account has a command run as the submitting account, in the root directory.
func (b *rig) account(cmd *exec.Cmd) {
	cmd.Dir = "/"
	if b.uid != os.Getuid() {
		who := &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: who}
	}
}

// as runs a command as the submitting account and returns what it printed.
func (b *rig) as(ctx context.Context, argv ...string) (string, error) {
	out, err := await.Output(ctx, b.limits.command, argv, b.account)
	return strings.TrimSpace(out), err
}

// loop runs a shell's line many times as the submitting account and returns what they printed, and how long it took.
func (b *rig) loop(ctx context.Context, times int, line string, set ...func(*exec.Cmd)) (string, time.Duration, error) {
	from := time.Now()
	out, err := await.Output(ctx, b.limits.many, shellLoop(times, line), append([]func(*exec.Cmd){b.account}, set...)...)
	return strings.TrimSpace(out), time.Since(from), err
}

// shellLoop runs a line so many times, until one fails.
func shellLoop(times int, line string) []string {
	return []string{"/bin/sh", "-c", fmt.Sprintf("i=0; while [ $i -lt %d ]; do %s || exit; i=$((i+1)); done", times, line)}
}

// run runs a command as root.
func run(ctx context.Context, argv ...string) (string, error) {
	out, err := await.Output(ctx, usual().command, argv)
	return strings.TrimSpace(out), err
}

// pause waits for some time, or until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// bare starts a unit with the properties of a job on one GPU, except that it
// runs the command itself.
func (b *rig) bare(ctx context.Context, argv []string) (name string, err error) {
	id := firstUnit + b.next.Add(1)
	props := units.Properties(units.Spec{
		ID: id, Attempt: 1, UID: b.uid, GID: b.uid, User: "bench", JobName: "bench",
		GPUs:   []contract.GPU{{Index: 0, Minor: 0, UUID: "GPU-0"}},
		Limits: cgroup.Limits{MemBytes: 1 << 30, TasksMax: 16384}, Grace: 30 * time.Second,
		Launcher: "/bin/true", SpecPath: "/",
	})
	for i := range props {
		if props[i].Name == "ExecStart" {
			props[i].Value = []units.ExecCommand{{Path: argv[0], Args: argv}}
		}
	}
	name = units.Name(id)
	ctx, stop := await.For(ctx, name+" to start", b.limits.begin)
	defer stop()
	_, err = b.manager.Start(ctx, name, props)
	return name, await.Cause(ctx, err)
}

// stop stops a bare unit, which collects it.
func (b *rig) stop(ctx context.Context, name string) error {
	ctx, stop := await.For(ctx, name+" to be stopped", b.limits.begin)
	defer stop()
	return await.Cause(ctx, b.manager.Stop(ctx, name))
}

// exited waits until a bare unit's command has ended.
func (b *rig) exited(ctx context.Context, name string) error {
	changed := func(ctx context.Context) error {
		select {
		case <-b.manager.Changes():
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	return await.Watch(ctx, name+" to end", b.limits.begin, changed, func(ctx context.Context) (string, bool, error) {
		st, err := b.manager.Status(ctx, name)
		phase, _ := units.Decode(st)
		return fmt.Sprintf("%+v", st), phase == units.PhaseExited, err
	})
}

// bareToEnd runs a command in a bare unit to the unit's collection.
func (b *rig) bareToEnd(ctx context.Context, argv []string) error {
	name, err := b.bare(ctx, argv)
	if err == nil {
		err = b.exited(ctx, name)
	}
	if err == nil {
		err = b.stop(ctx, name)
	}
	return err
}
