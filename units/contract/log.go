package contract

// Log is the file that a job's output goes to besides the journal.
type Log struct {
	// Path is relative to the job's directory, or begins with "~/" for the home of
	// its user. Before the job has a unit it may have sequences such as %j in it.
	// "" is no file.
	Path     string `json:"path"`
	Truncate bool   `json:"truncate,omitempty"` // the first attempt empties the file
}

// LogFlag has the launcher copy its input to its output and into the log that is its
// descriptor LogDescriptor, instead of starting a job. It writes a byte to LogReadyDescriptor
// once no signal ends it any more.
const (
	LogFlag            = "--copy-log"
	LogDescriptor      = 3
	LogReadyDescriptor = 4
)

// AttemptLine is what an attempt begins with in a log that has something in it.
func AttemptLine(job, attempt string) string {
	return "\ngpusched: attempt " + attempt + " of job " + job + " begins\n"
}
