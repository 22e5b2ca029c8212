package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Barred is what this host's file of when accounts expire, shadow(5), says now.
func Barred(uid int) string { return barred("/etc/shadow", uid, UserName, time.Now()) }

// secondsOfDay is a day of shadow(5), which counts them from 1970 in UTC.
const secondsOfDay = 24 * 60 * 60

// barred says why a user may run nothing: "" where the account has not expired.
// Accounts that the file does not know, as those of a directory service, never do.
// Where it can't be read nothing is known of any: its mode is 0000 on Fedora and
// RHEL, and the daemon has no capability to go over that.
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

// expires reports whether any account may expire, which is seldom and saves a search for
// the name: the last two fields of a line are then not both empty.
func expires(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte("::")) {
			return true
		}
	}
	return false
}

// expiry finds the day on which an account expires; false: it never does. That day
// is the first without it, and 0 is one too, as pam_unix(8) takes them.
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
