package words

import (
	"fmt"
	"strings"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// Letter is the text of a message about a job.
type Letter struct {
	Subject string // one line of printable text
	Body    string // lines
	Chat    string // the subject for a chat room: it names the job's owner, and has no markup
}

// maxSubject is the maximum length in bytes of a subject and of a line in a chat.
const maxSubject = 200

// MakeLetter returns a message to a job's owner about the start or end of the job.
// The owner reads it away from the machine, so it has all important facts.
func MakeLetter(event job.NotifyEvent, j *job.Job, host string) Letter {
	happened := whatHappened(event, j)
	what := fmt.Sprintf("%s %s (%s)", noun(j), j.Called(), cleanText(j.Label.Name))
	subject := cut(fmt.Sprintf("%s %s on %s", what, happened, cleanText(host)))
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n\n", strings.ToUpper(what[:1])+what[1:], happened)
	for _, f := range listFacts(event, j, host) {
		if f[1] != "" {
			fmt.Fprintf(&b, "  %-12s %s\n", f[0], cleanText(f[1]))
		}
	}
	fmt.Fprintf(&b, "\nThe end of its output:  gpusched logs -n 50 %s\nAll about it:           gpusched show %s\n", j.Called(), j.Called())
	return Letter{cleanText(subject), b.String(), cut(markup.Replace(cleanText(j.Owner.User + ": " + subject)))}
}

// LeftOut returns a note which says that n earlier messages were not sent to a chat, because there
// were too many. If n is 0, it returns "".
func LeftOut(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" (messages of this user left out before it: %d)", n)
}

// cut shortens a text to maxSubject bytes.
func cut(s string) string {
	if len(s) <= maxSubject {
		return s
	}
	return strings.ToValidUTF8(s[:maxSubject-3], "") + "..."
}

func noun(j *job.Job) string {
	if j.Request.Array != nil {
		return "array"
	}
	return "job"
}

func whatHappened(event job.NotifyEvent, j *job.Job) string {
	switch {
	case event == job.NotifyStart:
		return "has started"
	case j.Result == nil:
		return "has ended"
	}
	return cleanText(Result(j.Result))
}

// listFacts lists facts about the job, beginning with those that people ask about first.
func listFacts(event job.NotifyEvent, j *job.Job, host string) [][2]string {
	list := [][2]string{{"user", j.Owner.User}, {"host", host}, {"GPUs", job.FormatGPUList(j.GPUIndexes())}}
	if tasks := taskCounts(j); tasks != "" {
		list = append(list, [2]string{"tasks", tasks})
	}
	list = append(list, [2]string{"submitted", moment(j.SubmittedAt)})
	if a := j.Attempt; a != nil {
		list = append(list, [2]string{"started", moment(a.StartedAt)})
		if event == job.NotifyEnd && !a.StartedAt.IsZero() && a.EndedAt.After(a.StartedAt) {
			list = append(list, [2]string{"ran", job.FormatDuration(a.EndedAt.Sub(a.StartedAt).Round(time.Second))})
		}
		if a.Number > 1 {
			list = append(list, [2]string{"attempt", fmt.Sprint(a.Number)})
		}
	}
	if event == job.NotifyEnd {
		list = append(list, [2]string{"ended", moment(j.ChangedAt)})
	}
	if r := j.Result; event == job.NotifyEnd && r != nil && j.Request.Array == nil {
		list = append(list, [2]string{"exit status", fmt.Sprint(j.Code())})
	}
	return append(list, [2]string{"comment", j.Label.Comment})
}

func taskCounts(j *job.Job) string {
	if j.Request.Array == nil || j.Tasks == nil {
		return ""
	}
	size, n := j.Request.Array.Size(), j.Tasks
	if !j.State.Terminal() {
		return fmt.Sprintf("%d", size)
	}
	never := size - n.Became() - n.Cancelled()
	text := fmt.Sprintf("%d: %d completed, %d did not", size, n.Became()-n.Failed, n.Failed)
	if n.Cancelled() > 0 {
		text += fmt.Sprintf(", %d cancelled before the start", n.Cancelled())
	}
	if never > 0 {
		text += fmt.Sprintf(", %d never started", never)
	}
	return text
}

func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return job.FormatMoment(t)
}

// cleanText replaces characters that have an effect where the text is shown, such as line ends in
// the header of a mail, or control sequences on a terminal.
func cleanText(s string) string {
	if job.Printable(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == ' ' || job.Printable(string(r)) {
			return r
		}
		return '?'
	}, strings.ToValidUTF8(s, "?"))
}

// markup replaces characters that chat programs interpret. The replacements are full-width
// characters, which look the same to people. Without the replacement, a name could call everybody
// in a room (Slack's <!channel>, Discord's and Mattermost's @everyone), hide text, or disguise a
// link. Escaping does not help: each program has its own escapes, and shows the escapes of other
// programs as text.
var markup = strings.NewReplacer("&", "＆", "<", "＜", ">", "＞", "@", "＠", "`", "｀", "*", "＊", "~", "～",
	"|", "｜", "[", "［", "]", "］", "#", "＃", "\\", "＼", "://", "：//", "www.", "www．", "WWW.", "WWW．")
