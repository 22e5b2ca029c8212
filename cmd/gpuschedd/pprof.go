//go:build pprof

package main

import (
	"log"
	"net"
	"net/http"
	_ "net/http/pprof" // registers its handlers on http.DefaultServeMux, which has no others
	"os"
	"path/filepath"
)

// pprofSocket is the socket on which a gpuschedd built with '-tags pprof' serves net/http/pprof.
// Only root can open it. No package contains such a build.
const pprofSocket = "/run/gpusched/pprof.sock"

// servePprof serves net/http/pprof until the process ends.
func servePprof() {
	_ = os.Remove(pprofSocket)
	if err := os.MkdirAll(filepath.Dir(pprofSocket), 0o755); err != nil {
		log.Print("pprof: ", err)
		return
	}
	l, err := net.Listen("unix", pprofSocket)
	if err == nil {
		err = os.Chmod(pprofSocket, 0o600)
	}
	if err == nil {
		err = http.Serve(l, nil)
	}
	log.Print("pprof: ", err)
}
