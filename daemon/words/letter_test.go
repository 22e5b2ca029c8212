package words

import (
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

func letterJob(user, name string) *job.Job {
	j := &job.Job{ID: 7, State: job.Completed, Result: &job.Result{Outcome: job.Completed}}
	j.Owner.User, j.Label.Name = user, name
	j.SubmittedAt, j.ChangedAt = time.Unix(0, 0), time.Unix(60, 0)
	return j
}

// The subject of a message to a chat names the job's owner. The subject of a mail need not.
func TestAChatLineNamesTheOwner(t *testing.T) {
	l := MakeLetter(job.NotifyEnd, letterJob("alice", "train"), "gpu1")
	if want := "job 7 (train) completed: exit code 0 on gpu1"; l.Subject != want || l.Chat != "alice: "+want {
		t.Errorf("the subject is %q, of a chat %q", l.Subject, l.Chat)
	}
	if !strings.Contains(l.Body, "user         alice\n") {
		t.Errorf("the text is %q", l.Body)
	}
	long := MakeLetter(job.NotifyEnd, letterJob("alice", strings.Repeat("ü", 200)), "gpu1")
	if len(long.Subject) > maxSubject || len(long.Chat) > maxSubject || !strings.HasSuffix(long.Chat, "...") || !job.Printable(long.Chat) {
		t.Errorf("a long name gives %q and %q", long.Subject, long.Chat)
	}
}

// The limit counts bytes, not characters: a full-width character has three bytes.
func TestChatLinesAreBoundedInBytes(t *testing.T) {
	for _, j := range []*job.Job{
		letterJob("alice", strings.Repeat("@", 150)), letterJob("alice", strings.Repeat("a*", 200)),
		letterJob(strings.Repeat("<", 100), "train"),
	} {
		chat := MakeLetter(job.NotifyEnd, j, "gpu1").Chat
		if len(chat) > maxSubject || !strings.HasSuffix(chat, "...") || !job.Printable(chat) {
			t.Errorf("%d bytes: %q", len(chat), chat)
		}
	}
}

// A line for a chat has no characters that Slack, Discord or Mattermost interpret.
// This applies to the job's name, and to the name of a user from a directory service.
func TestNoMarkupInChats(t *testing.T) {
	for program, names := range map[string][]string{
		"Slack": {
			"<!channel>", "<!here|here>", "<!everyone>", "<@U024BE7LH>", "<#C024BE7LR>", "<!subteam^SAZ94GDB8>", "<!date^1392734382^x^https://e.example|y>",
			"<https://e.example|your bank>", "&lt;!channel&gt;", "*bold* ~gone~ `code` ```block```", "mailto:a@b",
		},
		"Discord": {
			"@everyone", "@here", "<@80351110224678912>", "<@!80351110224678912>", "<@&165511591545143296>", "<#103735883630395392>",
			"[your bank](https://e.example)", "||hidden||", "<a:b1nzy:392938283556143104>", "<t:1618953630>", "# title", "\\@everyone", "<https://e.example>",
		},
		"Mattermost": {
			"@channel", "@all", "@here", "@alice", "~town-square", "#tag", "![x](https://e.example/pixel.png)", "<!channel>", "www.e.example", "WWW.E.EXAMPLE",
			"| a | b |", "<img src=x>",
		},
	} {
		for _, name := range names {
			for _, l := range []Letter{
				MakeLetter(job.NotifyEnd, letterJob("alice", name), "gpu1"), MakeLetter(job.NotifyStart, letterJob(name, "train"), "gpu1"),
			} {
				if strings.ContainsAny(l.Chat, "<>@&`*~|[]#\\") || strings.Contains(l.Chat, "://") || strings.Contains(strings.ToLower(l.Chat), "www.") {
					t.Errorf("%s would not take %q as text alone: %q", program, name, l.Chat)
				}
				if !job.Printable(l.Chat) || !strings.Contains(l.Chat, "job 7 (") {
					t.Errorf("%q gives %q", name, l.Chat)
				}
			}
		}
	}
	l := MakeLetter(job.NotifyEnd, letterJob("alice", "train_v2-lr0.1 (a/b): 50%"), "gpu1.example.org")
	if want := "alice: job 7 (train_v2-lr0.1 (a/b): 50%) completed: exit code 0 on gpu1.example.org"; l.Chat != want {
		t.Errorf("an ordinary name is changed: %q", l.Chat)
	}
}

// The names of accounts can't move a cursor or end a line. Neither can old names of jobs that
// today's rules would refuse.
func TestLettersAreText(t *testing.T) {
	for _, name := range []string{"a\r\nBcc: b@c", "\x1b[2J", "\u009b2J", "\u202etxt", "\xff\xfe", "a\u2028b", "\u200b"} {
		j := letterJob(name, name)
		j.Label.Comment = name
		l := MakeLetter(job.NotifyEnd, j, name)
		for line := range strings.SplitSeq(l.Subject+"\n"+l.Chat+"\n"+l.Body, "\n") {
			if !job.Printable(line) || strings.HasPrefix(line, "Bcc") {
				t.Errorf("%q gives the line %q", name, line)
			}
		}
	}
}
