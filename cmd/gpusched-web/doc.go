// Command gpusched-web serves a read-only page about the scheduler on a loopback address. The page
// shows the GPUs, the queue, why jobs wait, the plan and the history.
//
// It runs as a user without rights, which systemd creates for it. The first connection to
// gpusched-web.socket starts it, and it exits when nobody has viewed the page for the time that
// --idle sets. On the scheduler's socket it is an ordinary user. The page therefore shows only what
// 'gpusched list' shows to every user: no command, environment, directory or output.
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
//  1. The page is read-only. It accepts only GET and HEAD, and sends only GET requests to the
//     scheduler.
//  2. A page loads nothing from other hosts. Its Content-Security-Policy allows only its own script
//     and style files. Text that users wrote is escaped.
//  3. A request with a Host other than a loopback name is refused. A foreign page whose name
//     resolves to this machine (DNS rebinding) therefore learns nothing.
//  4. The scheduler is asked once every two seconds for all viewers together, and never when there
//     are no viewers.
//  5. Connections, streams, headers and times are bounded. When too many connections wait for their
//     client to send or to read, the oldest is closed, so that a client with many connections
//     cannot lock other clients out. A slow reader gets the newest state and skips older states. A
//     client that does not read is disconnected.
//  6. If the scheduler does not answer, the page keeps its last state. It then shows how old that
//     state is, and why there is no newer state.
//  7. The history is requested at most once a minute for all viewers, with one request at a time.
package main
