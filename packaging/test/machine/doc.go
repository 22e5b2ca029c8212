// Command machine boots a throw-away test machine (package vm), runs a command or a root shell in it, and removes it.
//
//	go run ./packaging/test/machine [-deb FILE | -tree FILE] [-fake-gpus[=islands] | -host-gpus]
//		[-slurm] [-copy HOST:GUEST] box|emulated [-- CMD…]
//	go run ./packaging/test/machine -deb FILE | -tree FILE demo [box|emulated]
//	go run ./packaging/test/machine image [box|emulated]
//
// The demo plays the steps of steps.go in a machine with four simulated GPUs and shows each as it comes. The image is
// what a machine is booted from: built in advance, beside a compilation, it needn't be waited for later.
//
// It owns the wiring of the switches to package vm and the exit code: the command's own; of the demo 0, or 1 where a
// step did not come out as it should; 2 for wrong usage, 125 where the machine itself could not be had, 130 when it was
// interrupted.
//
// Invariants:
//
//  1. However it ends, but for a SIGKILL, the machine is removed first; after a SIGKILL the next start removes the
//     rest.
//  2. The demo waits for what happens, never for a time. A step that goes wrong says what was expected; the others are
//     played all the same.
package main
