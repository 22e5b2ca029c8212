package kernellog

import (
	"strconv"
	"strings"
	"time"
)

// A record is a line that the kernel itself logged, without the fields that may follow the line.
type record struct {
	seq  uint64        // increases during one boot
	at   time.Duration // since boot, by the monotonic clock
	text string
}

// parseRecord parses a line in the kernel's format:
//
//	4,1234,5678901234,-;NVRM: Xid (PCI:0000:3b:00): 79, …
//
// The priority, the sequence number, microseconds and possibly more fields come before the
// semicolon. The lowest three bits of the priority are the level, and the others the facility. The
// facility is 0 for the kernel itself, and not 0 for records that programs write.
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
	if err != nil || micros > uint64(maxUptime/time.Microsecond) {
		return record{}, false
	}
	return record{seq: seq, at: time.Duration(micros) * time.Microsecond, text: text}, true
}

// maxUptime is longer than any uptime, and far below the limit of a Duration.
const maxUptime = 100 * 365 * 24 * time.Hour
