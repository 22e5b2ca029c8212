package manual

import (
	"slices"
	"strings"
)

// Habit is a word of other tools, with the word to type in gpusched instead.
type Habit struct {
	Words []string // commands or options of other tools
	Ours  string   // gpusched's word; "" if there is none
	Note  string   // more information, or why there is no such word
}

// Habits is the title of a table in text/tables/habits.txt. Each line of a table has the words of
// other tools, "=", gpusched's word, ";" and a note.
type Habits string

// These tables map commands of other schedulers and programs to gpusched's commands. The second
// table has commands of two words.
const (
	OtherCommands    Habits = "COMMANDS OF OTHER TOOLS"
	OtherSubcommands Habits = "COMMANDS OF TWO WORDS"
)

// These tables have other tools' names for the options of gpusched's commands.
const (
	OptionsOfNewJobs  Habits = "OPTIONS OF OTHER TOOLS FOR A NEW JOB"
	OptionsOfPast     Habits = "OPTIONS OF OTHER TOOLS FOR WHAT IS PAST"
	OptionsOfList     Habits = "OPTIONS OF OTHER TOOLS FOR A LIST"
	OptionsOfCancel   Habits = "OPTIONS OF OTHER TOOLS TO CANCEL JOBS"
	OptionsOfEstimate Habits = "OPTIONS OF A JOB FOR AN ESTIMATE"
	OptionsOfLogs     Habits = "OPTIONS OF OTHER TOOLS FOR LOGS"
	OptionsOfGPUs     Habits = "OPTIONS OF OTHER TOOLS FOR GPUS"
)

// OtherOptions lists all tables of options in the manual's order.
var OtherOptions = []Habits{
	OptionsOfNewJobs, OptionsOfPast, OptionsOfList, OptionsOfCancel, OptionsOfEstimate, OptionsOfLogs, OptionsOfGPUs,
}

// List returns the rows of the table.
func (h Habits) List() (list []Habit) {
	file, _ := texts.ReadFile("text/tables/habits.txt")
	_, table, _ := strings.Cut(string(file), "# "+string(h)+"\n\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		words, rest, _ := strings.Cut(line, " =")
		ours, note, _ := strings.Cut(rest, ";")
		row := Habit{strings.Fields(words), strings.TrimSpace(ours), strings.TrimSpace(note)}
		if h == OtherSubcommands {
			row.Words = strings.Split(strings.TrimSpace(words), ", ")
		}
		list = append(list, row)
	}
	return list
}

// Find returns the row of a command of another tool. The result is false if there is no such row.
func (h Habits) Find(word string) (Habit, bool) {
	list := h.List()
	i := slices.IndexFunc(list, func(row Habit) bool { return slices.Contains(row.Words, word) })
	if i < 0 {
		return Habit{}, false
	}
	return list[i], true
}

// Here returns what to type in gpusched instead, followed by the note.
func (h Habit) Here() string {
	switch {
	case h.Ours == "":
		return h.Note
	case h.Note == "":
		return "here it is " + h.Ours
	}
	return "here it is " + h.Ours + "; " + h.Note
}

// entries returns rows for the manual. It puts a prefix in front of gpusched's words.
func (h Habits) entries(prefix string) (rows []Entry) {
	for _, row := range h.List() {
		text := row.Note
		if row.Ours != "" {
			text = prefix + row.Ours
			if row.Note != "" {
				text += ": " + row.Note
			}
		}
		rows = append(rows, Entry{strings.Join(row.Words, ", "), text + "."})
	}
	return rows
}
