package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/cgroup"
	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/units"
	"github.com/gpusched/gpusched/units/contract"
	"github.com/gpusched/gpusched/units/systemd"
)

// rig is what the measurements share.
type rig struct {
	uid     int
	dir     string
	pipe    string // named; whoever opens it for writing has begun
	manager *systemd.Manager
	next    atomic.Int64
}

// firstUnit keeps the bare units' numbers away from those of real jobs.
const firstUnit = 900_000_000

const (
	beginLimit   = time.Minute      // for a command to begin, a unit to start or to be stopped, an answer of the daemon's
	commandLimit = 20 * time.Minute // for a command that is waited for, and for many jobs to get somewhere
)

func newRig(ctx context.Context, uid int) (*rig, error) {
	dir, err := os.MkdirTemp("/var/tmp", "gpusched-bench-")
	if err != nil {
		return nil, err
	}
	b := &rig{uid: uid, dir: dir}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	ctx, stop := await.For(ctx, "a connection to systemd", beginLimit)
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

// newPipe makes another pipe the one that commands open: one for each run, as a
// reader may else meet the last run's writer that has not closed it yet.
func (b *rig) newPipe() error {
	if b.pipe != "" {
		os.Remove(b.pipe)
	}
	b.pipe = filepath.Join(b.dir, fmt.Sprint("begun-", b.next.Add(1)))
	if err := syscall.Mkfifo(b.pipe, 0o666); err != nil {
		return err
	}
	return os.Chmod(b.pipe, 0o666)
}

// touch is the command whose first instruction is measured.
func (b *rig) touch() []string { return []string{"/bin/sh", "-c", ": >" + b.pipe} }

// begun waits until a command has opened the pipe.
func (b *rig) begun() (time.Time, error) {
	late := time.AfterFunc(beginLimit, func() { // a writer ends the wait
		if w, err := os.OpenFile(b.pipe, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close()
		}
	})
	f, err := os.OpenFile(b.pipe, os.O_RDONLY, 0)
	at := time.Now()
	if !late.Stop() {
		err = errors.Join(&await.LateError{What: "a command to open " + b.pipe, Limit: beginLimit}, err)
	}
	if f != nil {
		f.Close()
	}
	return at, err
}

// as runs a command as the submitting account and returns what it printed.
func (b *rig) as(ctx context.Context, argv ...string) (string, error) {
	out, err := await.Output(ctx, commandLimit, argv, func(cmd *exec.Cmd) {
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}}
	})
	return strings.TrimSpace(out), err
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
	ctx, stop := await.For(ctx, name+" to start", beginLimit)
	defer stop()
	_, err = b.manager.Start(ctx, name, props)
	return name, await.Cause(ctx, err)
}

// stop stops a bare unit, which collects it.
func (b *rig) stop(ctx context.Context, name string) error {
	ctx, stop := await.For(ctx, name+" to be stopped", beginLimit)
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
	return await.Watch(ctx, name+" to end", beginLimit, changed, func(ctx context.Context) (string, bool, error) {
		st, err := b.manager.Status(ctx, name)
		phase, _ := units.Decode(st)
		return fmt.Sprintf("%+v", st), phase == units.PhaseExited, err
	})
}
