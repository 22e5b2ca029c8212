// Command loadgen submits many jobs as one account. The machine tests (packaging/test/suite) use
// it. It runs inside the machine:
//
//	loadgen [-pace TIME] [-hold] NAME COUNT CMD…
//
// It submits COUNT jobs that run CMD, named NAME-1, NAME-2 and so on. In CMD it replaces {n} by the
// job's number, and {code} by an exit status that depends on the number (Code). The jobs request no
// GPU, half a GPU, one or two GPUs in turn. Every third request is cut off after a random time, as
// if its client had been killed, and is then sent again with the same request key. As soon as a job
// is acknowledged, loadgen prints a line "NAME-N ID". With -hold the jobs are held. loadgen stops
// when its standard output is closed.
package main
