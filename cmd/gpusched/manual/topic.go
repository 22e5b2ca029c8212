package manual

import (
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// Topic is a section of a manual page that is about more than one command.
type Topic struct{ Page, Title, Text string }

// Topics returns all topics: the tour, further sections of gpusched(1), the policy, and tables.
func Topics(further ...Section) []Topic {
	list := slices.Concat(Tour(), topics("topics", "gpusched(1)"), Policy())
	tables := []Section{
		{"STATES OF A JOB", States()}, {"EXIT STATUS", exitStatuses()}, {"ENVIRONMENT OF A JOB", jobVariables()},
	}
	return append(list, job.Each(append(tables, further...), Section.topic)...)
}

// Section is a section of gpusched(1) that consists of a table.
type Section struct {
	Title   string
	Entries []Entry
}

// topic returns the section as text. Each entry becomes a paragraph.
func (s Section) topic() Topic {
	paragraphs := job.Each(s.Entries, func(e Entry) string { return e.Word + ". " + e.Text })
	return Topic{"gpusched(1)", s.Title, strings.Join(paragraphs, "\n\n")}
}

// Tour returns the sections of gpusched(7).
func Tour() []Topic { return topics("tour", "gpusched(7)") }

// Policy returns the topics of gpusched-policy(7).
func Policy() []Topic { return topics("policy", "gpusched-policy(7)") }

func topics(file, page string) []Topic {
	return job.Each(splitSections(file), func(s Entry) Topic { return Topic{page, s.Word, s.Text} })
}

// About returns the topics whose titles match the given words best.
func About(words []string, further ...Section) (list []Topic) {
	best := noFit + 1
	for _, t := range Topics(further...) {
		switch f := fitOf(t.Title, words); {
		case f > best:
			best, list = f, []Topic{t}
		case f == best:
			list = append(list, t)
		}
	}
	return list
}

// Word returns a word that finds only this topic, or "" if there is none.
func (t Topic) Word() string {
	for _, word := range titleWords(t.Title) {
		if found := About([]string{word}); len(word) > 3 && len(found) == 1 && found[0] == t {
			return word
		}
	}
	return ""
}

// matchScore says how well words match a title.
type matchScore int

const (
	noFit      matchScore = iota
	beginnings            // each word begins a word of the title
	wholeWords            // each word equals a word of the title
	theTitle              // the words equal the whole title, except that the title may begin with "on"
)

func fitOf(title string, words []string) matchScore {
	of := titleWords(title)
	words = titleWords(strings.Join(words, " "))
	if slices.Equal(of, words) || of[0] == "on" && slices.Equal(of[1:], words) {
		return theTitle
	}
	worst := wholeWords
	for _, w := range words {
		switch {
		case slices.Contains(of, w):
		case slices.ContainsFunc(of, func(t string) bool { return strings.HasPrefix(t, w) }):
			worst = beginnings
		default:
			return noFit
		}
	}
	return worst
}

// titleWords returns the words of a title in lower case. It removes the dashes of options.
func titleWords(title string) []string {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return strings.ContainsRune(" (),'", r) })
	for i, w := range words {
		words[i] = strings.TrimLeft(w, "-")
	}
	return words
}

// Typed returns the examples in a text. Each block is one script.
func Typed(text string) (scripts []string) {
	for block := range strings.SplitSeq(text, "\n\n") {
		if strings.HasPrefix(block, "    ") {
			scripts = append(scripts, strings.ReplaceAll(strings.TrimPrefix(block, "    "), "\n    ", "\n"))
		}
	}
	return scripts
}
