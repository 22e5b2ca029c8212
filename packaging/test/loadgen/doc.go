// Command loadgen submits many jobs as one account, for the machine tests (packaging/test/suite).
// It runs inside the machine:
//
//	loadgen [-pace TIME] [-hold] NAME COUNT CMD…
//
// submits COUNT jobs of CMD, named NAME-1, NAME-2 and so on; in CMD, {n} is the job's number and
// {code} an exit status that depends on it (Code). The jobs ask for no GPU, half a GPU, one or two
// GPUs in turn. Every third request is cut off after a random time, as if its client had been
// killed, and sent again with the same request key. loadgen prints a line "NAME-N ID" for each
// acknowledged job as soon as it is acknowledged. -hold submits held jobs. It stops when its
// standard output is closed.
package main
