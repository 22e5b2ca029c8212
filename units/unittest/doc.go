// Package unittest is a systemd in memory for tests, and the conformance suite that it and the real one both pass. It
// has the methods of systemd.Manager. The test drives it: units end when the test says so, and calls fail, hang or
// lose their answers as the test says.
//
// Invariants:
//
//  1. It starts no goroutine and reads no clock: everything happens inside a call of the test or of the code under
//     test. So runs repeat exactly, and synctest and rapid can drive it.
//  2. Every state that it shows is one that systemd 252 shows, word for word; the suite checks both.
//  3. Changes go into a large buffer. A test that never reads them and overflows it panics, since dropping changes
//     would be a fault that nobody asked for.
package unittest
