package host

import (
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/gpusched/gpusched/cgroup/cpuset"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/gpu"
)

// BootID returns the id of the current boot.
func BootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Memory returns the machine's memory in bytes.
func Memory() (int64, error) {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0, fmt.Errorf("read the host's memory: %w", err)
	}
	var kib int64 // the number in the first line
	if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kib); err != nil {
		return 0, fmt.Errorf("read the host's memory: no MemTotal in /proc/meminfo: %w", err)
	}
	return kib << 10, nil
}

// CPUs returns how many CPUs of the machine are online. This process may be allowed to use fewer.
func CPUs() (int, error) {
	data, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return 0, fmt.Errorf("read the host's CPUs: %w", err)
	}
	online, err := cpuset.Parse(strings.TrimSpace(string(data)))
	if err != nil {
		return 0, fmt.Errorf("read the host's CPUs: %w", err)
	}
	return online.Len(), nil
}

// UnitOf returns a function that finds the unit of a process, or returns "" if the unit is unknown.
// The function looks for jobs below a control group, as gpu.OwnerBelow does.
func UnitOf(group string) func(pid int) string {
	return func(pid int) string { return gpu.OwnerBelow("/proc", group, pid).Unit }
}

// UserName returns the name of an account. It returns "" if this host's passwd file lacks the
// account, or if the name there is not printable.
func UserName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil || !job.Printable(u.Username) {
		return ""
	}
	return u.Username
}

// UserID returns the uid of the account with this name.
func UserID(name string) (int, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	uid, err := strconv.Atoi(u.Uid)
	return uid, err == nil
}

// GroupID returns the gid of the group with this name.
func GroupID(name string) (int, bool) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, false
	}
	gid, err := strconv.Atoi(g.Gid)
	return gid, err == nil
}

// HasGroup reports whether there is a group with this gid.
func HasGroup(gid int) bool {
	_, err := user.LookupGroupId(strconv.Itoa(gid))
	return err == nil
}

// Member reports whether an account is in a group, according to this host's files. The result known
// is false if the files lack the account or the group, since a directory service may have them.
func Member(uid, gid int) (member, known bool) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil || !HasGroup(gid) {
		return false, false
	}
	gids, err := u.GroupIds()
	return slices.Contains(gids, strconv.Itoa(gid)), err == nil
}
