"""The outputs of an executed notebook: reading, tidying, counting and writing them."""

from __future__ import annotations

import base64
import binascii
import contextlib
import datetime
import html
import os
import re
import subprocess
from pathlib import Path

import nbformat
from nbconvert import HTMLExporter
from nbformat import NotebookNode

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


def last_words(cell: NotebookNode) -> str:
    """The last line of a running cell's text, or the text of its HTML progress bar, whichever is later; else empty."""
    for output in reversed(cell.outputs):  # below its progress, a run draws itself
        if output["output_type"] == "stream":
            if lines := [line.strip() for line in re.split(r"[\r\n]", output["text"]) if line.strip()]:
                return lines[-1]
        elif "<progress" in (page := output.get("data", {}).get("text/html", "")):
            page = re.sub(r"<(style|script)\b.*?</\1>", " ", page, flags=re.DOTALL)
            return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", page)).split())
    return ""


def collapse_streams(cell: NotebookNode) -> None:
    """Merges the pieces of a stream and keeps the last state of lines rewritten with \\r, as a terminal would."""
    merged: list[NotebookNode] = []
    for output in cell.outputs:
        if output["output_type"] == "stream" and merged and merged[-1].get("name") == output["name"]:
            merged[-1]["text"] += output["text"]
        else:
            merged.append(output)
    for output in merged:
        if output["output_type"] == "stream" and "\r" in output["text"]:
            lines = output["text"].replace("\r\n", "\n").split("\n")
            output["text"] = "\n".join(_last_rewrite(line) for line in lines)
    cell.outputs = [o for o in merged if o["output_type"] != "stream" or o["text"]]


def _last_rewrite(line: str) -> str:
    pieces = [piece for piece in line.split("\r") if piece.strip()]
    return pieces[-1] if pieces else ""


def count_png(nb: NotebookNode) -> int:
    """The number of outputs with a valid PNG image."""
    count = 0
    for cell in nb.cells:
        for output in cell.get("outputs", []):
            image = output.get("data", {}).get("image/png", "")
            try:
                count += base64.b64decode(image).startswith(_PNG_MAGIC)
            except binascii.Error:
                pass
    return count


def text_of_tagged(nb: NotebookNode, tag: str) -> str:
    """The text or Markdown output of code cells with this tag."""
    parts: list[str] = []
    for cell in nb.cells:
        if cell.cell_type != "code" or tag not in cell.metadata.get("tags", []):
            continue
        for output in cell.outputs:
            data = output.get("data", {})
            if output["output_type"] == "stream" and output["name"] == "stdout":
                parts.append(output["text"])
            else:
                parts.append(data.get("text/markdown") or data.get("text/plain") or "")
    return "\n".join(part.strip("\n") for part in parts if part.strip())


def strip_volatile(nb: NotebookNode) -> None:
    """Removes meaningless differences between runs and machines, to keep diffs small."""
    nb.metadata.pop("widgets", None)
    for cell in nb.cells:
        cell.metadata.pop("execution", None)
        cell.metadata.pop("ExecuteTime", None)
        for output in cell.get("outputs", []):
            if output["output_type"] == "stream":  # the folder of a cell's program has another name in each kernel
                output["text"] = re.sub(r"/gonb_[0-9a-f]+/", "/gonb/", output["text"])


def write_notebook(nb: NotebookNode, path: Path) -> Path:
    """Writes a notebook atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    try:
        nbformat.write(nb, part)
        os.replace(part, path)
    finally:
        part.unlink(missing_ok=True)
    return path


def html_of(nb: NotebookNode, name: str) -> str:
    """A page with the figures embedded. MathJax is fetched from its site if the text has formulas; otherwise the page
    is self-contained."""
    exporter = HTMLExporter(template_name="page", extra_template_basedirs=[str(_TEMPLATES)], embed_images=True)
    text = "\n".join(cell.source for cell in nb.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# +(.+)$", text, re.MULTILINE)
    resources = {
        "metadata": {"name": heading[1] if heading else name},
        "has_math": "$" in text or "\\(" in text,
    }
    page, _ = exporter.from_notebook_node(nb, resources=resources)
    return page


def write_html(nb: NotebookNode, path: Path) -> Path:
    """Writes the page of a notebook."""
    page = html_of(nb, path.stem)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page, encoding="utf-8")
    return path


def _runs_shown(nb: NotebookNode) -> str:
    """Names the runs that a figure notebook draws, as package experiments prints them."""
    printed = "".join(output["text"] for cell in nb.cells for output in cell.get("outputs", []) if output["output_type"] == "stream")
    if found := re.search(r"^Runs shipped with qdnb: (scale \w+)", printed, re.MULTILINE):
        return f"; runs shipped with qdnb, {found[1]}"
    folders = dict.fromkeys(re.findall(r": all \d+ runs are complete in (.+)$", printed, re.MULTILINE))
    return "; runs in " + ", ".join(f"`{folder}`" for folder in folders) if folders else ""


def sign(nb: NotebookNode) -> None:
    """Writes into the notebook's last cell when, by which code, of which runs and on which machine its outputs were made."""
    def git(*words: str) -> str:
        run = subprocess.run(["git", *words], cwd=Path(__file__).parent, check=False, capture_output=True, text=True)
        return run.stdout.strip()

    commit = git("rev-parse", "--short", "HEAD") or "an unknown commit"
    if git("status", "--porcelain", "--untracked-files=no", "--", ":/", ":!/notebooks"):
        commit += " with changes"
    with contextlib.suppress(OSError):
        names = re.findall(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        machine = f"{os.cpu_count()} cores of {names[0]}" if names else f"{os.cpu_count()} cores"
        text = f"*Outputs of {datetime.date.today():%d %B %Y}, {commit}, {machine}{_runs_shown(nb)}.*"
        if nb.cells[-1].id != "outputs":
            nb.cells.append(nbformat.v4.new_markdown_cell("", id="outputs"))
        nb.cells[-1].source = text
