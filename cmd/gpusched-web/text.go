package main

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/words"
)

// moment returns an HTML element with a time in UTC. The
// page's script converts the time to the reader's time zone.
func moment(at time.Time, form string) template.HTML {
	if at.IsZero() {
		return ""
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-form="%s">%s</time>`, //nolint:gosec // numbers and a word of ours
		at.Format(time.RFC3339), html.EscapeString(form), at.Format("2006-01-02 15:04 UTC")))
}

// utc returns the clock time that a drawing shows. A script converts it to the reader's time zone.
func utc(at time.Time) string { return at.UTC().Format("15:04") }

// stamp returns a time in the form that the script reads, or "" for no time.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// escape escapes text for HTML.
func escape(text string) template.HTML {
	return template.HTML(html.EscapeString(term.Clean(text))) //nolint:gosec // escaped
}

// check describes one part of the scheduler's health.
func check(c job.Check) template.HTML {
	return sentence(func(r words.Reader) string { return r.Check(c) })
}

// sentence renders a sentence. Its times become HTML elements, which the script converts.
func sentence(say func(words.Reader) string) template.HTML {
	var times []time.Time
	const mark = "\x00"
	text := say(words.Reader{Moment: func(at time.Time) string {
		times = append(times, at)
		return fmt.Sprint(mark, len(times)-1, mark)
	}})
	var out template.HTML
	for i, part := range strings.Split(text, mark) {
		if n, err := strconv.ParseUint(part, 10, 16); i%2 == 1 && err == nil && int(n) < len(times) {
			out += moment(times[n], "clock")
			continue
		}
		out += escape(part)
	}
	return out
}
