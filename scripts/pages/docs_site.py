#!/usr/bin/env python3
"""Builds the documentation site: plain files that work from a web server, and from disk without one.

  scripts/docs site -o site                                with build/attnprobe, from which the reference is generated
  scripts/docs site -o site --program /usr/bin/attnprobe
  scripts/docs site -o site --pages DIR                    with DIR's atlas.md, audit.md, findings.md and history.md

This program generates the pages below reference/; they are not committed. docs/navigation.json has the order of the pages. Pages of
docs/ that it lacks, and broken links, are errors: one line for each, and exit code 1. Exit code 77: markdown-it-py is missing.
"""

import argparse
import html
import json
import os
import pathlib
import posixpath
import re
import shutil
import string
import sys

import docs_site_ids
import docs_site_reference
import docs_site_sentences
import frameworks
import reasons

try:
    from markdown_it import MarkdownIt
except ImportError:
    # Debian's package works only with Debian's Python, which may not be the first on PATH.
    if sys.executable != "/usr/bin/python3" and pathlib.Path("/usr/lib/python3/dist-packages/markdown_it").is_dir():
        os.execv("/usr/bin/python3", ["/usr/bin/python3", *sys.orig_argv[1:]])
    print("SKIPPED: python3 has no markdown-it-py (Debian: python3-markdown-it)")
    sys.exit(77)

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEMPLATES = pathlib.Path(__file__).resolve().parent / "docs_site"
NAVIGATION = ROOT / "docs/navigation.json"
MARKDOWN = MarkdownIt("commonmark").enable("table")
# Pages with answers of cuDNN, and the command that writes each into --pages.
ASKED = {
    "atlas": ("The atlas: the attention of today's models", "scripts/docs atlas"),
    "audit": ("Frameworks' gates against cuDNN's answers", "attnprobe dev audit --framework all --target each-sm --format md -o build/pages/audit.md"),
    "findings": ("Documentation against the library", "scripts/docs findings"),
    "history": ("What each cuDNN release changed", "scripts/docs history"),
}


def anchor_of(heading):
    """The anchor as GitHub makes it, so that links work both there and on the site."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def generated_pages(folder):
    """Path in the site -> how to make the Markdown of a page from data, or from the page in `folder`."""
    made = {docs_site_ids.PAGE: lambda: docs_site_ids.pages()[docs_site_ids.PAGE], "reference/frameworks.md": frameworks.page, "reference/reasons.md": reasons.page}
    for name, (title, command) in ASKED.items():
        file = folder / f"{name}.md"
        missing = f"# {title}\n\nThis site was built without this page. `{command}` writes it.\n"
        made[f"reference/{name}.md"] = file.read_text if file.is_file() else lambda missing=missing: missing
    return made


def text_of(token):
    """The visible text of an inline token."""
    pieces = {"softbreak": " ", "hardbreak": " "}
    return "".join(pieces.get(child.type, child.content if child.type in ("text", "code_inline") else "") for child in token.children)


class Page:
    """A page: `source` is its path in the repository, or for generated pages a name under reference/."""

    def __init__(self, source, label, text):
        self.source, self.tokens = source, MARKDOWN.parse(text)
        self.anchors, self.sections = set(), []
        self._read_headings()
        self.title = self.sections[0]["heading"]
        self.label = label or self.title

    @property
    def target(self):
        if self.source == "README.md":
            return "index.html"
        place = self.source.removeprefix("docs/").removesuffix(".md")
        return (place.removesuffix("README") + "index" if place.endswith("/README") else place) + ".html"

    def _read_headings(self):
        section = None
        for at, token in enumerate(self.tokens):
            if token.type == "heading_open":
                heading = text_of(self.tokens[at + 1])
                # Links in terminals use the id itself.
                anchor = base = heading if self.source == docs_site_ids.PAGE and token.tag == "h3" else anchor_of(heading)
                count = 0
                while anchor in self.anchors:
                    count += 1
                    anchor = f"{base}-{count}"
                self.anchors.add(anchor)
                token.attrSet("id", anchor)
                section = {"heading": heading, "anchor": anchor, "level": int(token.tag[1]), "text": []}
                self.sections.append(section)
            elif section and token.type in ("fence", "code_block"):
                section["text"].append(token.content)
            elif section and token.type == "inline" and self.tokens[at - 1].type != "heading_open":
                section["text"].append(text_of(token))


class Site:
    def __init__(self, program, folder):
        self.errors, self.files, self.pictures = [], set(), set()
        self.parts = json.loads(NAVIGATION.read_text())["parts"]
        generated = {**docs_site_reference.pages(program), **docs_site_sentences.pages()}
        made = generated_pages(folder)
        generated.update({entry["page"]: made[entry["page"]]() for entry in self.entries() if entry["page"] in made})
        self.pages = {}
        for entry in self.entries():
            source = entry["page"]
            if source in self.pages:
                self.errors.append(f"docs/navigation.json: {source} appears twice")
            elif source in generated:
                self.pages[source] = Page(source, entry.get("label"), generated[source])
            elif (ROOT / source).is_file():
                self.pages[source] = Page(source, entry.get("label"), (ROOT / source).read_text())
            else:
                self.errors.append(f"docs/navigation.json: there is no page {source}")
        for missing in sorted({str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")} - self.pages.keys()):
            self.errors.append(f"docs/navigation.json lacks {missing}")

    def entries(self, parts=None):
        for part in self.parts if parts is None else parts:
            if "page" in part:
                yield part
            yield from self.entries(part.get("pages", []))

    # ---- links ------------------------------------------------------------------------------------------------------

    def resolved(self, page, link):
        """The link within the site. A link to a file of the repository becomes a link to the site's copy of it."""
        if re.match(r"[a-z]+:", link):
            return link
        path, _, anchor = link.partition("#")
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), path)) if path else page.source
        other = self.pages.get(source)
        if other:
            if anchor and anchor not in other.anchors:
                self.errors.append(f"{page.source}: {link}: {source} has no heading #{anchor}")
            target = other.target
        elif (ROOT / source).exists() and not source.startswith(".."):
            self.files.add(source)
            target = copy_of(source)
        else:
            self.errors.append(f"{page.source}: {link} leads nowhere")
            return link
        place = posixpath.relpath(target, posixpath.dirname(page.target) or ".") if path else ""
        return place + (f"#{anchor}" if anchor else "")

    def resolve_links(self, page):
        labels = {path: other.label for source, other in self.pages.items() for path in (source, source.removeprefix("docs/"))}
        for token in page.tokens:
            for at, child in enumerate(token.children or []):
                if child.type == "link_open":
                    child.attrSet("href", self.resolved(page, child.attrGet("href")))
                    # "docs/config.md" is the page's path in the repository; the site shows its label.
                    text = token.children[at + 1]
                    text.content = labels.get(text.content, text.content)
                elif child.type == "image":
                    child.attrSet("src", self.picture(page, child.attrGet("src")))

    def picture(self, page, link):
        """A link to the site's copy of a picture of the repository."""
        source = posixpath.normpath(posixpath.join(posixpath.dirname(page.source), link))
        if not (ROOT / source).is_file() or source.startswith(".."):
            self.errors.append(f"{page.source}: there is no picture {link}")
            return link
        self.pictures.add(source)
        return posixpath.relpath(f"files/{source}", posixpath.dirname(page.target) or ".")

    # ---- HTML -------------------------------------------------------------------------------------------------------

    def navigation(self, page, parts=None, depth=0):
        rows = []
        for part in self.parts if parts is None else parts:
            if "page" in part:
                if part["page"] not in self.pages:
                    continue
                other = self.pages[part["page"]]
                here = ' aria-current="page"' if other is page else ""
                place = posixpath.relpath(other.target, posixpath.dirname(page.target) or ".")
                rows.append(f'<li><a href="{place}"{here}>{html.escape(other.label)}</a></li>')
                continue
            inside = self.navigation(page, part["pages"], depth + 1)
            is_open = " open" if depth == 0 or "aria-current" in inside else ""
            rows.append(f"<li><details{is_open}><summary>{html.escape(part['part'])}</summary>{inside}</details></li>")
        return f"<ul>{''.join(rows)}</ul>"

    def cards(self, page):
        cards = []
        for part in self.parts:
            links = "".join(
                f'<li><a href="{self.pages[entry["page"]].target}">{html.escape(self.pages[entry["page"]].label)}</a></li>'
                for entry in part["pages"]
                if entry.get("page") in self.pages and entry["page"] != page.source
            )
            cards.append(f"<section><h2>{html.escape(part['part'])}</h2><p>{html.escape(part['about'])}</p><ul>{links}</ul></section>")
        return f'<div class="cards">{"".join(cards)}</div>'

    def body(self, page):
        self.resolve_links(page)
        text = MARKDOWN.renderer.render(page.tokens, MARKDOWN.options, {})
        # A wide table scrolls; the page does not.
        text = text.replace("<table>", '<div class="table" tabindex="0"><table>').replace("</table>", "</table></div>")
        text = re.sub(r'(<h[2-6] id="([^"]+)">)(.*?)(</h)', r'\1\3<a class="anchor" href="#\2" aria-label="link to this section">#</a>\4', text)
        text = re.sub(r'<pre><code class="language-console">(.*?)</code></pre>', lambda match: console(match[1]), text, flags=re.S)
        if page.source == "README.md":
            text = text.replace("</p>", "</p>" + self.cards(page), 1)
        return text

    def contents(self, page):
        deepest = 3 if sum(section["level"] in (2, 3) for section in page.sections) <= 40 else 2
        rows = [
            f'<li class="level{section["level"]}"><a href="#{section["anchor"]}">{html.escape(section["heading"])}</a></li>'
            for section in page.sections
            if 2 <= section["level"] <= deepest
        ]
        return f"<h2>On this page</h2><ul>{''.join(rows)}</ul>" if len(rows) > 1 else ""

    def neighbours(self, page):
        order = list(self.pages.values())
        at = order.index(page)
        found = []
        for word, arrow, other in (("previous", "← {}", order[at - 1] if at else None), ("next", "{} →", order[at + 1] if at + 1 < len(order) else None)):
            if other:
                place = posixpath.relpath(other.target, posixpath.dirname(page.target) or ".")
                found.append(f'<a rel="{word[:4]}" class="{word}" href="{place}">{html.escape(arrow.format(other.label))}</a>')
        return "".join(found)

    def write(self, folder):
        template = string.Template((TEMPLATES / "page.html").read_text())
        version = re.search(r"project\(attnprobe VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
        for page in self.pages.values():
            text = template.substitute(
                title=html.escape(page.title), root="../" * page.target.count("/"), navigation=self.navigation(page), body=self.body(page),
                contents=self.contents(page), neighbours=self.neighbours(page), version=version)
            place = folder / page.target
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        for name in ("style.css", "site.js"):
            shutil.copyfile(TEMPLATES / name, folder / name)
        self.write_index(folder)
        self.write_llms(folder)
        self.write_files(folder)

    def write_llms(self, folder):
        """Writes llms.txt: the instructions for agents from AGENTS.md, and a list of all pages."""
        about = re.search(r"^## Using attnprobe\n\n(.*?)\n\n(.*?)(?=^## )", (ROOT / "AGENTS.md").read_text(), re.M | re.S)
        lines = ["# attnprobe", "", f"> {about[1]}", "", about[2].rstrip(), "", "## Pages", ""]
        lines += [f"- [{page.label}]({page.target})" for page in self.pages.values()]
        (folder / "llms.txt").write_text("\n".join(lines) + "\n")

    def write_index(self, folder):
        """Writes the search index as a script, because a page opened from disk cannot fetch files."""
        pages, sections = [], []
        for page in self.pages.values():
            pages.append([page.target, page.label])
            for section in page.sections:
                text = re.sub(r"\s+", " ", " ".join(section["text"])).strip()
                sections.append([len(pages) - 1, section["anchor"], section["heading"], text])
        data = json.dumps({"pages": pages, "sections": sections}, ensure_ascii=False, separators=(",", ":"))
        (folder / "search-index.js").write_text(f"window.searchIndex = {data};\n")

    def write_files(self, folder):
        for source in self.pictures:
            (folder / "files" / source).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / source, folder / "files" / source)
        for source in sorted(self.files):
            place = folder / copy_of(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            if not (ROOT / source).is_dir():
                shutil.copyfile(ROOT / source, place)
                continue
            rows = []
            for file in sorted(path for path in (ROOT / source).rglob("*") if path.is_file() and "__pycache__" not in path.parts):
                name = str(file.relative_to(ROOT))
                target = self.pages[name].target if name in self.pages else copy_of(name)
                if name not in self.pages:
                    (folder / target).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, folder / target)
                link = html.escape(os.path.relpath(folder / target, place.parent))
                rows.append(f'<li><a href="{link}">{html.escape(str(file.relative_to(ROOT / source)))}</a></li>')
            place.write_text(f"<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'><title>{html.escape(source)}</title>"
                             f"<h1>{html.escape(source)}</h1><ul>{''.join(rows)}</ul>")


def copy_of(source):
    """The site's path for a file of the repository. The copy is a text file, because a browser would offer to save a .json or .cpp
    file."""
    return f"files/{source}/index.html" if (ROOT / source).is_dir() else f"files/{source}.txt"


def console(text):
    """Formats a console block: typed lines look different from printed lines."""
    lines = [f'<span class="typed">{line}</span>' if line.startswith("$ ") else line for line in text.split("\n")]
    return f'<pre class="console"><code>{chr(10).join(lines)}</code></pre>'


def main():
    parser = argparse.ArgumentParser(prog="scripts/docs site", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, required=True, metavar="DIR", help="a new or empty folder, or an earlier site")
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/attnprobe")
    parser.add_argument("--pages", type=pathlib.Path, default=ROOT / "build/pages", metavar="DIR",
                        help="the pages that scripts/docs atlas, findings and history and attnprobe dev audit wrote (default: build/pages)")
    options = parser.parse_args()
    if not options.program.is_file():
        parser.error(f"--program: there is no {options.program}; scripts/quickstart builds build/attnprobe")
    folder = options.output
    if folder.is_dir() and any(folder.iterdir()) and not (folder / "search-index.js").exists():
        parser.error(f"--output: {folder} contains something that this script did not write")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    site = Site(str(options.program.resolve()), options.pages)
    site.write(folder)
    for error in site.errors:
        print(f"scripts/docs site: {error}", file=sys.stderr)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    print(f"{len(site.pages)} pages, {size / 1e6:.1f} MB in {folder}" + (f"; {len(site.errors)} errors" if site.errors else ""))
    return 1 if site.errors else 0


if __name__ == "__main__":
    sys.exit(main())
