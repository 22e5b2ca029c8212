package manual

// Entry is a word and its meaning.
type Entry struct{ Word, Text string }

// The tables of gpusched(1) are in text/tables. Tests compare them with the code. The table
// jobVariables has the environment variables that gpusched adds for a job. The table ownSettings
// has the variables that gpusched itself reads. The table reasons has every reason for which a job
// waits.

func exitStatuses() []Entry { return splitSections("tables/exit-statuses") }
func reasons() []Entry      { return splitSections("tables/reasons") }
func jobVariables() []Entry { return splitSections("tables/job-variables") }
func ownSettings() []Entry  { return splitSections("tables/settings") }
func files() []Entry        { return splitSections("tables/files") }

// States returns each state of a job with its meaning.
func States() []Entry { return splitSections("tables/states") }
