package main

import (
	"context"
	"flag"
	"fmt"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/api"
	"github.com/gpusched/gpusched/daemon/job"
	"github.com/gpusched/gpusched/daemon/server/servertest"
	"github.com/gpusched/gpusched/packaging/test/await"
	"github.com/gpusched/gpusched/units/contract"
)

var screens = flag.String("screens", "", "keep the browser's screenshots in this folder")

// browserLimit is the time limit for showing the page, on a busy machine.
const browserLimit = 2 * time.Minute

// browse loads a page in a real browser and runs its script. The browser's time zone is not UTC.
// browse returns the resulting page and the browser's messages.
func browse(t testing.TB, args ...string) (dom, said string) {
	t.Helper()
	ctx, cancel := await.For(t.Context(), "the browser", browserLimit)
	defer cancel()
	words := append([]string{
		"--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--hide-scrollbars",
		// all other hosts fail to resolve
		"--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", "--enable-logging=stderr", "--log-level=0",
		"--user-data-dir=" + t.TempDir(),
	}, args...)
	cmd := exec.CommandContext(ctx, "chromium", words...)
	cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "HOME="+t.TempDir())
	var talk strings.Builder
	cmd.Stderr = &talk
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("chromium (package chromium, see packaging/deps.sh): %v\n%s", err, talk.String())
	}
	return string(out), talk.String()
}

// A real browser shows times in the reader's zone, runs no script from a user's text, connects to
// no other host, and reports no error.
func TestBrowser(t *testing.T) {
	socket, _ := serveScheduler(t, lab())
	web := watchedPage(t, socket, 100*time.Millisecond)
	dom, said := browse(t, "--dump-dom", web.URL+"/")
	for _, want := range []string{"train-vit", ">2026-11-22 22:40</time>", "日本語の学習", "&lt;script&gt;alert(1)"} {
		if !strings.Contains(dom, want) {
			t.Errorf("the page has no %q:\n%s", want, dom)
		}
	}
	if strings.Contains(dom, "UTC</time>") {
		t.Errorf("the script did not put the times in the reader's zone:\n%s", dom)
	}
	socket, _ = serveScheduler(t, usedLab(time.Now()))
	history, more := browse(t, "--dump-dom", watchedPage(t, socket, 100*time.Millisecond).URL+"/history")
	if strings.Count(history, "<svg") != 4 || !strings.Contains(history, "<rect") {
		t.Errorf("the history has no chart:\n%s", history)
	}
	for line := range strings.Lines(said + more) {
		if strings.Contains(line, ":CONSOLE") {
			t.Errorf("the browser complains: %s", line)
		}
	}
}

// A picture describes a page and its screenshot.
type picture struct {
	name, path, size string
	dark             bool
	of               *servertest.Backend // nil: no scheduler answers
	extra            bool                // made only with -screens
}

func pictures() []picture {
	now := time.Now()
	past, crowd, empty := usedLab(now), crowd(), lab()
	empty.View = job.View{StartedAt: noon, GPUSource: job.GPUSource{SampledAt: noon}, Host: empty.View.Host, GPUs: empty.View.GPUs[2:3]}
	empty.Ahead, empty.Checks = job.Course{}, nil
	return []picture{
		{name: "front", path: "/", size: "1280,1000", of: past},
		{name: "dark", path: "/", size: "1280,1000", of: past, dark: true},
		{name: "phone", path: "/", size: "400,900", of: past},
		{name: "job", path: "/job/4", size: "1000,700", of: past, extra: true},
		{name: "history", path: "/history", size: "1280,1000", of: past},
		{name: "history-dark", path: "/history?days=90", size: "1280,1000", of: past, dark: true, extra: true},
		{name: "history-phone", path: "/history?days=7", size: "400,900", of: past, extra: true},
		{name: "empty", path: "/", size: "1280,700", of: empty, extra: true},
		{name: "history-empty", path: "/history", size: "1280,500", of: empty, extra: true},
		{name: "away", path: "/", size: "1280,500", extra: true},
		{name: "history-away", path: "/history", size: "1280,500", extra: true},
		{name: "crowd", path: "/", size: "1280,4000", of: crowd, extra: true},
		{name: "crowd-phone", path: "/", size: "400,3000", of: crowd, extra: true},
	}
}

// crowd is a large machine with a long queue and names of the maximum length.
func crowd() *servertest.Backend {
	b := lab()
	b.View.GPUs, b.View.Jobs, b.Ahead.GPUs = nil, nil, nil
	long := strings.Repeat("fine-tuning-of-a-very-large-model-", 7) + "日本語"
	for i := range 64 {
		g := lab().View.GPUs[0]
		g.Index, g.UUID, g.UtilPercent = i, fmt.Sprint("GPU-", i), i*3%101
		g.Shares = []job.GPUShare{{Job: job.ID(100 + i), Called: fmt.Sprint(100 + i), Milli: 1000}}
		b.View.GPUs = append(b.View.GPUs, g)
		run := lab().View.Jobs[0]
		run.ID, run.Label.Name, run.Owner.User = job.ID(100+i), long[:10+i*3], fmt.Sprint("longest-user-name-of-all-", i)
		run.Attempt = &job.Attempt{Number: 1, StartedAt: noon, PlacedAt: noon, GPUs: []job.Allocation{{GPU: contract.GPU{UUID: g.UUID, Index: i, Milli: 1000}}}}
		b.View.Jobs = append(b.View.Jobs, run)
		course := lab().Ahead.GPUs[0]
		course.Index, course.UUID = i, g.UUID
		b.Ahead.GPUs = append(b.Ahead.GPUs, course)
	}
	for i := range 300 {
		wait := lab().View.Jobs[2]
		wait.ID, wait.Label.Name = job.ID(1000+i), long
		b.View.Jobs = append(b.View.Jobs, wait)
	}
	return b
}

// The page has the same contents at every size. Only tables may be wider than the window.
func TestBrowserScreens(t *testing.T) {
	dir := *screens
	if dir == "" {
		dir = t.TempDir()
	}
	for _, p := range pictures() {
		if p.extra && *screens == "" {
			continue
		}
		socket := t.TempDir() + "/none"
		if p.of != nil {
			socket, _ = serveScheduler(t, p.of)
		}
		web := watchedPage(t, socket, 100*time.Millisecond)
		file := filepath.Join(dir, p.name+".png")
		args := []string{"--screenshot=" + file, "--window-size=" + p.size}
		if p.dark {
			args = append(args, "--blink-settings=preferredColorScheme=0")
		}
		browse(t, append(args, web.URL+p.path)...)
		ink := darkPixels(t, file)
		if p.dark == (ink < 0.5) {
			t.Errorf("%s: %.0f %% of the picture is dark", p.name, 100*ink)
		}
	}
}

// darkPixels returns the share of pixels that are darker than grey.
func darkPixels(t *testing.T, file string) float64 {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	picture, err := png.Decode(f)
	if err != nil {
		t.Fatal(err)
	}
	dark, all := 0, 0
	for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y += 2 {
		for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x += 2 {
			r, g, b, _ := picture.At(x, y).RGBA()
			if all++; r+g+b < 3*0x8000 {
				dark++
			}
		}
	}
	return float64(dark) / float64(all)
}

// measure reports the time in milliseconds from the request to the first paint.
const measure = `new PerformanceObserver((l) => {
  for (const e of l.getEntries()) if (e.name === 'first-contentful-paint') fetch('/painted?ms=' + e.startTime);
}).observe({ type: 'paint', buffered: true });`

// BenchmarkFirstPaint measures the time from the request to the first paint, in a running browser.
func BenchmarkFirstPaint(b *testing.B) {
	socket, _ := serveScheduler(b, lab())
	client := &api.Client{Socket: socket}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	w := newWatcher((&source{client: client}).everything, askInterval)
	go w.run(ctx)
	site := newSite(w, client, "lab")
	painted := make(chan float64, 1)
	var late chan struct{} // closed once the page has been painted
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/measure.js":
			fmt.Fprint(w, measure)
		case "/late": // this image delays the load event, so that the browser paints before it exits
			select {
			case <-late:
			case <-r.Context().Done():
			}
		case "/painted":
			var ms float64
			fmt.Sscan(r.URL.Query().Get("ms"), &ms)
			painted <- ms
			close(late)
		case "/":
			rec := httptest.NewRecorder()
			site.ServeHTTP(rec, r)
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Content-Security-Policy", policy)
			page := strings.Replace(rec.Body.String(), "</head>", `<script src="/measure.js"></script></head>`, 1)
			fmt.Fprint(w, strings.Replace(page, "</body>", `<img src="/late" alt=""></body>`, 1))
		default:
			site.ServeHTTP(w, r)
		}
	}))
	defer srv.Close()
	var list []float64
	for b.Loop() {
		late = make(chan struct{})
		browse(b, "--dump-dom", srv.URL+"/")
		list = append(list, <-painted)
	}
	slices.Sort(list)
	b.ReportMetric(list[len(list)/2], "ms/median")
	b.ReportMetric(list[0], "ms/least")
	b.ReportMetric(list[len(list)-1], "ms/most")
}
