// Package child is what the program gpusched-nvml does: it answers requests for
// Snapshots, a JSON line each, until its input ends.
//
//	stdin   {"op":"sample","seq":N}, or "look" for one without the energy
//	stdout  a gpu.Snapshot with that seq
//	stderr  talk
//
// It never answers out of turn and never keeps a Snapshot for later: each is
// read after its request came in.
//
// Invariants, cited by tests:
//
//  1. Every such request gets exactly one line with its seq; anything else
//     gets a line on stderr and the next request is served.
//  2. The end of the input is the end of the program, with success; so is the
//     answer after which the library NeedsRestart, because only a fresh process can
//     load another one.
//  3. What it holds of a request is bounded by MaxRequestBytes.
package child
