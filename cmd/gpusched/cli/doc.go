// Package cli has what the rooms of the command line share: one run of the program (App), with what
// it was started with (Env) and the schedulers that it asks (Session); the forms of output; the
// words for jobs, times and values; the tables of jobs and GPUs; errors and exit statuses. It has
// no command. No room decides anything about jobs or reads the daemon's files: all that is known
// about jobs and GPUs comes over the socket.
//
// Invariants, of all rooms:
//
//  1. Data goes to stdout, messages to stderr. JSON is the daemon's document, schema "gpusched.v1";
//     times for programs are RFC 3339 in UTC.
//  2. The exit status is one of the table in manual/tables.go, or the job's own if the command
//     waits for a job.
//  3. From the first word of a job's command on, every byte belongs to that command; before it, an
//     unknown flag is an error.
//  4. Nothing that another user chose reaches a terminal unsanitised.
//  5. A submission carries a random key, so asking again never queues the job twice.
//  6. Help, manual pages and completion are made from the same grammar.
package cli
