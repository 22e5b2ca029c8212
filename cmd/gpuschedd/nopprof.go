//go:build !pprof

package main

// servePprof does nothing in this build. A build with '-tags pprof' serves profiles.
func servePprof() {}
