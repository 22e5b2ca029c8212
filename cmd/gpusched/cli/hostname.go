package cli

import "strings"

// HostsFlag comes before the command and names machines that are asked by ssh. HostsVariable also
// names such machines, but only for commands that show something and name no job.
const (
	HostsFlag     = "--hosts"
	HostsVariable = "GPUSCHED_HOSTS"
)

// HostOf splits a specification of jobs such as a:12 into the machine and the rest. The result ok
// is false if the specification names no other machine, as in 12 or name:fold.
func HostOf(spec string) (host, rest string, ok bool) {
	host, rest, ok = strings.Cut(spec, ":")
	odd := func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-@", r))
	}
	if !ok || host == "" || host == "name" || host == "slurm" || strings.ContainsFunc(host, odd) || !mayBeJobs(rest) {
		return "", spec, false
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

// mayBeJobs reports whether a word that follows a machine's name may name jobs there. In
// user:alice and job:train no machine is meant.
func mayBeJobs(rest string) bool {
	return rest == "" || !letter(rest[0]) || strings.HasPrefix(rest, "name:") || strings.HasPrefix(rest, SlurmPrefix)
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
