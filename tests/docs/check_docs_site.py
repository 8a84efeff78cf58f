#!/usr/bin/env python3
"""Builds the documentation site, whose links and navigation must be complete, and a site with every error that the build reports.

  tests/docs/check_docs_site.py build/attnprobe             needs python3-markdown-it
  tests/docs/check_docs_site.py build/attnprobe --browser   and opens each page in Chromium (scripts/check site)
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS / "pages"))
import docs_site_ids  # noqa: E402

NAVIGATION = """{"parts": [{"part": "All", "about": "", "pages": [
  {"page": "README.md"}, {"page": "docs/a.md"}, {"page": "docs/a.md"}, {"page": "docs/gone.md"}]}]}"""
A = """# A page

## One & two

[itself](#one--two) [no heading](#three) [another's](../README.md#nothing) [no page](b.md) [a file](../CMakeLists.txt) [outside](../../x) ![no picture](c.png)
"""
WANTED = {
    "docs/navigation.json: docs/a.md appears twice",
    "docs/navigation.json: there is no page docs/gone.md",
    "docs/navigation.json lacks docs/forgotten.md",
    "docs/a.md: #three: docs/a.md has no heading #three",
    "docs/a.md: ../README.md#nothing: README.md has no heading #nothing",
    "docs/a.md: b.md leads nowhere",
    "docs/a.md: ../../x leads nowhere",
    "docs/a.md: there is no picture c.png",
}


def build(scripts, program, folder, *words):
    return subprocess.run([scripts / "docs", "site", "-o", folder, "--program", program, *words], capture_output=True, text=True)


def main():
    program = sys.argv[1]
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "pages").mkdir()
        (place / "pages/atlas.md").write_text("# Atlas of this test\n\n[the rules of JAX](frameworks.md#jax)\n")
        whole = build(SCRIPTS, program, place / "site", "--pages", place / "pages")
        print(whole.stdout, end="")
        if whole.returncode == 77:
            return 0
        if whole.returncode:
            print(whole.stderr)
            return 1
        llms = (place / "site/llms.txt").read_text()
        pages = [str(path.relative_to(place / "site")) for path in (place / "site").rglob("*.html") if "files/" not in str(path)]
        lacks = [f"]({page})" for page in pages if f"]({page})" not in llms]
        lacks += [line for line in (ROOT / "AGENTS.md").read_text().partition("## Changing")[0].splitlines()[4:] if line not in llms]
        if lacks:
            print(f"FAILED: llms.txt lacks {lacks}")
            return 1
        for page, wanted in (("atlas", "Atlas of this test"), ("audit", "attnprobe dev audit --framework all"), ("findings", "scripts/docs findings"), ("history", "scripts/docs history"),
                             ("frameworks", "can_use_cudnn_attention"), ("reasons", 'id="head-dim-multiple-of-8"')):
            if wanted not in (place / f"site/reference/{page}.html").read_text():
                print(f"FAILED: reference/{page}.html lacks {wanted}")
                return 1
        if 'src="files/docs/pictures/terminal.svg"' not in (place / "site/index.html").read_text() or not (place / "site/files/docs/pictures/terminal.svg").is_file():
            print("FAILED: the site lacks a picture of README.md")
            return 1
        ids = (place / "site/reference/ids.html").read_text()
        for _, entries in docs_site_ids.groups():
            for name in [entry[0] for entry in entries[:1]]:
                said = subprocess.run([program, "explain", name], capture_output=True, text=True)
                if said.returncode or not said.stdout.startswith(name) or f'<h3 id="{name}">' not in ids:
                    print(f"FAILED: the id {name}: explain ends with {said.returncode}; the page of ids has {ids.count(name)} of it")
                    return 1
        if "--browser" in sys.argv:
            seen = subprocess.run([SCRIPTS / "check", "site", place / "site"])
            if seen.returncode == 77:
                print("SKIPPED: no Chromium on this machine (Debian: chromium)")
            return 0 if seen.returncode == 77 else seen.returncode

        broken = place / "broken"
        (broken / "docs").mkdir(parents=True)
        shutil.copytree(SCRIPTS, broken / "scripts")
        (broken / "CMakeLists.txt").write_text("project(attnprobe VERSION 1.2.3 LANGUAGES CXX)\n")
        (broken / "AGENTS.md").write_text("## Using attnprobe\n\nIt asks.\n\nMore.\n\n## Changing it\n")
        (broken / "README.md").write_text("# The first\n")
        (broken / "docs/a.md").write_text(A)
        (broken / "docs/forgotten.md").write_text("# Forgotten\n")
        (broken / "docs/navigation.json").write_text(NAVIGATION)
        found = build(broken / "scripts", program, broken / "site")
        errors = {line.removeprefix("scripts/docs site: ") for line in found.stderr.splitlines()}
        if found.returncode != 1 or errors != WANTED:
            print(f"FAILED: exit code {found.returncode}; not found: {WANTED - errors}; unexpected: {errors - WANTED}")
            return 1
        if not (broken / "site/files/CMakeLists.txt.txt").exists():
            print("FAILED: the site has no copy of a file that a page links to")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
