// Package supervise puts the daemon together from its parts and keeps it running:
// the server, which lives as long as the process, and behind it a scheduler,
// which it begins anew after an error. It reads the settings again on SIGHUP, waits
// longer after crashes in quick succession, and moves a damaged state file aside.
//
// Invariants:
//
//  1. While there is no scheduler, everybody who asks is told why, health says
//     what to do about it, and the watchdog is fed.
//  2. Only damage moves a state file aside, and a few within an hour at most.
//  3. It gives up only where nothing but another process can help, and, once, on settings that can't be
//     used: then 'systemctl restart' fails, and the next process stays (invariant 1).
//  4. A reload is answered, to systemd and in the audit log, after the settings were read.
//  5. A user who keeps a note in the journal of a job from being printed keeps no note of another
//     user's from it, and each note is given up after its time.
//  6. What a user chose for a message, an address, a URL of theirs or their terminals, is reached by a process
//     of that user. Only a process of the site, which runs as nobody, speaks to the site's own webhooks.
//  7. A webhook's URL and an address are in a file that root alone can read, and in no property or argument of a unit.
//  8. A message takes as long as its unit may run at most, and is what the settings let jobs send at that moment.
//  9. A message is sent at least once: where the daemon died between the sending and the record, it looks for
//     the unit, and sends again where that has gone. Each try has the same id.
package supervise
