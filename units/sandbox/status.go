package sandbox

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// status is the relevant part of /proc/PID/status, with other properties of the process.
type status struct {
	ended      bool
	uids       []string // real, effective, saved and file-system
	gids       []string // likewise
	depth      int      // number of pid namespaces that the process is in, from ours down
	noNewPrivs int
	seccomp    int    // 0: the process has no system call filter
	filters    int    // their number; missing on Linux before 5.9
	permitted  uint64 // capabilities that it has
	bounding   uint64 // capabilities that a program which it executes can get
	label      string // AppArmor profile; "": none
	net        uint64 // inode of netOf; only of a reference
	root       string // result of rootOf; only of a reference
	mounts     string // link to its mount namespace; only of a reference
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

// labelOf returns the AppArmor profile of a process.
func labelOf(dir processDir) string {
	text, err := dir.ReadFile("attr/apparmor/current")
	if err != nil {
		return ""
	}
	return strings.TrimRight(string(text), "\n\x00")
}

// hides reports whether ptrace(2) hides the links of the process st from another process of the
// same user because their privileges differ, not because their namespaces do. The process st may
// have capabilities that the other lacks, as processes of root do, or those of a session with
// CAP_WAKE_ALARM. It may also have another group, as in the shell of newgrp.
func (st status) hides(other status) bool {
	return st.permitted&^other.permitted != 0 || !slices.Equal(st.gids, other.gids)
}

// missingRight names something that the process st can't do although the reference process can; "":
// nothing.
func (st status) missingRight(reference status) string {
	switch {
	case st.noNewPrivs > reference.noNewPrivs:
		return "has no new privileges (no_new_privs)"
	case st.seccomp > reference.seccomp || st.filters > reference.filters:
		return "has a filter of system calls (seccomp)"
	case reference.bounding&^st.bounding != 0:
		return "has a reduced set of capabilities (CapBnd in /proc/PID/status)"
	case st.label != reference.label && confines(st.label):
		return "has an AppArmor profile (" + cmp.Or(st.label, "which can't be read") + ")"
	}
	return ""
}

// confines reports whether an AppArmor profile restricts anything. Some profiles only log
// violations, or are only a name.
func confines(label string) bool {
	return label != "unconfined" && !strings.HasSuffix(label, " (unconfined)") && !strings.HasSuffix(label, " (complain)")
}
