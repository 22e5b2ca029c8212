package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/gpusched/gpusched/daemon/job"
)

// The types of flag values. Their zero value is "not asked".

// gpuAmount is an amount of GPUs.
type gpuAmount struct {
	milli int
	set   bool
}

// UnmarshalText reads 0, 2 and the like.
func (v *gpuAmount) UnmarshalText(text []byte) (err error) {
	v.milli, err = job.ParseGPUs(string(text))
	v.set = err == nil
	return err
}

// cpuCount is a number of CPUs to be limited to.
type cpuCount int

// UnmarshalText reads 1 and more: a limit of 0 would be none.
func (v *cpuCount) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > job.MaxCPUs {
		return fmt.Errorf("%q is no number of CPUs: use 1 to %d, or leave the option out for no limit", text, job.MaxCPUs)
	}
	*v = cpuCount(n)
	return nil
}

// size is a number of bytes.
type size int64

// UnmarshalText reads 20G and the like.
func (v *size) UnmarshalText(text []byte) error {
	n, err := job.ParseSize(string(text))
	*v = size(n)
	return err
}

// span is a duration; 0 is not asked.
type span time.Duration

// UnmarshalText reads 90s, 2h, 1-12 and the like.
func (v *span) UnmarshalText(text []byte) error {
	d, err := job.ParseDuration(string(text))
	*v = span(d)
	return err
}

// seconds rounds up.
func (v span) seconds() int64 { return int64((time.Duration(v) + time.Second - 1) / time.Second) }

// indexes is a list of GPU indexes.
type indexes []int

// UnmarshalText reads 0,2-3 and the like.
func (v *indexes) UnmarshalText(text []byte) error {
	list, err := job.ParseGPUList(string(text))
	*v = list
	return err
}

// priority is a number or a class, as it was typed.
type priority string

// Decode reads a priority. It takes the word itself, because the parser would
// see a flag in -5.
func (v *priority) Decode(ctx *kong.DecodeContext) error {
	word := fmt.Sprint(ctx.Scan.Pop().Value)
	if _, err := job.ParsePriority(word); err != nil {
		return err
	}
	*v = priority(word)
	return nil
}

// signalNumber is a signal.
type signalNumber int

// UnmarshalText reads USR1, SIGUSR1 or 10.
func (v *signalNumber) UnmarshalText(text []byte) error {
	n, err := job.ParseSignal(string(text))
	*v = signalNumber(n)
	return err
}

// tags are KEY=VALUE pairs.
type tags map[string]string

// parseTags reads tags, each given with a --tag of its own.
func parseTags(list []string) (tags, error) {
	out := tags{}
	for _, item := range list {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" {
			return nil, usagef("%q is not a tag: use --tag KEY=VALUE", item)
		}
		out[key] = value
	}
	return out, nil
}

// percent is 1 to 100; 0 is not asked.
type percent int

// UnmarshalText reads 80, 80% and 0.8. A bare 1 could be either.
func (v *percent) UnmarshalText(text []byte) error {
	s := string(text)
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "%"), 10, 16)
	switch {
	case s == "1":
		return fmt.Errorf("%q is 1%% or 1.0 (all of it): write which", s)
	case strings.Contains(s, "."):
		var milli int
		milli, err = job.ParseGPUs(s) // two digits at most, as for GPUs
		n = uint64(milli / 10)
	}
	if err != nil || n < 1 || n > 100 {
		return fmt.Errorf("%q is not a threshold: use 1%% to 100%%, or a fraction such as 0.8", s)
	}
	*v = percent(n)
	return nil
}

// warning is a signal and how long before the time limit it is sent.
type warning struct {
	signal int
	before time.Duration
}

// UnmarshalText reads USR1@60s.
func (v *warning) UnmarshalText(text []byte) error {
	name, before, ok := strings.Cut(string(text), "@")
	if !ok {
		return fmt.Errorf("%q does not say how long before the time limit: use %s@60s", text, text)
	}
	n, err := job.ParseSignal(name)
	if err != nil {
		return err
	}
	d, err := job.ParseDuration(before)
	*v = warning{n, d}
	return err
}

// timeoutAction is what becomes of a job at its time limit; "" is not asked.
type timeoutAction string

// UnmarshalText reads kill or requeue.
func (v *timeoutAction) UnmarshalText(text []byte) error {
	switch job.TimeoutAction(text) {
	case job.TimeoutKill, job.TimeoutRequeue:
		*v = timeoutAction(text)
		return nil
	}
	return fmt.Errorf("%q is not kill or requeue", text)
}

// spanOrNone is a duration, or none.
type spanOrNone span

// UnmarshalText reads 2h and the like, and none.
func (v *spanOrNone) UnmarshalText(text []byte) error {
	if string(text) == "none" {
		*v = 0
		return nil
	}
	return (*span)(v).UnmarshalText(text)
}
