// Package sched decides which waiting job starts on which GPUs, and says for
// each other one why not. It is pure: a Snapshot goes in, a Plan comes out.
//
// It never reads a clock, draws a random number or iterates over a map: the
// same Snapshot always gives the same Plan.
//
// Invariants:
//
//  1. Capacity: on every GPU the shares given out sum to at most 1000 milli,
//     and a job that asks whole GPUs is alone on them.
//  2. Gang: a job gets all of its GPUs, distinct ones, or none; a job that
//     names exact GPUs gets exactly these.
//  3. Nothing is placed on a GPU that is not in state OK.
//  4. Memory: a job that asks for GPU memory gets GPUs where that much is free
//     by the driver's word after what is promised to others and not yet used.
//  5. Order: a job is considered before every job that is after it in Waiting.
//  6. Work conservation: after a plan is carried out, planning again places
//     nothing.
package sched
