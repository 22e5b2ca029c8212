// Package journal sends what the daemon logs to journald. It is a handler of log/slog that speaks
// journald's own protocol, so that 'journalctl GPUSCHED_JOB=7' finds each attribute in a field. If
// the standard error output is not the journal but a terminal, it writes lines of text. It owns the
// queue between the two, and decides nothing.
//
// The attribute "job" becomes the field GPUSCHED_JOB, and job=7 in the text. An attribute whose
// name begins with GPUSCHED_ becomes that field, and is not in the text.
//
// Invariants:
//
//  1. A caller that logs never waits: entries wait in a queue of bounded length. Entries without
//     room are dropped, and their number is reported. The audit log (GPUSCHED_AUDIT) has its own
//     queue, which goes first and which no other line can fill. Only if that queue is full does a
//     caller wait, for at most two seconds.
//  2. No value, whatever bytes it has, can become another field or another line: fields are sent
//     with their length, and the text is quoted.
//  3. The size of an entry is bounded, so that it always fits into one datagram.
//  4. If the protocol fails, an entry is written as a line of text instead.
package journal
