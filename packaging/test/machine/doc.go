// Command machine boots a throw-away test machine (package vm), runs a command or a root shell in
// it, and removes the machine.
//
//	go run ./packaging/test/machine [-deb FILE | -tree FILE] [-fake-gpus[=islands] | -host-gpus]
//		[-slurm] [-containers] [-copy HOST:GUEST] box|emulated [-- CMD…]
//	go run ./packaging/test/machine -deb FILE | -tree FILE demo [box|emulated]
//	go run ./packaging/test/machine image [box|emulated]
//
// With demo, it plays the steps of steps.go in a machine with four simulated GPUs, and shows each
// step as it happens. With image, it only builds the image from which machines boot, for instance
// during a compilation. Later starts then need not wait for the image.
//
// The exit code is the exit code of CMD. The demo exits with 0, or with 1 if a step went wrong.
// Other exit codes are 2 for wrong usage, 125 if the machine itself failed, and 130 after an
// interrupt. This command only translates its options for package vm, and the results to an exit
// code.
//
// Invariants:
//
//  1. However the command ends, it removes the machine first, except after SIGKILL. After a
//     SIGKILL, a later start removes what is left of the machine.
//  2. The demo waits for events, never for a fixed time. A step that goes wrong says what was
//     expected, and the other steps are still played.
package main
