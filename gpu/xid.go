package gpu

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// An Xid is one error report of the driver in the kernel log.
type Xid struct {
	Code int    // 1 to MaxXid
	PCI  string // "0000:3b:00": domain, bus, device
	PID  int    // process whose work failed, 0 if the driver did not say
	Comm string // its name, possibly cut, "" if unknown
	Text string // the rest of the report, printable

	Recovery Recovery // if Code is XidRecovery: what the GPU needs from now on
}

// An XidReport is an Xid with its place in the kernel log of one boot.
type XidReport struct {
	Xid
	Seq uint64    // of the log record
	At  time.Time // when it was written, by the current wall clock
}

// MaxXid is greater than every existing Xid code.
const MaxXid = 1023

// XidRecovery is the code of a report that says what the GPU needs from now on, possibly nothing.
const XidRecovery = 154

// maxXidText is the maximum length of Xid.Text in runes.
const maxXidText = 200

// xidLine matches a report of any driver version. It finds the PCI address, the code and the text.
// Before the address it also allows "PCI:", and after the address a function number and the name of
// a part of the GPU.
var xidLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^NVRM: Xid \((?:PCI:)?([[:xdigit:]]{4,8}:[[:xdigit:]]{2}:[[:xdigit:]]{2})(?:\.[0-7])?` +
		`(?: GPU-I:\d{1,3})?(?: GPU-CI:\d{1,3})?\): (\d{1,4})(?:,(.*))?$`)
})

// ParseXid parses a line of the kernel log, without time and priority, such as
//
//	NVRM: Xid (PCI:0000:3b:00): 31, pid=1234, name=python, Ch 00000008, MMU Fault: …
//
// Older drivers omit "PCI:", the process, or its name. The result is false for every other line,
// including the driver's other lines and lines that only resemble a report.
//
// Users can choose the names of processes. The kernel begins some lines with such a name (for a
// segfault, for instance). But the name has at most 15 bytes, and so ends before the place at which
// a report has its PCI address. The name in a report itself comes after the address and the code,
// and can't change them.
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
	x.Text = toPrintable(x.process(strings.TrimSpace(m[3])), maxXidText)
	if x.Code == XidRecovery {
		x.Recovery = parseRecovery(x.Text)
	}
	return x, true
}

// process reads the pid and name of the process from the text after the code, and returns the
// remaining text.
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
		x.Comm = toPrintable(name, maxWord)
	}
	return strings.TrimSpace(rest)
}

// digits parses an unsigned number.
func digits(s string, base int) (uint64, bool) {
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil && s != ""
}
