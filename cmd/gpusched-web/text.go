package main

import (
	"fmt"
	"html"
	"html/template"
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/gpusched/gpusched/daemon/job"
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

// span is a duration with two units at most: 42s, 12m, 3h12m, 2d4h.
func span(d time.Duration) string {
	d = max(d, 0)
	pair := func(big, small time.Duration, b, s string) string {
		text := fmt.Sprintf("%d%s", d/big, b)
		if rest := d % big / small; rest > 0 {
			text += fmt.Sprintf("%d%s", rest, s)
		}
		return text
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return pair(time.Hour, time.Minute, "h", "m")
	}
	return pair(day, time.Hour, "d", "h")
}

var sentenceTime = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2} UTC`)

// sentence is a sentence of the scheduler's, with its times as moments.
func sentence(text string) template.HTML {
	var b strings.Builder
	for {
		at := sentenceTime.FindStringIndex(text)
		if at == nil {
			b.WriteString(html.EscapeString(clean(text)))
			return template.HTML(b.String()) //nolint:gosec // escaped piece by piece
		}
		b.WriteString(html.EscapeString(clean(text[:at[0]])))
		t, err := time.Parse(job.SentenceTime, text[at[0]:at[1]])
		if err == nil {
			b.WriteString(string(moment(t, "clock")))
		} else {
			b.WriteString(html.EscapeString(text[at[0]:at[1]]))
		}
		text = text[at[1]:]
	}
}

// clean replaces what has no shape, or would turn other text round. The scheduler lets in
// printable text only; this is for the day when it does not.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != ' ' && (!unicode.IsGraphic(r) || unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point)) {
			return '?'
		}
		return r
	}, s)
}
