// Command loadgen is an account that submits many jobs, for the machine tests (packaging/test/suite). It runs inside
// the machine:
//
//	loadgen [-pace TIME] [-hold] NAME COUNT CMD…
//
// submits COUNT jobs of CMD, named NAME-1, NAME-2 and so on; in CMD, {n} is the job's number and {code} an exit
// status that follows from it (Code). They ask for none, a half, one or two GPUs in turn. Every third request is cut
// off after a random time, as if its client had been killed, and asked again with the same request key. Each
// acknowledged job is a line "NAME-N ID", as soon as it is known. -hold keeps the jobs from starting. It stops when
// its standard output is closed.
package main
