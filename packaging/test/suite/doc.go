// Package suite tests what gpusched promises, with the shipped package on a real systemd machine.
// It has no code of its own outside of tests.
//
//	go test -tags machine ./packaging/test/suite -machine box        everything that needs no controllers
//	go test -tags machine ./packaging/test/suite -machine emulated   what needs memory, task and CPU limits, or a boot
//
//	-machine box -part 2/3                                         the second of three parts, dealt out by file
//	-machine box -suite trixie -quick                              on Debian 13, only what another systemd could change
//	-machine box -suite trixie -slurm DIR -run TestSlurmEngine      with the Slurm whose .deb files are in DIR
//
//	-machine box -gpus real                                        with the GPUs of this host (make gpu)
//
// It tests the package in dist/ (make package), or the one that -deb names. Some tests are short
// there and can be made longer:
//
//	-run 'TestKills|TestSystemdStartsAnew' -kills 200 -kill-jobs 500
//	-run TestChaos -chaos 10m -fault-seed N
//	-run TestBusAway -bus-away 1m
//	-run 'TestBootPowerCut|TestBootDiskCuts' -power-cuts 20 -disk-cuts 200
//
// Tests named TestLimits… or TestBoot… need the emulated machine and run only there. TestTwoBoxes
// boots a second box. TestSlurmEngine and TestMigrate share a box with a real Slurm; with -quick
// that is the machine of the run, as the emulated machine is for TestLimitsSlurm. TestAttackerJob
// runs on both kinds of machine, because only the emulated one has all controllers. The others pass
// on the emulated machine too when -run names them (allow an hour with -timeout): their time limits
// are multiplied by that machine's slowness. A test never skips itself.
//
// Tests named TestRealGPU… run only with -gpus real, and no others do. They compute with CUDA
// (testdata/cudasum.c) on any number of GPUs, which nobody else may use meanwhile. They assume that
// the driver reports a box's processes by the pids inside the box, as driver 580 does.
//
// Invariants:
//
//  1. Every test acts as an ordinary account through the installed programs, and as root only where
//     it plays the administrator or the attacker.
//  2. A test leaves the machine as it found it: no live job, no claim on a GPU, the daemon running.
//  3. A test that fails prints the daemon's journal.
package suite
