//go:build machine

package suite

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/api"
)

// mailbox installs a mail program that saves each mail together with the arguments and the user of
// the program. While /run/mail/hold exists, the program does not exit. mailbox returns a function
// that returns the saved mails.
func mailbox(t *testing.T) (mails func() []string) {
	t.Helper()
	sh(t, "", `install -d -m 1777 /run/mail; [ ! -e /usr/sbin/sendmail ] || mv /usr/sbin/sendmail /usr/sbin/sendmail.kept
cat > /usr/sbin/sendmail <<'END'
#!/bin/sh
f=$(mktemp /run/mail/.XXXXXX)
{ echo "as $(id -un) to $*"; cat; } > $f
while [ -e /run/mail/hold ]; do sleep 0.1; done
chmod 644 $f
mv $f /run/mail/mail.${f##*.}
END
chmod 755 /usr/sbin/sendmail`)
	t.Cleanup(func() {
		sh(t, "", "rm -rf /run/mail /usr/sbin/sendmail; [ ! -e /usr/sbin/sendmail.kept ] || mv /usr/sbin/sendmail.kept /usr/sbin/sendmail")
	})
	return func() (list []string) {
		for text := range strings.SplitSeq(sh(t, "", `for f in /run/mail/mail.*; do [ ! -e $f ] || { cat $f; printf '\001'; }; done`), "\x01") {
			if strings.TrimSpace(text) != "" {
				list = append(list, text)
			}
		}
		return list
	}
}

// mailsAbout returns the mails about one job.
func mailsAbout(mails []string, id int64) (list []string) {
	for _, m := range mails {
		if strings.Contains(m, "gpusched show "+strconv.FormatInt(id, 10)+"\n") {
			list = append(list, m)
		}
	}
	return list
}

// messages returns the messages about a job, as the user sees them.
func messages(t *testing.T, user string, id int64) []api.Message {
	t.Helper()
	return ask[api.JobReply](t, user, fmt.Sprintf("gpusched show --json %d", id)).Messages
}

// TestMail: the mail program runs as the job's user, once for a start, once for an end, and only
// once for a whole array. If the mail program hangs, no job is delayed. If it hangs or the daemon
// restarts, no mail is lost or sent twice. Without a mail program, --notify mail is refused.
func TestMail(t *testing.T) {
	begin(t)
	mails := mailbox(t)
	id := submit(t, "alice", "-g 0 -n grün --notify start,fail -- sh -c 'exit 3'")
	poll(t, "two mails are there", func() bool { return len(mailsAbout(mails(), id)) == 2 })
	all := strings.Join(mailsAbout(mails(), id), "")
	for _, want := range []string{
		"as alice to -i -t\n", "To: alice\n", "=?utf-8?q?", "Auto-Submitted: auto-generated\n", "has started", "failed: exit code 3",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no %q in the mails:\n%s", want, all)
		}
	}
	poll(t, "both are recorded as sent", func() bool {
		list := messages(t, "alice", id)
		return len(list) == 2 && list[0].Sent && list[1].Sent
	})
	if list := messages(t, "bob", id); len(list) != 0 {
		t.Errorf("another user sees %+v", list)
	}
	many := submit(t, "alice", "-g 0 --array 0-19 --notify end --notify-to a.b@example.org -- true")
	wait(t, many)
	poll(t, "the array has its mail", func() bool { return len(mailsAbout(mails(), many)) == 1 })
	if m := mailsAbout(mails(), many)[0]; !strings.Contains(m, "to -i -t\nTo: a.b@example.org\n") || !strings.Contains(m, "20: 20 completed, 0 did not") {
		t.Errorf("the mail of the array:\n%s", m)
	}
	if out := sh(t, "bob", fmt.Sprintf("gpusched show --json %d", many)); strings.Contains(out, "example.org") {
		t.Errorf("another user sees the address: %s", out)
	}

	sh(t, "", "touch /run/mail/hold")
	held := submit(t, "alice", "-g 0 --notify mail:end -- true")
	unit := fmt.Sprintf("gpusched-notify-%d-end-0.service", held)
	poll(t, "the mail program runs", func() bool {
		return strings.TrimSpace(sh(t, "", "systemctl show -P ActiveState "+unit)) == "activating"
	})
	mustEnd(t, wait(t, submit(t, "alice", "-g 0 -- true")), "completed", "exit code 0")
	sh(t, "", "systemctl restart gpusched")
	mustEnd(t, wait(t, submit(t, "bob", "-g 0 -- true")), "completed", "exit code 0")
	sh(t, "", "rm /run/mail/hold")
	poll(t, "the mail is recorded as sent", func() bool {
		list := messages(t, "alice", held)
		return len(list) == 1 && list[0].Sent
	})
	if n := len(mailsAbout(mails(), held)); n != 1 {
		t.Errorf("%d mails about a job that ended before the daemon restarted", n)
	}
	sh(t, "", "rm /usr/sbin/sendmail")
	mustFail(t, "alice", "gpusched submit --notify mail:end -- true", 8, "there is no /usr/sbin/sendmail on this machine")
	mustFail(t, "alice", "gpusched submit --notify end --notify-to 'a@b -oQ/tmp' -- true", 2, "not a plain mail address")
}

// TestWebhook: a process of the user calls the user's URL, and a process without rights calls the
// site's URL. Redirects are not followed.
func TestWebhook(t *testing.T) {
	begin(t)
	sh(t, "", `cat > /run/hook.sh <<'END'
#!/bin/sh
read -r method path rest
n=0
while read -r name value; do
	case "$name" in [Cc]ontent-[Ll]ength:) n=$(printf %s "$value" | tr -d '\r');; ""|"$(printf '\r')") break;; esac
done
{ printf '%s ' "$path"; head -c "$n"; echo; } >> /run/hook.log
case "$path" in
/moved) printf 'HTTP/1.1 302 Found\r\nLocation: file:///etc/passwd\r\nContent-Length: 0\r\n\r\n';;
*) printf 'HTTP/1.1 204 No Content\r\n\r\n';;
esac
END
printf '[Socket]\nListenStream=127.0.0.1:8765\nAccept=yes\n' > /run/systemd/system/hook.socket
printf '[Service]\nExecStart=/bin/sh /run/hook.sh\nStandardInput=socket\n' > /run/systemd/system/hook@.service
rm -f /run/hook.log; systemctl daemon-reload; systemctl start hook.socket`)
	t.Cleanup(func() {
		sh(t, "", "systemctl stop hook.socket; rm -f /run/systemd/system/hook* /run/hook*; systemctl daemon-reload")
	})
	settings(t, "[notify.webhook.chat]\nurl = \"http://127.0.0.1:8765/site\"\n[notify.webhook.gone]\nurl = \"http://127.0.0.1:8765/moved\"")
	id := submit(t, "alice", "-g 0 -n hook --notify end --notify-to chat --notify-to http://127.0.0.1:8765/own -- true")
	kept := submit(t, "alice", "-g 0 --hold --notify end --notify-to chat --notify-to http://127.0.0.1:8765/late -- true")
	bad := submit(t, "alice", "-g 0 --notify end --notify-to gone --notify-to http://127.0.0.1:8765/moved -- true")
	closed := func(id int64) bool {
		list := messages(t, "alice", id)
		return len(list) == 2 && !list[0].Closed.IsZero() && !list[1].Closed.IsZero()
	}
	poll(t, "all messages are sent or given up", func() bool { return closed(id) && closed(bad) })
	log := sh(t, "", "cat /run/hook.log")
	for _, path := range []string{"/site", "/own"} {
		_, text, _ := strings.Cut(log, path+" ")
		text, _, _ = strings.Cut(text, "\n")
		var m api.WebhookMessage
		if err := json.Unmarshal([]byte(text), &m); err != nil || m.Schema != api.Schema || m.Job.ID.String() != strconv.FormatInt(id, 10) ||
			!strings.Contains(m.Text, "alice: job") || !strings.Contains(m.Text, "(hook) completed") || m.Job.Result == nil || m.Job.Private != nil {
			t.Errorf("%s got %q (%v)", path, text, err)
		}
	}
	for i, m := range messages(t, "alice", bad) {
		if m.Sent || !strings.Contains(m.Sentence, "redirects (302), which is not followed") || strings.Contains(m.Sentence, "127.0.0.1") != (i == 1) {
			t.Errorf("after a redirect: %+v", m)
		}
		unit := fmt.Sprintf("gpusched-notify-%d-end-%d.service", bad, i)
		as := strings.TrimSpace(sh(t, "", "journalctl -q -o json -u "+unit+" SYSLOG_IDENTIFIER=gpusched-notify --output-fields=_UID | grep -o '_UID\":\"[0-9]*' | head -1"))
		if alice := "_UID\":\"" + strings.TrimSpace(sh(t, "alice", "id -u")); (as == alice) != (i == 1) || as == "" || strings.HasSuffix(as, ":\"0") {
			t.Errorf("message %d was sent by a process of %q", i, as)
		}
	}
	if out := sh(t, "", "systemctl list-units --all --no-legend 'gpusched-notify-*'; ls /run/gpusched/specs"); strings.Contains(out, "notify") {
		t.Errorf("left behind: %s", out)
	}
	const later = "/etc/gpusched/conf.d/91-suite.toml"
	t.Cleanup(func() { sh(t, "", "rm -f "+later+"; systemctl reload gpusched") })
	sh(t, "", "printf '[notify]\\nways = [\"mail\"]\\n' > "+later+"; systemctl reload gpusched")
	sh(t, "alice", fmt.Sprintf("gpusched release %d", kept))
	poll(t, "messages on a channel that the site has disabled are given up", func() bool { return closed(kept) })
	for _, m := range messages(t, "alice", kept) {
		if m.Sent || !strings.Contains(m.Sentence, "does not send messages by webhook") {
			t.Errorf("of a channel that the site has disabled: %+v", m)
		}
	}
	sh(t, "", "rm "+later+"; systemctl reload gpusched")
	mustFail(t, "alice", "gpusched submit --notify end --notify-to nothing -- true", 8, "this site has no webhook of that name")
	mustFail(t, "alice", "gpusched submit --notify end --notify-to file:///etc/passwd -- true", 2, "not a URL of at most")
}

// TestTerminalMessage: a logged-in user gets a line on the
// terminal, unless the terminal refuses messages (mesg).
func TestTerminalMessage(t *testing.T) {
	begin(t)
	shown := logIn(t, "alice")
	id := submit(t, "alice", "-g 0 -n seen --notify terminal:end -- true")
	poll(t, "the message is on the terminal", func() bool {
		return strings.Contains(try(t, "", "cat "+shown).Stdout, fmt.Sprintf("gpusched: job %d (seen) completed", id))
	})
	other := submit(t, "bob", "-g 0 --notify terminal:end -- true")
	poll(t, "the message to a user who is not logged in is given up", func() bool {
		list := messages(t, "bob", other)
		return len(list) == 1 && !list[0].Closed.IsZero() && strings.Contains(list[0].Sentence, "no terminal open")
	})
}
