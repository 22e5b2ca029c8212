package client

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// fakeVariable names the Slurm program that the test binary imitates. fakeDir names the directory
// of the fake's jobs, with one directory for each job and one file for each fact. The answers have
// the same form as the recorded ones in onslurm/testdata.
const (
	fakeVariable = "FAKE_SLURM"
	fakeDir      = "FAKE_SLURM_DIR"
)

// installFakeSlurm makes a fake Slurm and returns an environment whose PATH has its programs.
func installFakeSlurm(t *testing.T) (environ []string) {
	t.Helper()
	dir := t.TempDir()
	if err := fakePrograms(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := slurmDir(dir).stopAll(); err != nil {
			t.Error(err)
		}
	})
	return []string{"PATH=" + dir + ":/usr/bin:/bin", "HOME=" + dir, "USER=me"}
}

// fakePrograms makes programs with Slurm's names in a directory. The programs keep their jobs in
// the same directory.
func fakePrograms(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for _, name := range []string{"sbatch", "squeue", "scontrol", "scancel", "sacct", "sacctmgr"} {
		text := fmt.Sprintf("#!/bin/sh\n%s %s=%s %s='%s' exec '%s' \"$@\"\n", raceOptions, fakeVariable, name, fakeDir, dir, self)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// scriptSlurm implements "slurm", which makes a fake Slurm. Its jobs are in $WORK/slurm.
func scriptSlurm(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs("slurm")
	ts.Check(os.Mkdir(dir, 0o755))
	ts.Check(fakePrograms(dir))
	ts.Setenv("PATH", dir+":"+ts.Getenv("PATH"))
	ts.Setenv("HOME", ts.MkAbs("."))
}

// raceOptions is set so that programs under the race detector exit at once, not after a second.
const raceOptions = "GORACE=atexit_sleep_ms=0"

// fakeSlurm acts as one of Slurm's programs.
func fakeSlurm(name string, args []string) int {
	f := slurmDir(os.Getenv(fakeDir))
	switch name {
	case "sbatch":
		return f.sbatch(args)
	case "squeue":
		return f.squeue(args)
	case "scancel":
		for _, id := range args {
			if f.state(id) == "" {
				fmt.Fprintf(os.Stderr, "scancel: error: Kill job error on job id %s: Invalid job id specified\n", id)
				continue
			}
			f.end(id)
		}
		return 0
	case "scontrol":
		return f.scontrol(args)
	}
	fmt.Fprintln(os.Stderr, "Slurm accounting storage is disabled")
	return 1
}

// A slurmDir is the directory that contains the jobs.
type slurmDir string

func (f slurmDir) fact(id, name string) string {
	text, _ := os.ReadFile(filepath.Join(string(f), id, name))
	return strings.TrimSpace(string(text))
}

func (f slurmDir) set(id, name, value string) {
	path := filepath.Join(string(f), id, name)
	if err := os.WriteFile(path+".new", []byte(value), 0o644); err == nil {
		_ = os.Rename(path+".new", path)
	}
}

func (f slurmDir) ids() (list []string) {
	dirs, _ := filepath.Glob(filepath.Join(string(f), "[0-9]*"))
	for n := 1; n <= len(dirs); n++ {
		list = append(list, strconv.Itoa(n))
	}
	return list
}

func (f slurmDir) state(id string) string {
	switch code := f.fact(id, "exit"); {
	case f.fact(id, "name") == "":
		return ""
	case f.fact(id, "cancelled") != "":
		return "CANCELLED"
	case code == "0":
		return "COMPLETED"
	case code != "":
		return "FAILED"
	case f.fact(id, "held") != "" || f.fact(id, "begin") != "":
		return "PENDING"
	}
	return "RUNNING"
}

func (f slurmDir) sbatch(args []string) int {
	script, _ := io.ReadAll(os.Stdin)
	id := "1"
	for n := 1; os.Mkdir(filepath.Join(string(f), id), 0o755) != nil; n++ {
		id = strconv.Itoa(n)
	}
	f.set(id, "script", string(script))
	f.set(id, "args", strings.Join(args, "\n"))
	f.set(id, "submit", strconv.FormatInt(time.Now().Unix(), 10))
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--hold":
			f.set(id, "held", "1")
		case "--begin":
			f.set(id, "begin", value)
		case "--array":
			f.set(id, "array", value)
		case "--comment":
			f.set(id, "comment", value)
		case "--job-name":
			f.set(id, "name", value)
		}
	}
	f.startJob(id)
	fmt.Println(id)
	return 0
}

// startJob runs a job's script.
func (f slurmDir) startJob(id string) {
	if f.state(id) != "RUNNING" {
		return
	}
	f.set(id, "started", strconv.FormatInt(time.Now().Unix(), 10))
	dir := filepath.Join(string(f), id)
	running, err := f.lockRunning(syscall.LOCK_SH)
	if err != nil {
		return
	}
	defer running.Close()
	cmd := exec.Command("/bin/sh", "-c", `sh script >out 2>&1; echo $? >exit.new; mv exit.new exit`)
	cmd.Dir, cmd.SysProcAttr = dir, &syscall.SysProcAttr{Setsid: true}
	cmd.Env, cmd.ExtraFiles = append(os.Environ(), "SLURM_JOB_ID="+id), []*os.File{running}
	if cmd.Start() == nil {
		f.set(id, "pid", strconv.Itoa(cmd.Process.Pid))
	}
}

// lockRunning opens and locks the file on which every process of a job holds a shared lock. Whoever
// gets an exclusive lock knows that no process of a job is left.
func (f slurmDir) lockRunning(lock int) (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(string(f), "running"), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), lock); err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// stopAll ends all jobs and waits until their processes have ended, since a process that still
// writes files would disturb the removal of the directory. If a job has left processes behind,
// stopAll does not wait forever.
func (f slurmDir) stopAll() error {
	for _, id := range f.ids() {
		f.end(id)
	}
	for limit := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		file, err := f.lockRunning(syscall.LOCK_EX | syscall.LOCK_NB)
		switch {
		case err == nil:
			return file.Close()
		case !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(limit):
			return fmt.Errorf("processes of jobs in %s: %w", f, err)
		}
	}
}

func (f slurmDir) end(id string) {
	if slices.Contains([]string{"COMPLETED", "FAILED"}, f.state(id)) {
		return
	}
	f.set(id, "cancelled", "1")
	if pid, err := strconv.Atoi(f.fact(id, "pid")); err == nil {
		_ = syscall.Kill(-pid, syscall.SIGKILL)
	}
}

func (f slurmDir) squeue(args []string) int {
	ids, all, user := f.ids(), false, ""
	var fields []string
	for _, arg := range args {
		name, value, _ := strings.Cut(arg, "=")
		switch name {
		case "--version":
			fmt.Println("slurm-wlm 22.05.8")
			return 0
		case "--Format":
			fields = strings.Split(value, ",")
		case "--states":
			all = value == "all"
		case "--user":
			user = value
		case "--jobs":
			ids = slices.DeleteFunc(strings.Split(value, ","), func(id string) bool { return f.state(id) == "" })
			if len(ids) == 0 {
				fmt.Fprintln(os.Stderr, "slurm_load_jobs error: Invalid job id specified")
				return 1
			}
		}
	}
	for _, id := range ids {
		live := f.state(id) == "PENDING" || f.state(id) == "RUNNING"
		if !all && !live || user != "" && user != strconv.Itoa(os.Getuid()) {
			continue
		}
		for _, field := range fields {
			name, suffix, _ := strings.Cut(field, ":")
			fmt.Print(f.field(id, name) + suffix)
		}
		fmt.Println()
	}
	return 0
}

func (f slurmDir) field(id, name string) string {
	reason, code := "None", 0
	switch {
	case f.state(id) != "PENDING":
	case f.fact(id, "held") != "":
		reason = "JobHeldUser"
	default:
		reason = "BeginTime"
	}
	if n, err := strconv.Atoi(f.fact(id, "exit")); err == nil {
		code = n << 8
	}
	known := map[string]string{
		"JobID": id, "ArrayJobID": id, "ArrayTaskID": f.fact(id, "array"), "Name": f.fact(id, "name"), "UserName": "me",
		"UserID": strconv.Itoa(os.Getuid()), "State": f.state(id), "Reason": reason, "SubmitTime": f.fact(id, "submit"),
		"StartTime": f.fact(id, "started"), "EndTime": f.fact(id, "started"), "NodeList": "n1", "exit_code": strconv.Itoa(code),
		"Comment": f.fact(id, "comment"), "tres-alloc": "cpu=1,mem=10M", "NumCPUs": "1", "RestartCnt": cmp.Or(f.fact(id, "restarts"), "0"),
		"TimeLimit": f.fact(id, "limit"),
	}
	if known[name] == "" {
		return "N/A"
	}
	return known[name]
}

func (f slurmDir) scontrol(args []string) int {
	id := args[len(args)-1]
	if args[0] == "update" {
		id = strings.TrimPrefix(args[1], "JobId=")
	}
	switch verb := strings.Join(args[:min(2, len(args))], " "); {
	case verb == "show config":
		fmt.Println("SLURM_VERSION           = 22.05.8\nMaxArraySize            = 1001\nKillWait                = 30 sec\nMinJobAge               = 300 sec")
	case verb == "show node":
		fmt.Println("NodeName=n1 CPUAlloc=0 CPUTot=16 AvailableFeatures=(null) Gres=gpu:a100:4 GresUsed=gpu:a100:0(IDX:N/A) " +
			"Version=22.05.8 RealMemory=4000 AllocMem=0 State=IDLE Partitions=all")
	case verb == "ping":
		fmt.Println("Slurmctld(primary) at n1 is UP")
	case verb == "show job":
		fmt.Printf("JobId=%s JobName=%s UserId=me(%d) JobState=%s StdOut=%s/%s/out Power=\n", id, f.fact(id, "name"), os.Getuid(), f.state(id), f, id)
	case args[0] == "suspend":
		fmt.Fprintln(os.Stderr, "Access/permission denied for job "+id)
		return 1
	case args[0] == "requeue" && f.state(id) != "PENDING": // Slurm can requeue ended jobs, too
		restarts, _ := strconv.Atoi(f.fact(id, "restarts"))
		f.set(id, "restarts", strconv.Itoa(restarts+1))
		f.end(id)
		for _, name := range []string{"exit", "cancelled"} {
			_ = os.Remove(filepath.Join(string(f), id, name))
		}
		f.startJob(id)
	case f.state(id) != "PENDING":
		fmt.Fprintln(os.Stderr, "Job is no longer pending execution for job "+id)
		return 1
	case args[0] == "update":
		facts := map[string]string{"JobName": "name", "Comment": "comment", "TimeLimit": "limit"}
		for _, arg := range args[2:] {
			name, value, _ := strings.Cut(arg, "=")
			if facts[name] == "" {
				fmt.Fprintln(os.Stderr, "Update of this parameter is not supported: "+arg)
				return 1
			}
			f.set(id, facts[name], value)
		}
	case args[0] == "uhold":
		f.set(id, "held", "1")
	case args[0] == "release":
		_ = os.Remove(filepath.Join(string(f), id, "held"))
		f.startJob(id)
	}
	return 0
}
