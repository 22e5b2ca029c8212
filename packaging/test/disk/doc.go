// Package disk implements a disk that loses on a power cut what real disks may lose: writes that
// were not flushed. It serves a file over the NBD protocol on a unix socket. QEMU uses the socket
// as the disk of a guest.
//
// An ordinary virtual disk in a host's file cannot show such losses: when QEMU is killed, the
// host's page cache keeps every write, flushed or not.
//
// Invariants, cited by tests:
//
//  1. A read returns what was written last, flushed or not.
//  2. After a flush has been answered, every earlier write survives every cut.
//  3. A cut keeps a random part of the writes since the last flush. It keeps or loses each 4 KiB
//     block of each write independently. Writes can thus be lost or torn. They can also be
//     reordered: a cut can keep a write and lose an earlier one. Each block is whole, either old or
//     new, as on disks with physical sectors of that size.
//  4. The file receives only flushed data and the data that a cut keeps.
package disk
