// Package systemd starts, stops, kills, reads and watches the units of jobs
// over the system bus. It also wraps the two things that the daemon has to say
// to or learn from its own service manager: notifications and activated
// sockets. It is the only importer of go-systemd and godbus. It decides
// nothing: what a status means is said by package units, what to do about it by
// the daemon.
//
// Calls and signals go over one connection of godbus, and signals are taken in
// the goroutine that reads it. That keeps them in systemd's own order, loses
// none and blocks nothing, which go-systemd's dispatcher does not promise: it
// drops property updates when its channel is full and waits for the reader of a
// job's result while it holds its lock.
//
// Invariants:
//
//  1. Only units named by units.Name are touched; every other name is refused
//     before it reaches the bus.
//  2. A signal is a hint that a unit may have changed. It is believed in two cases, in
//     which much need not be fetched: of a unit that has just been started it
//     tells that it runs, and of one that it calls active and exited, how its
//     command ended is still fetched. Only signals that systemd itself sent
//     count, and forged ones change nothing.
//  3. No caller waits longer than its context, connected or not. While the bus
//     is away, calls answer units.ErrBus at once.
//  4. Whenever signals may have been lost (the bus came back, systemd was
//     executed anew or reloaded), Changes carries a Resync.
//  5. A slow reader of Changes loses nothing: what waits for it is a set of
//     names.
//  6. Stop returns nil only when the unit is gone from systemd, which it never
//     is while a process of it lives.
//  7. A property that an older systemd does not know is left out only if it
//     fences nothing off; Degraded names it.
//  8. Tidy removes nothing of a unit that systemd has, nor of one that is being
//     started by the same Manager.
//  9. No answer is waited for that the processes of a job can hold back: systemd's calls
//     under way, and the answers that a bus owes us, are few and for all.
package systemd
