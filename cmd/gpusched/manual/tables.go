package manual

// Entry is a word and its meaning.
type Entry struct{ Word, Text string }

// The tables of gpusched(1) are in text/tables. Tests compare them with the code. jobVariables has
// the environment variables that gpusched adds for a job, and ownSettings those that gpusched itself
// reads. reasons has every reason for which a job waits.

func exitStatuses() []Entry { return sections("tables/exit-statuses") }
func reasons() []Entry      { return sections("tables/reasons") }
func jobVariables() []Entry { return sections("tables/job-variables") }
func ownSettings() []Entry  { return sections("tables/settings") }
func files() []Entry        { return sections("tables/files") }

// States returns each state of a job with its meaning.
func States() []Entry { return sections("tables/states") }
