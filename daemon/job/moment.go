package job

import "time"

// FormatMoment prints a time in a sentence for whoever has no zone: a script, or a log.
func FormatMoment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
