// Package suite is what gpusched must show on a real systemd machine, as tests
// of the shipped package. It has no code of its own outside of them.
//
//	go test -tags machine ./packaging/test/suite -machine box        everything that needs no controllers
//	go test -tags machine ./packaging/test/suite -machine emulated   what needs memory, task and CPU limits, or a boot
//
//	-machine box -part 2/3                                         the second third of the tests, dealt out by name
//	-machine box -suite trixie -quick                              on Debian 13, what another systemd could change
//	-machine box -suite trixie -slurm DIR -run TestSlurmEngine      with the Slurm whose .deb files are in DIR
//
//	-machine box -gpus real                                        with the GPUs of this host (make gpu)
//
// The package to test is the one in dist/ (make package), or -deb FILE.
// Some tests are short in that and can be a campaign:
//
//	-run 'TestKills|TestSystemdStartsAnew' -kills 200 -kill-jobs 500
//	-run TestChaos -chaos 10m -fault-seed N
//	-run TestBusAway -bus-away 1m
//	-run 'TestBootPowerCut|TestBootDiskCuts' -power-cuts 20 -disk-cuts 200
//
// Tests whose name begins with TestLimits or TestBoot… need the emulated
// machine and run only there; TestTwoBoxes needs two boxes, and TestSlurmEngine and
// TestMigrate share one with a real Slurm, which with -quick is the machine of the run.
// So is the emulated machine, for TestLimitsSlurm. A test never skips itself.
// TestAttackerJob runs on both: control groups are all there only on the one. The others
// pass there too when -run names them (give them an hour with -timeout): times that a
// test chooses are multiplied by how much slower that machine is.
//
// Those whose name begins with TestRealGPU… run with -gpus real, and no others do. They
// compute with CUDA (testdata/cudasum.c) and work with any number of GPUs, which nobody
// else may use meanwhile. They take it for granted that the driver names a box's processes
// by their pids there, as 580 does.
//
// Invariants:
//
//  1. Every test acts as an ordinary account through the installed programs,
//     and as root only where it plays the administrator or the attacker.
//  2. A test leaves the machine as it found it: no live job, no claim on a
//     GPU, the daemon running.
//  3. What fails prints the daemon's journal.
package suite
