// Package journal sends the daemon's log to journald. It is a handler of log/slog that speaks
// journald's own protocol, so that each attribute becomes a field: 'journalctl GPUSCHED_JOB=7'
// finds the lines about job 7. If the standard error output is a terminal, and not the journal, the
// package writes lines of text there instead. It also has the queue between the daemon and
// journald.
//
// The attribute "job" becomes the field GPUSCHED_JOB, and is job=7 in the text. An attribute whose
// name begins with GPUSCHED_ becomes the field of that name, and is not in the text.
//
// Invariants:
//
//  1. A call that logs a line does not wait: entries wait in a queue of bounded length. If there is
//     no room, entries are dropped, and their number is reported. The audit log (GPUSCHED_AUDIT)
//     has its own queue, which no other line can fill. Its entries are sent first. A call waits
//     only if this queue is full, and for two seconds at most.
//  2. No value can become another field or another line, whatever bytes it has. Fields are sent
//     with their length, and values in the text are quoted.
//  3. The size of an entry is bounded, so that it always fits into one datagram.
//  4. If an entry can't be sent by journald's protocol, it is written as a line of text.
package journal
