package sim

import (
	"bufio"
	"cmp"
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

// A Format is a kind of trace file. All formats but FormatSWF are tables with commas between the
// columns. The first line has the headings, which identify the format.
type Format string

// The formats. FormatCSV is gpusched's own. It has the columns submit (seconds or a time), duration
// (seconds), gpus and user. The columns limit (seconds), gpu_mem (a size per GPU) and kind are
// optional.
const (
	FormatAuto   Format = "auto"
	FormatPhilly Format = "philly" // Microsoft: timestamp,duration,num_gpus,gpu_time,cluster
	FormatOpenb  Format = "openb"  // Alibaba 2023: pods with num_gpu,gpu_milli
	FormatSWF    Format = "swf"    // Standard Workload Format: see swf.go
	FormatCSV    Format = "csv"
)

// Formats returns the names of all formats.
func Formats() []string {
	return []string{string(FormatAuto), string(FormatCSV), string(FormatSWF), string(FormatPhilly), string(FormatOpenb)}
}

// needs has the headings that identify each format.
var needs = []struct {
	format   Format
	headings []string
	row      func(*row) (Job, time.Time)
}{
	{FormatPhilly, []string{"timestamp", "duration", "num_gpus", "cluster"}, (*row).philly},
	{FormatOpenb, []string{"num_gpu", "gpu_milli", "creation_time", "deletion_time"}, (*row).openb},
	{FormatCSV, []string{"submit", "duration", "gpus", "user"}, (*row).own},
}

// A row is one line of a table. Its fields are looked up by heading.
type row struct {
	at     map[string]int
	fields []string
	err    error // error of the first field that could not be read
}

func (r *row) text(heading string) string {
	if i, ok := r.at[heading]; ok {
		return strings.TrimSpace(r.fields[i])
	}
	return ""
}

// read parses a field of a row. The row keeps its first error.
func read[T any](r *row, parse func(string) (T, error), heading string) T {
	v, err := parse(r.text(heading))
	r.err = cmp.Or(r.err, err)
	return v
}

// Read reads a trace. It skips jobs without a GPU or a run time. It also returns the format that it
// recognized.
func Read(r io.Reader, want Format) (Trace, Format, error) {
	file := bufio.NewReader(r)
	begin, _ := file.Peek(512) // for a short file, Peek returns all bytes and an error
	if want == FormatSWF || (want == FormatAuto || want == "") && looksLikeSWF(begin) {
		t, err := readSWF(file)
		return t, FormatSWF, err
	}
	return readTable(file, want)
}

// readTable reads a trace with a line of headings.
func readTable(r io.Reader, want Format) (Trace, Format, error) {
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
	skipped := 0
	for {
		if line.fields, err = in.Read(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Trace{}, "", fmt.Errorf("reading the trace: %w", err)
		}
		j, at := parse(&line)
		if line.err != nil {
			n, _ := in.FieldPos(0)
			return Trace{}, "", fmt.Errorf("reading line %d: %w", n, line.err)
		}
		if j.GPUMilli > 0 && j.Run > 0 {
			jobs, starts = append(jobs, j), append(starts, at)
		} else {
			skipped++
		}
	}
	t := datedTrace(jobs, starts)
	t.Skipped = skipped
	return t, format, nil
}

// datedTrace returns a trace of the jobs. The argument starts has the time at which each job was
// submitted.
func datedTrace(jobs []Job, starts []time.Time) Trace {
	if len(jobs) == 0 {
		return Trace{}
	}
	begin := slices.MinFunc(starts, time.Time.Compare)
	for i := range jobs {
		jobs[i].Submit = starts[i].Sub(begin)
	}
	return newTrace(begin, jobs)
}

func recognise(at map[string]int, want Format) (func(*row) (Job, time.Time), Format, error) {
	for _, n := range needs {
		missing := slices.DeleteFunc(slices.Clone(n.headings), func(h string) bool { _, ok := at[h]; return ok })
		switch {
		case len(missing) == 0 && (want == FormatAuto || want == "" || want == n.format):
			return n.row, n.format, nil
		case want == n.format:
			return nil, "", fmt.Errorf("the trace has no column %s, which the format %s requires: see --format",
				strings.Join(missing, ", "), want)
		}
	}
	return nil, "", errors.New("the trace's headings match no known format: gpusched's own is submit,duration,gpus,user[,limit][,gpu_mem][,kind]")
}

func (r *row) philly() (Job, time.Time) {
	at := read(r, func(s string) (time.Time, error) { return time.Parse(time.DateTime, s) }, "timestamp")
	run := read(r, seconds, "duration")
	return Job{Run: run, GPUMilli: read(r, job.ParseGPUs, "num_gpus"), User: r.text("cluster")}, at
}

// openb reads a pod. A pod that uses a part of a GPU requests gpu_milli thousandths of one GPU.
func (r *row) openb() (Job, time.Time) {
	from, to := read(r, seconds, "creation_time"), read(r, seconds, "deletion_time")
	milli := read(r, strconv.Atoi, "num_gpu") * read(r, strconv.Atoi, "gpu_milli")
	return Job{Run: max(to-from, time.Second), GPUMilli: milli, User: r.text("qos")}, time.Unix(0, 0).Add(from)
}

func (r *row) own() (Job, time.Time) {
	at := read(r, parseInstant, "submit")
	j := Job{User: r.text("user"), Kind: r.text("kind"), Run: read(r, seconds, "duration")}
	j.GPUMilli = read(r, job.ParseGPUs, "gpus")
	if r.text("limit") != "" {
		j.Limit = read(r, seconds, "limit")
	}
	if j.Limit > 0 {
		j.Run = min(j.Run, j.Limit)
	}
	if r.text("gpu_mem") != "" {
		j.GPUMemBytes = read(r, job.ParseSize, "gpu_mem")
	}
	return j, at
}

// parseInstant parses seconds, or a date with a time.
func parseInstant(s string) (time.Time, error) {
	for _, layout := range []string{time.DateTime, time.RFC3339} {
		if at, err := time.Parse(layout, s); err == nil {
			return at, nil
		}
	}
	since, err := seconds(s)
	return time.Unix(0, 0).UTC().Add(since), err
}

func seconds(s string) (time.Duration, error) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || !(v >= 0 && v <= century.Seconds()) { // this condition also refuses NaN
		return 0, fmt.Errorf("%q is not a number of seconds", s)
	}
	return inSeconds(v), nil
}

// century is the longest time in a trace.
const century = 100 * 365 * day
