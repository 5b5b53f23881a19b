package viewer

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/qdnb/internal/must"
)

// patience is how long the browser may take for any step on a busy machine.
const patience = 3 * time.Minute

// browser is a headless Chromium, controlled through a pipe by the DevTools protocol. Its events are read with
// the answer of the next command.
type browser struct {
	t       *testing.T
	in, out *os.File
	read    *bufio.Reader // of out
	last    int           // command
	session string        // of the page

	requests []string // all requests of the page
	console  []string // its errors and warnings
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
		t.Skip("SKIPPED: Chromium is not installed, so pages were not tested (Debian, Ubuntu: apt install chromium)")
	}
	toBrowser, in, err := os.Pipe()
	must.Do(err)
	out, fromBrowser, err := os.Pipe()
	must.Do(err)
	profile := t.TempDir()
	cmd := exec.Command(path, "--headless=new", "--no-sandbox", "--use-angle=swiftshader",
		"--enable-unsafe-swiftshader", "--hide-scrollbars",
		"--no-first-run", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--user-data-dir="+profile, "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+profile)
	cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4, as the option says
	must.Do(cmd.Start())
	toBrowser.Close()
	fromBrowser.Close()
	b := &browser{t: t, in: in, out: out, read: bufio.NewReader(out)}
	t.Cleanup(func() {
		b.session = ""
		b.send("Browser.close", nil)
		stuck := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		stuck.Stop()
		in.Close()
		out.Close()
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

func (b *browser) send(method string, params any) {
	b.last++
	data := must.Get(json.Marshal(struct {
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  any    `json:"params,omitempty"`
		Session string `json:"sessionId,omitempty"`
	}{b.last, method, params, b.session}))
	b.in.Write(append(data, 0)) // a browser that has gone gives no answer
}

// call sends a command to the page, or to the browser before there is one, and waits for the answer.
func (b *browser) call(method string, params, result any) {
	b.t.Helper()
	b.send(method, params)
	must.Do(b.out.SetReadDeadline(time.Now().Add(patience)))
	for {
		line, err := b.read.ReadBytes(0) // messages end with a zero byte
		if err != nil {
			b.t.Fatalf("%s: the browser does not answer: %v", method, err)
		}
		var m struct {
			ID     int
			Method string
			Params json.RawMessage
			Result json.RawMessage
			Error  *struct{ Message string }
		}
		must.Do(json.Unmarshal(line[:len(line)-1], &m))
		switch {
		case m.Method != "":
			b.event(m.Method, m.Params)
		case m.ID != b.last:
		case m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		default:
			if result != nil {
				must.Do(json.Unmarshal(m.Result, result))
			}
			return
		}
	}
}

func (b *browser) event(method string, params []byte) {
	var p struct {
		Type    string
		Request struct{ URL string }
	}
	_ = json.Unmarshal(params, &p) // other events have other fields
	switch method {
	case "Network.requestWillBeSent":
		b.requests = append(b.requests, p.Request.URL)
	case "Runtime.exceptionThrown", "Log.entryAdded":
		if !bytes.Contains(params, []byte("GL Driver Message")) { // about speed, on a loaded machine
			b.console = append(b.console, string(params))
		}
	case "Runtime.consoleAPICalled":
		if p.Type == "error" || p.Type == "warning" {
			b.console = append(b.console, string(params))
		}
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
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails.Exception.Description)
	}
	if value != nil {
		must.Do(json.Unmarshal(r.Result.Value, value))
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
	must.Do(os.WriteFile(path, page, 0o666))
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
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}, nil)
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
	data := must.Get(base64.StdEncoding.DecodeString(r.Data))
	if dir := os.Getenv("QDNB_SCREENSHOTS"); dir != "" {
		must.Do(os.WriteFile(filepath.Join(dir, name+".png"), data, 0o666))
	}
	return data
}

// fetched returns the requested addresses other than the page's own file.
func (b *browser) fetched() (list []string) {
	for _, url := range b.requests {
		own := func(start string) bool { return strings.HasPrefix(url, start) }
		if !slices.ContainsFunc([]string{"file://", "data:", "about:blank"}, own) {
			list = append(list, url)
		}
	}
	return list
}

// said returns the errors and warnings of the page.
func (b *browser) said() []string {
	b.eval("0", nil) // reads the events so far
	return b.console
}
