package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpusched/gpusched/daemon/job"
)

// headings is a pattern for the headings of sections and columns.
var headings = regexp.MustCompile(`(?s)<(?:h1|h2|th|caption)\b[^>]*>([^<&]*)`)

// ordinaryPage serves a page of the lab without its attacks. All its names use characters that
// every font has.
func ordinaryPage(t *testing.T) (url string) {
	b := lab()
	jobs := b.View.Jobs
	for i, name := range map[int]string{2: "finetune-70b", 3: "night-run"} {
		jobs[i].Label.Name = name
	}
	jobs[3].Owner.User = "carol"
	jobs[3].Reasons = []job.Reason{{Code: job.ReasonBegin, GPU: job.NoGPU, Detail: job.Say("detail/at", noon.Add(10*time.Hour))}}
	jobs[3].Start = job.ExpectedStart{At: noon.Add(10 * time.Hour)}
	socket, _ := serveScheduler(t, b)
	return watchedPage(t, socket, time.Second).URL + "/"
}

// stillPage returns the address of a page that does not change: its clock is stopped at noon, and
// it gets no updates.
func stillPage(t *testing.T, url string) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/", "/page.js", "/style.css", "/icon.svg":
			_, header, text := get(t, strings.TrimSuffix(url, "/")+r.URL.Path)
			w.Header().Set("Content-Type", header.Get("Content-Type"))
			fmt.Fprint(w, strings.Replace(text, "<script", "<script>"+fmt.Sprintf(standing, noon.UnixMilli())+"</script><script", 1))
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// This script stops the clock and the event stream of a page.
const standing = `const at = %d, Going = Date;
Date = class extends Going { constructor(...a) { a.length ? super(...a) : super(at); } static now() { return at; } };
EventSource = class { addEventListener() {} close() {} };`

// The page has all headings that its picture in the README shows. With -screens, the test makes the
// picture and the list of headings anew.
func TestPicture(t *testing.T) {
	url := ordinaryPage(t)
	_, _, text := get(t, url)
	var shown []string
	for _, m := range headings.FindAllStringSubmatch(text, -1) {
		if title := strings.TrimSpace(m[1]); title != "" && !slices.Contains(shown, title) {
			shown = append(shown, title)
		}
	}
	const picture = "../../contrib/pictures/page"
	if *screens != "" {
		browse(t, "--screenshot="+filepath.Join(*screens, "page.png"), "--window-size=1100,920", stillPage(t, url))
		if err := os.WriteFile(filepath.Join(*screens, "page.txt"), []byte(strings.Join(shown, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	drawn, err := os.ReadFile(picture + ".txt")
	if err != nil || len(drawn) < 100 {
		t.Fatalf("%s, %v", drawn, err)
	}
	for title := range strings.Lines(string(drawn)) {
		if title = strings.TrimSpace(title); !slices.Contains(shown, title) {
			t.Errorf("the picture of the page has %q, the page has not: make it anew by 'make pictures', and look at it", title)
		}
	}
	if info, err := os.Stat(picture + ".png"); err != nil || info.Size() > 150_000 {
		t.Errorf("%v, %v", info, err)
	}
}
