package main

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
)

// moment is a time that the page's script puts in the zone of who reads it. Without a script
// it is in UTC.
func moment(at time.Time, form string) template.HTML {
	if at.IsZero() {
		return ""
	}
	at = at.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" data-form="%s">%s</time>`, //nolint:gosec // numbers and a word of ours
		at.Format(time.RFC3339), html.EscapeString(form), at.Format("2006-01-02 15:04 UTC")))
}

// utc is the clock of a moment, for a drawing, where a script puts it in the reader's zone.
func utc(at time.Time) string { return at.UTC().Format("15:04") }

// stamp is a moment for a script; nothing is none.
func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format(time.RFC3339)
}

// sentence is a sentence of the scheduler's, with its times as moments.
func sentence(text string) template.HTML {
	var b strings.Builder
	term.Split(text, func(text string) { b.WriteString(html.EscapeString(term.Clean(text))) },
		func(at time.Time) { b.WriteString(string(moment(at, "clock"))) })
	return template.HTML(b.String()) //nolint:gosec // escaped piece by piece
}
