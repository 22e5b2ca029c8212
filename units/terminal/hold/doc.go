// Package hold is the holder of a job's terminal: a mode of gpusched-job, and the first process of the job's unit,
// under the job's user and device filter. It gives the command a pseudo-terminal, keeps the last output of it, copies
// the output to the journal, lets the owner attach from any number of terminals and run commands beside the job's,
// and ends as the command does.
//
// It never has more rights than the job, and asks nobody for any. The limits AS, DATA and NPROC apply to the commands
// and not to the holder, which could not run under them.
//
// A job without a terminal has no holder. When its owner wants to run a command beside it, a door is opened: a
// process that does only that, and ends when it is not used. Only a process of the unit itself, or PID 1, can start
// it there. A holder for each job would cost memory for each; a second unit with the same properties would have
// limits of its own beside the job's, and would have to be recorded and recovered. So systemd is asked to reload the
// unit, as for a note in its journal (daemon/supervise): it runs gpusched-job there, as the user, under the job's
// filter and limits, and that process leaves the door behind.
//
// Invariants, cited by tests:
//
//  1. Only the job's user and root may connect, as the kernel identifies them. Nothing is read from others, and they
//     keep nobody out.
//  2. A client that does not read is dropped after stallTime. The command and the other clients wait no longer for
//     such clients, however many there are.
//  3. Nothing that a client sends ends the holder, nor the command, except what is typed into its terminal.
//  4. A command beside the job's gets SIGHUP, and then SIGKILL, when its client leaves or the job ends.
//  5. The holder ends when the command has ended, with the same exit status or signal.
//  6. A process in a sandbox that the job is not in is refused, whoever owns it, unless the site accepts jobs from
//     sandboxes.
package hold
