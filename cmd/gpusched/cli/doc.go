// Package cli is what the rooms of the command line share: one run of the program (App), which is what it was started
// with (Env) and whom it asks (Session); the forms of output, the words for jobs, times and values, the tables of jobs
// and GPUs, errors, and the exit status. It has no command. No room decides anything about jobs, and none reads the
// daemon's files: what is known of jobs and GPUs came over the socket.
//
// Invariants, of all rooms:
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
package cli
