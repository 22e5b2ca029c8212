package gpu

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Xid is one error report of the driver, as it stands in the kernel's log.
type Xid struct {
	Code int    // from 1 to MaxXid
	PCI  string // "0000:3b:00": domain, bus, device
	PID  int    // of the process whose work failed; 0: the driver did not say
	Comm string // its name, as far as it was written; "" unknown
	Text string // what follows, printable, as the driver wrote it

	Recovery Recovery // of XidRecovery, what the GPU needs from now on
}

// XidReport is an Xid as it stands in the kernel's log of one boot.
type XidReport struct {
	Xid
	Seq uint64    // of its record
	At  time.Time // when it was written, by the present wall clock
}

// MaxXid is above every Xid that there is.
const MaxXid = 1023

// XidRecovery is the code by which the driver says what it thinks the GPU
// needs from now on, which may be nothing.
const XidRecovery = 154

// maxXidText bounds Xid.Text, in runes.
const maxXidText = 200

// xidLine is how every driver begins its report: the address with or without
// "PCI:" and a function, behind it which part of a GPU it is, then the code.
var xidLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^NVRM: Xid \((?:PCI:)?([[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2})(?:\.[0-7])?` +
		`(?: GPU-I:\d{1,3})?(?: GPU-CI:\d{1,3})?\): (\d{1,4})(?:,(.*))?$`)
})

// ParseXid reads a line of the kernel's log without time and priority, such as
//
//	NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000008, MMU Fault: …
//
// Older drivers leave out "PCI:", the process, or its name. False is for every
// other line, also of the driver, and for what only resembles one: the kernel
// begins lines with the name of a process too (a segfault's, for one), which
// anybody can choose; its 15 bytes end before the address.
// The name is chosen by the process: nothing that comes before it depends on it.
func ParseXid(line string) (Xid, bool) {
	m := xidLine().FindStringSubmatch(line)
	if m == nil {
		return Xid{}, false
	}
	bus, ok := parseBus(m[1])
	code, err := strconv.Atoi(m[2])
	if !ok || err != nil || code < 1 || code > MaxXid {
		return Xid{}, false
	}
	x := Xid{Code: code, PCI: bus.String()}
	x.Text = printable(x.process(strings.TrimSpace(m[3])), maxXidText)
	if x.Code == XidRecovery {
		x.Recovery = parseRecovery(x.Text)
	}
	return x, true
}

// process takes the process off what follows the code, and returns the rest.
func (x *Xid) process(text string) string {
	value, ok := strings.CutPrefix(text, "pid=")
	if !ok {
		return text
	}
	value, rest, _ := strings.Cut(value, ",")
	if pid, ok := digits(strings.TrimSpace(value), 10); ok && pid < 1<<31 {
		x.PID = int(pid)
	}
	rest = strings.TrimSpace(rest)
	name, ok := strings.CutPrefix(rest, "name=")
	if !ok {
		return rest
	}
	name, rest, _ = strings.Cut(name, ",")
	if name != "<unknown>" {
		x.Comm = printable(name, maxWord)
	}
	return strings.TrimSpace(rest)
}

// digits reads an unsigned number of digits alone.
func digits(s string, base int) (uint64, bool) {
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil && s != ""
}
