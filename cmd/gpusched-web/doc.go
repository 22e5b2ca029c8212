// Command gpusched-web serves one read-only page about the scheduler on a
// loopback address: GPUs, queue, why jobs wait, what is planned, what was.
//
// It is an account's without rights (a user that systemd makes for it), started
// by the first connection to gpusched-web.socket, and ends by itself when nobody has looked for a
// while. All it knows it asks of the scheduler's socket, as any user may; so the page shows what
// 'gpusched list' shows to everybody, and never a command, an environment, a directory or output.
//
// # Data flow
//
//	browser ── GET / ──────▶ guard ─▶ page ───┐
//	        ── GET /live ──▶ guard ─▶ stream ─┴▶ sections ─▶ watcher ── GET /v1/… ─▶ gpuschedd
//
// The stream sends by server-sent events the sections that have changed.
//
// Invariants, cited by tests:
//
//  1. Nothing can be changed through it: GET and HEAD alone, and none of its requests to the
//     scheduler is another.
//  2. A page asks for nothing from elsewhere, and its Content-Security-Policy lets it run no script
//     and take no style but its own files. Text of users is escaped.
//  3. A request that names another host than a loopback one is refused, whoever sent it: a
//     page elsewhere whose name resolves to this machine (DNS rebinding) learns nothing.
//  4. However many look, the scheduler is asked once for all of them, every two seconds. While
//     nobody looks it is not asked.
//  5. Connections, streams, headers and times are bounded. Of connections that wait for their
//     client, to ask or to read, the oldest makes room, so that nobody who holds many keeps others out.
//     Who reads slowly gets the newest state and misses those before it; who does not read is cut off.
//  6. While the scheduler does not answer the last state stays, with its age and the reason.
//  7. The past is asked for once a minute at most for all who look, and one question at a time.
package main
