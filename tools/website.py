"""Builds the static site: pages from docs, notebooks, package documentation and shipped runs, with relative links only.

    tools/env python tools/website.py build/qdnb build/site

Films of skills and figures are computed by the program; everything else is converted. Nothing on a page is loaded from
another site. The folder can be opened from a disk or served by any static host.
"""

from __future__ import annotations

import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
from jinja2 import Environment, FileSystemLoader
from latex2mathml.converter import convert as mathml
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import GoLexer

import outputs

ROOT = Path(__file__).resolve().parent.parent
TEMPLATES = ROOT / "tools" / "templates" / "site"
LIMIT = 100_000_000  # bytes of the site
SKILLS = ROOT / "notebooks" / "results-skills" / "runs"
FIGURES = ROOT / "notebooks" / "results"


def slug(heading: str) -> str:
    """The anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", html.unescape(re.sub(r"<[^>]+>", "", heading)).lower()).replace(" ", "-")


class Renderer(IPythonRenderer):
    """Markdown with GitHub's anchors, and formulas as MathML, which browsers show without a script."""

    def heading(self, text: str, level: int, **attrs: object) -> str:
        return f'<h{level} id="{slug(text)}">{text}</h{level}>\n'

    def block_code(self, code: str, info: str | None = None) -> str:
        return self.block_math(code) if info == "math" else super().block_code(code, info)

    def block_math(self, body: str) -> str:
        return f'<div class="formula">{mathml(body.strip(), display="block")}</div>'

    def inline_math(self, body: str) -> str:
        return mathml(body)

    def codespan(self, text: str) -> str:
        """Code that fits into a line of a phone is not broken, as at the hyphens of an option."""
        code = super().codespan(text)
        return code.replace("<code", '<code class="short"', 1) if len(text) <= 32 else code

    def table(self, text: str) -> str:
        return f'<div class="wide"><table>{text}</table></div>\n'


def markdown(text: str) -> str:
    return MarkdownWithMath(renderer=Renderer(escape=False)).render(text)


def title_of(page: str) -> str:
    found = re.search(r"<h1[^>]*>(.*?)</h1>", page, re.DOTALL)
    return html.unescape(re.sub(r"<[^>]+>|¶", "", found[1])).strip() if found else ""


class Site:
    """The pages by their paths in the site, which are those of their sources in the checkout."""

    def __init__(self, out: Path) -> None:
        self.out, self.assets = out, set()
        self.pages: dict[str, tuple[str, str, str, str] | None] = {}  # body, source, section, kind; None: written elsewhere
        self.template = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=False).get_template("page.html")

    def add(self, path: str, body: str, source: str = "", section: str = "", kind: str = "text") -> None:
        self.pages[path] = (body, source or path, section, kind)

    def target(self, url: str, source: str, path: str) -> str:
        """The address, from the page at a path, of what its source links; "" for code without a page."""
        address, _, fragment = url.partition("#")
        if not address or re.match(r"[a-z]+:", url):
            return url
        file = os.path.normpath(os.path.join(os.path.dirname(source), html.unescape(address)))
        known = {"docs/README.md": "docs/index.html", "README.md": "index.html", "docs/algorithms/README.md": "docs/algorithms/index.html"}
        page = known.get(file, re.sub(r"\.(md|ipynb)$", ".html", file))
        if page not in self.pages and (file.endswith(".go") or (ROOT / file).is_dir()):
            page, fragment = f"api/{os.path.dirname(file) if file.endswith('.go') else file}.html", ""
        if page not in self.pages:
            if page.startswith("api/"):  # such as an internal package
                return ""
            if not (ROOT / file).is_file():
                raise SystemExit(f"site: {source} links {url}, for which there is no page")
            self.assets.add(page)
        return os.path.relpath(page, os.path.dirname(path) or ".") + (f"#{fragment}" if fragment else "")

    def write(self) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        pages = {path: page for path, page in self.pages.items() if page}
        for path, (body, _, section, _) in pages.items():
            if section and not path.endswith("/index.html"):
                title = title_of(body)
                sections.setdefault(section, []).append((path, title.partition(":")[0] if section == "Figures" else title))
        for path, (body, source, section, kind) in pages.items():
            attribute = lambda m: f'{m[1]}="{address}"' if (address := self.target(m[2], source, path)) else ""  # noqa: E731
            body = re.sub(r'\b(href|src)="([^"]*)"', attribute, body)
            up = os.path.relpath(".", os.path.dirname(path) or ".")
            siblings = [(os.path.relpath(p, os.path.dirname(path) or "."), t, p == path) for p, t in sections.get(section, [])]
            page = self.template.render(title=title_of(body), body=body, up=up, siblings=siblings, section=section, kind=kind)
            (self.out / path).parent.mkdir(parents=True, exist_ok=True)
            (self.out / path).write_text(page, encoding="utf-8")
        shutil.copyfile(TEMPLATES / "style.css", self.out / "style.css")
        (self.out / "code.css").write_text(HtmlFormatter().get_style_defs(".highlight"), encoding="utf-8")
        for asset in self.assets:
            (self.out / asset).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / asset, self.out / asset)


def add_documents(site: Site) -> None:
    files = subprocess.run(["git", "ls-files", "docs/*.md", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    order = {"guides": "Guides", "algorithms": "Algorithms", "reference": "Reference", "docs": "Documentation"}
    for file in files:
        if "/" in file and not file.startswith("docs/") or file == "README.md":
            continue
        path = re.sub(r"README\.md$", "index.md", file)[:-3] + ".html"
        site.add(path, markdown((ROOT / file).read_text(encoding="utf-8")), file, order.get(Path(file).parent.name, ""))


def add_notebooks(site: Site) -> None:
    """The bodies of the notebooks as executed, by the exporter of `make notebooks`, in the order of their index."""
    folder = ROOT / "notebooks"
    order = ["index", *re.findall(r"\]\((\w+)\.ipynb\)", (folder / "index.ipynb").read_text(encoding="utf-8"))]
    for file in sorted(folder.glob("*.ipynb"), key=lambda file: order.index(file.stem)):
        page = outputs.html_of(nbformat.read(file, as_version=4), file.stem)
        body = re.search(r"<main>(.*)</main>", page, re.DOTALL)
        assert body is not None
        site.add(f"notebooks/{file.stem}.html", body[1], f"notebooks/{file.name}", "Notebooks", "notebook")
    styles = "\n".join(re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL))
    (site.out / "notebook.css").write_text(styles, encoding="utf-8")


def add_packages(site: Site) -> None:
    listed = subprocess.run(["go", "list", "-json", "./..."], cwd=ROOT, check=True, capture_output=True)
    made = subprocess.run(["go", "run", "./internal/apidoc"], cwd=ROOT, check=True, capture_output=True, input=listed.stdout)
    pages = json.loads(made.stdout)
    rows = []
    for name, body in pages.items():
        code = lambda m: highlight(html.unescape(m[1]), GoLexer(), HtmlFormatter())  # noqa: E731
        body = re.sub(r'<pre class="go">(.*?)</pre>', code, body, flags=re.DOTALL)
        site.add(f"api/{name}.html", f"<h1>{name}</h1>\n{body}", section="API", kind="api")
        first = re.search(r"<p>(?!import)(.*?)(?<=[.:])\s", re.sub(r'<p class="import">.*?</p>', "", body) + " ", re.DOTALL)
        rows.append(f'<tr><td><a href="{name}.html">{name}</a></td><td>{re.sub("<[^>]+>", "", first[1]) if first else ""}</td></tr>')
    site.add("api/index.html", "<h1>Packages</h1>\n<div class=\"wide\"><table>" + "\n".join(rows) + "</table></div>", section="API")


def add_skills(site: Site, program: str) -> None:
    """A page for each shipped run with policies, which loads the film of a cell when it is clicked."""
    parts = []
    for run in sorted(SKILLS.iterdir()):
        config = json.loads((run / "config.json").read_text())
        env = config["env"]
        page = site.out / "skills" / f"{env}.html"
        shown = subprocess.run([program, "show", str(run), "--html", str(page), "--split"], check=True, capture_output=True, text=True)
        films = re.search(r"films +(\d+)", shown.stdout)
        assert films is not None, shown.stdout
        size = sum(f.stat().st_size for f in page.with_suffix("").iterdir()) / 1e6
        parts.append((env, int(films[1]), config["hyperparameters"]["cells"], size))
        print(f"skills/{env}.html: {films[1]} films, {size:.1f} MB", flush=True)
        site.pages[f"skills/{env}.html"] = None  # it is written, and can be linked
    text = (TEMPLATES / "skills.md").read_text(encoding="utf-8").replace("{COUNTS}", ", ".join(
        f"{films} of {cells} cells on {env}" for env, films, cells, _ in parts)).replace("{SIZE}", f"{sum(p[3] for p in parts):.0f}")
    frames = "".join(
        f'<section><h2 id="{env}"><a href="skills/{env}.html">{env}</a></h2>'
        f'<iframe src="skills/{env}.html" title="repertoire of {env}" loading="lazy" allowfullscreen></iframe></section>\n'
        for env, *_ in sorted(parts, key=lambda part: -part[1]))
    site.add("skills.html", markdown(text) + frames, kind="skills")


def add_figures(site: Site, program: str) -> None:
    """The paper's figures and tables from the shipped runs; figures answer the pointer."""
    made = site.out.with_name(site.out.name + "-figures")
    # Those without shipped runs fail, and are left out.
    subprocess.run([program, "figures", "--in", str(FIGURES), "--out", str(made), "--format", "html", "--tables", "md"], check=False,
                   capture_output=True)
    listed = subprocess.run([program, "figures", "--list"], check=True, capture_output=True, text=True).stdout
    rows = []
    for line in listed.splitlines():
        name, title = line.split(maxsplit=1)
        drawn, table = made / f"{name}.html", made / f"{name}.md"
        heading = name.replace("-", " ").capitalize()
        if not drawn.exists() and not table.exists():
            rows.append(f"<li>{heading}: {title} (needs runs that are not shipped)</li>")
            continue
        body = re.search(r"<body>(.*)</body>", drawn.read_text(), re.DOTALL)[1] if drawn.exists() else markdown(table.read_text())
        site.add(f"figures/{name}.html", f"<h1>{heading}: {title}</h1>\n{body}", section="Figures", kind="figure")
        rows.append(f'<li><a href="{name}.html">{heading}</a>: {title}</li>')
    shutil.rmtree(made)
    intro = markdown((TEMPLATES / "figures.md").read_text(encoding="utf-8"))
    site.add("figures/index.html", intro + "<ul>" + "\n".join(rows) + "</ul>", section="Figures")


def add_index(site: Site) -> None:
    readme = re.sub(r"\A# .*?\n", "", (ROOT / "README.md").read_text(encoding="utf-8"))
    hero = (TEMPLATES / "hero.html").read_text(encoding="utf-8")
    site.add("index.html", hero + '<article class="readme">' + markdown(readme) + "</article>", "README.md", kind="home")


def main() -> int:
    program, out = sys.argv[1], Path(sys.argv[2]).resolve()
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    site = Site(out)
    add_skills(site, program)
    add_figures(site, program)
    add_documents(site)
    add_notebooks(site)
    add_packages(site)
    add_index(site)
    site.write()
    size = sum(file.stat().st_size for file in out.rglob("*") if file.is_file())
    print(f"{os.path.relpath(out)}: {len(site.pages)} pages, {size / 1e6:.1f} MB")
    if size > LIMIT:
        print(f"site: it is larger than {LIMIT / 1e6:.0f} MB: film fewer cells (qdnb show --films)", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        print((error.stderr if isinstance(error.stderr, str) else (error.stderr or b"").decode()), file=sys.stderr)
        sys.exit(f"site: `{' '.join(map(str, error.cmd))}` failed")
