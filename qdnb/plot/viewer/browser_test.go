package viewer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
)

// patience is how long the browser may take for any step on a busy machine.
const patience = 3 * time.Minute

// browser is a headless Chromium, controlled through a pipe by the DevTools protocol.
type browser struct {
	t       *testing.T
	in      io.WriteCloser
	next    int
	session string // of the page

	mu       sync.Mutex
	answers  map[int]chan answer
	requests []string // all requests of the page except its own file
	console  []string
}

type answer struct {
	result json.RawMessage
	err    error
}

// openBrowser starts Chromium, or skips the test if it is not installed.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("SKIPPED: Chromium is not installed, so pages were not tested (Debian, Ubuntu: apt " +
			"install chromium)")
	}
	toBrowser, in, err := os.Pipe()
	must.Do(err)
	out, fromBrowser, err := os.Pipe()
	must.Do(err)
	profile := t.TempDir()
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
		"--enable-unsafe-swiftshader", "--hide-scrollbars",
		"--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe",
		"--user-data-dir="+profile, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4, as the option says
	must.Do(cmd.Start())
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, answers: map[int]chan answer{}}
	go b.listen(out)
	t.Cleanup(func() {
		b.next++
		_ = b.send(b.next, "", "Browser.close", nil) // does not wait for an answer
		done := make(chan struct{})
		go func() { cmd.Wait(); close(done) }()
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			cmd.Process.Kill()
			<-done
		}
		in.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Network", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// listen reads the messages of the browser: JSON, each terminated by a zero byte.
func (b *browser) listen(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			b.mu.Lock()
			for _, c := range b.answers {
				c <- answer{err: errors.New("the browser has gone")}
			}
			b.answers = map[int]chan answer{}
			b.mu.Unlock()
			return
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch m.Method {
		case "":
			if c := b.answers[m.ID]; c != nil {
				a := answer{result: m.Result}
				if m.Error != nil {
					a.err = errors.New(m.Error.Message)
				}
				c <- a
				delete(b.answers, m.ID)
			}
		case "Network.requestWillBeSent":
			var p struct{ Request struct{ URL string } }
			json.Unmarshal(m.Params, &p)
			b.requests = append(b.requests, p.Request.URL)
		case "Runtime.exceptionThrown", "Log.entryAdded":
			if !bytes.Contains(m.Params, []byte("GL Driver Message")) { // about speed, on a loaded machine
				b.console = append(b.console, string(m.Params))
			}
		case "Runtime.consoleAPICalled":
			var p struct{ Type string }
			if json.Unmarshal(m.Params, &p); p.Type == "error" || p.Type == "warning" {
				b.console = append(b.console, string(m.Params))
			}
		}
		b.mu.Unlock()
	}
}

func (b *browser) send(id int, session, method string, params any) error {
	m := map[string]any{"id": id, "method": method}
	if params != nil {
		m["params"] = params
	}
	if session != "" {
		m["sessionId"] = session
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = b.in.Write(append(data, 0))
	return err
}

// call sends a command to the page, or to the browser before there is one, and waits for the
// answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	c := make(chan answer, 1)
	b.mu.Lock()
	b.next++
	id := b.next
	b.answers[id] = c
	b.mu.Unlock()
	if err := b.send(id, b.session, method, params); err != nil {
		b.t.Fatalf("%s: %v", method, err)
	}
	select {
	case a := <-c:
		if a.err != nil {
			b.t.Fatalf("%s: %v", method, a.err)
		}
		if result != nil {
			if err := json.Unmarshal(a.result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
	case <-time.After(patience):
		b.t.Fatalf("%s: the browser does not answer", method)
	}
}

// eval returns the value of an expression in the page.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Exception struct{ Description string }
		}
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true,
		"awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
		}
	}
}

// text returns the string value of an expression.
func (b *browser) text(expression string) string {
	b.t.Helper()
	var s string
	b.eval("String("+expression+")", &s)
	return s
}

// wait waits until an expression is true.
func (b *browser) wait(expression string) {
	b.t.Helper()
	for begun := time.Now(); time.Since(begun) < patience; time.Sleep(25 * time.Millisecond) {
		var ok bool
		b.eval("Boolean("+expression+")", &ok)
		if ok {
			return
		}
	}
	b.t.Fatalf("%s stays false; the page says %q and %q", expression,
		b.text(`document.getElementById("message")?.textContent`), b.said())
}

// open displays a page in a window of the given size and waits for its first frame.
func (b *browser) open(page []byte, width, height int) {
	b.t.Helper()
	path := filepath.Join(b.t.TempDir(), "page.html")
	if err := os.WriteFile(path, page, 0o666); err != nil {
		b.t.Fatal(err)
	}
	b.size(width, height)
	b.visit(path)
	b.wait(`document.documentElement?.dataset.firstFrame`)
}

// visit opens a file and waits until it is loaded.
func (b *browser) visit(path string) {
	b.t.Helper()
	at := "file://" + (&url.URL{Path: path}).EscapedPath()
	b.call("Page.navigate", map[string]any{"url": at}, nil)
	b.wait(fmt.Sprintf(`location.href === %q && document.readyState === "complete"`, at))
}

// middle returns the middle of an element in the window.
func (b *browser) middle(selector string) (at [2]float64) {
	b.t.Helper()
	b.eval(fmt.Sprintf(`(() => {
		const r = document.querySelector(%q).getBoundingClientRect();
		return [r.x + r.width / 2, r.y + r.height / 2];
	})()`, selector), &at)
	return at
}

// size resizes the window.
func (b *browser) size(width, height int) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
		nil)
}

// click clicks in the middle of an element.
func (b *browser) click(selector string) {
	b.t.Helper()
	at := b.middle(selector)
	for _, kind := range []string{"mouseMoved", "mousePressed", "mouseReleased"} {
		b.mouse(kind, at[0], at[1])
	}
}

func (b *browser) mouse(kind string, x, y float64) {
	b.t.Helper()
	m := map[string]any{"type": kind, "x": x, "y": y}
	if kind != "mouseMoved" {
		m["button"], m["clickCount"] = "left", 1
	}
	b.call("Input.dispatchMouseEvent", m, nil)
}

// tap taps the middle of an element.
func (b *browser) tap(selector string) {
	b.t.Helper()
	at := b.middle(selector)
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchStart",
		"touchPoints": []map[string]float64{{"x": at[0], "y": at[1]}}}, nil)
	b.call("Input.dispatchTouchEvent", map[string]any{"type": "touchEnd", "touchPoints": []map[string]float64{}}, nil)
}

// press presses a key.
func (b *browser) press(key string) {
	b.t.Helper()
	m := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		m["text"] = key
	}
	b.call("Input.dispatchKeyEvent", m, nil)
	b.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// picture returns a screenshot as PNG. If QDNB_SCREENSHOTS is set, it also saves it to that folder.
func (b *browser) picture(name string) []byte {
	b.t.Helper()
	var r struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	if dir := os.Getenv("QDNB_SCREENSHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), data, 0o666); err != nil {
			b.t.Fatal(err)
		}
	}
	return data
}

// fetched returns the requested addresses other than the page's own file.
func (b *browser) fetched() (list []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.requests {
		if !strings.HasPrefix(url, "file://") && !strings.HasPrefix(url,
			"data:") && url != "about:blank" {
			list = append(list, url)
		}
	}
	return list
}

// said returns the errors and warnings of the page.
func (b *browser) said() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string{}, b.console...)
}
