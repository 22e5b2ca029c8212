package job

import "time"

// FormatMoment prints a time in UTC, because the reader of a script or a log may be in any zone.
func FormatMoment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
