// Package launch is the launcher, which runs between a job's unit and its command. It also defines
// the private spec file that the daemon writes for the launcher. The daemon imports the package to
// write that file (Write, Remove, Sweep); cmd/gpusched-job runs the launcher (Main).
//
// The launcher runs as the job's user, as the ExecStart of the job's unit, and never has more
// rights than the job. It replaces itself with the command, which keeps the launcher's process id.
// If a set-up (contract.Setup) needs a shell, the launcher becomes that shell, and the shell
// becomes the launcher again. The launcher forks only to prepare a container and for a log
// (contract.Log). The process that it forks for a log copies the output, and ends after the job's
// last process.
//
// If the command runs in a container (contract.Container), the launcher becomes the engine, or the
// process that waits for it (hold.Engine). Podman keeps the containers of jobs apart from the
// user's others, in a store of their own and in a directory that systemd makes. A job that is
// killed leaves both in a state in which Podman refuses every command. The launcher ends that
// state, either at the end of the killed job (contract.ContainerEndFlag) or at the start of the
// next one.
//
// The part that runs in the daemon never opens a path that a user named and never follows a link.
//
// Invariants, cited by tests:
//
//  1. What the submitter wrote (arguments, environment, directory) reaches the command byte for
//     byte; nothing is expanded, decoded or normalised.
//  2. A spec file is complete or absent. The job's user can read it but not change it. Nobody else
//     but root can open it. Its size reveals nothing about an ordinary job. Read accepts no file
//     that another user made.
//  3. If the spec requires the device filter, the command of a job starts only after three checks:
//     the kernel has refused the probe node (or, for a job without GPUs, no GPU could be opened),
//     the job's own GPUs are reachable, and no other GPU is.
//  4. The launcher alone sets the GPU variables. Variables of the submitter's environment about
//     GPUs, the service manager or the login session do not reach the job.
//  5. Before the command begins, every signal has its default action and is unblocked, no
//     descriptor above 2 is passed on, and the umask and soft limits are those of the spec.
//  6. Every failure says on stderr what failed, why and what to do, reports its step and errno to
//     the service manager, and exits with the step's status. Some failures are found only by the
//     kernel, when it executes the command. Such a failure is reported on stderr and by the exit
//     status alone.
//  7. If Decode accepts a file, Encode can write its value, and Decode reads the same value again.
//     A damaged file is an error, never a panic or a large allocation.
//  8. Each user has a limited part of the directory of specs, even if somebody keeps removed files
//     open.
//  9. If the service manager supports it (systemd 254 and later), the command can't send messages
//     to the service manager: in its last message, the launcher gives up that right for the unit.
package launch
