// Package unittest is a systemd in memory for tests. The type Systemd has the methods of
// systemd.Manager, and passes the conformance suite of that package, as the real systemd does. The
// test controls the Systemd: the test says when units end, and which calls fail, hang or lose their
// answers.
//
// Invariants:
//
//  1. A Systemd starts no goroutine and reads no clock: everything happens inside a call of the
//     test or of the code under test. So runs repeat exactly, and synctest and rapid can control
//     it.
//  2. Every state that a Systemd shows is one that systemd 252 shows, word for word; the suite
//     checks that on both.
//  3. Changes go into a large buffer. If a test never reads them and the buffer overflows, the
//     Systemd panics: dropping changes would be a fault that the test did not ask for.
package unittest
