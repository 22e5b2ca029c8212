// Package deliver sends messages about jobs to those whom their owners named.
//
// It decides what a message says and which unit sends it. The daemon itself opens no
// connection and runs no program for that: gpusched-notify does, in a transient unit.
//
// Invariants:
//
//  1. What a user chose, an address, a URL of theirs or their terminals, is reached by
//     a process of that user. Only to the site's own webhooks a process of the site
//     speaks, and it is nobody's: not root's either.
//  2. A webhook's URL and an address are in a file that root alone can read, and in no
//     property or argument of a unit, which everybody can read.
//  3. A message takes as long as its unit may run at most.
//  4. What is sent is what the site's settings let jobs send at that moment, whatever they
//     were when it became owed.
//  5. A message is sent at least once: where the daemon died between the sending and the
//     record, it looks for the unit, and sends again where that has gone. Each try has the
//     same id.
package deliver
