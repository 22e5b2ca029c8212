package contract

// Log is the file that gets a job's output besides the journal.
type Log struct {
	// Path is relative to the job's directory, or begins with "~/" for its user's home. Until the
	// job has a unit it may contain sequences such as %j. "" means no file.
	Path     string `json:"path"`
	Truncate bool   `json:"truncate,omitempty"` // the first attempt empties the file
}

// LogFlag makes the launcher copy its input to its output and into the log, open at LogDescriptor,
// instead of starting a job. It writes a byte to LogReadyDescriptor once signals can't end it any
// more.
const (
	LogFlag            = "--copy-log"
	LogDescriptor      = 3
	LogReadyDescriptor = 4
)

// AttemptLine returns the first line of an attempt in a log that is not empty.
func AttemptLine(job, attempt string) string {
	return "\ngpusched: attempt " + attempt + " of job " + job + " begins\n"
}
