// Command run runs the stages of 'make test' and 'make test-all' and sums them up.
//
//	go run ./packaging/test/run test         what 'make test' runs
//	go run ./packaging/test/run test-all     what 'make test-all' runs besides
//	go run ./packaging/test/run unit lint    these stages
//
// It prints a line when a stage starts and another when the stage ends, with the time since the
// beginning. Go tests run under gotestsum: a failing test prints its output at once, prefixed with
// the stage's name. The events of all tests are kept in .out/test/STAGE.json ('gotestsum tool
// slowest --jsonfile FILE' lists the slowest). The last line is "N passed, N failed". The exit
// status is 0 only if nothing failed and something ran.
//
// A stage that runs Go tests counts its tests and subtests; any other stage counts as one. A
// skipped test counts as failed, because everything that a test needs must be installed. A stage
// fails if a stage that it needs has failed. There is one exception: a stage that asks another
// machine exits with 77 if it cannot reach that machine; it counts as neither, and the summary says
// so.
package main
