package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// identity sends requests in another account's name.
func identity(id string) {
	const subject = "forged identity"
	cancel := request("POST", "/v1/jobs/"+id+"/cancel", "", "{}")

	// The next request is sent as root of a new user namespace.
	out, err := await.Output(context.Background(), patience, []string{"/proc/self/exe", "as-root"},
		asRoot(syscall.CLONE_NEWUSER))
	printAttempt(subject, "root of a user namespace pauses a GPU", err != nil ||
		strings.HasPrefix(out, "403"), fmt.Sprint(out, err))

	printDenied(subject, "credentials of root with a message", forgeCredentials(0))
	printDenied(subject, "credentials of another's process", forgeCredentials(1001))

	// The next request comes from a process whose name looks like lines of /proc/PID/status.
	name := [16]byte{}
	copy(name[:], "x\nUid:\t0\t0\t0\t0")
	unix.Prctl(unix.PR_SET_NAME, uintptrOf(&name), 0, 0, 0)
	os.WriteFile("/proc/self/comm", name[:], 0)
	status, answer := ask(cancel)
	printAttempt(subject, "a process that is called Uid: 0", status == 403, answer)
	const own = `{"name":"who","argv":["aWQ="],"dir":"Lw==","env_mode":"clean","gpu_milli":0,"dry_run":true}`
	_, answer = ask(request("POST", "/v1/jobs", "", own))
	printAttempt(subject, "the job of a process that is called Uid: 0",
		strings.Contains(answer, fmt.Sprintf(`"uid":%d`, os.Getuid())), answer)

	raceExec(subject, cancel)
}

// asRoot makes a command run as root of new namespaces.
func asRoot(flags uintptr) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  flags,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
	}
}

// asNamespaceRoot sends a request as root of a user namespace.
func asNamespaceRoot() string {
	status, answer := ask(request("POST", "/v1/gpus/0/pause", "", `{"reason":"mine"}`))
	return fmt.Sprint(status, " as ", os.Getuid(), " ", answer)
}

// forgeCredentials sends a message on the socket with another account's credentials.
func forgeCredentials(uid uint32) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	setTimeouts(fd)
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: socket}); err != nil {
		return nil
	}
	oob := unix.UnixCredentials(&unix.Ucred{Pid: int32(os.Getpid()), Uid: uid, Gid: uid})
	return unix.Sendmsg(fd, []byte("GET / HTTP/1.1\r\n\r\n"), oob, nil, 0)
}

// raceExec opens connections in processes that then execute a set-user-id program of root. After
// that, another process sends the request on the connection.
func raceExec(subject string, raw []byte) {
	for range 8 {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil || unix.Connect(fd, &unix.SockaddrUnix{Name: socket}) != nil {
			printAttempt(subject, "a connection that passes to a program of root's", true, "could not connect")
			return
		}
		setTimeouts(fd)
		f := os.NewFile(uintptr(fd), "socket")
		ctx, stop := await.For(context.Background(), "the end of su", patience)
		cmd := exec.CommandContext(ctx, "su", "-c", "cat", "root")
		cmd.ExtraFiles = []*os.File{f}
		stdin, _ := cmd.StdinPipe()
		started := cmd.Start()
		f.Write(raw)
		buf := make([]byte, 4096)
		n, err := f.Read(buf)
		printAttempt(subject, "a connection that passes to a program of root's", strings.Contains(string(buf[:n]), " 403 "),
			fmt.Sprint(string(buf[:n]), err, started))
		stdin.Close()
		f.Close()
		kill := time.AfterFunc(100*time.Millisecond, func() { cmd.Process.Kill() })
		if started == nil {
			cmd.Wait()
		}
		kill.Stop()
		stop()
	}
}
