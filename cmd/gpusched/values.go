package main

import (
	"fmt"
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
