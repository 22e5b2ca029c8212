// Command machine boots a throw-away test machine (package vm), runs a command or a root shell in
// it, and removes it.
//
//	go run ./packaging/test/machine [-deb FILE | -tree FILE] [-fake-gpus[=islands] | -host-gpus]
//		[-slurm] [-copy HOST:GUEST] box|emulated [-- CMD…]
//	go run ./packaging/test/machine -deb FILE | -tree FILE demo [box|emulated]
//	go run ./packaging/test/machine image [box|emulated]
//
// demo plays the steps of steps.go in a machine with four simulated GPUs and shows each as it
// happens. image only builds the image that machines boot from, for instance during a compilation,
// so that nothing waits for it later.
//
// The command owns the translation of its options to package vm and its exit code: the command's
// own; for the demo 0, or 1 if a step went wrong; 2 for wrong usage, 125 if the machine itself
// failed, 130 after an interrupt.
//
// Invariants:
//
//  1. However it ends, except by SIGKILL, the machine is removed first; after a SIGKILL the next
//     start removes the rest.
//  2. The demo waits for events, never for a time. A step that goes wrong says what was expected;
//     the other steps are still played.
package main
