// Package supervise assembles the daemon and keeps it running. The server lasts as long as the
// process. The scheduler behind it is started again after an error. The package also reads the
// settings again on SIGHUP, waits before a start if there were crashes in quick succession, and
// moves a damaged state file aside.
//
// Invariants:
//
//  1. While no scheduler runs, every request is answered with the reason, health says what to do,
//     and the process notifies systemd's watchdog.
//  2. A state file is moved aside only if it is damaged, and at most a few times within an hour.
//  3. The process ends by itself in two cases: if only another process may succeed, and if the
//     settings can't be used. In the second case, 'systemctl restart' fails. The next process,
//     which systemd starts by itself, does not end (invariant 1).
//  4. Systemd and the audit log get the outcome of a reload only after the settings were read.
//  5. A user can block the notes to their own jobs, but no note to another user's job. Each note
//     has a time limit.
//  6. A user can name an address, a URL or their own terminals as the recipient of messages. Only a
//     process of that user contacts this recipient. Only a process of the site, which runs as
//     nobody, contacts the site's own webhooks.
//  7. The URL of a webhook and an address are in a file that only root can read. No property or
//     argument of a unit has them.
//  8. Sending a message takes no longer than its unit may run. The settings at the time of sending
//     decide what is sent.
//  9. A message is sent at least once. If the daemon dies after a message was sent and before this
//     is recorded, the next daemon looks for the message's unit. If the unit is gone, that daemon
//     sends the message again. Each try has the same id.
package supervise
