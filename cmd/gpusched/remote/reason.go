package remote

import (
	"fmt"
	"strings"

	"github.com/gpusched/gpusched/cmd/gpusched/term"
	"github.com/gpusched/gpusched/daemon/api"
)

// These exit statuses, from ssh and from a shell, mean that the command was not run.
const (
	sshFailed  = 255
	notFound   = 127
	notAllowed = 126
)

// killed is the exit status that shells report for a command that a signal ended, minus the
// signal's number.
const killed = 128

// failed returns an error that says what ssh could not do, and what to do about it.
func failed(host, text string) *api.Error {
	hint := "see 'ssh " + host + "'"
	for _, about := range []struct{ words, hint string }{
		{"HOST IDENTIFICATION HAS CHANGED", "its key differs from the one in ~/.ssh/known_hosts: ask its administrator before you go on"},
		{"Host key verification failed", "compare its key and accept it once with 'ssh " + host + "'"},
		{"Permission denied", "'ssh " + host + "' has to work without a password: 'ssh-copy-id " + host + "' puts your key there, 'ssh-add' unlocks it"},
		{"Could not resolve", "check the name, or make a Host of it in ~/.ssh/config"},
	} {
		if strings.Contains(text, about.words) {
			hint = about.hint
			break
		}
	}
	if text = lastLine(text); text == "" {
		text = "it gave no reason"
	}
	return unreachable("ssh says: "+text, hint)
}

// notThere returns the error for a machine whose shell can't run gpusched.
func notThere(host, text string) *api.Error {
	return unreachable("gpusched can't be run there: "+lastLine(text),
		"'ssh "+host+" gpusched version' has to work: install it there, or put it into the PATH that commands by ssh have")
}

// notGpusched returns the error for an answer that does not come from gpusched.
func notGpusched(host, noise string, status int) error {
	switch {
	case noise != "":
		return unreachable(fmt.Sprintf("what answers there is not gpusched; it says %q", noise),
			"a command that ~/.ssh/authorized_keys forces there, or a start-up file of the shell, comes before it")
	case status != 0:
		return unreachable(fmt.Sprintf("ssh has ended with status %d and without an answer", status), "see 'ssh "+host+" gpusched version'")
	}
	return unreachable("what answers there is not gpusched", "see 'ssh "+host+" gpusched version'")
}

func unreachable(message, hint string) *api.Error {
	return &api.Error{Code: api.CodeUnreachable, Message: message, Hint: hint}
}

// maxSaid is the largest number of characters that are shown of a line from the other side.
const maxSaid = 2000

// printable returns a line from the other side. It is shortened and safe to print.
func printable(line string) string {
	text := term.Clean(strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(line, "\t", " "), "?")))
	if r := []rune(text); len(r) > maxSaid {
		text = string(r[:maxSaid]) + "…"
	}
	return text
}

// lastLine returns the last line of a text.
func lastLine(text string) string {
	return strings.TrimSuffix(text[strings.LastIndexByte(text, '\n')+1:], ".")
}
