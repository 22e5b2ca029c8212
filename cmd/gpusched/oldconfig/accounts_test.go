package oldconfig

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/gpusched/gpusched/daemon/config"
	"github.com/gpusched/gpusched/packaging/test/golden"
)

func accountsOf(t *testing.T, name string) Result {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/accounts", name))
	if err != nil {
		t.Fatal(err)
	}
	if !IsAccounts(string(text)) {
		t.Errorf("%s is not recognized", name)
	}
	r, err := ConvertAccounts(string(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return r
}

func read(t *testing.T, toml string) config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.toml")
	if err := os.WriteFile(path, []byte(toml), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Read([]string{path}, config.AnyOwner)
	if err != nil {
		t.Fatalf("%v\n%s", err, toml)
	}
	return c
}

// Quotas are unchanged after 'gpusched export slurm' and the conversion back. show.txt and dump.cfg
// are output of sacctmgr 22.05. They were recorded after a run of the accounts.sh that was made
// from exported.toml.
func TestAccountsThereAndBack(t *testing.T) {
	first, err := os.ReadFile("testdata/accounts/exported.toml")
	if err != nil {
		t.Fatal(err)
	}
	want := read(t, string(first))
	for _, name := range []string{"show.txt", "dump.cfg"} {
		got := read(t, accountsOf(t, name).TOML)
		if !reflect.DeepEqual(got.Quotas, want.Quotas) {
			t.Errorf("%s:\n%+v\n%+v", name, got.Quotas, want.Quotas)
		}
		if name == "show.txt" && !reflect.DeepEqual(got.Classes, want.Classes) { // a dump contains no QOS
			t.Errorf("%s: classes %+v, want %+v", name, got.Classes, want.Classes)
		}
	}
}

// This Slurm has been changed over years. Each of its limits becomes a setting or a note.
func TestAccountsThatGrew(t *testing.T) {
	r := accountsOf(t, "grown.txt")
	golden.Check(t, "accounts/grown.toml", r.TOML)
	c := read(t, r.TOML)
	if q := c.Quotas.Users["ann"]; q.GPUMilli != 2000 {
		t.Errorf("ann has %+v: her default account says 2 GPUs", q)
	}
}

func TestNoAccounts(t *testing.T) {
	for _, text := range []string{"", "python train.py | tee log\n", "a|b|c\n", "User - nobody\n"} {
		if IsAccounts(text) {
			t.Errorf("%q is recognized as accounts", text)
		}
		if _, err := ConvertAccounts(text); err == nil {
			t.Errorf("%q is converted", text)
		}
	}
}

// A large site has tens of thousands of associations. Comparing all pairs would take minutes.
func TestManyAccounts(t *testing.T) {
	var text strings.Builder
	text.WriteString("Cluster|Account|User|Par Name|Share|GrpTRES\n")
	for i := range 10_000 {
		fmt.Fprintf(&text, "c|lab%d||root|1|cpu=4\n", i)
		for u := range 5 {
			fmt.Fprintf(&text, "c|lab%d|u%d_%d||1|\n", i, i, u)
		}
	}
	r, err := ConvertAccounts(text.String())
	if groups := strings.Count(r.TOML, "[quota.group."); err != nil || groups != 10_000 ||
		!strings.Contains(r.TOML, "members: u7_0, u7_1, u7_2, u7_3, u7_4\n") {
		t.Errorf("%v, %d groups", err, groups)
	}
}

// FuzzConvertAccounts checks that any text is refused or becomes valid settings.
func FuzzConvertAccounts(f *testing.F) {
	for _, name := range []string{"show.txt", "dump.cfg", "grown.txt"} {
		text, err := os.ReadFile(filepath.Join("testdata/accounts", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add("Account|User|Share|GrpTRES\n\"\n[x]\"|b\x00\x1b]|5|mem=1e9P,gres/gpu=99999999999,cpu=\n")
	f.Add("Account - 'a':GrpJobs=0:Fairshare=-3\nUser - 'it''s':GrpTRES='cpu=1'\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ConvertAccounts(text)
		if err != nil {
			return
		}
		var out map[string]any
		if err := toml.Unmarshal([]byte(r.TOML), &out); err != nil {
			t.Fatalf("%q gives %q: %v", text, r.TOML, err)
		}
		if len(text) < 400 { // checking the settings is slow
			read(t, r.TOML)
		}
	})
}
