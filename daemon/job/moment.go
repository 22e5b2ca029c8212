package job

import "time"

// SentenceTime is the form of a time within a sentence of the scheduler's, which
// knows no other zone; clients that print for people find it by this form and
// show the time in theirs.
const SentenceTime = "2006-01-02 15:04:05 UTC"

// FormatMoment prints a time for a sentence.
func FormatMoment(t time.Time) string { return t.UTC().Format(SentenceTime) }
