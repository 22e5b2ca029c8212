package contract

// Log is the file that gets a job's output in addition to the journal.
type Log struct {
	// Path is relative to the job's directory, or begins with "~/" for its user's home. Until the
	// job has a unit, Path may contain sequences such as %j. "" means that there is no log.
	Path     string `json:"path"`
	Truncate bool   `json:"truncate,omitempty"` // the first attempt empties the file
}

// LogFlag makes the launcher copy its input to its output and to the log, instead of starting a
// job. The log is open at LogDescriptor. As soon as signals can't end the launcher any more, it
// writes a byte to LogReadyDescriptor.
const (
	LogFlag            = "--copy-log"
	LogDescriptor      = 3
	LogReadyDescriptor = 4
)

// AttemptLine returns the line that begins an attempt in a log that is not empty.
func AttemptLine(job, attempt string) string {
	return "\ngpusched: attempt " + attempt + " of job " + job + " begins\n"
}
