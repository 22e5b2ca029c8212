// Command machine boots a throw-away test machine (package vm), runs a command or a root shell in it, and removes it.
//
//	go run ./packaging/test/machine [-deb FILE] [-fake-gpus[=islands] | -host-gpus] [-include PACKAGE] [-kvm]
//		[-copy HOST:GUEST] [-fetch GUEST:HOST] box|emulated [-- CMD…]
//
// It owns the wiring of the switches to package vm and the exit code: the command's own, 2 for wrong usage, 125 where
// the machine itself could not be had, 130 when it was interrupted.
//
// Invariants:
//
//  1. However it ends, but for a SIGKILL, the machine is removed first; after a SIGKILL the next start removes the
//     rest.
package main
