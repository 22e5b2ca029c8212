// Package launch is the launcher that stands between a job's unit and its
// command: the private spec file that the daemon writes for it, and what it
// does with that file. The daemon imports it to write (Write, Remove, Sweep);
// cmd/gpusched-job runs it (Main).
//
// The launcher runs as the job's user, as the ExecStart of the job's unit. It
// never has more rights than the job, forks for a log alone (contract.Log: a process
// that copies the output and ends after the job's last), and is gone once the
// command runs: the command has its process id. A set-up (contract.Setup) that needs
// a shell is the work of one that the launcher becomes and that becomes the launcher
// again. The daemon's half never opens
// a path that a user named and never follows a link.
//
// Invariants, cited by tests:
//
//  1. What the submitter wrote (arguments, environment, directory) reaches the
//     command byte for byte; nothing is expanded, decoded or normalised.
//  2. A spec file is complete or absent; the job's user can read it and change
//     nothing about it, nobody else but root can open it, its size tells nothing
//     of an ordinary job, and Read accepts none that another user made.
//  3. Where the spec requires the device filter, the command of a job starts
//     only after the kernel refused the probe node (or, for a job without
//     GPUs, no GPU could be opened), its own GPUs are reachable, and no other
//     GPU is.
//  4. The GPU variables are ours: whatever the submitter's environment said
//     about GPUs, service manager or login session does not reach the job.
//  5. Before the command begins every signal is at its default and unblocked,
//     no descriptor above 2 is passed on, and the umask and soft limits are
//     those of the spec.
//  6. Every failure says on stderr what, why and what next, tells the service
//     manager its code and errno, and exits with the code's status. A failure
//     that only the kernel can find, in its attempt at the command itself, is
//     told on stderr and by the status alone.
//  7. What Decode accepts, Encode writes, and Decode reads the same again; a
//     damaged file is an error, never a panic or a large allocation.
//  8. What lies in the directory of specs is bounded for each user, also while
//     somebody keeps open what was removed.
//  9. Where the service manager knows how (systemd 254 on), the command has no
//     voice in its unit: what the launcher says last is that it is to be silent.
package launch
