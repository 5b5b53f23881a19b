"""browse_site.py SITE: opens every page of the static site in a headless Chromium, wide and narrow, and checks it.

No request leaves the site or fails, no page reports an error or scrolls sideways on a phone, every link has a target,
keys reach everything in order, a click on a cell plays its gait, and a figure answers the arrow keys. Writes
screenshots to SITE-screenshots. Runs in .tools/browser (Playwright and an installed Chromium); see `make test-site`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

from playwright.sync_api import Browser, Page, sync_playwright

from screenshot import BROWSERS, find_browser

FACTS = """() => ({
  links: [...document.querySelectorAll("a[href]")].map((a) => a.href),
  anchors: [...document.querySelectorAll("[id]")].map((e) => e.id),
  outside: [...document.querySelectorAll("header a")].filter((a) => a.getBoundingClientRect().right > innerWidth).length,
  wide: document.documentElement.scrollWidth, title: document.title, headings: document.querySelectorAll("h1").length,
  unnamed: [...document.images].filter((i) => !i.hasAttribute("alt") && !i.closest(".jp-OutputArea")).length,
})"""
FOCUS = "document.activeElement.textContent.trim() || document.activeElement.title || document.activeElement.id"


class Visit:
    """A page that notes what goes wrong in `problems`."""

    def __init__(self, browser: Browser, site: Path, problems: list[str], width: int) -> None:
        self.site, self.problems, self.requests = site, problems, []
        self.page: Page = browser.new_page(viewport={"width": width, "height": 844})
        self.page.set_default_timeout(180_000)  # WebGL in software on a busy machine
        self.page.on("request", lambda r: self.request(r.url))
        # A page that is left ends its requests.
        self.page.on("requestfailed", lambda r: r.failure != "net::ERR_ABORTED" and self.note(f"cannot load {r.url}"))
        self.page.on("pageerror", lambda e: self.note(f"error {e}"))
        self.page.on("console", lambda m: m.type == "error" and self.note(f"says {m.text}"))

    def note(self, problem: str) -> None:
        self.problems.append(f"{self.path}: {problem}")

    def request(self, url: str) -> None:
        self.requests.append(url)
        inside = url.startswith(("data:", "blob:", "about:")) or url.startswith(self.site.as_uri() + "/")
        if not inside:
            self.note(f"requests {url}, outside of the site")

    def open(self, path: str) -> Page:
        self.path = path
        self.page.goto((self.site / path).as_uri(), wait_until="load")
        return self.page


def check_pages(wide: Visit, narrow: Visit, paths: list[str]) -> None:
    anchors, links = {}, []
    for path in paths:
        facts = wide.open(path).evaluate(FACTS)
        anchors[path] = set(facts["anchors"])
        links += [(path, url) for url in facts["links"]]
        if not path.startswith("skills/"):
            for what, wrong in [("title", not facts["title"]), ("heading", facts["headings"] < 1), ("text for an image", facts["unnamed"])]:
                if wrong:
                    wide.note(f"has no {what}")
        facts = narrow.open(path).evaluate(FACTS)
        if (width := facts["wide"]) > 390:
            narrow.note(f"scrolls sideways on a narrow screen: it is {width} pixels wide")
        if facts["outside"]:
            narrow.note(f"has {facts['outside']} links of its head beyond the edge of a narrow screen")
    root = wide.site.as_uri() + "/"
    for path, url in links:
        wide.path = path
        if url.startswith("file:") and not url.startswith(root):
            wide.note(f"links {url}, outside of the site")
        elif url.startswith(root):
            parts = urlsplit(url)
            target = unquote(parts.path).removeprefix(f"{wide.site}/")
            if not (wide.site / target).is_file():
                wide.note(f"links {target}, which does not exist")
            elif parts.fragment and unquote(parts.fragment) not in anchors.get(target, {unquote(parts.fragment)}):
                wide.note(f"links {target}#{unquote(parts.fragment)}, which has no such heading")


def check_keys(visit: Visit) -> None:
    """Tab reaches the skip link, the site's pages, and then the content; Enter on the skip link jumps there."""
    page = visit.open("index.html")
    seen = []
    for _ in range(12):
        page.keyboard.press("Tab")
        seen.append(page.evaluate(FOCUS))
    want = ["Skip to the content", "qdnb", "Skills", "Gallery", "Notebooks", "Algorithms", "Figures", "Docs", "API", "Quickstart"]
    if seen[: len(want)] != want:
        visit.note(f"Tab reaches {seen}, not {want}")
    page = visit.open("docs/index.html")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    if page.evaluate("document.activeElement.id") != "content":
        visit.note("the skip link does not move the focus to the content")


def until(page: Page, expression: str) -> None:
    """Waits a minute. The policy of these pages forbids wait_for_function, which evaluates a text."""
    for _ in range(600):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(100)
    raise SystemExit(f"FAIL {page.url}: {expression} stays false")


def check_skills(visit: Visit, shots: Path) -> None:
    """Each repertoire plays the cell that is clicked, whose film is the only file that it loads for it."""
    for path in sorted((visit.site / "skills").glob("*.html")):
        page = visit.open(f"skills/{path.name}")
        until(page, "document.documentElement.dataset.frames > 1")
        first = page.evaluate("document.documentElement.dataset.film")
        before = len(visit.requests)
        marked = page.evaluate("""[...document.querySelectorAll("[data-entry]")].map((e) => e.dataset.entry)""")
        for entry in marked:
            page.locator(f'[data-entry="{entry}"]').first.click(force=True)
            if len(visit.requests) > before:
                break
        until(page, f"document.documentElement.dataset.film !== '{first}' && document.documentElement.dataset.step > 2")
        if (loaded := len(visit.requests) - before) != 1:
            visit.note(f"a click on a cell loads {loaded} files")
        page.screenshot(path=shots / f"skills-{path.stem}.png")


def check_figures(visit: Visit, shots: Path) -> None:
    page = visit.open("figures/figure-2.html")
    view = page.locator("[role=application]")
    view.focus()
    page.keyboard.press("ArrowRight")
    said = page.locator("[role=status]").text_content() or ""
    if "cell " not in said or "fitness" not in said:
        visit.note(f"an arrow key on the figure says {said!r}")
    page.screenshot(path=shots / "figure-2.png")


def check_tips(visit: Visit) -> None:
    """On a phone, what a figure says of a point stays on the screen."""
    page = visit.open("figures/figure-3.html")
    area = page.locator("[role=application]").bounding_box() or {}
    for share in range(5, 100, 5):
        page.mouse.move(area["x"] + area["width"] * share / 100, area["y"] + area["height"] / 4)
        left, right = page.evaluate("""(() => { const tip = document.querySelector("[role=application] ~ div").getBoundingClientRect();
            return [tip.left, tip.right]; })()""")
        if left < 0 or right > 390:
            visit.note(f"what it says at {share} % of the figure reaches from {left:.0f} to {right:.0f}, beyond the edges of a narrow screen")


def main() -> int:
    site = Path(sys.argv[1]).resolve()
    browser = find_browser()
    if browser is None:
        print(f"make test-site: cannot run: none of {', '.join(BROWSERS)} is installed, and BROWSER_BIN is not set "
              "(Debian, Ubuntu: apt install chromium)", file=sys.stderr)
        return 1
    shots = site.with_name(site.name + "-screenshots")
    shots.mkdir(exist_ok=True)
    paths = sorted(str(path.relative_to(site)) for path in site.rglob("*.html"))
    problems: list[str] = []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"])
        wide, narrow = Visit(chromium, site, problems, 1280), Visit(chromium, site, problems, 390)
        check_pages(wide, narrow, paths)
        check_keys(wide)
        check_skills(wide, shots)
        check_figures(wide, shots)
        check_tips(narrow)
        for visit in (wide, narrow):  # without it, six films play at once on a page, in software
            visit.page.emulate_media(reduced_motion="reduce")
        for name in ["index", "skills", "docs/gallery", "notebooks/quickstart", "docs/algorithms/map-elites", "api/qdnb"]:
            for visit, kind in [(wide, "wide"), (narrow, "narrow")]:
                visit.open(f"{name}.html").wait_for_timeout(2000)
                visit.page.screenshot(path=shots / f"{name.replace('/', '-')}-{kind}.png")
        chromium.close()
    for problem in dict.fromkeys(problems):
        print(f"FAIL {problem}")
    print(f"{len(paths)} pages, {len(set(problems))} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
