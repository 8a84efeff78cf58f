#!/usr/bin/env python3
"""Tests `attnprobe cudnn`, and questions that lack a cuDNN, with small wheels. Uses a fake pip and uv that record their calls, and once the
real pip with a local index.

  tests/fetch/check_cudnn_command.py build/attnprobe
"""
import http.server
import json
import os
import pathlib
import platform
import pty
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

PROGRAM = os.path.abspath(sys.argv.pop(1))
MACHINE = platform.machine()
COMPILER = shutil.which("cc") or shutil.which("c++")
PARTS = ("libcudnn.so.9", "libcudnn_graph.so.9", "libcudnn_engines_runtime_compiled.so.9")
QUESTION = ["--heads", "8", "--seqlen", "512", "--head-dim", "64", "--target", "h100"]
LIBRARIES = {}

# Called as `python3 -I -m pip download … REQUIREMENT` or as `uv pip install --target FOLDER … REQUIREMENT`.
STAND_IN = """#!/bin/sh
case "$*" in *--version) exit 0 ;; esac
echo "$(basename "$0") $*" >>"$CALLS"
for word; do case $previous in --dest | --target) folder=$word ;; esac; previous=$word; done
name=$(echo "$word" | sed 's/[=<>].*//; s/-/_/g')
version=$(echo "$word" | sed 's/^[^=<>]*//; s/^==//; s/\\.\\*$//; s/^>=.*$//')
wheel=$(ls "$WHEELS/$name-$version"*.whl 2>/dev/null | tail -n 1)
[ "$wheel" ] || { echo "ERROR: No matching distribution found for $word" >&2; exit 1; }
mkdir -p "$folder"
if [ "$(basename "$0")" = uv ]; then unzip -q "$wheel" -d "$folder"; else cp "$wheel" "$folder"; fi
"""


def library(version):
    """A shared library that reports this version, as libcudnn_graph does."""
    if version not in LIBRARIES:
        major, minor, patch = (int(part) for part in version.split(".")[:3])
        source = f"const int cudnn_graph_version = {major << 16 | minor << 8 | patch};"
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([COMPILER, "-x", "c", "-", "-shared", "-nostdlib", "-o", f"{folder}/a"], input=source, text=True, check=True)
            LIBRARIES[version] = pathlib.Path(folder, "a").read_bytes()
    return LIBRARIES[version]


def wheel_of(folder, package, version, members):
    """Writes a wheel. A member is text, bytes, or a list of these, which all get the same name."""
    name = package.replace("-", "_")
    path = pathlib.Path(folder) / f"{name}-{version}-py3-none-manylinux_2_27_{MACHINE}.whl"
    members = {**members, f"{name}-{version}.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n",
               f"{name}-{version}.dist-info/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-manylinux_2_27_{MACHINE}\n",
               f"{name}-{version}.dist-info/RECORD": "", f"{name}-{version}.dist-info/License.txt": "licence"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return path


def small(version, says=None):
    return {f"nvidia/cudnn_jit/lib/{part}": library(says or version) for part in PARTS} | {"nvidia/cudnn_jit/include/cudnn.h": "not wanted"}


def full(version):
    parts = PARTS + ("libcudnn_heuristic.so.9", "libcudnn_engines_precompiled.so.9", "libcudnn_ops.so.9")
    return {f"nvidia/cudnn/lib/{part}": library(version) for part in parts} | {"nvidia/cudnn/include/cudnn.h": "not wanted"}


class CudnnCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if not COMPILER:
            raise unittest.SkipTest("SKIPPED: no compiler")

    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.place)
        self.wheels, self.tools, self.calls = self.place / "wheels", self.place / "tools", self.place / "calls"
        self.folder = self.place / "cache/attnprobe/cudnn"
        self.wheels.mkdir()
        self.tools.mkdir()
        self.tool("python3")
        for package in ("nvidia-cudnn-jit-cu13", "nvidia-cudnn-jit-cu12"):
            for version in ("9.19.1.2", "9.27.0.42"):
                wheel_of(self.wheels, package, version, small(version))
        wheel_of(self.wheels, "nvidia-cudnn-cu13", "9.19.1.2", full("9.19.1.2"))
        wheel_of(self.wheels, "nvidia-cudnn-cu13", "9.29.0.5", full("9.29.0.5"))
        wheel_of(self.wheels, "nvidia-cudnn-cu12", "9.8.0.87", full("9.8.0.87"))
        wheel_of(self.wheels, "nvidia-cuda-nvrtc", "13.0.88", {"nvidia/cu13/lib/libnvrtc.so.13": "nvrtc", "nvidia/cu13/lib/libnvrtc.alt.so.13": "no",
                                                               "nvidia/cu13/lib/libnvrtc-builtins.so.13.0": "builtins"})
        wheel_of(self.wheels, "nvidia-cublas", "13.0.2.14", {"nvidia/cu13/lib/libcublasLt.so.13": "Lt", "nvidia/cu13/lib/libcublas.so.13": "no"})

    def tool(self, name):
        path = self.tools / name
        path.write_text(STAND_IN)
        path.chmod(0o755)

    def environment(self, **changes):
        usual = {"PATH": f"{self.tools}:/usr/bin:/bin", "CALLS": str(self.calls), "WHEELS": str(self.wheels), "XDG_CACHE_HOME": str(self.place / "cache")}
        merged = {**os.environ, **usual, **changes}
        merged.pop("ATTNPROBE_FETCH", None) if "ATTNPROBE_FETCH" not in changes else None
        return {key: value for key, value in merged.items() if value is not None}

    def run_it(self, *words, code=0, **changes):
        done = subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=self.environment(**changes), stdin=subprocess.DEVNULL, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done

    def asked(self):
        """The requirements in the calls of pip or uv."""
        return [line.split()[-1] for line in self.calls.read_text().splitlines()] if self.calls.exists() else []

    def names(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name != ".attnprobe.lock") if self.folder.exists() else []

    def files(self, release):
        return sorted(path.name for path in (self.folder / release).rglob("*.so*") if path.is_file())

    # ---- downloads

    def test_the_small_package_of_the_newest_known_build(self):
        done = self.run_it("cudnn", "fetch", "9.19")
        self.assertIn("use it with attnprobe --cudnn 9.19.1.2", done.stdout)
        self.assertEqual(self.asked(), ["nvidia-cudnn-jit-cu13==9.19.1.2"])
        call = self.calls.read_text()
        for word in ("-I -m pip download", "--no-deps", "--only-binary :all:", "--no-input", f"--platform manylinux_2_27_{MACHINE}"):
            self.assertIn(word, call)
        self.assertEqual(self.names(), ["9.19.1.2"])
        self.assertEqual(self.files("9.19.1.2"), sorted(PARTS))
        self.assertTrue(list((self.folder / "9.19.1.2").rglob("License.txt")))
        self.assertIn("is here", self.run_it("cudnn", "fetch", "9.19", PATH="/nowhere").stdout)
        self.assertRegex(self.run_it("cudnn", "list").stdout, r"9\.19\.1\.2 +13 +small")

    def test_full_replaces_small_and_includes_cublas(self):
        self.run_it("cudnn", "fetch", "9.19")
        self.run_it("cudnn", "fetch", "9.19", "--full")
        self.assertEqual(self.asked()[1:], ["nvidia-cudnn-cu13==9.19.1.2", "nvidia-cublas==13.0.2.14"])
        self.assertEqual(len(self.files("9.19.1.2")), 6)
        self.assertEqual((self.folder / "9.19.1.2/nvidia/cu13/lib/libcublasLt.so.13").read_text(), "Lt")
        self.assertFalse(list(self.folder.rglob("libcublas.so.13")))
        self.assertRegex(self.run_it("cudnn", "list").stdout, r"9\.19\.1\.2 +13 +full")

    def test_nvrtc_is_fetched_only_if_requested_and_fits_every_release(self):
        self.run_it("cudnn", "fetch", "9.19", "9.27")
        self.assertFalse(list(self.folder.rglob("libnvrtc*")))
        self.run_it("cudnn", "fetch", "9.19", "--nvrtc")
        self.assertEqual(self.asked()[-1], "nvidia-cuda-nvrtc==13.0.88")
        for release in ("9.19.1.2", "9.27.0.42"):
            self.assertEqual((self.folder / release / "nvidia/cu13/lib/libnvrtc.so.13").read_text(), "nvrtc")
        self.assertEqual(sorted(path.name for path in (self.folder / "cuda-13.0").rglob("*.so*")), ["libnvrtc-builtins.so.13.0", "libnvrtc.so.13"])

    def test_unknown_versions_are_resolved_by_the_index(self):
        self.run_it("cudnn", "fetch", "9.29", "latest")
        self.assertEqual(self.asked(), ["nvidia-cudnn-jit-cu13==9.29.*", "nvidia-cudnn-cu13==9.29.*", "nvidia-cudnn-jit-cu13>=9.8,<10"])
        self.assertEqual(self.names(), ["9.27.0.42", "9.29.0.5"])
        self.assertEqual(self.files("9.29.0.5"), sorted(PARTS))  # the same files of a full package

    def test_versions_without_small_package_and_for_cuda_12(self):
        self.run_it("cudnn", "fetch", "9.8")
        self.assertEqual(self.asked(), ["nvidia-cudnn-cu12==9.8.0.87"])
        self.assertEqual(self.files("9.8.0.87"), sorted(PARTS))
        self.run_it("cudnn", "fetch", "9.27", "--cuda", "12")
        self.assertEqual(self.asked()[1:], ["nvidia-cudnn-jit-cu12==9.27.0.42"])
        self.assertIn("cuDNN 9.8.0.87 has packages for CUDA 12 only", self.run_it("cudnn", "fetch", "9.8", "--cuda", "13", "--folder", str(self.place / "x"), code=2).stderr)

    def test_one_of_each_minor_is_listed_before_the_download(self):
        said = self.run_it("cudnn", "fetch", "--one-of-each-minor", "--from", "9.19", "--dry-run").stdout.splitlines()
        self.assertEqual(len(said), 10)
        self.assertEqual(said[0], "to be downloaded: nvidia-cudnn-jit-cu13==9.19.1.2 (17 MB)")
        self.assertEqual(self.asked(), [])
        self.assertIn("9.27.0.42", self.run_it("cudnn", "list", "--all").stdout)

    def test_uv_without_pip(self):
        os.remove(self.tools / "python3")
        self.tool("uv")
        self.run_it("cudnn", "fetch", "9.19", PATH=f"{self.tools}:{self.only('unzip', 'sed', 'ls', 'tail', 'basename', 'mkdir', 'sh')}")
        self.assertIn("uv pip install --target", self.calls.read_text())
        self.assertEqual(self.files("9.19.1.2"), sorted(PARTS))

    def only(self, *programs):
        folder = self.place / "only"
        folder.mkdir()
        for program in programs:
            (folder / program).symlink_to(shutil.which(program))
        return folder

    def test_a_wheel_without_pip(self):
        self.assertIn("neither pip nor uv works here", self.run_it("cudnn", "fetch", "9.19", code=3, PATH="/nowhere").stderr)
        wheels = [word for wheel in sorted(self.wheels.glob("*cu13-9.19*jit*")) + sorted(self.wheels.glob("*jit_cu13-9.19*")) + sorted(self.wheels.glob("*nvrtc*"))
                  for word in ("--wheel", str(wheel))]
        self.run_it("cudnn", "fetch", *wheels, PATH="/nowhere")
        self.assertEqual(self.names(), ["9.19.1.2", "cuda-13.0"])

    def test_remove_deletes_unshared_files(self):
        self.run_it("cudnn", "fetch", "9.19", "9.27", "--nvrtc")
        self.run_it("cudnn", "remove", "9.19.1.2")
        self.assertEqual(self.names(), ["9.27.0.42", "cuda-13.0"])
        self.run_it("cudnn", "remove", "9.27.0.42")
        self.assertEqual(self.names(), [])
        self.assertIn("\"9.20\" is not a release in", self.run_it("cudnn", "remove", "9.20", code=2).stderr)

    def test_errors_list_allowed_values(self):
        for words, text in ((["9.7"], "9.8 is the first that can"), (["10.1"], "not a version of cuDNN 9"), (["9..19"], "not a version of cuDNN 9"),
                            ([], "--one-of-each-minor")):
            self.assertIn(text, self.run_it("cudnn", "fetch", *words, code=2).stderr)
        failed = self.run_it("cudnn", "fetch", "9.26", code=3).stderr
        self.assertIn("nvidia-cudnn-jit-cu13==9.26.1.1 cannot be downloaded: ", failed)
        self.assertIn("ended with 1: ERROR: No matching distribution found", failed)
        self.assertEqual(self.names(), [])

    # ---- refusals

    def refused(self, path, text, code=3, **changes):
        self.assertIn(text, self.run_it("cudnn", "fetch", "--wheel", str(path), code=code, **changes).stderr)
        self.assertEqual(self.names(), [])

    def test_hostile_and_broken_wheels(self):
        jit, inside = "nvidia-cudnn-jit-cu13", small("9.14.0.64")
        good = wheel_of(self.place, jit, "9.14.0.64", inside).read_bytes()
        (self.place / "cut.whl").write_bytes(good[:-100])
        self.refused(self.place / "cut.whl", "it is not a readable wheel")
        damaged = bytearray(good)
        at = good.index(b"libcudnn_graph.so.9") + 200
        damaged[at:at + 64] = bytes(64)
        (self.place / "damaged.whl").write_bytes(damaged)
        self.refused(self.place / "damaged.whl", "libcudnn_graph.so.9: ")
        self.refused(wheel_of(self.place, jit, "9.14.0.1", {}), "the package has no libcudnn.so.9")
        self.refused(wheel_of(self.place, jit, "9.14.0.2", {**inside, "nvidia/cudnn_jit/lib/libcudnn_graph.so.9": b""}), "libcudnn_graph.so.9: is not a shared library")
        cut = library("9.14.0")[:-200]
        self.refused(wheel_of(self.place, jit, "9.14.0.3", {**inside, "nvidia/cudnn_jit/lib/libcudnn.so.9": cut}), "libcudnn.so.9: is truncated")
        self.refused(wheel_of(self.place, jit, "9.14.0.4", small("9.15.0")), "it contains cuDNN 9.15.0, but the package says 9.14.0.4")
        self.refused(wheel_of(self.place, "another-project", "9.14.0.64", inside), "it is not one of NVIDIA's packages")
        self.refused(wheel_of(self.place, jit, "..", inside), "it is not one of NVIDIA's packages")
        self.refused(wheel_of(self.place, jit, "9.7.0.66", inside), "9.8 is the first that can", code=2)
        self.refused(wheel_of(self.place, jit, "9.14.0.5", {f"x/{i}": "" for i in range(10_001)}), "allowed: 10000")
        self.refused(wheel_of(self.place, jit, "9.14.0.6", inside), "ATTNPROBE_MAX_WHEEL_BYTES", code=2, ATTNPROBE_MAX_WHEEL_BYTES="1000")
        self.refused(self.place / "nowhere.whl", "it is not a file", code=2)

    def test_no_member_is_written_outside_the_folder(self):
        names = {f"nvidia/cudnn_jit/lib/../../../../../{self.place.name}/libcudnn_x.so.9": b"x", f"{self.place}/libcudnn_y.so.9": b"x",
                 "nvidia/cudnn_jit/lib/" + "a" * 40_000: b"x", "nvidia/cudnn_jit/lib/sub/libcudnn_z.so.9": b"x"}
        path = wheel_of(self.place, "nvidia-cudnn-jit-cu13", "9.14.0.64", {**small("9.14.0"), **names})
        before = set(self.place.rglob("*"))
        self.run_it("cudnn", "fetch", "--full", "--wheel", str(path))
        new = {path for path in set(self.place.rglob("*")) - before if path.is_file() and self.folder / "9.14.0.64" not in path.parents}
        self.assertEqual({path.name for path in new}, set())
        self.assertEqual(self.files("9.14.0.64"), sorted(PARTS))

    # ---- the first question

    def test_no_prompt_without_a_terminal(self):
        said = self.run_it(*QUESTION, "--cudnn", "9.19.1.2", code=0).stdout
        self.assertIn("By rule: cuDNN 9.19.1 is not installed; `attnprobe cudnn fetch 9.19.1` downloads it", said)
        self.assertEqual(self.asked(), [])
        self.assertIn("allowed: always, never", self.run_it(*QUESTION, "--cudnn", "9.19.1.2", code=2, ATTNPROBE_FETCH="sometimes").stderr)
        self.run_it(*QUESTION, "--cudnn", "9.19.1.2", code=0, ATTNPROBE_FETCH="never")
        self.assertEqual(self.asked(), [])

    def test_fetch_always_downloads_without_asking(self):
        for words, changes in ((["--fetch"], {}), ([], {"ATTNPROBE_FETCH": "always"})):
            self.run_it(*QUESTION, "--cudnn", "9.27.0.42", *words, code=3, **changes)  # the download is not a real cuDNN
            self.assertEqual(self.asked(), ["nvidia-cudnn-jit-cu13==9.27.0.42"])
            self.assertEqual(self.names(), ["9.27.0.42"])
            shutil.rmtree(self.folder)
            self.calls.unlink()

    def test_unavailable_versions_are_answered_by_rule(self):
        done = self.run_it(*QUESTION, "--cudnn", "9.26", "--fetch", code=3)
        self.assertIn("cuDNN 9.26: nvidia-cudnn-jit-cu13==9.26.1.1 cannot be downloaded", done.stderr)
        self.assertIn("answered by rule, without asking cuDNN", done.stderr)
        self.assertIn("yes", done.stdout)
        self.assertIn("By rule: cuDNN 9.26.1", done.stdout)
        report = json.loads(self.run_it(*QUESTION, "--cudnn", "9.26", "--fetch", "--format", "json", code=3).stdout)
        self.assertEqual([result["by_rule"] for result in report["results"]], [True])

    def on_terminal(self, answer, *words):
        ours, theirs = pty.openpty()
        with subprocess.Popen([PROGRAM, *words], stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, env=self.environment()) as process:
            os.close(theirs)
            os.write(ours, answer)
            process.stdout.read()
            process.wait(timeout=60)
        said = b""
        try:
            while piece := os.read(ours, 4096):
                said += piece
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        return said.decode()

    def test_a_terminal_is_prompted_once(self):
        said = self.on_terminal(b"n\n", *QUESTION, "--cudnn", "9.27")
        self.assertEqual(said.count("cuDNN 9.27 is not on this machine. Fetch cuDNN 9.27 (74 MB) with pip? [Y/n]"), 1)
        self.assertEqual(self.asked(), [])
        self.on_terminal(b"\x04", *QUESTION, "--cudnn", "9.27")  # end of input means no
        self.assertEqual(self.asked(), [])
        self.on_terminal(b"y\n", *QUESTION, "--cudnn", "9.27")
        self.assertEqual(self.asked(), ["nvidia-cudnn-jit-cu13==9.27.0.42"])

    # ---- installed versions

    def test_a_framework_keeps_its_own_cudnn(self):
        packages = self.place / "venv/lib/python3.12/site-packages"
        (packages / "torch-2.99.0.dist-info").mkdir(parents=True)
        (packages / "torch-2.99.0.dist-info/METADATA").write_text("Name: torch\n")
        (packages / "nvidia_cudnn_cu13-9.19.0.56.dist-info").mkdir()
        (packages / "nvidia/cudnn/lib").mkdir(parents=True)
        for name in ("libcudnn.so.9", "libcudnn_graph.so.9"):
            (packages / "nvidia/cudnn/lib" / name).write_bytes(library("9.19.0"))
        said = self.run_it("cudnn", "fetch", "9.27", VIRTUAL_ENV=str(self.place / "venv")).stderr
        self.assertIn("unchanged: torch 2.99.0 loads cuDNN ", said)
        self.assertIn("fetched versions are used only with --cudnn", said)

    def test_the_real_pip_uses_its_own_configuration(self):
        if subprocess.run([sys.executable, "-I", "-m", "pip", "--version"], capture_output=True, check=False).returncode:
            self.skipTest("no pip here")
        wheels = self.wheels

        class Index(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                name = self.path.strip("/").rsplit("/", 1)[-1]
                listed = "".join(f'<a href="/files/{file.name}">{file.name}</a>' for file in sorted(wheels.glob(name.replace("-", "_") + "-9*.whl")))
                data = (wheels / name).read_bytes() if name.endswith(".whl") else f"<!DOCTYPE html><html><body>{listed}</body></html>".encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/octet-stream" if name.endswith(".whl") else "text/html")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Index)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        (self.tools / "python3").write_text(f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
        self.run_it("cudnn", "fetch", "9.19", PIP_INDEX_URL=f"http://127.0.0.1:{server.server_port}/simple", PIP_NO_CACHE_DIR="1", no_proxy="*",
                    PIP_FIND_LINKS=None, PIP_CONFIG_FILE="/dev/null")
        self.assertEqual(self.files("9.19.1.2"), sorted(PARTS))


if __name__ == "__main__":
    unittest.main()
