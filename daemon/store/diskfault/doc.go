// Package diskfault puts a file system under SQLite that fails on demand, and that knows what would
// be left of its files after a power cut.
//
// Each call that SQLite makes (open, read, write, sync, the shared memory of the log's index,
// locks) is shown to a judge, which lets it through or names the fault. Calls made beside SQLite
// can be shown to the same judge (Ask). Calls that pass go to the real file, so that a file that
// was written under faults can be opened again without them. No real sync is made: the package
// itself tracks what is on disk.
//
// It serves tests and the simulation. No program links it.
//
// Invariants:
//
//  1. A call that the judge fails has changed nothing, except that the first part of a write may be
//     there.
//  2. A sync that fails has synced nothing, and no later one will sync what it should have: the
//     kernel takes the pages for clean afterwards. Only what is written again is synced.
//  3. Power loss leaves of each sector that was written since it was last synced either its old or
//     its new content.
//  4. In a watched directory, power loss undoes any of the creations, renames and removals since
//     the names were last synced, each of them whole. Names are synced by a sync of the directory,
//     or by the first sync of a log or journal, where SQLite syncs the directory as well.
package diskfault
