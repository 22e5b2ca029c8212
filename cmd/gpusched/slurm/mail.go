package slurm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/daemon/job"
)

// mailEvents are the events of --mail-type about which there is a message here.
var mailEvents = map[string][]string{
	"BEGIN": {"start"}, "END": {"end"}, "FAIL": {"fail"}, "ALL": {"start", "end"}, "INVALID_DEPEND": {"fail"}, "TIME_LIMIT": {"fail"},
}

// MailEvent is the event of --mail-type about which there is such a message here.
func MailEvent(e job.NotifyEvent) string {
	for _, word := range []string{"BEGIN", "END", "FAIL"} {
		if slices.Contains(mailEvents[word], string(e)) {
			return word
		}
	}
	return ""
}

// mailLost are those about which there is none.
var mailLost = []string{"REQUEUE", "STAGE_OUT", "TIME_LIMIT_90", "TIME_LIMIT_80", "TIME_LIMIT_50"}

// mailType reads when a message is sent.
func (b *Batch) mailType(_, value string) error {
	b.mailOn = nil
	for word := range strings.SplitSeq(strings.ToUpper(value), ",") {
		events, known := mailEvents[word]
		switch {
		case word == "NONE":
		case word == "ARRAY_TASKS":
			b.note("--mail-type=ARRAY_TASKS: an array sends one message, at its own end")
		case slices.Contains(mailLost, word):
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

// mailUser reads where it goes. A name of no address is an account of this machine: the
// submitter's own is the only one that mail goes to.
func (b *Batch) mailUser(_, value string) error {
	b.mailTo = ""
	if !strings.Contains(value, "@") {
		b.note("--mail-user=%s is no address: mail goes to your own account on this machine", value)
		return nil
	}
	b.mailTo = value
	return nil
}

// mailWords are the options for both. Slurm sends nothing where no event is named.
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
