package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An account expires on the day in its line. If it has no line, or its line has no day, the account
// never expires.
func TestExpiredAccounts(t *testing.T) {
	const day = 20_000 // the date 2024-10-04
	noon := time.Unix(day*secondsOfDay+secondsOfDay/2, 0)
	path := filepath.Join(t.TempDir(), "shadow")
	userName := func(uid int) string {
		return map[int]string{1: "soon", 2: "today", 3: "off", 4: "locked", 5: "never", 6: "short", 7: "to"}[uid]
	}
	if why := whyBarred(path, 2, userName, noon); why != "" {
		t.Errorf("without a file: %q", why)
	}
	text := "root:*:19000:0:99999:7:::\nsoon:x:19000:0:99999:7::20001:\ntoday:x:19000:0:99999:7::20000:\noff:x:19000:0:99999:7::0:\n" +
		"locked:!x:19000:0:99999:7:::\nnever:x:19000:0:99999:7::-1:\nshort:x:1\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[int]string{
		1: "", 2: "the account of today has expired (2024-10-04)", 3: "the account of off has expired (1970-01-01)",
		4: "", 5: "", 6: "", 7: "", 8: "",
	} {
		if why := whyBarred(path, uid, userName, noon); why != want {
			t.Errorf("%d (%s): %q, want %q", uid, userName(uid), why, want)
		}
	}
	if whyBarred(path, 1, userName, noon.Add(12*time.Hour)) == "" {
		t.Error("an account does not expire with the day")
	}
}
