// Command run runs everything that is tested and sums it up: when a stage is
// done, a line with what it took in time and on the processors, the last lines
// of what failed, and what took longest; the output of all that failed; and at
// the very end the line "N passed, N failed". Once the programs and the packages
// are built, the tests at native speed run beside those that need an emulated
// machine, and where those are done sooner, beside each other.
//
//	go run ./packaging/test/run            all stages
//	go run ./packaging/test/run unit lint  these stages, in the order of the list
//
// What counts: a test function of Go is one, with its subtests; a stage that is
// not made of Go tests is one. A package that fails without a failed test of
// its own (it does not build, it panics, it runs out of time) is one failure,
// and so is a stage that could not run because an earlier one failed. A
// skipped test is a failure: what the tests need is there, or is missing. The one
// exception is a stage that asks a machine of somebody else's: where that can't be
// reached the stage counts as neither, and the end says so.
//
// The exit status is 0 only if nothing failed and something ran.
package main
