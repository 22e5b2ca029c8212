// Package diskfault puts a file system under SQLite that fails when it is told
// to, and that knows what would be left of its files if the power went now.
//
// Each call that SQLite makes (open, read, write, sync, the shared memory of the
// log's index, locks) is shown to a judge, who lets it through or names the fault.
// Calls that are made beside SQLite can be shown to the same judge (Ask).
// What goes through goes to the real file, so that a file that was written under
// faults is opened again without them. No real sync is made: what is on disk is
// kept by the package itself.
//
// It serves tests and the simulation. No program links it.
//
// Invariants:
//
//  1. A call that the judge fails has changed nothing, but for a write, of which
//     the first part may be there.
//  2. A sync that fails has brought nothing to the disk, and no later one will
//     bring what it had to: the kernel takes the pages for clean afterwards.
//     Only what is written again is.
//  3. Power loss leaves of each sector that was written since it was last brought
//     to the disk either what was there or what was written.
//  4. In a directory that is watched, power loss undoes any of the names that were
//     made, moved and taken away since they were last brought to the disk, each
//     whole: by a sync of the directory, or the first of a log or journal, with
//     which SQLite makes one.
package diskfault
