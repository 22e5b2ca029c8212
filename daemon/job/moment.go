package job

import "time"

// FormatMoment prints a time for readers whose zone is unknown: scripts and logs.
func FormatMoment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
