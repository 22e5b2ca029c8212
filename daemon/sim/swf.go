package sim

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// swfFields is the number of fields of a job in the Standard Workload Format of the Parallel
// Workloads Archive, version 2.2. Fields are numbers separated by blanks, and -1 means unknown. A
// line that begins with a semicolon is a comment. Comments "; Key: value" at the beginning describe
// the machine.
const swfFields = 18

// These are the indexes of the fields that swfReader uses.
const (
	swfSubmit      = 1 // seconds since UnixStartTime
	swfRun         = 3 // seconds
	swfAllocated   = 4 // processors
	swfRequested   = 7 // processors
	swfRequestTime = 8 // seconds
	swfStatus      = 10
	swfUser        = 11
	swfExecutable  = 13
)

// A line with one of these statuses describes only a part of an execution. A line with status 0 or
// 1 describes all of the execution.
const (
	swfFirstPart = 2
	swfLastPart  = 4
)

// maxProcessors is the maximum number of processors of a job.
const maxProcessors = 1 << 24

// looksLikeSWF reports whether a file is a log in the Standard Workload Format: it begins with a
// comment or a job.
func looksLikeSWF(begin []byte) bool {
	begin = bytes.TrimLeft(begin, " \t\r\n")
	if len(begin) > 0 && begin[0] == ';' {
		return true
	}
	line, _, _ := bytes.Cut(begin, []byte("\n"))
	fields := strings.Fields(string(line))
	for _, f := range fields {
		if _, err := strconv.ParseFloat(f, 64); err != nil {
			return false
		}
	}
	return len(fields) > 1
}

// A swfReader collects the contents of a log.
type swfReader struct {
	begin   time.Time
	procs   int // MaxProcs, or else MaxNodes; 0 if not given
	jobs    []Job
	skipped int
}

// readSWF reads a log. Each processor becomes a GPU.
func readSWF(r io.Reader) (Trace, error) {
	log := swfReader{begin: time.Unix(0, 0).UTC()}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	n := 0
	for lines.Scan() {
		n++
		text := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(text, ";") {
			log.readComment(strings.TrimLeft(text, "; \t"))
		} else if text != "" {
			if err := log.readJob(strings.Fields(text)); err != nil {
				return Trace{}, fmt.Errorf("reading line %d: %w", n, err)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return Trace{}, fmt.Errorf("reading line %d: %w", n+1, err)
	}
	if n == 0 {
		return Trace{}, errors.New("the log is empty")
	}
	t := newTrace(log.begin, log.jobs)
	t.GPUs, t.Skipped = log.procs, log.skipped
	return t, nil
}

// readComment reads a comment about the machine. Some logs have UNKNOWN in place of a number.
func (l *swfReader) readComment(text string) {
	key, value, _ := strings.Cut(text, ":")
	number, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil || number <= 0 || number > 1<<33 {
		return
	}
	switch key {
	case "UnixStartTime":
		l.begin = time.Unix(number, 0).UTC()
	case "MaxProcs":
		l.procs = int(number)
	case "MaxNodes":
		l.procs = cmp.Or(l.procs, int(number))
	}
}

// readJob reads a line about a job. Failed and cancelled jobs count like others, with the time for
// which they ran. Jobs that never ran are skipped.
func (l *swfReader) readJob(fields []string) error {
	if len(fields) != swfFields {
		return fmt.Errorf("it has %d fields instead of the %d of a job in the Standard Workload Format", len(fields), swfFields)
	}
	var f [swfFields]float64
	for i, text := range fields {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || v < -1 {
			return fmt.Errorf("field %d is %q instead of a number from 0 up, or -1", i+1, text)
		}
		f[i] = v
	}
	for _, i := range []int{swfSubmit, swfRun, swfRequestTime} {
		if f[i] > century.Seconds() {
			return fmt.Errorf("field %d is %s seconds, more than a hundred years", i+1, fields[i])
		}
	}
	if s := f[swfStatus]; s >= swfFirstPart && s <= swfLastPart {
		return nil
	}
	procs := f[swfRequested]
	if procs <= 0 {
		procs = f[swfAllocated]
	}
	switch {
	case procs > maxProcessors:
		return fmt.Errorf("the job has %.0f processors", procs)
	case f[swfSubmit] < 0:
		return errors.New("field 2, the submit time, is missing")
	case procs < 1 || f[swfRun] <= 0:
		l.skipped++
		return nil
	}
	j := Job{
		Submit: inSeconds(f[swfSubmit]), Run: inSeconds(f[swfRun]), GPUMilli: int(procs) * 1000,
		User: makeName("user", f[swfUser], "unknown"), Kind: makeName("program", f[swfExecutable], ""),
	}
	if f[swfRequestTime] > 0 {
		j.Limit = inSeconds(f[swfRequestTime])
		j.Run = min(j.Run, j.Limit)
	}
	l.jobs = append(l.jobs, j)
	return nil
}

// makeName makes a name from a number in the log. If the number is missing, it returns the argument
// fallback.
func makeName(what string, number float64, fallback string) string {
	if number < 0 {
		return fallback
	}
	return fmt.Sprintf("%s%.0f", what, number)
}

func inSeconds(v float64) time.Duration { return time.Duration(v * float64(time.Second)) }
