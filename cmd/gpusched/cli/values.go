package cli

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// spelling describes the notation of one kind of value.
type spelling struct {
	Put      func(target reflect.Value, word string) error
	Dashed   bool // the value may begin with a dash, which the parser would take for an option
	Optional bool // the value may be left out, and then is ""; if it is there, = is before it
}

// Spellings maps an option's type tag to the notation of its values. A zero value means that the
// option was not given.
var Spellings = map[string]spelling{
	"gpus":           spelled(job.ParseGPUs),
	"gpu-list":       spelled(job.ParseGPUList),
	"size":           spelled(job.ParseSize),
	"gpu-mem":        spelled(parseGPUMem),
	"retries":        spelled(parseRetries),
	"span":           spelled(job.ParseDuration),
	"span-or-none":   spelled(parseSpanOrNone),
	"percent":        spelled(parsePercent),
	"cpus":           spelled(parseCPUs),
	"signal":         spelled(parseAimed),
	"attempt":        spelled(parseAttempt),
	"warning":        spelled(parseWarning),
	"timeout-action": spelled(parseTimeoutAction),
	"objective":      spelled(parseObjective),
	"lane":           spelled(job.ParseLane),
	"lane-or-none":   spelled(parseLaneOrNone),
	"moment":         spelled(parseAhead),
	"past":           spelled(parseBack),
	"past-or-event":  spelled(parseEventsFrom),
	"form":           spelled(parseForm),
	"priority":       dashed(job.ParsePriority),
	"column":         dashed(asTyped),
	"optional":       {Put: spelled(asTyped).Put, Optional: true},
}

func asTyped(word string) (string, error) { return word, nil }

func spelled[T any](parse func(string) (T, error)) spelling {
	return spelling{Put: func(target reflect.Value, word string) error { return store(target, word, parse) }}
}

func dashed[T any](parse func(string) (T, error)) spelling {
	s := spelled(parse)
	s.Dashed = true
	return s
}

// parseRetries parses the number of retries. It tells a typed 0 from a missing option.
func parseRetries(word string) (int, error) {
	n, err := strconv.Atoi(word)
	switch {
	case err != nil || n < 0:
		return 0, fmt.Errorf("%q is not a number of retries: use 0 to %d", word, job.MaxRetries)
	case n == 0:
		return job.NoRetries, nil
	}
	return n, nil
}

func parseGPUMem(word string) (int64, error) {
	if word == "auto" {
		return job.AutoGPUMem, nil
	}
	n, err := job.ParseSize(word)
	if err != nil {
		err = fmt.Errorf("%w, or auto", err)
	}
	return n, err
}

// store parses a word with parse and stores the value in target. If target is a pointer, it stays
// nil while the option is not given.
func store[T any](target reflect.Value, word string, parse func(string) (T, error)) error {
	v, err := parse(word)
	if err != nil {
		if problems := (job.Problems)(nil); errors.As(err, &problems) { // they are codes; the option is named anyway
			text, _ := words.Refusal(&job.Refusal{Message: problems[0]})
			return errors.New(text)
		}
		return err
	}
	if target.Kind() == reflect.Pointer {
		target.Set(reflect.New(target.Type().Elem()))
		target = target.Elem()
	}
	target.Set(reflect.ValueOf(v).Convert(target.Type()))
	return nil
}

// parseAhead parses a time that is not before now. The result is in UTC, as in the daemon's JSON.
func parseAhead(s string) (time.Time, error) {
	at, err := parseMoment(s, time.Now())
	return at.UTC(), err
}

// parseBack parses a time that is not after now. The result is in UTC, as in the daemon's JSON.
func parseBack(s string) (time.Time, error) {
	at, err := parsePast(s, time.Now())
	return at.UTC(), err
}

// EventsFrom selects the events after a number, or from a time on.
type EventsFrom struct {
	Number int64
	At     time.Time // zero: the number counts
}

func parseEventsFrom(s string) (EventsFrom, error) {
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		if n < 0 {
			err = fmt.Errorf("%d is not the number of an event: 0 is all that are kept", n)
		}
		return EventsFrom{Number: n}, err
	}
	at, err := parseBack(s)
	if err != nil {
		err = fmt.Errorf("%w, or the number of an event", err)
	}
	return EventsFrom{At: at}, err
}

// parseCPUs parses a number that is at least 1. It refuses 0, which would mean no limit.
func parseCPUs(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > job.MaxCPUs {
		return 0, fmt.Errorf("%q is not a number of CPUs: use 1 to %d, or leave the option out for no limit",
			s, job.MaxCPUs)
	}
	return n, nil
}

// parsePercent parses 80, 80% and 0.8. It refuses a bare 1, which could mean 1% or 1.0.
func parsePercent(s string) (int, error) {
	n, err := strconv.ParseUint(strings.TrimSuffix(s, "%"), 10, 16)
	switch {
	case s == "1":
		return 0, fmt.Errorf("%q is 1%% or 1.0 (all of it): write which", s)
	case strings.Contains(s, "."):
		var milli int
		milli, err = job.ParseGPUs(s) // two digits at most, as in numbers of GPUs
		n = uint64(milli / 10)
	}
	if err != nil || n < 1 || n > 100 {
		return 0, fmt.Errorf("%q is not a threshold: use 1%% to 100%%, or a fraction such as 0.8", s)
	}
	return int(n), nil
}

func parseTimeoutAction(s string) (job.TimeoutAction, error) {
	switch action := job.TimeoutAction(s); action {
	case job.TimeoutKill, job.TimeoutRequeue:
		return action, nil
	}
	return "", fmt.Errorf("%q is not kill or requeue", s)
}

func parseObjective(s string) (job.Objective, error) {
	if o := job.Objective(s); o == job.Makespan {
		return o, nil
	}
	return "", fmt.Errorf("%q is not makespan, the only objective", s)
}

// parseSpanOrNone parses a duration such as 2h, or the word none.
func parseSpanOrNone(s string) (time.Duration, error) {
	if s == "none" {
		return 0, nil
	}
	return job.ParseDuration(s)
}

// parseLaneOrNone parses a lane, or the word none.
func parseLaneOrNone(s string) (job.Lane, error) {
	if s == "none" {
		return "", nil
	}
	return job.ParseLane(s)
}

// WholeSeconds rounds a duration up to whole seconds.
func WholeSeconds(s job.Span) int64 { return int64((s.Duration() + time.Second - 1) / time.Second) }

// ParseTags parses the values of --tag.
func ParseTags(list []string) (map[string]string, error) {
	out := map[string]string{}
	for _, item := range list {
		key, value, ok := strings.Cut(item, "=")
		if !ok || key == "" {
			return nil, Usagef("%q is not a tag: use --tag KEY=VALUE", item)
		}
		out[key] = value
	}
	return out, nil
}

// Aimed is a signal to a whole job, or to its main process only.
type Aimed struct {
	Signal int
	Main   bool
}

func (s Aimed) Name() string { return job.SignalName(s.Signal) }

// parseAimed parses USR1 or main:USR1.
func parseAimed(s string) (a Aimed, err error) {
	a.Signal, a.Main, err = job.ParseAimed(s)
	return a, err
}

// Warning is a signal that is sent some time before the time limit.
type Warning struct {
	Aimed
	Before time.Duration
}

// parseWarning parses USR1@60s or main:USR1@60s.
func parseWarning(s string) (Warning, error) {
	name, before, ok := strings.Cut(s, "@")
	if !ok {
		return Warning{}, fmt.Errorf("%q does not say how long before the time limit: use %s@60s", s, s)
	}
	a, err := parseAimed(name)
	if err != nil {
		return Warning{}, err
	}
	d, err := job.ParseDuration(before)
	return Warning{a, d}, err
}

// WhichAttempt is the number of an attempt, or EveryAttempt.
type WhichAttempt int

const EveryAttempt WhichAttempt = -1

func parseAttempt(s string) (WhichAttempt, error) {
	if s == "all" {
		return EveryAttempt, nil
	}
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q is not an attempt: use 1 for the first start of the job, or all", s)
	}
	return WhichAttempt(n), nil
}

// EveryPlaced returns all attempts in order. The last attempt may be in the list twice.
func EveryPlaced(reply api.JobReply) []api.Attempt {
	j := reply.Job
	current := api.Attempt{GPUs: j.GPUs, Result: j.Result, Attempt: job.Attempt{
		Number: j.Attempt, InvocationID: j.InvocationID,
		PlacedAt: j.PlacedAt, StartedAt: j.StartedAt, EndedAt: j.EndedAt,
	}}
	return append(slices.Clone(reply.Attempts), current)
}
