// Package gputest has a fake and a conformance suite for GPU sources. Fake is a source in memory
// whose GPUs and processes the test sets. Fake and the real child on the fake library pass the same
// suite, so a test with Fake is meaningful for the real source.
//
// Nothing here is linked into the daemon.
package gputest
