// Package hold is the holder of a job's terminal: a mode of gpusched-job, and the first process of
// the job's unit, under the job's user and device filter. It gives the command a pseudo-terminal,
// keeps the last output, and copies the output to the journal. It lets the owner attach from any
// number of terminals, and run extra commands while the job's command runs. It ends with the exit
// status or signal of the job's command.
//
// The holder never has more rights than the job, and requests none from anybody. The resource
// limits AS, DATA and NPROC apply to the commands and not to the holder, which could not run under
// them.
//
// A job without a terminal has no holder. If its owner wants to run an extra command, the daemon
// opens a door: a process in the unit that only runs such commands, and ends when it is not used. A
// holder for each job would cost memory for each. A second unit with the same properties would have
// limits of its own in addition to the job's, and would have to be recorded and recovered. Only a
// process of the unit itself, or PID 1, can start a process in the unit. So the daemon asks systemd
// to reload the unit, as it does to print a note in the unit's journal (daemon/supervise). systemd
// then runs gpusched-job there, as the user, under the job's filter and limits, and that process
// starts the door.
//
// If the command runs in a container of Podman, two more processes of this package are on the way
// from systemd to the command: Engine, which waits for Podman, and in the container Init. They see
// to it that signals arrive once: SIGTERM, which systemd sends to every process, and other signals,
// which only the unit's main process gets. Extra commands enter the container.
//
// Invariants, cited by tests:
//
//  1. Only the job's user and root may connect, as the kernel identifies them. Nothing is read from
//     other users, and other users can't prevent the job's user and root from connecting.
//  2. A client that does not read is dropped after stallTime. The command and the other clients
//     wait no longer than stallTime, however many clients do not read.
//  3. A client cannot end the holder, whatever it sends. It can end the command only by what it
//     types into the terminal.
//  4. An extra command gets SIGHUP, and then SIGKILL, when its client leaves or the job ends.
//  5. The holder ends when the command has ended, with the same exit status or signal.
//  6. A process in a sandbox is refused, whoever owns it, unless the job is in the same sandbox or
//     the site accepts jobs from sandboxes.
package hold
