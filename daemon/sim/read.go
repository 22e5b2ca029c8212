package sim

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Format is a kind of trace file. All are comma-separated with a line of
// headings, by which they are told apart.
type Format string

// The formats. FormatCSV is gpusched's own: submit (seconds or a time), duration
// (seconds), gpus, user, and, where they are known, limit (seconds), gpu_mem (a
// size per GPU) and kind.
const (
	FormatAuto   Format = "auto"
	FormatPhilly Format = "philly" // Microsoft, as timestamp,duration,num_gpus,gpu_time,cluster
	FormatOpenb  Format = "openb"  // Alibaba 2023, pods with num_gpu,gpu_milli
	FormatCSV    Format = "csv"
)

// needs are the headings by which a format is known.
var needs = []struct {
	format   Format
	headings []string
	row      func(row) (Job, time.Time, error)
}{
	{FormatPhilly, []string{"timestamp", "duration", "num_gpus", "cluster"}, row.philly},
	{FormatOpenb, []string{"num_gpu", "gpu_milli", "creation_time", "deletion_time"}, row.openb},
	{FormatCSV, []string{"submit", "duration", "gpus", "user"}, row.own},
}

// row is one line, by heading.
type row struct {
	at     map[string]int
	fields []string
}

func (r row) text(heading string) string {
	if i, ok := r.at[heading]; ok {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// Read reads a trace. Jobs without a GPU or a run time are left out. It returns
// the format that it found.
func Read(r io.Reader, want Format) (Trace, Format, error) {
	in := csv.NewReader(r)
	head, err := in.Read()
	if err != nil {
		return Trace{}, "", fmt.Errorf("reading the line of headings: %w", err)
	}
	line := row{at: map[string]int{}}
	for i, h := range head {
		line.at[strings.TrimSpace(h)] = i
	}
	parse, format, err := recognise(line.at, want)
	if err != nil {
		return Trace{}, "", err
	}
	var jobs []Job
	var starts []time.Time
	for {
		if line.fields, err = in.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Trace{}, "", fmt.Errorf("reading the trace: %w", err)
		}
		j, at, err := parse(line)
		if err != nil {
			n, _ := in.FieldPos(0)
			return Trace{}, "", fmt.Errorf("reading line %d: %w", n, err)
		}
		if j.GPUMilli > 0 && j.Run > 0 {
			jobs, starts = append(jobs, j), append(starts, at)
		}
	}
	return dated(jobs, starts), format, nil
}

// dated turns the jobs' dates into times since the first day.
func dated(jobs []Job, starts []time.Time) Trace {
	if len(jobs) == 0 {
		return Trace{}
	}
	begin := slices.MinFunc(starts, time.Time.Compare)
	for i := range jobs {
		jobs[i].Submit = starts[i].Sub(begin)
	}
	return newTrace(begin, jobs)
}

func recognise(at map[string]int, want Format) (func(row) (Job, time.Time, error), Format, error) {
	for _, n := range needs {
		missing := slices.DeleteFunc(slices.Clone(n.headings), func(h string) bool { _, ok := at[h]; return ok })
		switch {
		case len(missing) == 0 && (want == FormatAuto || want == "" || want == n.format):
			return n.row, n.format, nil
		case want == n.format:
			return nil, "", fmt.Errorf("the trace has no column %s, which format %s has: see --format",
				strings.Join(missing, ", "), want)
		}
	}
	return nil, "", errors.New("the trace's headings are of no known format: gpusched's own is submit,duration,gpus,user[,limit][,gpu_mem][,kind]")
}

func (r row) philly() (Job, time.Time, error) {
	at, err := time.Parse(time.DateTime, r.text("timestamp"))
	if err != nil {
		return Job{}, at, err
	}
	run, err := seconds(r.text("duration"))
	if err != nil {
		return Job{}, at, err
	}
	milli, err := job.ParseGPUs(r.text("num_gpus"))
	return Job{Run: run, GPUMilli: milli, User: r.text("cluster")}, at, err
}

// openb reads a pod. What asks part of a GPU asks gpu_milli of one.
func (r row) openb() (Job, time.Time, error) {
	from, err := seconds(r.text("creation_time"))
	if err != nil {
		return Job{}, time.Time{}, err
	}
	to, err := seconds(r.text("deletion_time"))
	if err != nil {
		return Job{}, time.Time{}, err
	}
	number, err := strconv.Atoi(r.text("num_gpu"))
	if err != nil {
		return Job{}, time.Time{}, err
	}
	milli, err := strconv.Atoi(r.text("gpu_milli"))
	return Job{Run: max(to-from, time.Second), GPUMilli: number * milli, User: r.text("qos")}, time.Unix(0, 0).Add(from),
		err
}

func (r row) own() (Job, time.Time, error) {
	at, err := instant(r.text("submit"))
	if err != nil {
		return Job{}, at, err
	}
	j := Job{User: r.text("user"), Kind: r.text("kind")}
	if j.Run, err = seconds(r.text("duration")); err != nil {
		return j, at, err
	}
	if j.GPUMilli, err = job.ParseGPUs(r.text("gpus")); err != nil {
		return j, at, err
	}
	if limit := r.text("limit"); limit != "" {
		if j.Limit, err = seconds(limit); err != nil {
			return j, at, err
		}
		if j.Limit > 0 {
			j.Run = min(j.Run, j.Limit)
		}
	}
	if mem := r.text("gpu_mem"); mem != "" {
		j.GPUMemBytes, err = job.ParseSize(mem)
	}
	return j, at, err
}

// instant reads seconds, or a date and time.
func instant(s string) (time.Time, error) {
	if at, err := time.Parse(time.DateTime, s); err == nil {
		return at, nil
	}
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at, nil
	}
	since, err := seconds(s)
	return time.Unix(0, 0).UTC().Add(since), err
}

func seconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || v < 0 || v > (100*365*day).Seconds() {
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	return time.Duration(v * float64(time.Second)), nil
}
