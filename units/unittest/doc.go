// Package unittest is a systemd in memory for tests, and the conformance suite
// that it and the real one both pass. It has the methods of systemd.Manager and
// is driven by the test: units end when the test says so, calls fail, hang or
// lose their answers as the test says.
//
// Invariants:
//
//  1. It starts no goroutine and reads no clock: everything happens inside the
//     call of the test or of the code under test, so runs repeat exactly and
//     synctest and rapid can drive it.
//  2. A state it shows is one that systemd 252 shows, word for word; the suite
//     holds both to it.
//  3. Changes are delivered into a deep buffer. A test that never reads them
//     and overflows it is told so by a panic, since dropping them would be a
//     fault that nobody asked for.
package unittest
