package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Barred says why a user may run nothing now, by shadow(5) of this host. It returns "" if the user
// may.
func Barred(uid int) string { return barred("/etc/shadow", uid, UserName, time.Now()) }

// secondsOfDay is the length of a day of shadow(5), which counts days since 1970 in UTC.
const secondsOfDay = 24 * 60 * 60

// barred says why a user may run nothing, or returns "" if the account has not expired. An account
// that is not in the file, such as one of a directory, never expires here. If the file can't be
// read, no account does: its mode is 0000 on Fedora and RHEL, and the daemon has no capability to
// read it anyway.
func barred(path string, uid int, userName func(int) string, now time.Time) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if !expires(text) {
		return ""
	}
	name := userName(uid)
	day, ok := expiry(string(text), name)
	if !ok || now.Unix()/secondsOfDay < day {
		return ""
	}
	return fmt.Sprintf("the account of %s has expired (%s)", name, time.Unix(day*secondsOfDay, 0).UTC().Format(time.DateOnly))
}

// expires reports whether any account has an expiry date: then the last two fields of its line are
// not both empty. Few files have one, so this saves the search for a name.
func expires(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte("::")) {
			return true
		}
	}
	return false
}

// expiry returns the day on which an account expires. ok is false if it never does. The account
// can't be used from that day on, and 0 is such a day, as pam_unix(8) reads it.
func expiry(text, name string) (day int64, ok bool) {
	const expire, fields = 7, 9
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimRight(line, "\n"), ":")
		if f[0] != name || len(f) != fields {
			continue
		}
		day, err := strconv.ParseInt(f[expire], 10, 32)
		return day, err == nil && day >= 0
	}
	return 0, false
}
