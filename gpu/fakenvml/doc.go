// Package fakenvml builds, with the machine's C compiler, a libnvidia-ml.so.1 and a libcuda.so.1
// that need neither GPU nor driver, and simcuda, a program that behaves like a CUDA program. With
// these, tests and the demo run the real child, the real NVML binding and real processes.
//
// The libraries and simcuda use a state directory (FAKENVML_DIR, by default DefaultDir):
//
//	gpus      a line per GPU of key=value pairs; without the file, four A100 of 80 GiB
//	claims/   a file <pid>-<minor> per process and GPU: the bytes that it holds, then
//	          words: kind=compute|graphics|mps (joined by +), util=N, start=N
//	          (clock ticks, against pid reuse), unknown (the driver does not
//	          report how much), ghost (counts although the process is gone)
//	init      a number: the result of nvmlInit; or hang, or crash
//	topology  hang: calls that compare two GPUs never return
//	park      what the calls do that park a process; see below
//
// The keys of gpus are:
//
//	uuid, name, pci, minor, temp, util, power_mw, limit_mw, energy_mj, mig, mode
//	mem_mib, reserved_mib
//	slices        slices of a GPU with mig=1: profile, GPU instance and compute instance of each,
//	              "1g.10gb:7:0,3g.40gb:2:0"; a claim on a slice has 1000*(minor+1) + 10*GPU instance
//	              + compute instance for its minor
//	used_mib      memory in use that belongs to no process
//	rows_pending  1: a bad memory row will be replaced at the next reset
//	rows_failed   1: a bad memory row could not be replaced
//	recovery      the recovery action that the driver reports, 0: none; default -1: not reported
//	lost          1: calls report that the GPU is lost, 2: the GPU has no handle either
//	hang          calls never return
//	error         calls return this code
//	cuda          the result of cuInit, -1: the GPU computes wrong sums, -2: cuInit never returns
//	unified       1: the GPU uses the host's memory, which the driver does not report, as on a GB10
//	mem_node      above 0: the NUMA node that the GPU's memory forms, as on a GH200
//	slow_ms       duration of each call
//	energy_ms     additional duration of reading the energy
//	island        GPUs with the same number above 0 have NVLinks to each other
//	lanes         number of NVLinks to each other GPU of the island
//	nvswitch      1: lanes lead to a switch
//	numa          node, -1: unknown
//	bridge, pcie  host bridge and PCIe switch that GPUs with the same number above 0 share
//	cpus          CPUs near the GPU, "0-3,8"
//
// The function Islands returns an example of this file. The file is read again when it changes, but
// the number of GPUs is fixed at nvmlInit, as in the real library.
//
// libcuda.so.1 has CUDA's calls that park a process: they take its GPUs and keep its GPU memory on the
// host. While claims/.<pid>.state says that they did, the claims of the process do not count. A parked
// simcuda stands still. It holds 1 MiB of host memory for each GiB that it had on its GPUs, and loses
// what it had computed there until that is copied back. So its checksum (--sum) shows whether it was
// parked correctly. The words of the file park are, where CALL is state, lock, checkpoint, restore or
// unlock:
//
//	fail=CALL:N   the call returns the error N
//	failed=1      ... and leaves the process in the state FAILED
//	hang=CALL     the call does not return while this is set
//	die=CALL      the call kills the process that makes it, by SIGKILL
//	pid=N         the words above hold for calls on this process alone
//	init=1        all calls fail until cuInit
//	ms_per_gib=N  duration of copying 1 GiB in checkpoint and restore
//
// A process without claims can't be parked, nor that of another user. A restore fails if others hold
// the memory, or if the device filter does not let the caller open the GPU; simcuda then ends if it may
// not open the GPU either. A restore to other GPUs moves the claims; it must name all GPUs of the process,
// and the new ones must have the same name and memory as the old. No call returns while the process is
// frozen, but lock gives up in time.
//
// Invariants, cited by tests:
//
//  1. The library exports every name that nvml.h declares. So a test that builds it without a name
//     (see Build) reliably finds callers that do not check for that name.
//  2. The claim of a process that has ended counts only if it is a ghost. Each program that finds
//     such a claim deletes it, if it may.
//  3. free + used + reserved = total, and free is never negative.
//  4. simcuda takes memory on all its GPUs or on none, and never more than is free.
//
// Nothing here is linked into the daemon.
package fakenvml
