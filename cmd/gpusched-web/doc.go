// Command gpusched-web serves a read-only page about the scheduler on a loopback address: GPUs,
// queue, why jobs wait, the plan and the history.
//
// It runs as a user without rights, which systemd creates for it. The first connection to
// gpusched-web.socket starts it, and it exits when nobody has viewed the page for a while. It asks
// the scheduler's socket as any user may. The page therefore shows what 'gpusched list' shows to
// everybody, and never a command, an environment, a directory or output.
//
// # Data flow
//
//	browser ── GET / ──────▶ guard ─▶ page ───┐
//	        ── GET /live ──▶ guard ─▶ stream ─┴▶ sections ─▶ watcher ── GET /v1/… ─▶ gpuschedd
//
// The stream sends changed sections as server-sent events.
//
// Invariants, cited by tests:
//
//  1. The page is read-only: it accepts GET and HEAD alone, and sends no other request to the
//     scheduler.
//  2. A page loads nothing from other hosts. Its Content-Security-Policy allows only its own script
//     and style files, and text of users is escaped.
//  3. A request with a Host other than a loopback name is refused. A foreign page whose name
//     resolves to this machine (DNS rebinding) learns nothing.
//  4. The scheduler is asked once every two seconds, for all viewers together, and not at all
//     without viewers.
//  5. Connections, streams, headers and times are bounded. When too many connections wait for their
//     client to send or to read, the oldest is closed, so that one client with many connections
//     cannot lock others out. A slow reader gets the newest state and skips older ones; a client
//     that does not read is disconnected.
//  6. If the scheduler does not answer, the last state stays, with its age and the reason.
//  7. The history is requested at most once a minute for all viewers, with one request at a time.
package main
