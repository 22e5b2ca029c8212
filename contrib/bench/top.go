package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// topTime is how long somebody looks at 'gpusched top'.
const topTime = 20 * time.Second

// top measures what a screen of 'gpusched top' takes of a core, and what it has the daemon do.
func (b *rig) top(ctx context.Context, daemon string) error {
	ctx, stop := await.For(ctx, "the end of gpusched top", topTime+b.limits.begin)
	defer stop()
	cmd := exec.CommandContext(ctx, "gpusched", "top")
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(b.uid), Gid: uint32(b.uid)}}
	before, _, err := cpuTime(daemon)
	if err != nil {
		return err
	}
	screen, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return err
	}
	defer screen.Close()
	quit := time.AfterFunc(topTime, func() { screen.WriteString("q") })
	defer quit.Stop()
	drawn, _ := io.Copy(io.Discard, screen) // ends with an error when nobody has the other end any more
	if err := cmd.Wait(); err != nil || drawn == 0 {
		return errors.Join(await.Cause(ctx, err), fmt.Errorf("gpusched top drew %d bytes", drawn))
	}
	after, _, err := cpuTime(daemon)
	if err != nil {
		return err
	}
	share := func(t time.Duration) string { return fmt.Sprintf("%.1f %%", 100*t.Seconds()/topTime.Seconds()) }
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	row("gpusched top, of one core, and the daemon meanwhile", share(used)+", "+share(after-before))
	row("what it draws", fmt.Sprintf("%.1f kB per second", float64(drawn)/1e3/topTime.Seconds()))
	return nil
}
