package cli

import "strings"

// HostsFlag comes before the command and names machines that are asked by ssh. HostsVariable does
// the same, but only for commands that show something and name no job.
const (
	HostsFlag     = "--hosts"
	HostsVariable = "GPUSCHED_HOSTS"
)

// HostOf splits a word such as a:12 into the machine and the rest. The result named is false for a
// word about this machine, such as 12 or name:fold.
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

// NameAt puts a machine's name in front of the name of a job or GPU.
func NameAt(host, name string) string {
	if host == "" {
		return name
	}
	return host + ":" + name
}
