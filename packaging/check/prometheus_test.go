//go:build packages

package check

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/metrics"
	"github.com/gpusched/gpusched/daemon/server"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/packaging/test/await"
)

// tools is the directory in which 'make deps' installs Prometheus's programs.
const tools = "/usr/local/lib/gpusched-test/"

const (
	rules     = root + "/contrib/prometheus/gpusched.rules.yml"
	dashboard = root + "/contrib/grafana/gpusched.json"
	golden    = root + "/daemon/metrics/testdata/page."
)

// TestPromtoolLikesThem: metric names and units follow Prometheus's conventions. The rules and the
// fragment of prometheus.yml are valid.
func TestPromtoolLikesThem(t *testing.T) {
	page, err := os.ReadFile(golden + string(metrics.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	lint := exec.CommandContext(t.Context(), tools+"promtool", "check", "metrics")
	lint.Stdin = bytes.NewReader(page)
	if out, err := lint.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool check metrics: %v\n%s", err, out)
	}
	output(t, tools+"promtool", "check", "rules", "--lint-fatal", rules)
	output(t, tools+"promtool", "check", "config", "--syntax-only", root+"/contrib/prometheus/prometheus.yml")
}

// TestAlerts: every alert can fire, and none fires on a healthy machine.
func TestAlerts(t *testing.T) {
	output(t, tools+"promtool", "test", "rules", "testdata/alerts.yml")
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := os.ReadFile("testdata/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := regexp.MustCompile(`alert: (\w+)`).FindAllSubmatch(text, -1)
	for _, alert := range alerts {
		if !bytes.Contains(cases, append([]byte(`alertname="`), alert[1]...)) {
			t.Errorf("%s is not shown to fire", alert[1])
		}
	}
	if len(alerts) < 10 {
		t.Errorf("there are %d alerts", len(alerts))
	}
}

// exposed returns the names of the metrics in the golden page.
func exposed(t *testing.T) map[string]bool {
	t.Helper()
	page, err := os.ReadFile(golden + string(metrics.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)[{ ]`).FindAllSubmatch(page, -1) {
		names[string(m[1])] = true
	}
	return names
}

// queries returns the expressions of the dashboard, with all machines selected.
func queries(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(dashboard)
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			list = append(list, strings.ReplaceAll(target.Expr, "$instance", ".*"))
		}
	}
	if len(list) < 25 {
		t.Errorf("the dashboard has %d queries", len(list))
	}
	return list
}

// TestOnlyWhatThereIsIsAsked: the rules and the dashboard
// use only metrics that the golden page contains.
func TestOnlyWhatThereIsIsAsked(t *testing.T) {
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	names, asked := exposed(t), strings.Join(queries(t), "\n")
	for _, name := range regexp.MustCompile(`\bgpusched_\w+`).FindAllString(string(text)+asked, -1) {
		if !names[name] && !names[name+"_bucket"] {
			t.Errorf("there is no metric %s", name)
		}
	}
}

// TestPrometheus: a real Prometheus scrapes the real program over loopback. Prometheus parses every
// metric family as OpenMetrics, evaluates each query of the dashboard, and fires an alert when the
// daemon is gone.
func TestPrometheus(t *testing.T) {
	backend := &servertest.Backend{View: job.View{GPUs: []job.GPUView{{GPU: job.GPU{Index: 0, UUID: "GPU-a", State: job.GPUFree}}}}}
	socket, stop := controlSocket(t, backend)
	p := startPrometheus(t, map[string]string{"gpusched": startMetrics(t, socket), "golden": serveGolden(t)})
	p.waitFor(t, `count(gpusched_up{job="gpusched"} == 1)`)
	p.waitFor(t, `count(gpusched_gpu_info{job="gpusched",gpu="0",uuid="GPU-a"})`)
	p.waitFor(t, `count(up{job="golden"} == 1)`)
	for name := range exposed(t) {
		if p.value(t, `count({__name__="`+name+`",job="golden"})`) == "" {
			t.Errorf("Prometheus did not take %s", name)
		}
	}
	for _, query := range queries(t) {
		p.value(t, query)
	}
	if got := p.value(t, `count(ALERTS{alertname="GpuschedDown",job="gpusched"})`); got != "" {
		t.Error("an alert fires while the scheduler works")
	}
	stop()
	p.waitFor(t, `count(ALERTS{alertname="GpuschedDown",job="gpusched",alertstate="firing"})`)
	if got := p.get(t, "alerts", nil); !strings.Contains(got, `"state":"firing"`) || !strings.Contains(got, "does not work") {
		t.Errorf("the alerts are %s", got)
	}
}

// controlSocket serves the backend on a socket, as the daemon does, until the function stop is
// called.
func controlSocket(t *testing.T, b server.Backend) (path string, stop func()) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := server.New(server.Options{
		Backend: func(context.Context) server.Backend { return b }, Version: "1.2.3", Log: slog.New(slog.DiscardHandler),
		UserName: func(int) string { return "me" },
	})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l); close(done) }()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return path, stop
}

// loopback returns a listener on a free loopback port.
func loopback(t *testing.T) *net.TCPListener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.(*net.TCPListener)
}

// start runs a program until the test ends.
func start(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	var talk bytes.Buffer
	cmd.Stdout, cmd.Stderr = &talk, &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the program has ended, because the test's context has ended
		cmd.Wait()
		if t.Failed() {
			t.Logf("%s said:\n%s", cmd.Args[0], talk.Bytes())
		}
	})
}

// startMetrics runs the packaged gpusched-metrics as systemd would run it, and returns its address.
func startMetrics(t *testing.T, socket string) string {
	t.Helper()
	l := loopback(t)
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	program := filepath.Join(extractDeb(t), "usr/libexec/gpusched/gpusched-metrics")
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_FDS=1 LISTEN_PID=$$ exec "$0" --socket "$1"`, program, socket)
	cmd.ExtraFiles = []*os.File{file}
	start(t, cmd)
	return l.Addr().String()
}

// serveGolden serves the golden page. The page contains every metric family.
func serveGolden(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(golden + string(metrics.OpenMetrics))
	if err != nil {
		t.Fatal(err)
	}
	l := loopback(t)
	go http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", metrics.OpenMetrics.ContentType())
		w.Write(page)
	}))
	return l.Addr().String()
}

// prometheus is a running Prometheus. base is the address of its API.
type prometheus struct{ base string }

// startPrometheus runs a Prometheus with the shipped rules. Their alerts fire without a delay.
func startPrometheus(t *testing.T, targets map[string]string) prometheus {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(rules)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("rules.yml", regexp.MustCompile(`for: \w+`).ReplaceAllString(string(text), "for: 0s"))
	config := "global: { scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s }\nrule_files: [rules.yml]\nscrape_configs:\n"
	for name, address := range targets {
		config += "  - { job_name: " + name + ", static_configs: [{ targets: [\"" + address + "\"] }] }\n"
	}
	write("prometheus.yml", config)
	l := loopback(t)
	address := l.Addr().String()
	l.Close()
	start(t, exec.CommandContext(t.Context(), tools+"prometheus", "--config.file="+dir+"/prometheus.yml", "--storage.tsdb.path="+dir+"/data", "--web.listen-address="+address, "--log.level=warn"))
	return prometheus{"http://" + address + "/api/v1/"}
}

// get calls Prometheus's API. It returns "" if nothing answers yet.
func (p prometheus) get(t *testing.T, what string, words url.Values) string {
	t.Helper()
	body := fetch(t.Context(), p.base+what+"?"+words.Encode())
	if strings.Contains(body, `"status":"error"`) {
		t.Fatalf("%s %v: %s", what, words, body)
	}
	return body
}

// fetch returns the body at an address, or "" if nothing answers yet.
func fetch(ctx context.Context, address string) string {
	bounded, stop := await.For(ctx, "the answer of "+address, 10*time.Second)
	defer stop()
	r, err := http.NewRequestWithContext(bounded, http.MethodGet, address, nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// value returns the first value of a query's result, or
// "" for an empty result. An invalid query ends the test.
func (p prometheus) value(t *testing.T, query string) string {
	t.Helper()
	var reply struct {
		Data struct{ Result json.RawMessage }
	}
	json.Unmarshal([]byte(p.get(t, "query", url.Values{"query": {query}})), &reply)
	var list []struct{ Value [2]any }
	if json.Unmarshal(reply.Data.Result, &list) != nil || len(list) == 0 {
		return ""
	}
	text, _ := list[0].Value[1].(string)
	return text
}

// waitFor waits until a query has a result.
func (p prometheus) waitFor(t *testing.T, query string) {
	t.Helper()
	err := await.Until(t.Context(), query+" has a value", 2*time.Minute, 100*time.Millisecond, func(context.Context) (string, bool, error) {
		return "nothing", p.value(t, query) != "", nil
	})
	if err != nil {
		t.Fatalf("%v; the targets are %s", err, p.get(t, "targets", nil))
	}
}

// TestNodeExporterTakesTheFile: node_exporter serves the textfile together with its own metrics.
// gpusched's metrics have none of the names of node_exporter's metrics.
func TestNodeExporterTakesTheFile(t *testing.T) {
	page, err := os.ReadFile(golden + string(metrics.Prometheus))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gpusched.prom"), page, 0o600); err != nil {
		t.Fatal(err)
	}
	l := loopback(t)
	address := l.Addr().String()
	l.Close()
	start(t, exec.CommandContext(t.Context(), tools+"prometheus-node-exporter", "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory="+dir, "--web.listen-address="+address))
	var got string
	err = await.Until(t.Context(), "node_exporter answers", time.Minute, 50*time.Millisecond, func(ctx context.Context) (string, bool, error) {
		got = fetch(ctx, "http://"+address+"/metrics")
		return "nothing", got != "", nil
	})
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.SplitSeq(got, "\n"))
	for _, want := range []string{"gpusched_up 1", "node_textfile_scrape_error 0"} {
		if !slices.Contains(lines, want) {
			t.Errorf("it does not say %q:\n%.2000s", want, got)
		}
	}
	for name := range exposed(t) {
		if !strings.Contains(got, "\n"+name) {
			t.Errorf("it does not tell %s", name)
		}
	}
}
