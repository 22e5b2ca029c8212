// Package systemd starts, stops, kills, reads and watches the units of jobs over the system bus. It
// also wraps what the daemon exchanges with its own service manager: notifications and activated
// sockets. It is the only importer of go-systemd and godbus. It decides nothing: package units says
// what a status means, and the daemon decides what to do about it.
//
// Calls and signals go over one connection of godbus. The goroutine that reads the connection also
// handles the signals. So they stay in systemd's order, none is lost, and nothing blocks.
// go-systemd's dispatcher does not guarantee this: it drops property updates when its channel is
// full, and it holds its lock while it waits for the reader of a job's result.
//
// Invariants:
//
//  1. Only units named by units.Name, slices named by units.JobSlice and the scopes of containers in
//     such slices are touched. A unit named by units.MPSName is made together with the first unit that
//     requires it. Docker's unit is only read. Every other name is refused before it reaches the bus.
//  2. A signal is a hint that a unit may have changed. The unit is then read, with two exceptions:
//     if the signal says that a unit which was just started is running, nothing is read; if the
//     signal says that a unit is active and exited, only the end of its command is read. Only
//     signals from systemd itself count, and forged ones change nothing.
//  3. No caller waits longer than its context, connected or not. While the bus is away, calls
//     return units.ErrBus at once.
//  4. Whenever signals may have been lost (the bus came back, systemd was re-executed or reloaded),
//     Changes carries a Resync.
//  5. A slow reader of Changes loses nothing: the backlog is a set of names.
//  6. Stop returns nil only when the unit is gone from systemd. A unit is never gone while one of
//     its processes lives.
//  7. A property that an older systemd does not know is left out only if the property does not
//     isolate a job. Degraded lists the properties that are left out.
//  8. Tidy removes no file of a unit that systemd has, nor of a unit that the same Manager is
//     starting.
//  9. No call waits for an answer that the processes of a job can delay. The number of calls under
//     way to systemd, and of answers that a bus owes us, is limited, and all jobs share these
//     limits.
package systemd
