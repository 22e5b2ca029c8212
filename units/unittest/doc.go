// Package unittest is a systemd in memory for tests. The type Systemd has the methods of
// systemd.Manager, and passes the conformance suite of that package, as the real systemd does. The
// test controls it: the test says when units end, and which calls fail, hang or lose their answers.
//
// Invariants:
//
//  1. It starts no goroutine and reads no clock: everything happens inside a call of the test or of
//     the code under test. So runs repeat exactly, and synctest and rapid can control it.
//  2. Every state that it shows is one that systemd 252 shows, word for word; the suite checks
//     both.
//  3. Changes go into a large buffer. If a test never reads them and the buffer overflows, it
//     panics: dropping changes would be a fault that the test did not ask for.
package unittest
