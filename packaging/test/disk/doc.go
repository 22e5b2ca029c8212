// Package disk is a disk that loses on a power cut what real ones may lose: what was written to it and not flushed. It
// serves a file over the NBD protocol on a unix socket, which QEMU takes as a guest's disk.
//
// A virtual disk on a host's file shows nothing of that: the host's page cache keeps every write, flushed or not,
// when the emulator is killed.
//
// Invariants, cited by tests:
//
//  1. A read returns what was written last, flushed or not.
//  2. After a flush has been answered, everything written before it survives every cut.
//  3. Of what was written since the last flush, a cut keeps a random part: each block of 4 KiB of each write is kept
//     or lost by itself, so writes are lost, torn and, as far as later ones are kept and earlier ones are not,
//     reordered. A block is whole, old or new, as on disks with physical sectors of that size.
//  4. Nothing is written to the file but flushed data and what a cut keeps.
package disk
