// Package events turns records into events, and keeps the last events for subscribers. For each job
// it remembers what it last announced. It makes no decisions and never blocks.
//
// Invariants:
//
//  1. If a subscriber knows all jobs at one event number, and applies every later event, it knows
//     their states: each change of state, hold and suspension is announced in order.
//  2. Numbers increase by one.
//  3. The memory for events is bounded, however many subscribers there are and however slow they
//     are.
//  4. No event contains a command, an environment, a directory or parameters.
package events
