package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// mailEvents translates the events of --mail-type into gpusched's events.
var mailEvents = map[string][]string{
	"BEGIN": {"start"}, "END": {"end"}, "FAIL": {"fail"}, "ALL": {"start", "end"}, "INVALID_DEPEND": {"fail"}, "TIME_LIMIT": {"fail"},
}

// MailEvent returns the event of --mail-type that corresponds to one of gpusched's events.
func MailEvent(e job.NotifyEvent) string {
	for _, word := range []string{"BEGIN", "END", "FAIL"} {
		if slices.Contains(mailEvents[word], string(e)) {
			return word
		}
	}
	return ""
}

// mailIgnored are events of --mail-type for which gpusched sends nothing.
var mailIgnored = []string{"REQUEUE", "STAGE_OUT", "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50"}

// mailType reads the events for which a message is sent.
func (b *Batch) mailType(_, value string) error {
	b.mailOn = nil
	for word := range strings.SplitSeq(strings.ToUpper(value), ",") {
		events, known := mailEvents[word]
		switch {
		case word == "NONE":
		case word == "ARRAY_TASKS":
			b.note("--mail-type=ARRAY_TASKS: an array sends one message, at its own end")
		case slices.Contains(mailIgnored, word):
			b.note("--mail-type=%s: nothing is sent about that here", word)
		case !known:
			return fmt.Errorf("%q is not an event: use BEGIN, END, FAIL, ALL or NONE", word)
		}
		for _, e := range events {
			if !slices.Contains(b.mailOn, e) {
				b.mailOn = append(b.mailOn, e)
			}
		}
	}
	return nil
}

// mailUser reads the recipient. A name without @ is an account of this machine. Mail to such a name
// goes to the submitter's own account, and a note says so.
func (b *Batch) mailUser(_, value string) error {
	b.mailTo = ""
	if !strings.Contains(value, "@") {
		b.note("--mail-user=%s is not an address: mail goes to your own account on this machine", value)
		return nil
	}
	b.mailTo = value
	return nil
}

// mailWords returns the options for the events and the recipient. As in Slurm, nothing is sent
// unless an event is named.
func (b *Batch) mailWords() []string {
	if len(b.mailOn) == 0 {
		return nil
	}
	words := []string{"--notify=" + strings.Join(b.mailOn, ",")}
	if b.mailTo != "" {
		words = append(words, "--notify-to="+b.mailTo)
	}
	return words
}
