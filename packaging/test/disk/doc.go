// Package disk is a disk that loses on a power cut what real disks may lose: writes that were not
// flushed. It serves a file over the NBD protocol on a unix socket, which QEMU takes as a guest's
// disk.
//
// An ordinary virtual disk in a host's file shows nothing of that: the host's page cache keeps
// every write, flushed or not, when QEMU is killed.
//
// Invariants, cited by tests:
//
//  1. A read returns what was written last, flushed or not.
//  2. After a flush has been answered, every earlier write survives every cut.
//  3. A cut keeps a random part of the writes since the last flush: it keeps or loses each 4 KiB
//     block of each write independently, so writes are lost, torn, and, where later ones are kept
//     and earlier ones are not, reordered. A block is whole, old or new, as on disks with physical
//     sectors of that size.
//  4. Only flushed data and what a cut keeps are written to the file.
package disk
