package remote

import (
	"fmt"
	"slices"
	"strings"
)

// Here is the name of this machine. Its scheduler is asked through the socket.
const Here = "."

// maxHosts is the largest number of machines that a command asks, since each needs an ssh.
const maxHosts = 64

// Hosts parses names of machines, separated by commas. A name is an alias in ~/.ssh/config,
// user@host, or "." for this machine. Hosts removes duplicates.
func Hosts(list string) (names []string, err error) {
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		if err := Check(name); err != nil {
			return nil, err
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if len(names) > maxHosts {
		return nil, fmt.Errorf("%d machines are too many: at most %d are asked at once", len(names), maxHosts)
	}
	return names, nil
}

// Check returns an error if a word can't be the name of a machine. ssh would take a word that
// begins with a dash for an option. ssh's configuration can pass names to a shell (ProxyCommand
// with %h).
func Check(name string) error {
	user, host, named := strings.Cut(name, "@")
	if !named {
		user, host = "u", name
	}
	switch {
	case name == Here:
		return nil
	case name == "":
		return fmt.Errorf("the name of a machine is missing: write a list such as a,b,c")
	case len(name) > 255 || !isPlain(user) || !isPlain(host) || strings.Trim(host, ".") == "":
		return fmt.Errorf("%q is not the name of a machine: it has letters, digits, dots, dashes and underscores, "+
			"and may begin with user@; for what else ssh needs make a Host in ~/.ssh/config", name)
	}
	return nil
}

// isPlain reports whether a text contains only characters of names and is not an option.
func isPlain(s string) bool {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, odd)
}
