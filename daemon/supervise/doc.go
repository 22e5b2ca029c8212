// Package supervise keeps a scheduler running in the process that answers
// clients: it begins one anew after an error, waits longer after crashes that
// come one upon the other, and moves a damaged state file aside.
//
// Invariants:
//
//  1. While there is no scheduler, everybody who asks is told why, health says
//     what to do about it, and the watchdog is fed.
//  2. Only damage moves a state file aside, and a few within an hour at most.
//  3. It gives up only where nothing but another process can help.
package supervise
