// Package journal takes what the daemon logs, as a handler of log/slog, to
// journald: by journald's own protocol, so that every attribute is a field that
// 'journalctl GPUSCHED_JOB=7' finds, or as lines of text where the standard
// error output is not the journal (a terminal). It owns the queue between the
// two; it decides nothing, and what is logged is its callers' business.
//
// The attribute "job" is the field GPUSCHED_JOB, and job=7 in the text. One whose
// name begins with GPUSCHED_ is that field and not in the text.
//
// Invariants:
//
//  1. Nobody who logs ever waits: entries wait in a queue of bounded length,
//     and what finds no room is counted and reported. Those of the audit log
//     (GPUSCHED_AUDIT) have a queue of their own, which no other line fills and
//     which goes first; only where that is full too, a caller waits, for two
//     seconds at most.
//  2. No value, whatever bytes are in it, can become another field or another
//     line: fields have their length before them, the text is quoted.
//  3. An entry has a bounded size, so that it always fits into one datagram.
//  4. What can't be sent by the protocol is written as a line of text instead.
package journal
