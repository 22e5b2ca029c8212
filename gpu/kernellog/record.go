package kernellog

import (
	"strconv"
	"strings"
	"time"
)

// record is one line of the kernel itself in the log, without the fields that
// may follow it.
type record struct {
	seq  uint64        // counts up over one boot
	at   time.Duration // since the boot, by the kernel's monotonic clock
	text string
}

// parseRecord reads a line as the kernel writes it:
//
//	4,1234,5678901234,-;NVRM: Xid (PCI:0000:3b:00): 79, …
//
// with priority, sequence number and microseconds, then possibly more, before
// the semicolon. The priority holds a level in its lowest three bits and then
// the facility, which is another than the kernel's (0) in whatever a program
// wrote into the log.
func parseRecord(line string) (record, bool) {
	head, text, ok := strings.Cut(line, ";")
	fields := strings.Split(head, ",")
	if !ok || len(fields) < 4 {
		return record{}, false
	}
	priority, err := strconv.ParseUint(fields[0], 10, 32)
	if err != nil || priority>>3 != 0 {
		return record{}, false
	}
	seq, err := strconv.ParseUint(fields[1], 10, 64)
	if err != nil {
		return record{}, false
	}
	micros, err := strconv.ParseUint(fields[2], 10, 63)
	if err != nil || micros > uint64(longest/time.Microsecond) {
		return record{}, false
	}
	return record{seq: seq, at: time.Duration(micros) * time.Microsecond, text: text}, true
}

// longest is more than any machine is up, and far from what a Duration holds.
const longest = 100 * 365 * 24 * time.Hour
