package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// latency measures from a request to the first instruction of the command:
// a bare unit, systemd-run, and gpusched submit from the start of its process.
// The three take turns, so that all see the same machine.
func (b *rig) latency(ctx context.Context, runs int) error {
	var bare, transient, ours times
	for range runs {
		var name, id string
		d, err := b.measure(func() (err error) {
			name, err = b.bare(ctx, b.touch())
			return err
		})
		if err != nil {
			return err
		}
		bare = append(bare, d)
		if err := b.stop(ctx, name); err != nil {
			return err
		}
		if d, err = b.measure(func() error {
			argv := append([]string{"systemd-run", "--quiet", "--wait", "--collect", fmt.Sprintf("--uid=%d", b.uid)},
				b.touch()...)
			_, err := await.Output(ctx, beginLimit, argv)
			return err
		}); err != nil {
			return err
		}
		transient = append(transient, d)
		if d, err = b.measure(func() (err error) {
			id, err = b.as(ctx, append([]string{"gpusched", "submit", "-q", "-g", "1", "--"}, b.touch()...)...)
			return err
		}); err != nil {
			return err
		}
		ours = append(ours, d)
		if _, err := b.as(ctx, "gpusched", "wait", id); err != nil {
			return err
		}
	}
	fmt.Print("| from the request to the command's first instruction | median, p99 | ratio of medians to bare |\n|---|---|---|\n")
	row("bare StartTransientUnit, same properties", bare.String(), "1")
	row("systemd-run --wait", transient.String(), ratio(transient.quantile(.5), bare.quantile(.5)))
	row("gpusched submit, from the start of its process", ours.String(), ratio(ours.quantile(.5), bare.quantile(.5)))
	return nil
}

// measure times from the call of begin to the opening of the pipe. It returns
// when both are done.
func (b *rig) measure(begin func() error) (time.Duration, error) {
	type result struct {
		at  time.Time
		err error
	}
	opened := make(chan result, 1)
	if err := b.newPipe(); err != nil {
		return 0, err
	}
	go func() {
		at, err := b.begun()
		opened <- result{at, err}
	}()
	from := time.Now()
	if err := begin(); err != nil {
		return 0, err
	}
	r := <-opened
	return r.at.Sub(from), r.err
}

// handover measures from the end of a job's command to the first instruction
// of the one that waits for its GPU.
func (b *rig) handover(ctx context.Context, runs int) error {
	var gaps times
	for range runs {
		if err := b.newPipe(); err != nil {
			return err
		}
		release := b.pipe + "-release"
		if err := syscall.Mkfifo(release, 0o666); err != nil {
			return err
		}
		if err := os.Chmod(release, 0o666); err != nil {
			return err
		}
		holder, err := b.as(ctx, "gpusched", "submit", "-q", "--gpu-ids", "0", "--", "/bin/sh", "-c",
			": >"+b.pipe+"; read x <"+release)
		if err != nil {
			return err
		}
		if _, err := b.begun(); err != nil {
			return err
		}
		if err := b.newPipe(); err != nil {
			return err
		}
		next, err := b.as(ctx, "gpusched", "submit", "-q", "--gpu-ids", "0", "--", "/bin/sh", "-c", ": >"+b.pipe)
		if err != nil {
			return err
		}
		// Writing a line lets the holder end.
		if _, err := run(ctx, "/bin/sh", "-c", "echo >"+release); err != nil {
			return err
		}
		from := time.Now()
		at, err := b.begun()
		if err != nil {
			return err
		}
		gaps = append(gaps, at.Sub(from))
		if out, err := b.as(ctx, "gpusched", "wait", holder, next); err != nil {
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(out))
		}
	}
	fmt.Print("\n| a GPU is freed and given on | median, p99 |\n|---|---|\n")
	row("end of one command to the first instruction of the next", gaps.String())
	return nil
}
