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
	var kib int64 // of the first line
	if _, err := fmt.Sscanf(string(data), "MemTotal: %d kB", &kib); err != nil {
		return 0, fmt.Errorf("read the host's memory: no MemTotal in /proc/meminfo: %w", err)
	}
	return kib << 10, nil
}

// CPUs returns the number of CPUs of the machine that are online. This process may be allowed
// fewer.
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

// UnitOf returns a function that finds the unit of a process, "" if it is unknown. It looks for
// jobs below a control group, like gpu.OwnerBelow.
func UnitOf(below string) func(pid int) string {
	return func(pid int) string { return gpu.OwnerBelow("/proc", below, pid).Unit }
}

// UserName returns the name of an account, or "" if this host's passwd file has no printable name
// for it.
func UserName(uid int) string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil || !job.Printable(u.Username) {
		return ""
	}
	return u.Username
}

// UserID returns the uid of the account with a name.
func UserID(name string) (int, bool) {
	u, err := user.Lookup(name)
	if err != nil {
		return 0, false
	}
	uid, err := strconv.Atoi(u.Uid)
	return uid, err == nil
}

// GroupID returns the gid of the group with a name.
func GroupID(name string) (int, bool) {
	g, err := user.LookupGroup(name)
	if err != nil {
		return 0, false
	}
	gid, err := strconv.Atoi(g.Gid)
	return gid, err == nil
}

// HasGroup reports whether a group with a gid exists.
func HasGroup(gid int) bool {
	_, err := user.LookupGroupId(strconv.Itoa(gid))
	return err == nil
}

// Member reports whether an account is in a group, by this host's files. known is false unless the
// files have both: accounts and groups may also come from a directory.
func Member(uid, gid int) (in, known bool) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil || !HasGroup(gid) {
		return false, false
	}
	gids, err := u.GroupIds()
	return slices.Contains(gids, strconv.Itoa(gid)), err == nil
}
