#!/usr/bin/env python3
"""Compares the recipes of scripts/packaging with CMakeLists.txt: version, address and dependencies. Also checks that no
file of the repository names the host of a package index or registry, because users configure the source of packages."""

import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGING = ROOT / "scripts/packaging"
# A dependency in CMakeLists.txt -> its name in conda-forge, Spack, vcpkg.
NAMES = {
    "nlohmann_json": ("nlohmann_json", "nlohmann-json", "nlohmann-json"),
    "fmt": ("fmt", "fmt", "fmt"),
    "spdlog": ("spdlog", "spdlog", "spdlog"),
    "CLI11": ("cli11", "cli11", "cli11"),
    "ZLIB": ("zlib", "zlib-api", "zlib"),
    "LibLZMA": ("liblzma-devel", "xz", "liblzma"),
    "SQLite3": ("sqlite", "sqlite", "sqlite3"),
    "RE2": ("re2", "re2", "re2"),
    "Zip": ("libzip", "libzip", "libzip"),
    "CudnnHeaders": ("libcudnn-dev", "cudnn", "cudnn"),
    "xxhash.h": ("xxhash", "xxhash", "xxhash"),
    "cereal/cereal.hpp": ("cereal", "cereal", "cereal"),
}
# No manager has a package of these. A recipe downloads their sources, at the commit of scripts/setup's version.
SOURCES = {"TreeSitterPython": {"tree-sitter/tree-sitter-python": "bffb65a8cfe4e46290331dfef0dbf0ef3679de11",
                                "tree-sitter/tree-sitter": "dfc891a5ce7d340c67252178729890bd6c18bbbc"}}
# For the headers of the CUDA runtime, which cuDNN's headers include, and for the build itself.
MORE = ({"cuda-cudart-dev", "cmake", "ninja"}, {"cuda", "cmake", "c", "cxx", "gperftools"}, {"cuda", "vcpkg-cmake", "vcpkg-cmake-config"})
# In two parts, so that this file does not contain the names.
HOSTS = re.compile("|".join("[.]".join(host) for host in (
    ("pypi", "org"), ("pythonhosted", "org"), ("pypi", "nvidia"), ("download", "pytorch"), ("deb", "debian"), ("archive", "ubuntu"), ("crates", "io"),
    ("conda", "anaconda"), ("docker", "io"), ("ghcr", "io"), ("quay", "io"), ("nvcr", "io"), ("npmjs", "com"), ("proxy", "golang"))))
QUOTED = "tests/fixtures/texts/"  # texts of users


def files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=False)
    return [name for name in listed.stdout.decode().split("\0") if name and not name.startswith(QUOTED)]


def hosts():
    for name in files():
        path = ROOT / name
        if path.is_file() and not path.is_symlink():
            for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
                if found := HOSTS.search(line):
                    yield f"{name}:{number} names {found[0]}"


def main():
    cmake = (ROOT / "CMakeLists.txt").read_text()
    version = re.search(r"project\(attnprobe VERSION ([\d.]+)", cmake)[1]
    address = re.search(r'HOMEPAGE_URL "([^"]+)"', cmake)[1]
    conda = (PACKAGING / "conda/recipe.yaml").read_text()
    spack = (PACKAGING / "spack/package.py").read_text()
    vcpkg = json.loads((PACKAGING / "vcpkg/vcpkg.json").read_text())
    portfile = (PACKAGING / "vcpkg/portfile.cmake").read_text()
    wanted = set(re.findall(r"^find_package\((\w+)", cmake, re.M)) - {"Threads"} | set(re.findall(r"^find_path\(\w+ ([\w./]+)", cmake, re.M))
    sources = [SOURCES[name] for name in wanted & SOURCES.keys()]
    wanted -= SOURCES.keys()
    requirements = conda.partition("requirements:")[2].partition("ignore_run_exports:")[0]
    listed = (
        set(re.findall(r"^    - ([\w-]+)", requirements, re.M)),
        set(re.findall(r'depends_on\("([\w-]+)', spack)),
        {entry if isinstance(entry, str) else entry["name"] for entry in vcpkg["dependencies"]},
    )
    errors = [f"CMakeLists.txt looks for {name}, which tests/packaging/check_recipes.py does not know" for name in wanted - NAMES.keys()]
    for which, manager in enumerate(("conda/recipe.yaml", "spack/package.py", "vcpkg/vcpkg.json")):
        needs = {NAMES[name][which] for name in wanted & NAMES.keys()}
        errors += [f"{manager} lacks {name}" for name in needs - listed[which]]
        errors += [f"{manager} has {name}, which CMakeLists.txt does not look for" for name in listed[which] - needs - MORE[which]]
    for manager, text in (("conda/recipe.yaml", conda), ("spack/package.py", spack), ("vcpkg/portfile.cmake", portfile)):
        errors += [f"{manager} does not fetch {repository} at {commit}" for pinned in sources for repository, commit in pinned.items()
                   if not re.search(rf"github.com/{repository}(\.git)?\"?,?\s+\w+[:= ]+\"?{commit}", text)]
    for manager, text in (("conda/recipe.yaml", conda), ("spack/package.py", spack), ("vcpkg/vcpkg.json", json.dumps(vcpkg))):
        if f'"{version}"' not in text:
            errors.append(f"{manager} is not of version {version}")
        if address not in text:
            errors.append(f"{manager} does not name {address}")
    if f"REPO {address.removeprefix('https://github.com/')}" not in portfile:
        errors.append(f"vcpkg/portfile.cmake does not fetch {address}")
    if f"uses: {address.removeprefix('https://github.com/')}@" not in (ROOT / "docs/matrix.md").read_text():
        errors.append(f"docs/matrix.md does not use {address}")
    errors += hosts()
    for error in errors:
        print(f"FAILED: {error}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
