package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/units"
)

// moments are when what happened to one job, by the clock of the machine.
type moments map[string]time.Time

// steps are those of a start in their order, with what each is; those of the daemon and
// of systemd are what the daemon logs at its level debug.
var steps = [][2]string{
	{"received", "the request has arrived at the daemon"},
	{"accepted", "it is read and checked"},
	{"decided", "the job is placed"},
	{"written", "that is on disk"},
	{"looked", "its GPUs have been looked at since"},
	{"begun", "the start, which waited for both, begins"},
	{"prepared", "the launcher's instructions are written, systemd is asked"},
	{"queued", "systemd has answered"},
	{"forked", "systemd has forked for the launcher"},
	{"first", "**the command's first instruction**"},
	{"executed", "the daemon hears that the launcher is executed"},
	{"started", "the daemon has read the unit's state"},
	{"returned", "the client has ended"},
}

// endSteps are those between the end of a job and the next one on its GPU. The first three are of a job that leaves
// something in its unit.
var endSteps = [][2]string{
	{"ended", "the daemon has read how the command ended"},
	{"kept", "that is on disk"},
	{"gone", "the unit is stopped and collected"},
	{"freed", "the job's end is decided"},
	{"over", "that is on disk"},
}

// trace shows where the time of a start goes, and what happens between the end of a job and the next one on its GPU.
func (b *rig) trace(ctx context.Context, runs int) error {
	if _, err := run(ctx, "gpusched", "daemon", "log-level", "debug"); err != nil {
		return err
	}
	defer run(ctx, "gpusched", "daemon", "log-level", "info")
	var bare, ours, next []moments
	for range runs {
		w, err := b.traceBare(ctx)
		if err != nil {
			return err
		}
		bare = append(bare, w)
		holder, w, err := b.traceSubmit(ctx, nil)
		if err != nil {
			return err
		}
		ours = append(ours, w)
		if w, err = b.traceHandover(ctx, holder); err != nil {
			return err
		}
		next = append(next, w)
	}
	head := func(of string) {
		fmt.Printf("\n| %s | ms since the first, median | since the line before |\n|---|---|---|\n", of)
	}
	head("a bare unit, from the call")
	timeline(bare, append([][2]string{{"asked", "systemd is asked"}}, steps[7:10]...))
	head("`gpusched submit`, from the start of its process")
	timeline(ours, append([][2]string{{"asked", "the client is executed"}}, steps...))
	head("the end of a job to the next one on its GPU")
	timeline(next, slices.Concat([][2]string{{"released", "the command is told to end"}}, endSteps, steps[2:10]))
	return nil
}

// timeline prints the medians of when each step was, in their order.
func timeline(ways []moments, steps [][2]string) {
	last := time.Duration(0)
	for _, s := range steps {
		var t times
		for _, w := range ways {
			if at, ok := w[s[0]]; ok {
				t = append(t, at.Sub(w[steps[0][0]]))
			}
		}
		if len(t) == 0 {
			continue
		}
		row(s[1], strings.TrimSuffix(ms(t.quantile(.5)), " ms"), strings.TrimSuffix(ms(t.quantile(.5)-last), " ms"))
		last = t.quantile(.5)
	}
}

func (b *rig) traceBare(ctx context.Context) (moments, error) {
	w := moments{}
	var name string
	marked := context.WithValue(ctx, units.MarkKey{}, func(step string) { w[step] = time.Now() })
	from, at, err := b.whenBegun(func(m *mark) (err error) {
		name, err = b.bare(marked, m.command())
		return err
	})
	if err != nil {
		return nil, err
	}
	w["asked"], w["first"] = from, at
	if w["forked"], err = b.forked(ctx, name); err != nil {
		return nil, err
	}
	return w, b.stop(ctx, name)
}

// whenBegun is when begin was called, and when the command's first instruction was.
func (b *rig) whenBegun(begin func(*mark) error) (from, at time.Time, err error) {
	took, err := b.measure(func(m *mark) error {
		from = time.Now()
		return begin(m)
	})
	return from, from.Add(took), err
}

// forked is when systemd forked for a unit's main process.
func (b *rig) forked(ctx context.Context, name string) (time.Time, error) {
	ctx, stop := await.For(ctx, "the state of "+name, b.limits.begin)
	defer stop()
	st, err := b.manager.Status(ctx, name)
	return time.UnixMicro(int64(st.Started)), await.Cause(ctx, err)
}

// heldJob is a job that has begun and ends when told.
type heldJob struct {
	id    string
	leave *mark
}

// traceSubmit submits a job, waits for its command and reads what the daemon logged.
// ready is told once it is submitted; nil where nobody has to know.
func (b *rig) traceSubmit(ctx context.Context, ready func() error) (heldJob, moments, error) {
	var job heldJob
	w := moments{}
	var err error
	if job.leave, err = b.newMark(); err != nil {
		return job, nil, err
	}
	from, at, err := b.whenBegun(func(m *mark) (err error) {
		job.id, err = b.as(ctx, "gpusched", "submit", "-q", "--gpu-ids", "0", "--", "/bin/sh", "-c",
			"echo >"+m.path+"; read x <"+job.leave.path)
		w["returned"] = time.Now()
		if err == nil && ready != nil {
			err = ready()
		}
		return err
	})
	if err != nil {
		return job, nil, err
	}
	w["asked"], w["first"] = from, at
	number, err := strconv.ParseInt(job.id, 10, 64)
	if err == nil {
		w["forked"], err = b.forked(ctx, units.Name(number))
	}
	if err == nil {
		err = logged(ctx, w, job.id, steps)
	}
	return job, w, err
}

// traceHandover has another job wait for the GPU of one that runs, and ends that.
func (b *rig) traceHandover(ctx context.Context, holder heldJob) (moments, error) {
	var released time.Time
	next, w, err := b.traceSubmit(ctx, func() error {
		released = time.Now()
		return holder.leave.release()
	})
	if err != nil {
		return nil, err
	}
	if err := logged(ctx, w, holder.id, endSteps); err != nil {
		return nil, err
	}
	w["released"] = released
	if err := next.leave.release(); err != nil {
		return nil, err
	}
	_, err = b.as(ctx, "gpusched", "wait", holder.id, next.id)
	holder.leave.close()
	next.leave.close()
	return w, err
}

// logged reads the steps of a job from the daemon's log.
func logged(ctx context.Context, w moments, id string, steps [][2]string) error {
	if _, err := run(ctx, "journalctl", "--sync"); err != nil {
		return err
	}
	out, err := run(ctx, "journalctl", "-q", "-u", "gpusched", "-o", "json", "GPUSCHED_JOB="+id)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(bytes.NewReader([]byte(out)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l struct {
			Step string `json:"GPUSCHED_STEP"`
			At   string `json:"GPUSCHED_AT"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return err
		}
		at, err := strconv.ParseInt(l.At, 10, 64)
		if err != nil || !slices.ContainsFunc(steps, func(s [2]string) bool { return s[0] == l.Step }) {
			continue
		}
		if _, known := w[l.Step]; !known {
			w[l.Step] = time.UnixMicro(at)
		}
	}
	return lines.Err()
}
