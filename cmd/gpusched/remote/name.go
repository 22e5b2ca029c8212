package remote

import (
	"fmt"
	"slices"
	"strings"
)

// Here is the name of this machine, whose scheduler is asked by its socket.
const Here = "."

// maxHosts bounds how many machines one command asks: each costs an ssh.
const maxHosts = 64

// Hosts reads names of machines with commas between them: each as ssh takes it, an alias of ~/.ssh/config
// or user@host, or "." for this one. One that is named twice counts once.
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

// Check refuses what is no name of a machine. ssh takes a word that begins with a dash for an option, and
// its configuration can hand names to a shell (ProxyCommand with %h).
func Check(name string) error {
	user, host, named := strings.Cut(name, "@")
	if !named {
		user, host = "u", name
	}
	switch {
	case name == Here:
		return nil
	case name == "":
		return fmt.Errorf("the name of a machine is missing: use such as a,b,c")
	case len(name) > 255 || !plain(user) || !plain(host) || strings.Trim(host, ".") == "":
		return fmt.Errorf("%q is not the name of a machine: it has letters, digits, dots, dashes and underscores, "+
			"and may begin with user@; for what else ssh needs make a Host in ~/.ssh/config", name)
	}
	return nil
}

// plain reports whether a text is of what names are made of, and no option.
func plain(s string) bool {
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	}
	return s != "" && s[0] != '-' && !strings.ContainsFunc(s, odd)
}
