package manual

// Entry is a word and its meaning.
type Entry struct{ Word, Text string }

// The tables of gpusched(1) are in text/tables. Tests compare them with the code. jobVariables is
// the table of environment variables that gpusched adds for a job. ownSettings is the table of
// variables that gpusched itself reads. reasons is the table of all reasons for which a job waits.

func exitStatuses() []Entry { return splitSections("tables/exit-statuses") }
func reasons() []Entry      { return splitSections("tables/reasons") }
func jobVariables() []Entry { return splitSections("tables/job-variables") }
func ownSettings() []Entry  { return splitSections("tables/settings") }
func files() []Entry        { return splitSections("tables/files") }

// States returns each state of a job with its meaning.
func States() []Entry { return splitSections("tables/states") }
