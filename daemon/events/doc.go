// Package events makes announcements of what goes on record, and keeps the last ones
// for those who follow. It owns what was announced of each job last; it decides
// nothing, and waits for nobody.
//
// Invariants:
//
//  1. Whoever knows the jobs at a number and takes in every event after it knows their
//     states: each change of state, hold and suspension is announced, in its order.
//  2. Numbers go up by one.
//  3. What is kept is bounded, however many read it and however slowly.
//  4. No event has a command, an environment, a directory or parameters.
package events
