// Command attacker tries what a person with an ordinary account could try. The machine tests
// (packaging/test/suite) use it. It runs inside the machine:
//
//	attacker http JOB            requests that no client would send, on the daemon's socket
//	attacker ask METHOD PATH     one request, sent as it is given
//	attacker identity JOB        requests in another account's name
//	attacker inside JOB PID      from within a job: other GPUs, control groups, processes, files
//	attacker launch SECONDS      the processes of other accounts' jobs while they are being started
//	attacker give DEVICE SOCKET  from within a job: pass an open device to whoever connects
//	attacker take DEVICE SOCKET GPU   from within another job: take and keep such a descriptor
//	attacker flood KIND SECONDS  as many requests or connections as possible
//	attacker latency FILE        for the victim: time 'gpusched list' until SIGTERM
//
// JOB and PID are another account's running job and its main process. Each
// attempt prints one line of tab-separated fields: "refused" or, if the
// attempt succeeded, "HOLE"; then the subject, the attempt and its outcome.
package main
