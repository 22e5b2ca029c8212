// Package diskfault gives SQLite a file system that fails on demand. It also knows what would
// remain of the files after a power cut.
//
// Each call that SQLite makes (open, read, write, sync, the shared memory of the log's index,
// locks) is shown to a judge, which allows the call or names a fault. Other code can show its calls
// to the same judge (Ask). Calls that the judge allows go to the real file. So a file that was
// written under faults can be opened again without faults. No real sync is made: the package itself
// tracks which data is on disk.
//
// The package serves tests and the simulation. No program links it.
//
// Invariants:
//
//  1. A call that the judge fails has changed nothing, except that the first part of a write may be
//     there.
//  2. A sync that fails has synced nothing. No later sync will sync the same pages unless they are
//     written again, because the kernel considers them clean after the failure.
//  3. After a power loss, each sector that was written since its last sync has either its old or
//     its new content.
//  4. In a watched directory, a power loss undoes some, all or none of the creations, renames and
//     removals since the names were last synced. Each of them is undone whole or not at all. Names
//     are synced by a sync of the directory, or by the first sync of a log or journal, because
//     SQLite then syncs the directory as well.
package diskfault
