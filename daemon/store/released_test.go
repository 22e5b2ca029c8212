package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/gpusched/gpusched/daemon/job"
)

// testdata/released has the state file of a busy machine that each release wrote, as SQL, and what
// that release read from it, as JSON. Never change these files: a release adds its own.
var stateFile = flag.String("state", "", "write the files of the newest release in CHANGELOG.md, from this state file")

const releasedDir = "testdata/released/"

// A state file of each release is read as that release read it, and then has the present schema.
// Fields may have been added.
func TestReleasedStateFiles(t *testing.T) {
	if *stateFile != "" {
		writeReleased(t)
	}
	files, err := filepath.Glob(releasedDir + "*.sql")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		path := filepath.Join(t.TempDir(), "state.db")
		execFile(t, path, readFile(t, file))
		s := openAt(t, path)
		mustCheck(t, s)
		want := decodeJSON(t, readFile(t, strings.TrimSuffix(file, "sql")+"json"))
		if what := lost(want, everything(t, s), ""); what != "" {
			t.Errorf("%s: the release read this, and it is lost or different: %s", file, what)
		}
		if have, want := schemaOf(t, s), schemaOf(t, openNew(t)); have != want {
			t.Errorf("%s: opened by this tree, it has not the schema of a new file. If you changed schema.sql, undo that, and append "+
				"a script to migrations() instead: released state files have the old schema.\n%s\na new file:\n%s", file, have, want)
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// everything returns all that can be read from a state file, as JSON.
func everything(t *testing.T, s *Store) any {
	t.Helper()
	ctx := context.Background()
	st, err := s.Load(ctx)
	ended, err2 := s.Ended(ctx, job.Query{})
	directories, err3 := s.Directories(ctx, 1000)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	all := map[string]any{"state": st, "ended": ended, "directories": directories}
	for id := job.ID(1); id < st.NextID; id++ {
		attempts, err := s.Attempts(ctx, id)
		messages, err2 := s.Notifications(ctx, id)
		payload, err3 := s.Payload(ctx, id)
		if errors.Is(err3, sql.ErrNoRows) {
			err3 = nil // a task has its array's payload
		}
		if err := errors.Join(err, err2, err3); err != nil {
			t.Fatal(err)
		}
		if len(attempts)+len(messages)+len(payload.Argv) == 0 {
			continue
		}
		all["job "+id.String()] = map[string]any{"attempts": attempts, "messages": messages, "payload": payload}
	}
	text, err := json.Marshal(all)
	if err != nil {
		t.Fatal(err)
	}
	return decodeJSON(t, string(text))
}

func decodeJSON(t *testing.T, text string) (all any) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		t.Fatal(err)
	}
	return all
}

// lost names the first part of want that is not in have. In have, objects may have more fields.
func lost(want, have any, path string) string {
	switch w := want.(type) {
	case map[string]any:
		h, _ := have.(map[string]any)
		for key := range w {
			if what := lost(w[key], h[key], path+"."+key); what != "" {
				return what
			}
		}
		return ""
	case []any:
		h, _ := have.([]any)
		for i := range w {
			if len(h) != len(w) {
				break
			}
			if what := lost(w[i], h[i], fmt.Sprintf("%s[%d]", path, i)); what != "" {
				return what
			}
		}
		if len(h) == len(w) {
			return ""
		}
	}
	if reflect.DeepEqual(want, have) {
		return ""
	}
	return fmt.Sprintf("%s was %v and is %v", path, want, have)
}

var comment = regexp.MustCompile(`--.*|\s+`)

// schemaOf returns the schema of a file without comments, line breaks and SQLite's own tables.
func schemaOf(t *testing.T, s *Store) string {
	t.Helper()
	var all string
	err := s.write.QueryRow(`SELECT group_concat(sql, char(10)) FROM (SELECT sql FROM sqlite_schema WHERE sql <> '' ORDER BY name)`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return comment.ReplaceAllString(all, " ")
}

// writeReleased writes the two files of a release. To the jobs of the state file it adds one in
// which every field is set.
func writeReleased(t *testing.T) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	if err := os.WriteFile(path, []byte(readFile(t, *stateFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := openAt(t, path)
	array, task, other := filled(t, 100)
	array.Job.Tasks.Live, task.Job.Tasks = 0, nil // none of the tasks is live
	commit(t, s, array, task, other)
	newest := regexp.MustCompile(`(?m)^## \[(\d[^]]*)\]`).FindStringSubmatch(readFile(t, "../../CHANGELOG.md"))
	text, err := json.MarshalIndent(everything(t, s), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".sql": dumpSQL(t, s), ".json": string(text) + "\n"} {
		if err := os.WriteFile(releasedDir+newest[1]+name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// dumpSQL returns a script that makes a file like this one.
func dumpSQL(t *testing.T, s *Store) string {
	t.Helper()
	script := fmt.Sprintf("PRAGMA application_id=%d;\nPRAGMA user_version=%d;\n", applicationID, len(migrations()))
	query := func(q string) (list []string) {
		rows, err := s.write.Query(q)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var text string
			if err := rows.Scan(&text); err != nil {
				t.Fatal(err)
			}
			list = append(list, text)
		}
		return list
	}
	const made = "FROM sqlite_schema WHERE sql <> '' AND name NOT LIKE 'sqlite_%' AND type "
	for _, create := range query("SELECT sql " + made + "= 'table' ORDER BY rowid") {
		script += create + ";\n"
	}
	for _, table := range query("SELECT name " + made + "= 'table' ORDER BY rowid") {
		columns := query(fmt.Sprintf("SELECT 'quote(' || name || ')' FROM pragma_table_info('%s')", table))
		for _, row := range query("SELECT " + strings.Join(columns, " || ',' || ") + " FROM " + table) {
			script += "INSERT INTO " + table + " VALUES(" + row + ");\n"
		}
	}
	for _, create := range query("SELECT sql " + made + "<> 'table' ORDER BY rowid") {
		script += create + ";\n"
	}
	return script
}
