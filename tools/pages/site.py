"""The documentation as pages that need no network: `python -m tools.pages.site [--out DIR]`.

The Markdown of `docs/` and of the root, rendered under the same paths with .html for .md, and every file that they link
to. Links are strict: a page, a heading or a file that is not there, and a picture without words, end the build, each
named with its place. Headings get the anchors that code hosts give them, so a link that works here works there. The
page of the last `make matrix`, where there is one, comes in as it is. Nothing is loaded from anywhere else. The rules
can be filtered; that page alone has a script, and its policy lets no other run.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import html
import os
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markdown_it.token import Token

from conformance.outcome.markdown import anchor

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "build" / "docs"
MATRIX = ROOT / "build" / "matrix" / "index.html"
SHOWN = "matrix.html"
"""What stands for the matrix in the site."""
HOME = "docs/index.md"
FILTERED = "docs/rules.md"
_FILTER = Path(__file__).parent / "templates" / "filter.js"
BESIDE = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")

_TABLE = MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass
class Page:
    """One page: its place in the repository, what it says, and where it leads."""

    path: str
    tokens: list[Token]
    title: str = ""
    anchors: set[str] = field(default_factory=set)
    links: list[tuple[int, Token, str]] = field(default_factory=list)
    """Line, token and name of the attribute of each link and picture."""
    words: list[tuple[int, str]] = field(default_factory=list)

    @property
    def address(self) -> str:
        return self.path.removesuffix(".md") + ".html"


def pages(root: Path = ROOT) -> dict[str, Page]:
    """All pages by path: the home first, then what it leads to in its order, then the others by name."""
    paths = [*sorted(str(path.relative_to(root)) for path in (root / "docs").rglob("*.md")), *BESIDE]
    found = {path: read(path, (root / path).read_text(encoding="utf-8")) for path in paths if (root / path).exists()}
    led = [
        place
        for _, token, name in (found[HOME].links if HOME in found else ())
        if (place := _place(HOME, str(token.attrs[name])).partition("#")[0]) in found
    ]
    order = dict.fromkeys([HOME, *led, *paths])
    return {path: found[path] for path in order if path in found}


def read(path: str, text: str) -> Page:
    """A page, its headings anchored."""
    page = Page(path, _TABLE.parse(text))
    seen: dict[str, int] = {}
    for token, inner in zip(page.tokens, [*page.tokens[1:], None], strict=True):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "heading_open" and inner is not None:
            words = _words(inner.children or ())
            name = anchor(words)
            seen[name] = seen.get(name, -1) + 1
            name = f"{name}-{seen[name]}" if seen[name] else name
            token.attrs["id"] = name
            page.anchors.add(name)
            page.title = page.title or words
        for child in token.children or ():
            if child.type == "link_open":
                page.links.append((line, child, "href"))
            elif child.type == "image":
                page.links.append((line, child, "src"))
                page.words.append((line, child.content))
    return page


def _words(tokens: Iterable[Token]) -> str:
    return "".join(token.content for token in tokens if token.type in ("text", "code_inline"))


def problems(found: Mapping[str, Page], root: Path = ROOT) -> list[str]:
    """Each broken link and each picture without words, with its place."""
    told = []
    for page in found.values():
        told += [f"{page.path}:{line}: a picture has no words" for line, words in page.words if not words.strip()]
        for line, token, name in page.links:
            href = str(token.attrs[name])
            why = None if _outside(href) else _broken(_place(page.path, href), found, root)
            if why:
                told.append(f"{page.path}:{line}: {href}: {why}")
    return told


def _outside(href: str) -> bool:
    return "://" in href or href.startswith("mailto:")


def _place(page: str, href: str) -> str:
    """Where a link leads, from the root of the repository."""
    path, hash_, name = unquote(href).partition("#")
    place = os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page
    return f"{place}{hash_}{name}"


def _broken(place: str, found: Mapping[str, Page], root: Path) -> str | None:
    path, _, name = place.partition("#")
    if path.startswith("..") or not (root / path).exists():
        return f"there is no {path}"
    if path.endswith(".md") and path not in found:
        return f"{path} is no page of the site"
    if name and (path not in found or name not in found[path].anchors):
        return f"{path} has no heading with the anchor {name}"
    return None


def build(out: Path = OUT, root: Path = ROOT, matrix: Path | None = None) -> list[str]:
    """Writes the site, unless something is broken; what that is. `matrix`: its page, if it was made."""
    found = pages(root)
    broken = problems(found, root)
    if broken:
        return broken
    shutil.rmtree(out, ignore_errors=True)
    template = Environment(
        loader=PackageLoader("tools.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("site.html.j2")
    titles = Counter(page.title for page in found.values())
    named = {path: page.title if titles[page.title] == 1 else Path(path).stem for path, page in found.items()}
    for page in found.values():
        for file in _relink(page, found):
            _copy(root / file, out / file)
        where = out / page.address
        where.parent.mkdir(parents=True, exist_ok=True)
        body = _TABLE.renderer.render(page.tokens, _TABLE.options, {})
        menu = [(_relative(page, other.address), named[other.path], other is page) for other in found.values()]
        if matrix:
            menu.insert(1, (_relative(page, SHOWN), "Matrix", False))
        script = _FILTER.read_text(encoding="utf-8") if page.path == FILTERED else ""
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        text = template.render(title=page.title, menu=menu, body=body, script=script, digest=digest)
        where.write_text(text, encoding="utf-8")
    if matrix:
        _copy(matrix, out / SHOWN)
    home = html.escape(found[HOME].address)
    (out / "index.html").write_text(
        f'<!doctype html><meta charset="utf-8"><title>amqp-conformance</title>'
        f'<meta http-equiv="refresh" content="0; url={home}"><a href="{home}">amqp-conformance</a>\n',
        encoding="utf-8",
    )
    return []


def _relink(page: Page, found: Mapping[str, Page]) -> list[str]:
    """Leads links to pages instead of Markdown; the other files that they lead to."""
    files = []
    for _, token, name in page.links:
        href = str(token.attrs[name])
        if _outside(href):
            continue
        path, hash_, fragment = _place(page.path, href).partition("#")
        if path in found:
            token.attrs[name] = f"{_relative(page, found[path].address)}{hash_}{fragment}"
        else:
            files.append(path)
    return files


def _relative(page: Page, address: str) -> str:
    return os.path.relpath(address, os.path.dirname(page.address) or ".")


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.pages.site", description="The documentation as HTML.")
    parser.add_argument("--out", type=Path, default=OUT)
    out: Path = parser.parse_args(arguments).out
    broken = build(out, matrix=MATRIX if MATRIX.exists() else None)
    for problem in broken:
        print(problem, file=sys.stderr)
    if not broken:
        print(out / "index.html")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
