package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// watchLaunches attacks every process of another account's job as soon as the process exists. At
// first the process runs systemd's code, then the launcher, then the command.
func watchLaunches(d time.Duration) {
	const subject = "processes being launched"
	own := fmt.Sprint("gpujobs-u", os.Getuid(), ".slice")
	seen, tries := map[string]bool{}, 0
	names := map[string]bool{}
	for end := time.Now().Add(d); time.Now().Before(end); {
		dir, err := os.Open("/proc")
		if err != nil {
			return
		}
		pids, _ := dir.Readdirnames(-1)
		dir.Close()
		for _, pid := range pids {
			if pid[0] < '1' || pid[0] > '9' {
				continue
			}
			group, err := os.ReadFile("/proc/" + pid + "/cgroup")
			if err != nil || !strings.Contains(string(group), "/gpujob-") || strings.Contains(string(group), own) {
				continue
			}
			comm, _ := os.ReadFile("/proc/" + pid + "/comm")
			key := pid + string(comm)
			if seen[key] {
				continue
			}
			seen[key], names[strings.TrimSpace(string(comm))] = true, true
			tries += attackProcess(subject, pid, strings.TrimSpace(string(comm)))
		}
	}
	printAttempt(subject, fmt.Sprint("of ", len(seen), " moments, as ", len(names), " programs"), len(seen) > 0, tries)
}

// attackProcess tries everything that would read or change another account's process.
func attackProcess(subject, pid, comm string) int {
	var number int
	fmt.Sscan(pid, &number)
	gone := func(err error) bool { return err == unix.ESRCH || os.IsNotExist(err) }
	say := func(what string, err error) {
		if err == nil || !gone(err) && !os.IsPermission(err) {
			printAttempt(subject, what+" of "+comm, err != nil, err)
		}
	}
	for _, name := range []string{"environ", "mem", "maps", "fd/0", "cwd/", "auxv", "stack"} {
		f, err := os.Open("/proc/" + pid + "/" + name)
		if err == nil {
			n, readErr := f.Read(make([]byte, 16))
			f.Close()
			if n == 0 && readErr != nil {
				err = readErr // the process has just ended
				if name == "environ" || name == "auxv" {
					err = unix.ESRCH // empty: a zombie, or a process that has no command line yet
				}
			}
		}
		say(name, err)
	}
	err := unix.PtraceSeize(number)
	if err == nil {
		unix.PtraceDetach(number)
	}
	say("a trace", err)
	fd, err := unix.PidfdOpen(number, 0)
	if err == nil {
		_, err = unix.PidfdGetfd(fd, 0, 0)
		unix.Close(fd)
		say("a descriptor", err)
	}
	return 9
}
