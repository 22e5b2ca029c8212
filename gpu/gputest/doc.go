// Package gputest has a fake GPU source and a conformance suite for GPU sources. Fake is a source
// in memory: the test sets its GPUs and processes. Fake passes the same suite as the real child
// gpusched-nvml on the fake library, so a test with Fake also says something about the real source.
//
// Nothing here is linked into the daemon.
package gputest
