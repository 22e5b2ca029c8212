package submit

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/cli"
	"github.com/gpusched/gpusched/daemon/job"
)

// notifyOptions say when and how a user is notified about a job.
type notifyOptions struct {
	NotifyWhen []string `name:"notify" sep:"none" placeholder:"[WAY:]WHEN" group:"life"`
	NotifyTo   []string `name:"notify-to" sep:"none" placeholder:"WHERE" group:"life"`
}

// notifications combines each --notify with the values of --notify-to that match it.
func (o *notifyOptions) notifications() ([]job.Notify, error) {
	if len(o.NotifyWhen) == 0 && len(o.NotifyTo) > 0 {
		return nil, cli.Usagef("--notify-to says where, and no --notify says when: add --notify end, start or fail")
	}
	if len(o.NotifyWhen) == 1 && o.NotifyWhen[0] == "none" && len(o.NotifyTo) == 0 {
		return nil, nil
	}
	var places []job.Notify
	for _, to := range o.NotifyTo {
		n, err := placeOf(to)
		if err != nil {
			return nil, err
		}
		places = append(places, n)
	}
	used := make([]bool, len(places))
	var list []job.Notify
	for _, text := range o.NotifyWhen {
		way, on, err := parseNotify(text)
		if err != nil {
			return nil, err
		}
		found := false
		for i, place := range places {
			if way == "" || way == place.Way {
				found, used[i] = true, true
				place.On = on
				list = append(list, place)
			}
		}
		switch {
		case !found && way == job.NotifyWebhook:
			return nil, cli.Usagef("--notify %s does not say which webhook: add --notify-to with a URL or the name of one of the site's webhooks", text)
		case !found:
			list = append(list, job.Notify{Way: way, On: on})
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return nil, cli.Usagef("--notify-to %s is for %[2]s, and no --notify asks for %[2]s", o.NotifyTo[i], places[i].Way)
	}
	return list, nil
}

// parseNotify parses a value such as "end", "start,fail" or "mail:end".
func parseNotify(text string) (way job.NotifyWay, on []job.NotifyEvent, err error) {
	first, events, found := strings.Cut(text, ":")
	if !found {
		first, events = "", text
	}
	if way = job.NotifyWay(first); found && !slices.Contains(job.NotifyWays(), way) {
		return "", nil, unknownNotify("way", first, job.NotifyWays())
	}
	for word := range strings.SplitSeq(events, ",") {
		event := job.NotifyEvent(word)
		if !slices.Contains(job.NotifyEvents(), event) {
			if !found && slices.Contains(job.NotifyWays(), job.NotifyWay(word)) {
				return "", nil, cli.Usagef("--notify %s says how and not when: use %s:end", word, word)
			}
			return "", nil, unknownNotify("moment", word, job.NotifyEvents())
		}
		if !slices.Contains(on, event) {
			on = append(on, event)
		}
	}
	return way, on, nil
}

func unknownNotify[T ~string](what, word string, known []T) error {
	names := job.Each(known, func(w T) string { return string(w) })
	text := fmt.Sprintf("%q is not a %s to notify: use %s", word, what, strings.Join(names, ", "))
	if near := job.Nearest(word, names); near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return cli.Usagef("%s", text)
}

// placeOf parses a value of --notify-to: a URL, a mail address or a webhook's name.
func placeOf(to string) (job.Notify, error) {
	switch {
	case strings.Contains(to, "://"):
		if !job.IsWebURL(to) {
			return job.Notify{}, cli.Usagef("--notify-to: that is not a URL of at most %d bytes that begins with http:// or https://", job.MaxNotifyToBytes)
		}
		return job.Notify{Way: job.NotifyWebhook, To: to}, nil
	case strings.Contains(to, "@"):
		if !job.IsAddress(to) {
			return job.Notify{}, cli.Usagef("--notify-to: %q is not a plain mail address such as alice@example.org", to)
		}
		return job.Notify{Way: job.NotifyMail, To: to}, nil
	case to == "":
		return job.Notify{}, cli.Usagef("--notify-to needs an address, the name of a webhook, or a URL")
	}
	return job.Notify{Way: job.NotifyWebhook, Webhook: to}, nil
}

// mailProgram is the path of sendmail. Every mail system on Linux installs a sendmail there.
const mailProgram = "/usr/sbin/sendmail"

// WithoutMail removes requests for mail from the options of another tool's script, if this machine
// can't send mail. The options were written for another machine, so they are no reason to refuse
// the job.
func WithoutMail(words []string) (kept []string, note string) {
	if _, err := os.Stat(mailProgram); err == nil {
		return words, ""
	}
	end := slices.Index(words, "--") // the job's command begins after --
	if end < 0 {
		end = len(words)
	}
	isMail := func(w string) bool {
		return strings.HasPrefix(w, "--notify-to=") && strings.Contains(w, "@") || strings.HasPrefix(w, "--notify=mail:")
	}
	if !slices.ContainsFunc(words[:end], isMail) {
		return words, ""
	}
	own := slices.DeleteFunc(slices.Clone(words[:end]), func(w string) bool { return strings.HasPrefix(w, "--notify") })
	return append(own, words[end:]...), "no mail is sent about it: there is no " + mailProgram + " on this machine"
}
