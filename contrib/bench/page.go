package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

const pageAddress = "http://127.0.0.1:9837"

// page measures what open pages cost, of the page's program and of the daemon: while nothing
// changes, and while jobs start and end.
func (b *rig) page(ctx context.Context, watched time.Duration) error {
	if _, err := run(ctx, "systemctl", "enable", "--now", "gpusched-web.socket"); err != nil {
		return err
	}
	fmt.Printf("\n| open pages, for %s | gpusched-web | gpuschedd | sent |\n|---|---|---|---|\n", watched)
	submit := "for i in 1 2 3 4 5 6; do gpusched submit -q -g 1 -n held -- sleep 100000; done"
	if _, err := b.as(ctx, "/bin/sh", "-c", submit); err != nil {
		return err
	}
	if err := pause(ctx, 10*time.Second); err != nil { // the jobs run, and whoever follows knows it
		return err
	}
	for _, busy := range []bool{false, true} {
		for _, viewers := range []int{0, 1, 10} {
			if err := b.viewed(ctx, viewers, busy, watched); err != nil {
				return err
			}
		}
	}
	_, err := run(ctx, "/bin/sh", "-c", "gpusched cancel --all -y >/dev/null; systemctl disable --now gpusched-web.socket; systemctl stop gpusched-web")
	return err
}

// viewed measures with so many open pages.
func (b *rig) viewed(ctx context.Context, viewers int, busy bool, watched time.Duration) error {
	ctx, done := await.For(ctx, "the measurement of open pages", watched+b.limits.many)
	var sent atomic.Int64
	var open sync.WaitGroup
	defer open.Wait()
	defer done()
	if err := look(ctx, "/", io.Discard); err != nil { // it is started by that, if it was not
		return err
	}
	for range viewers {
		open.Go(func() { _ = look(ctx, "/live", counter{&sent}) }) // it ends with ctx
	}
	what := "nothing changes"
	if busy {
		what = "a job starts and ends each second"
		open.Go(func() {
			script := "while gpusched submit -q -g 0 -n short -- true && sleep 1; do :; done"
			_, _, _ = b.loop(ctx, 1, script) // it ends with ctx
		})
	}
	if err := pause(ctx, 5*time.Second); err != nil { // all have what there is
		return err
	}
	web, err := run(ctx, "systemctl", "show", "-P", "MainPID", "gpusched-web")
	if err != nil {
		return err
	}
	daemon, err := mainPID(ctx)
	if err != nil {
		return err
	}
	bytes := sent.Load()
	var used [2]time.Duration
	for i, pid := range []string{web, daemon} {
		if used[i], _, err = cpuTime(pid); err != nil {
			return err
		}
	}
	if err := pause(ctx, watched); err != nil {
		return err
	}
	cells := make([]string, 2, 3)
	for i, pid := range []string{web, daemon} {
		now, _, err := cpuTime(pid)
		if err != nil {
			return err
		}
		cells[i] = (now - used[i]).String()
	}
	row(fmt.Sprintf("%d, %s", viewers, what), append(cells, fmt.Sprintf("%d kB", (sent.Load()-bytes)/1000))...)
	return nil
}

// look reads a path of the page to its end, or until ctx is done.
func look(ctx context.Context, path string, to io.Writer) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, pageAddress+path, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return await.Cause(ctx, err)
	}
	defer resp.Body.Close()
	_, err = io.Copy(to, resp.Body)
	return err
}

// counter counts what is written.
type counter struct{ n *atomic.Int64 }

// Write counts.
func (c counter) Write(p []byte) (int, error) {
	c.n.Add(int64(len(p)))
	return len(p), nil
}
