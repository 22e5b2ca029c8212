package main

import (
	"encoding/base64"
	"fmt"
	"strings"
)

// submitForbidden submits jobs, all of which the daemon must refuse.
func submitForbidden() {
	esc := []string{`\u001b[31m`, `\u001b]0;x\u0007`, `a\u0000b`, `a\nb`, `a\rb`, `a\tb`, `\u202eexe.py`, `a\u200bb`,
		`\u009b31m`, `\u2028`, `\ufeff`}
	var list []wire
	add := func(what, fields string, want ...int) {
		if want == nil {
			want = []int{400}
		}
		list = append(list, wire{what, request("POST", "/v1/jobs", "", `{"env_mode":"clean",`+fields+`}`), want})
	}
	const rest = `"argv":["aWQ="],"dir":"Lw=="`
	for _, text := range esc {
		for _, field := range []string{`"name":"%s"`, `"name":"x","comment":"%s"`, `"name":"x","tags":{"%s":"v"}`,
			`"name":"x","tags":{"k":"%s"}`, `"name":"x","gpu_type":"%s"`,
			`"name":"x","key":"%s"`, `"name":"x","dedup":"%s"`, `"name":"x","priority":"%s"`, `"name":"x","on_timeout":"%s"`,
			`"name":"x","gpu_visible":"%s"`, `"name":"x","array":{"spec":"%s"}`} {
			add(fmt.Sprintf(field, text), fmt.Sprintf(field, text)+","+rest)
		}
	}
	b64 := func(n int, s string) string { return base64.StdEncoding.EncodeToString([]byte(strings.Repeat(s, n))) }
	for what, fields := range map[string]string{
		"an argument of 128 KiB":            `"name":"x","dir":"Lw==","argv":["aWQ=","` + b64(128<<10, "x") + `"]`,
		"an argument of 3 MiB":              `"name":"x","dir":"Lw==","argv":["aWQ=","` + b64(3<<20, "x") + `"]`,
		"3 MiB of arguments":                `"name":"x","dir":"Lw==","argv":["aWQ="` + strings.Repeat(`,"`+b64(100_000, "x")+`"`, 30) + `]`,
		"a million empty arguments":         `"name":"x","dir":"Lw==","argv":[""` + strings.Repeat(`,""`, 1_000_000) + `]`,
		"NUL in an argument":                `"name":"x","dir":"Lw==","argv":["aWQ=","AA=="]`,
		"no command":                        `"name":"x","dir":"Lw==","argv":[]`,
		"an empty command":                  `"name":"x","dir":"Lw==","argv":[""]`,
		"a variable without =":              `"name":"x","dir":"Lw==","argv":["aWQ="],"env":["YWE="]`,
		"a variable without a name":         `"name":"x","dir":"Lw==","argv":["aWQ="],"env":["PWE="]`,
		"NUL in a variable":                 `"name":"x","dir":"Lw==","argv":["aWQ="],"env":["YT0A"]`,
		"a relative directory":              `"name":"x","dir":"Li4=","argv":["aWQ="]`,
		"NUL in the directory":              `"name":"x","dir":"LwA=","argv":["aWQ="]`,
		"a directory of 5000 bytes":         `"name":"x","dir":"` + b64(2500, "/x") + `","argv":["aWQ="]`,
		"a name of 129 bytes":               `"name":"` + strings.Repeat("x", 129) + `",` + rest,
		"no name":                           rest,
		"a comment of 1025 bytes":           `"name":"x","comment":"` + strings.Repeat("x", 1025) + `",` + rest,
		"100000 tags":                       `"name":"x","tags":{"a":"b"` + tags(100_000) + `},` + rest,
		"1001 dependencies":                 `"name":"x","after":[` + strings.Repeat(`{"kind":"after","job":1},`, 1000) + `{"kind":"after","job":1}],` + rest,
		"a dependency on job 0":             `"name":"x","after":[{"kind":"after","job":0}],` + rest,
		"a dependency of no kind":           `"name":"x","after":[{"kind":"before","job":1}],` + rest,
		"half the numbers as tasks":         `"name":"x","array":{"spec":"0-2147483647"},` + rest,
		"a million tasks":                   `"name":"x","array":{"spec":"0-999999"},` + rest,
		"100000 × 100000 combinations":      `"name":"x","array":{"spec":"","params":[{"name":"a","values":["1"` + strings.Repeat(`,"1"`, 99_999) + `]},{"name":"b","values":["1","2"]}]},` + rest,
		"parameters that swell the command": `"name":"x","dir":"Lw==","argv":["` + b64(40_000, "{a}") + `"],"array":{"params":[{"name":"a","values":["` + strings.Repeat("x", 100_000) + `"]}]}`,
		"a parameter with NUL":              `"name":"x","array":{"params":[{"name":"a","values":["\u0000"]}]},` + rest,
		"a begin in the year 10000":         `"name":"x","begin":"9999-12-31T23:59:59-12:00",` + rest,
		"a begin before the year 0":         `"name":"x","begin":"0000-01-01T00:00:00+12:00",` + rest,
		"a negative amount of GPUs":         `"name":"x","gpu_milli":-1000,` + rest,
		"too many GPUs":                     `"name":"x","gpu_milli":9223372036854775807,` + rest,
		"a number with a fraction":          `"name":"x","gpu_milli":1.5,` + rest,
		"a number beyond 64 bits":           `"name":"x","mem_bytes":99999999999999999999,` + rest,
		"negative memory":                   `"name":"x","mem_bytes":-1,` + rest,
		"negative CPUs":                     `"name":"x","cpus":-1,` + rest,
		"a negative limit":                  `"name":"x","time_limit_seconds":-1,` + rest,
		"a limit of 300 years":              `"name":"x","time_limit_seconds":9223372036,` + rest,
		"a negative grace":                  `"name":"x","grace_seconds":-1,` + rest,
		"negative retries":                  `"name":"x","retries":-2,` + rest,
		"an umask of -1":                    `"name":"x","umask":-1,` + rest,
		"another environment mode":          `"name":"x","env_mode":"root",` + rest,
		"a signal 0 before":                 `"name":"x","warn_signal":65,"warn_before_seconds":1,` + rest,
		"GPUs named twice":                  `"name":"x","gpu_ids":[0,0],"gpu_milli":2000,` + rest,
		"a GPU of a negative number":        `"name":"x","gpu_ids":[-1],"gpu_milli":1000,` + rest,
		"two names, the second ugly":        `"name":"x","name":"\u001b",` + rest,
		"100000 brackets":                   `"name":` + strings.Repeat("[", 100_000),
		"a text without end":                `"name":"` + strings.Repeat("x", 1<<20),
		"not JSON after JSON":               `"name":"x",` + rest + `}{`,
	} {
		add(what, fields)
	}
	for _, field := range []string{"uid", "gid", "user", "owner", "groups", "admin", "limits", "script", "shape",
		"attempt", "state", "id", "unit", "slice", "gids", "Payload"} {
		add("the field "+field, `"name":"x","`+field+`":0,`+rest)
	}
	for _, class := range []string{"high", "interactive", "1", "1000"} {
		add("the priority "+class, `"name":"x","priority":"`+class+`",`+rest, 403)
	}
	send("submissions", list)
}

func tags(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"k%d":"v"`, i)
	}
	return b.String()
}

// changeOthers tries to change another account's job. It uses every route of the interface, and
// every header that some programs trust as an identity.
func changeOthers(id string) {
	var list []wire
	add := func(what, path, header, body string, want ...int) {
		list = append(list, wire{what, request("POST", path, header, body), want})
	}
	job := "/v1/jobs/" + id
	for _, verb := range []string{"cancel", "hold", "release", "requeue", "update"} {
		for _, body := range []string{"", "{}", `{"signal":9}`, `{"priority":"low"}`} {
			add(verb+" "+body, job+"/"+verb, "", body, 400, 403)
		}
	}
	for _, path := range []string{"/v1/gpus/0/pause", "/v1/gpus/0/resume", "/v1/gpus/0/drain", "/v1/gpus/0/undrain",
		"/v1/reservations"} {
		add("POST "+path, path, "", "{}", 403)
	}
	list = append(list, wire{"DELETE /v1/reservations/1", request("DELETE", "/v1/reservations/1", "", ""), []int{403}})
	for _, header := range []string{
		"Authorization: Basic cm9vdDo=", "X-Forwarded-User: root", "X-Remote-User: root", "Remote-User: root",
		"X-Forwarded-For: 127.0.0.1", "X-User: 0", "X-Uid: 0",
		"Cookie: user=root", "From: root", "X-HTTP-Method-Override: GET", "X-Original-URL: /v1/version", "X-Gpusched-Uid: 0",
		"Forwarded: for=unix;by=root",
	} {
		add("cancel with "+header, job+"/cancel", header+"\r\n", "{}", 403)
	}
	for _, query := range []string{"uid=0", "user=root", "admin=1", "as=root"} {
		add("cancel with ?"+query, job+"/cancel?"+query, "", "{}", 400, 403)
	}
	for _, name := range []string{"%30" + id, "+" + id, id + "%20", id + ".0", "0" + id, id + "_0", id + "%2f..%2f1"} {
		add("cancel "+name, "/v1/jobs/"+name+"/cancel", "", "{}", 400, 403, 404)
	}
	send("another's jobs", list)
}
