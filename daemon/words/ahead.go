package words

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Ahead returns why another job is ahead of the job with the given name. Callers put the text after
// the other job's name.
func Ahead(a *job.Ahead, name string) string {
	text := aheadCause(a, "job "+name)
	if a.Again {
		text += "; it ran before and waits again"
	}
	if a.Kept {
		text += "; GPUs are kept for it"
	}
	return text
}

func aheadCause(a *job.Ahead, name string) string {
	its, own := a.Its, a.Own
	switch a.Cause {
	case job.AheadClass:
		return fmt.Sprintf("its class is %s, %s's is %s", its.Priority.Class, name, own.Priority.Class)
	case job.AheadNumber:
		return fmt.Sprintf("its priority is %d, %s's is %d", its.Priority.Number, name, own.Priority.Number)
	case job.AheadOwed:
		return "other jobs were stopped to make room for it"
	case job.AheadGuarded:
		return "it has waited " + inUnits(its.Waited.Duration()) + ", and jobs that wait so long go first"
	case job.AheadBatch:
		return "it is of the same batch, in which larger jobs go first"
	case job.AheadScore:
		return byScore(a, name)
	}
	return longer((its.Waited - own.Waited).Duration())
}

// byScore names the one or two main reasons for a higher score, the most important first. A reason
// is the owner's share, the time the job has waited, or the length of the job.
func byScore(a *job.Ahead, name string) string {
	its, own := a.Its, a.Own
	type part struct {
		apart float64
		text  string
	}
	var parts []part
	add := func(apart float64, text string) {
		if apart > 1.05 {
			parts = append(parts, part{apart, text})
		}
	}
	add(pow2(own.Share-its.Share), fmt.Sprintf("%s has had %s lately, %s's user %s", a.User, describeShare(its.Share), name, describeShare(own.Share)))
	add(ratio(own.Length, its.Length), fmt.Sprintf("it is shorter (counts as %s, %s as %s)", inUnits(its.Length.Duration()), name, inUnits(own.Length.Duration())))
	add(ratio(its.Waited, own.Waited), longer((its.Waited - own.Waited).Duration()))
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(b.apart, a.apart) })
	if len(parts) == 0 {
		return "its score is slightly higher"
	}
	texts := job.Each(parts[:min(len(parts), 2)], func(p part) string { return p.text })
	return strings.Join(texts, "; ")
}

// describeShare describes how much somebody used recently. An x of 1 is a fair share.
func describeShare(x float64) string {
	switch {
	case x < 0.1:
		return "nearly nothing"
	case 0.95 < x && x < 1.05:
		return "a fair share"
	}
	return strconv.FormatFloat(x, 'g', 2, 64) + " times a fair share"
}

func longer(d time.Duration) string {
	if d < time.Second {
		return "it came first"
	}
	return "it has waited " + inUnits(d) + " longer"
}

// inUnits formats a duration in its two largest units.
func inUnits(d time.Duration) string {
	switch {
	case d >= 24*time.Hour:
		d = d.Round(time.Hour)
	case d >= time.Hour:
		d = d.Round(time.Minute)
	default:
		d = d.Round(time.Second)
	}
	return job.FormatDuration(d)
}

func ratio(a, b job.Span) float64 { return float64(a) / float64(max(b, job.Span(time.Second))) }

// pow2 returns about 2 to the power of x. If two shares differ by x,
// their scores differ by this factor.
func pow2(x float64) float64 {
	out := 1.0
	for ; x >= 1 && out < 1e9; x-- {
		out *= 2
	}
	return out * (1 + max(0, min(x, 1)))
}

// Sooner returns the options of a change as a person types them, and the options that the change
// removes from a job with this request.
func Sooner(s *job.Sooner, r *job.Request) (options, without []string) {
	change := reflect.ValueOf(s.Change)
	for i := range change.NumField() {
		if f := change.Type().Field(i); !change.Field(i).IsNil() {
			options = append(options, option(f.Tag.Get("name"), f.Tag.Get("type"), change.Field(i).Elem().Interface()))
		}
	}
	for _, o := range []struct {
		removed, there bool
		name           string
	}{
		{s.Any.GPUs, len(r.GPUIDs) > 0, "--gpu-ids"},
		{s.Any.GPUs, len(r.GPUsFrom) > 0, "--gpus-from"},
		{s.Any.GPUs, len(r.ExcludeGPUs) > 0, "--exclude-gpus"},
		{s.Any.Type, r.GPUType != "", "--gpu-type"},
		{s.Any.Load, r.MaxLoadPercent != 0, "--max-load"},
		{s.Any.Load, r.MaxUsedPercent != 0, "--max-used"},
	} {
		if o.removed && o.there {
			without = append(without, o.name)
		}
	}
	return options, without
}

// SoonerIf returns the condition under which the changed job still succeeds.
// It returns "" if the change can't make the job fail.
func SoonerIf(s *job.Sooner) string {
	c := &s.Change
	switch {
	case c.TimeLimit != nil:
		return "if it needs no more than " + c.TimeLimit.String()
	case c.GPUMemBytes != nil:
		return "if it needs no more than " + job.FormatSize(*c.GPUMemBytes) + " of a GPU's memory"
	case c.MemBytes != nil:
		return "if it needs no more than " + job.FormatSize(*c.MemBytes) + " of host memory"
	}
	return ""
}

func option(name, kind string, value any) string {
	switch v := value.(type) {
	case bool:
		return "--" + name
	case int64:
		return "--" + name + " " + job.FormatSize(v)
	case job.Span:
		return "--" + name + " " + v.String()
	case int:
		if kind == "gpus" {
			return "--" + name + " " + job.FormatGPUs(v)
		}
		return "--" + name + " " + strconv.Itoa(v)
	}
	return "--" + name + " " + fmt.Sprint(value)
}
