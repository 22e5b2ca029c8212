// Package supervise assembles the daemon and keeps it running: the server, which lives as long as the process, and
// behind it a scheduler, which it restarts after an error. It reads the settings again on SIGHUP, waits longer after
// crashes in quick succession, and moves a damaged state file aside.
//
// Invariants:
//
//  1. While there is no scheduler, every request is answered with the reason, health says what to do, and the
//     watchdog is fed.
//  2. Only damage moves a state file aside, and at most a few times within an hour.
//  3. The process gives up only if nothing but another process can help and, once, on settings that can't be used:
//     then 'systemctl restart' fails, and the next process stays (invariant 1).
//  4. A reload is answered, to systemd and in the audit log, after the settings were read.
//  5. A user who blocks a note in the journal of a job blocks no note of another user, and each note has a time
//     limit.
//  6. Only a process of a job's user contacts the recipient that the user chose: an address, a URL or the user's
//     terminals. Only a process of the site, which runs as nobody, contacts the site's own webhooks.
//  7. A webhook's URL and an address are in a file that only root can read, and in no property or argument of a unit.
//  8. Sending a message takes at most as long as its unit may run. The settings at that moment decide what is sent.
//  9. A message is sent at least once. If the daemon died between the sending and the record, the next one looks for
//     the unit, and sends again if that is gone. Each try has the same id.
package supervise
