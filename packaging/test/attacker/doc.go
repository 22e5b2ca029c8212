// Command attacker is what somebody with an ordinary account tries, for the
// machine tests (packaging/test/suite). It runs inside the machine:
//
//	attacker http JOB            requests that no client would send, on the daemon's socket
//	attacker ask METHOD PATH     any one request, as it is given
//	attacker identity JOB        requests in another's name
//	attacker inside JOB PID      from within a job: other GPUs, control groups, processes, files
//	attacker launch SECONDS      into the processes of others' jobs while they are being started
//	attacker give DEVICE SOCKET  from within a job: a descriptor of a device to whoever asks
//	attacker take DEVICE SOCKET GPU   from within another: such a descriptor, kept
//	attacker flood KIND SECONDS  as many requests or connections as can be
//	attacker latency FILE        for the other side: how long 'gpusched list' takes, until SIGTERM
//
// JOB and PID are another account's running job and its main process. Each
// attempt is a line: "refused", or "HOLE" where it was not, the subject, the
// attempt, and what came of it, with tabs between them.
package main
