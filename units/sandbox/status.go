package sandbox

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// status is what of /proc/PID/status is of interest, and the label beside it.
type status struct {
	ended      bool
	uids       []string // real, effective, saved and file-system
	gids       []string // likewise
	depth      int      // how many pid namespaces from ours on it is in
	noNewPrivs int
	seccomp    int    // 0: no filter of system calls
	filters    int    // how many; not told by Linux before 5.9
	permitted  uint64 // capabilities that it has
	bounding   uint64 // and that a program which it executes can get
	label      string // AppArmor's; "": there is none
	net        uint64 // the inode of netOf, of the process that others are compared with
	root       string // likewise, as rootOf says it
}

func parseStatus(text string) status {
	var st status
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		number, _ := strconv.Atoi(value)
		switch name {
		case "State":
			st.ended = strings.HasPrefix(value, "Z") || strings.HasPrefix(value, "X")
		case "Uid":
			st.uids = strings.Fields(value)
		case "Gid":
			st.gids = strings.Fields(value)
		case "NSpid":
			st.depth = len(strings.Fields(value))
		case "NoNewPrivs":
			st.noNewPrivs = number
		case "Seccomp":
			st.seccomp = number
		case "Seccomp_filters":
			st.filters = number
		case "CapPrm":
			st.permitted, _ = strconv.ParseUint(value, 16, 64)
		case "CapBnd":
			st.bounding, _ = strconv.ParseUint(value, 16, 64)
		}
	}
	return st
}

// labelOf is the AppArmor profile of a process.
func labelOf(dir processDir) string {
	text, err := dir.ReadFile("attr/apparmor/current")
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\n\x00")
}

// hides reports whether ptrace(2) keeps the links of a process from its user's process own by
// what both may do, and not by where they are: it has capabilities that own lacks, as root's
// or one of a session with CAP_WAKE_ALARM, or another group, as in the shell of newgrp.
func (st status) hides(own status) bool {
	return st.permitted&^own.permitted != 0 || !slices.Equal(st.gids, own.gids)
}

// less reports what a process has that keeps it from something that the first one could do.
func (st status) less(first status) string {
	switch {
	case st.noNewPrivs > first.noNewPrivs:
		return "has no new privileges (no_new_privs)"
	case st.seccomp > first.seccomp || st.filters > first.filters:
		return "has a filter of system calls (seccomp)"
	case first.bounding&^st.bounding != 0:
		return "has a reduced set of capabilities (CapBnd in /proc/PID/status)"
	case st.label != first.label && confines(st.label):
		return "has an AppArmor profile (" + cmp.Or(st.label, "which can't be read") + ")"
	}
	return ""
}

// confines reports whether an AppArmor profile keeps its processes from anything: one that
// only complains, or that is there to be named, does not.
func confines(label string) bool {
	return label != "unconfined" && !strings.HasSuffix(label, " (unconfined)") && !strings.HasSuffix(label, " (complain)")
}
