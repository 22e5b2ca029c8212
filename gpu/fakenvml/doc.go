// Package fakenvml builds, with the C compiler of the machine, a libnvidia-ml.so.1
// that needs no GPU and no driver, and simcuda, a program that behaves like a
// CUDA program towards its surroundings. Tests and the demo run the real child,
// the real NVML binding and real processes against them.
//
// Both live by a state directory (FAKENVML_DIR, by default DefaultDir):
//
//	gpus      a line per GPU of key=value pairs; absent: four A100 of 80 GiB
//	claims/   a file <pid>-<minor> per process and GPU: the bytes it holds, then
//	          words: kind=compute|graphics|mps (joined by +), util=N, start=N
//	          (clock ticks, against pid reuse), unknown (the driver does not
//	          tell how much), ghost (counts although the process is gone)
//	init      a number: what nvmlInit answers; or hang, or crash
//	topology  hang: calls that compare two GPUs never return
//
// The keys of gpus: uuid name pci minor mem_mib reserved_mib used_mib (use that
// no process accounts for) temp util power_mw limit_mw energy_mj mig mode,
// rows_pending and rows_failed (1: a bad row of memory waits for a reset, or
// could not be replaced), recovery (what the driver says that it needs, 0: nothing;
// -1, the default: this driver does not say), lost (1: calls say so, 2: no handle either), hang (calls never return),
// error (calls return that code), unified (1: its memory is the host's, and the
// driver does not report it, as of a GB10), mem_node (above 0: the NUMA node that
// its memory is, as of a GH200), slow_ms (per call), energy_ms (for the energy besides), island (GPUs of one number
// above 0 have NVLinks to each other), lanes (NVLinks to each of them), nvswitch
// (1: lanes are those to the switch), numa (node; -1 unknown), bridge and pcie
// (host bridge and PCIe switch that GPUs of one number above 0 share) and cpus
// (those next to it, "0-3,8"). Islands has an example. The file is read again
// when it changes; the number of GPUs is fixed at nvmlInit, as in the real one.
//
// Invariants, cited by tests:
//
//  1. The library exports every name that nvml.h declares, so that a caller
//     who forgot a guard is found by leaving one out (Without), not by luck.
//  2. A claim of a process that has gone does not count, unless it is a ghost;
//     whoever may delete it, does.
//  3. free + used + reserved = total, and free never runs below zero.
//  4. simcuda takes memory on all its GPUs or on none, and never more than is free.
//
// Nothing here is linked into the daemon.
package fakenvml
