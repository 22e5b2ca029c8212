package host

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Barred returns why a user may not run anything now,
// according to shadow(5) of this host, or "" if the user may.
func Barred(uid int) string { return whyBarred("/etc/shadow", uid, UserName, time.Now()) }

// secondsOfDay is the length of a day. shadow(5) counts days since 1970 in UTC.
const secondsOfDay = 24 * 60 * 60

// whyBarred returns why a user may not run anything, or "" if the account has not expired. An
// account that is not in the file, such as one of a directory service, never expires here. If the
// file can't be read, no account counts as expired. This is normal on Fedora and RHEL, where the
// file's mode is 0000, since the daemon lacks the capability to read it.
func whyBarred(path string, uid int, userName func(int) string, now time.Time) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	if !anyExpires(text) {
		return ""
	}
	name := userName(uid)
	day, ok := expiry(string(text), name)
	if !ok || now.Unix()/secondsOfDay < day {
		return ""
	}
	return fmt.Sprintf("the account of %s has expired (%s)", name, time.Unix(day*secondsOfDay, 0).UTC().Format(time.DateOnly))
}

// anyExpires reports whether any account has an expiry date. The line of such an account does not
// end with two empty fields. Few files have such a line. Without such a line, no names are looked
// up.
func anyExpires(text []byte) bool {
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(bytes.TrimRight(line, "\n"), []byte("::")) {
			return true
		}
	}
	return false
}

// expiry returns the day from which an account can't be used. The result ok is false if there is no
// such day. The day 0 is valid, as in pam_unix(8).
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
