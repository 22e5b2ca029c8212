// Package client is what people type: it turns words into requests to the
// daemon (daemon/api) and answers into text. It owns the command line, the
// forms of output, the exit status, and what a submission takes from the
// submitter's shell: environment, directory and umask. It decides nothing about
// jobs, and it never reads the daemon's files: what it knows of jobs and GPUs
// came over the socket.
//
// Invariants:
//
//  1. Data goes to stdout, talk to stderr. JSON is the daemon's document,
//     schema "gpusched.v1"; times for machines are RFC 3339 in UTC.
//  2. The exit status is that of the table in manual/tables.go, or the job's own
//     where a job is waited for.
//  3. From the command's first word on, everything belongs to the command, byte
//     for byte; before it, an unknown flag is an error.
//  4. Nothing another user chose reaches a terminal unsanitised.
//  5. A submit carries a random key, so that asking again never queues twice.
//  6. Help, manual pages and completion are made from the same grammar.
package client
