// Package gputest holds what tests of GPU sources share: Fake, a source in memory whose GPUs and processes the test
// sets, and the conformance suite that it passes like the real child on the fake library, so that a test against Fake
// says something about the real thing.
//
// Nothing here is linked into the daemon.
package gputest
