// Package cli has what all packages of the command line share. App is one run of the program. Env
// is what that run gets from its environment, and Session says which schedulers it asks. The
// package also has the output formats, the words for jobs, times and values, the tables of jobs and
// GPUs, the errors and the exit statuses. It has no command.
//
// No package of the command line decides anything about jobs or reads the daemon's files. All
// information about jobs and GPUs comes over the socket.
//
// Invariants, for all these packages:
//
//  1. Data goes to stdout, messages to stderr. JSON is the daemon's document, with schema
//     "gpusched.v1". Times for programs are RFC 3339 in UTC.
//  2. The exit status is listed in manual/text/tables/exit-statuses.txt. A command that waits for a
//     job may instead return the job's exit status.
//  3. The first word of a job's command, and all that follows it, belongs to that command. Before
//     that word, an unknown flag is an error.
//  4. Text that another user chose is sanitised before it reaches a terminal.
//  5. A submission carries a random key, so that a repeated request never queues the job twice.
//  6. Help, manual pages and completion are generated from the same grammar.
package cli
