// Package suite tests the promises of gpusched with the shipped package on a real systemd machine.
// All its code is in tests.
//
//	go test -tags machine ./packaging/test/suite -machine box        everything that needs no controllers
//	go test -tags machine ./packaging/test/suite -machine emulated   what needs memory, task and CPU limits, or a boot
//
//	-machine box -part 2/3                                         the second of three parts
//	-machine box -suite trixie -quick                              on Debian 13, only what another systemd could change
//	-machine box -suite trixie -slurm DIR -run TestSlurmEngine      with the Slurm whose .deb files are in DIR
//
//	-machine box -gpus real                                        with the GPUs of this host (make gpu)
//
// The suite tests the package in dist/ (make package), or the package that -deb names. Some tests
// are short by default and can run longer:
//
//	-run 'TestKills|TestSystemdStartsAnew' -kills 200 -kill-jobs 500
//	-run TestChaos -chaos 10m -fault-seed N
//	-run TestBusAway -bus-away 1m
//	-run 'TestBootPowerCut|TestBootDiskCuts' -power-cuts 20 -disk-cuts 200
//
// Tests named TestLimits… or TestBoot… need the emulated machine and run only there. TestTwoBoxes
// boots a second box. TestSlurmEngine and TestMigrate use a second box with a real Slurm. With
// -quick they use the machine of the run instead, as TestLimitsSlurm does on the emulated machine.
// Tests named TestInContainer… share a second box, which has container engines. TestAttackerJob
// runs on both kinds of machine, which differ in their controllers. All other tests also pass on
// the emulated machine if -run names them (allow an hour with -timeout). Their time limits are
// multiplied by a factor for that machine's slowness. No test ever skips itself.
//
// Only tests named TestRealGPU… run with -gpus real, and they run only then. They compute with CUDA
// (testdata/cudasum.c) on any number of GPUs. Nobody else may use these GPUs meanwhile. The tests
// assume that the driver reports the processes of a box by their pids inside the box, as driver 580
// does.
//
// Invariants:
//
//  1. Every test acts as an ordinary account through the installed programs. It acts as root only
//     where it plays the administrator or the attacker.
//  2. A test leaves the machine as it found it: no live job, no claim on a GPU, the daemon running.
//  3. A test that fails prints the daemon's journal.
package suite
