package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/gpusched/gpusched/packaging/test/await"
)

// attackFromJob makes all attempts of a job on GPU 0 against another account's job on GPU 1.
func attackFromJob(id string, pid int) {
	home, err := os.MkdirTemp("", "attacker-")
	if err != nil {
		fmt.Println("HOLE\tinside\t\"no room\"\t", err)
		return
	}
	defer os.RemoveAll(home)
	openDevices(home, pid)
	leaveGroup(id, pid)
	hitProcesses(pid)
	becomeOther(home)
	attackFiles(id, pid)
	if len(os.Args) < 6 {
		attackAsRoot(id, pid)
		sendNotifications(id, pid)
	}
}

// attackAsRoot repeats all attempts as root in new user, mount and control group namespaces.
func attackAsRoot(id string, pid int) {
	argv := []string{"/proc/self/exe", "inside", id, fmt.Sprint(pid), "as", "root"}
	out, err := await.Output(context.Background(), 5*patience, argv,
		asRoot(syscall.CLONE_NEWUSER|syscall.CLONE_NEWNS|unix.CLONE_NEWCGROUP))
	os.Stdout.WriteString(out)
	if err != nil {
		printAttempt("namespaces", "a user namespace", true, err)
	}
}

// openDevices tries to open GPUs that do not belong to the job. The error ENXIO would mean that the
// device filter allowed the open and only the driver is missing.
func openDevices(dir string, pid int) {
	const subject = "other GPUs' nodes"
	open := func(what, path string, flags int) {
		err := tryOpen(path, flags)
		refused := err == unix.EPERM || err == unix.EACCES || err == unix.ENOENT || err == unix.ELOOP || err == unix.ENOTDIR
		printAttempt(subject, what+" "+path, refused, err)
	}
	for minor := 1; minor < 4; minor++ {
		node := fmt.Sprintf("/dev/nvidia%d", minor)
		open("read", node, unix.O_RDONLY)
		open("write", node, unix.O_RDWR)
		open("by number", fmt.Sprintf("/dev/char/195:%d", minor), unix.O_RDWR)
		open("by another's root", fmt.Sprintf("/proc/%d/root%s", pid, node), unix.O_RDWR)
		open("by init's root", "/proc/1/root"+node, unix.O_RDWR)
		open("by one's own root", "/proc/self/root"+node, unix.O_RDWR)
		link := filepath.Join(dir, fmt.Sprint("link", minor))
		os.Symlink(node, link)
		open("by a link", link, unix.O_RDWR)
		for _, where := range []string{dir, "/tmp", "/dev/shm", "/run/user/" + fmt.Sprint(os.Getuid())} {
			made := filepath.Join(where, fmt.Sprint("made", minor, os.Getpid()))
			if err := unix.Mknod(made, unix.S_IFCHR|0o666, int(unix.Mkdev(195, uint32(minor)))); err != nil {
				printAttempt(subject, "make "+made, true, err)
			} else {
				open("made", made, unix.O_RDWR)
				os.Remove(made)
			}
		}
		bound := filepath.Join(dir, fmt.Sprint("bound", minor))
		os.WriteFile(bound, nil, 0o600)
		if err := unix.Mount(node, bound, "", unix.MS_BIND, ""); err != nil {
			printAttempt(subject, "bind "+node, true, err)
		} else {
			open("bound", bound, unix.O_RDWR)
		}
		if fd, err := unix.Open(node, unix.O_PATH, 0); err == nil {
			open("by a path descriptor", fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR)
			unix.Close(fd)
		}
	}
	open("the probe", "/dev/gpusched-probe", unix.O_RDWR)
	open("kernel memory", "/dev/mem", unix.O_RDWR)
	printDenied(subject, "mount devtmpfs", unix.Mount("none", dir, "devtmpfs", 0, ""))
	entries, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	printAttempt(subject, "another's descriptors", len(entries) == 0, len(entries))
	inherited, _ := os.ReadDir("/proc/self/fd")
	foreign := ""
	for _, e := range inherited {
		if to, _ := os.Readlink("/proc/self/fd/" + e.Name()); strings.Contains(to, "nvidia") ||
			strings.Contains(to, "gpusched") || strings.Contains(to, "specs") {
			foreign += to + " "
		}
	}
	printAttempt(subject, "descriptors inherited from the launcher", foreign == "", foreign)
}

// tryOpen opens a file, closes it at once, and returns the error.
func tryOpen(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// leaveGroup tries to leave the job's control group and to change other control groups.
func leaveGroup(id string, pid int) {
	const subject = "control groups"
	const root = "/sys/fs/cgroup/"
	text, _ := os.ReadFile("/proc/self/cgroup")
	own := ""
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "0::"); ok {
			own = root + strings.TrimPrefix(strings.TrimSpace(rest), "/")
		}
	}
	others := "gpujobs.slice/gpujobs-u1001.slice/gpujob-" + id + ".service/"
	write := func(path, text string) {
		printDenied(subject, "write "+text+" to "+path, os.WriteFile(path, []byte(text), 0))
	}
	self := fmt.Sprint(os.Getpid())
	for _, group := range []string{"", "system.slice/", "system.slice/gpusched.service/", "gpujobs.slice/",
		"gpujobs.slice/gpujobs-u1001.slice/", "gpujobs.slice/gpujobs-u1002.slice/", others, "init.scope/", "user.slice/"} {
		write(root+group+"cgroup.procs", self)
		write(root+group+"cgroup.procs", fmt.Sprint(pid))
		write(root+group+"cgroup.subtree_control", "-memory")
	}
	for _, file := range []string{"cgroup.kill", "cgroup.freeze", "memory.max", "pids.max"} {
		write(root+others+file, "1")
		write(own+"/"+file, "max")
	}
	write(own+"/cgroup.procs", fmt.Sprint(pid))
	printDenied(subject, "make a group below one's own", os.Mkdir(own+"/mine", 0o700))
	printDenied(subject, "make a group in the slice", os.Mkdir(filepath.Dir(own)+"/gpujob-99999.service", 0o700))
	at := filepath.Join(os.TempDir(), "cg"+self)
	os.Mkdir(at, 0o700)
	defer os.Remove(at)
	if err := unix.Mount("none", at, "cgroup2", 0, ""); err != nil {
		printAttempt(subject, "mount the tree", true, err)
	} else {
		write(at+"/cgroup.procs", self)
		printDenied(subject, "make a group in a mount of one's own", os.Mkdir(at+"/mine", 0o700))
		unix.Unmount(at, unix.MNT_DETACH)
	}
}

// hitProcesses tries to read and change other processes: the processes of the other job, the
// daemon, and init.
func hitProcesses(pid int) {
	const subject = "others' processes"
	for _, p := range []int{pid, parentOfAll("gpuschedd"), parentOfAll("gpusched-nvml"), 1} {
		if p == 0 {
			printAttempt(subject, "a process that must be there", false, "it is not")
			continue
		}
		for _, sig := range []unix.Signal{0, unix.SIGTERM, unix.SIGKILL, unix.SIGSTOP, unix.SIGCONT} {
			printDenied(subject, fmt.Sprint("signal ", int(sig), " to ", p), unix.Kill(p, sig))
		}
		printDenied(subject, fmt.Sprint("trace ", p), unix.PtraceAttach(p))
		printDenied(subject, fmt.Sprint("seize ", p), unix.PtraceSeize(p))
		one := make([]byte, 8)
		_, err := unix.ProcessVMReadv(p, []unix.Iovec{{Base: &one[0], Len: 8}}, []unix.RemoteIovec{{Base: 0x400000, Len: 8}},
			0)
		printDenied(subject, fmt.Sprint("read the memory of ", p), err)
		printDenied(subject, fmt.Sprint("limit ", p), unix.Prlimit(p, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 1, Max: 1}, nil))
		printDenied(subject, fmt.Sprint("renice ", p), unix.Setpriority(unix.PRIO_PROCESS, p, 19))
		var set unix.CPUSet
		set.Set(0)
		printDenied(subject, fmt.Sprint("pin ", p), unix.SchedSetaffinity(p, &set))
		if fd, err := unix.PidfdOpen(p, 0); err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
			printDenied(subject, fmt.Sprint("take a descriptor of ", p), err)
			unix.Close(fd)
		}
		for _, name := range []string{"mem", "environ", "maps", "stack", "syscall", "auxv", "io", "cwd/", "root/etc/shadow",
			"fd/0", "fdinfo", "map_files", "oom_score_adj"} {
			path := fmt.Sprintf("/proc/%d/%s", p, name)
			f, err := os.OpenFile(path, map[bool]int{false: os.O_RDONLY, true: os.O_WRONLY}[name == "oom_score_adj"], 0)
			if err == nil {
				buf := make([]byte, 16)
				if _, err = f.Read(buf); name == "fdinfo" || name == "map_files" || name == "cwd/" || name == "oom_score_adj" {
					_, err = f.Readdirnames(1)
				}
				f.Close()
			}
			printDenied(subject, "open "+path, err)
		}
	}
}

// parentOfAll returns the pid of a process that has the given name.
func parentOfAll(name string) int {
	found, _ := filepath.Glob("/proc/[0-9]*/comm")
	for _, path := range found {
		if text, _ := os.ReadFile(path); strings.TrimSpace(string(text)) == name {
			var pid int
			fmt.Sscanf(path, "/proc/%d/comm", &pid)
			return pid
		}
	}
	return 0
}

// becomeOther tries to become another account.
func becomeOther(dir string) {
	const subject = "privileges"
	if os.Getuid() != 0 { // root of a user namespace may take other ids of that namespace
		for _, id := range []int{0, 1001} {
			printDenied(subject, fmt.Sprint("setuid ", id), raw(unix.SYS_SETRESUID, id, id, id))
			printDenied(subject, fmt.Sprint("setgid ", id), raw(unix.SYS_SETRESGID, id, id, id))
		}
		printDenied(subject, "groups of root's", raw(unix.SYS_SETGROUPS, 0, 0, 0))
	}
	for _, line := range []string{"su -c id root", "su -c id alice", "sudo -n id", "pkexec id", "sg gpusched-admin -c id",
		"newgrp gpusched-admin", "runuser -u alice id", "systemd-run --pipe --wait id",
		"systemd-run --uid=alice --pipe --wait id", "machinectl shell", "mount -t tmpfs none /mnt", "chroot / id", "nsenter -t 1 -a id"} {
		if os.Getuid() == 0 &&
			(strings.HasPrefix(line, "chroot") || strings.HasPrefix(line, "mount") || strings.Contains(line, "root") ||
				strings.HasPrefix(line, "newgrp")) {
			continue
		}
		out, err := await.Output(context.Background(), patience, append([]string{"setsid", "-w"}, strings.Fields(line)...))
		printAttempt(subject, line, err != nil || !strings.Contains(out, "uid="), fmt.Sprint(out, err))
	}
	tool := filepath.Join(dir, "tool")
	os.WriteFile(tool, []byte("#!/bin/sh\nid\n"), 0o755)
	printDenied(subject, "give a file to root", os.Chown(tool, 65534, 65534))
	for _, path := range []string{"/proc/sys/kernel/core_pattern", "/proc/sysrq-trigger", "/sys/kernel/uevent_helper",
		"/proc/sys/kernel/modprobe", "/etc/ld.so.preload", "/etc/passwd"} {
		printDenied(subject, "write "+path, tryOpen(path, unix.O_WRONLY|unix.O_APPEND)) // opens the file, but writes nothing
	}
	printDenied(subject, "raise a limit", unix.Setrlimit(unix.RLIMIT_NICE, &unix.Rlimit{Cur: 40, Max: 40}))
	printDenied(subject, "real-time priority", raw(unix.SYS_SCHED_SETSCHEDULER, 0, 1, int(uintptrOf(&struct{ p int32 }{50}))))
	printDenied(subject, "a module", raw(unix.SYS_FINIT_MODULE, 0, 0, 0))
	printDenied(subject, "a program for the filter", bpf())
}

func raw(call uintptr, a, b, c int) error {
	if _, _, errno := unix.Syscall(call, uintptr(a), uintptr(b), uintptr(c)); errno != 0 {
		return errno
	}
	return nil
}

// bpf loads a device filter that allows everything.
func bpf() error {
	code := []uint64{0x00000001000000b7, 0x0000000000000095} // the program "r0 = 1; exit"
	licence := []byte("GPL\x00")
	attr := struct {
		kind, count      uint32
		insns, licence   uintptr
		level, size      uint32
		log              uint64
		version, flags   uint32
		name             [16]byte
		ifindex, attach_ uint32
	}{kind: 15, count: 2, insns: uintptrOf(&code[0]), licence: uintptrOf(&licence[0])}
	fd, _, errno := unix.Syscall(unix.SYS_BPF, 5, uintptrOf(&attr), unsafe.Sizeof(attr))
	if errno != 0 {
		return errno
	}
	unix.Close(int(fd))
	return nil
}

// attackFiles tries to read and to change files that do not belong to the job.
func attackFiles(id string, pid int) {
	const subject = "others' files"
	for _, path := range []string{
		"/run/gpusched/specs", "/run/gpusched/specs/" + id + ".1", "/run/gpusched/specs/../specs/" +
			id + ".1", "/var/lib/gpusched", "/var/lib/gpusched/state.db", "/var/lib/gpusched/state.db-wal",
		"/etc/shadow", "/home/alice/private", "/root", "/var/log/journal/remote", "/proc/kcore", "/proc/kmsg", "/dev/kmsg",
		fmt.Sprintf("/proc/%d/cwd/private", pid),
	} {
		printDenied(subject, "read "+path, tryOpen(path, unix.O_RDONLY))
	}
	journals, _ := filepath.Glob("/var/log/journal/*/*.journal")
	for _, path := range journals {
		if strings.HasSuffix(path, fmt.Sprintf("user-%d.journal", 1002)) {
			continue
		}
		_, err := os.ReadFile(path)
		printDenied(subject, "read "+path, err)
	}
	mine := fmt.Sprint("mine", os.Getpid())
	for _, dir := range []string{"/run/gpusched", "/run/gpusched/specs", "/var/lib/gpusched", "/etc/gpusched",
		"/etc/gpusched/conf.d", "/usr/libexec/gpusched", "/run/systemd/transient", "/run/systemd/system",
		"/etc/systemd/system/gpujob-.service.d", "/var/log/journal", "/run/systemd/journal", "/etc/systemd/system", "/usr/lib/tmpfiles.d"} {
		_, err := os.Create(dir + "/" + mine)
		printDenied(subject, "make a file in "+dir, err)
		printDenied(subject, "make a link in "+dir, os.Symlink("/etc/passwd", dir+"/"+mine))
	}
	for _, path := range []string{"/run/gpusched/gpusched.sock", "/run/gpusched/specs/" + id + ".1",
		"/var/lib/gpusched/state.db", "/usr/libexec/gpusched/gpusched-job", "/etc/gpusched/gpusched.toml", "/usr/libexec/gpusched/gpuschedd"} {
		printDenied(subject, "remove "+path, os.Remove(path))
		printDenied(subject, "move "+path, os.Rename(path, path+".old"))
		printDenied(subject, "replace "+path, os.Rename("/proc/self/cmdline", path))
		printDenied(subject, "a second name of "+path, os.Link(path, filepath.Join(os.TempDir(), mine)))
		printDenied(subject, "write "+path, tryOpen(path, unix.O_WRONLY|unix.O_TRUNC))
		printDenied(subject, "modes of "+path, os.Chmod(path, 0o777))
	}
	fd, err := unix.InotifyInit()
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, "/run/gpusched/specs", unix.IN_ALL_EVENTS)
		unix.Close(fd)
	}
	printDenied(subject, "watch /run/gpusched/specs", err)
}

// sendNotifications sends the service manager notifications about other units. The service manager
// refuses silently. sendNotifications therefore checks after each notification what the service
// manager recorded: another main process or a descriptor for our unit, or anything for the other
// unit. It sends no notification that harms only the job itself, such as WATCHDOG=trigger.
func sendNotifications(id string, pid int) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	noted := func() string {
		return unitProperties(os.Getenv("GPUSCHED_JOB_ID"), "MainPID,NFileDescriptorStore") +
			unitProperties(id, "MainPID,NFileDescriptorStore,StatusText,StatusErrno,StatusBusError,ActiveState,SubState")
	}
	want := noted()
	if !strings.Contains(want, fmt.Sprint("MainPID=", pid, "\n")) {
		printAttempt("notifications", "what the service manager says", false, want)
		return
	}
	for _, text := range []string{fmt.Sprint("MAINPID=", pid), "MAINPID=1", "FDSTORE=1\nFDNAME=x",
		"READY=1\nSTATUS=\x1b[31m", "ERRNO=-1", "BUSERROR=\x1b", "EXTEND_TIMEOUT_USEC=99999999999"} {
		for _, path := range []string{"/run/systemd/notify", "@/org/freedesktop/systemd1/notify"} {
			err := unix.Sendmsg(fd, []byte(text), unix.UnixRights(fd), &unix.SockaddrUnix{Name: path}, 0)
			now := noted()
			printAttempt("notifications", text+" to "+path, now == want, fmt.Sprint(err, " ", now))
		}
	}
}

// unitProperties returns some properties of a job's unit.
func unitProperties(id, properties string) string {
	out, err := await.Output(context.Background(), patience,
		[]string{"systemctl", "show", "gpujob-" + id, "-p", properties})
	if err != nil {
		return err.Error()
	}
	return out
}
