package cli

import "strings"

// HostsFlag, before the command, names machines that are asked by ssh; the variable does so for
// commands that show something and name no job.
const (
	HostsFlag     = "--hosts"
	HostsVariable = "GPUSCHED_HOSTS"
)

// HostOf divides a word such as a:12 into the machine and what is meant there. A word of this machine,
// as 12 or name:fold, is left whole.
func HostOf(word string) (host, rest string, named bool) {
	host, rest, named = strings.Cut(word, ":")
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@", r))
	}
	if !named || host == "" || host == "name" || host == "slurm" || strings.ContainsFunc(host, odd) {
		return "", word, false
	}
	return host, rest, true
}

// NameAt is what a job or GPU of another machine is called here.
func NameAt(host, name string) string {
	if host == "" {
		return name
	}
	return host + ":" + name
}
