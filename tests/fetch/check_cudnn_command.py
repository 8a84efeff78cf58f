#!/usr/bin/env python3
"""`attnprobe cudnn` against a package index of this test's own: small wheels, a server that goes on with a download where it is asked
to, and breaks one off.

  tests/fetch/check_cudnn_command.py build/attnprobe
"""
import hashlib
import http.server
import io
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
import zipfile

PROGRAM = os.path.abspath(sys.argv.pop(1))
MACHINE = platform.machine()
NOISE = os.urandom(300_000)


def wheel(members):
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def name_of(package, version, machine=MACHINE):
    return f"{package.replace('-', '_')}-{version}-py3-none-manylinux_2_27_{machine}.whl"


class Index:
    """Packages, and what becomes of requests for their files."""

    def __init__(self):
        self.files, self.listed, self.broken_off, self.ranges = {}, {}, set(), []
        for version in ("9.7.1.26", "9.14.0.64", "9.19.0.56", "9.19.1.2", "9.20.0.48"):
            self.add("nvidia-cudnn-cu13", version, {"nvidia/cudnn/lib/libcudnn.so.9": f"cuDNN {version}".encode() + NOISE,
                                                    "nvidia/cudnn/include/cudnn.h": b"not wanted",
                                                    f"nvidia_cudnn_cu13-{version}.dist-info/License.txt": b"licence"})
        self.add("nvidia-cudnn-cu12", "9.8.0.87", {"nvidia/cudnn/lib/libcudnn.so.9": b"for CUDA 12"})
        self.add("nvidia-cuda-nvrtc", "13.0.88", {"nvidia/cu13/lib/libnvrtc.so.13": b"nvrtc", "nvidia/cu13/lib/libother.so": b"not wanted"})
        self.add("nvidia-cublas", "13.0.2.14", {"nvidia/cu13/lib/libcublasLt.so.13": b"cublasLt"})
        self.add("nvidia-cuda-nvrtc-cu12", "12.9.86", {"nvidia/cuda_nvrtc/lib/libnvrtc.so.12": b"nvrtc"})
        self.add("nvidia-cublas-cu12", "12.9.1.4", {"nvidia/cublas/lib/libcublasLt.so.12": b"cublasLt"})
        self.listed["nvidia-cudnn-cu13"].append({**self.listed["nvidia-cudnn-cu13"][-1], "filename": name_of("nvidia-cudnn-cu13", "9.99.0.1", "riscv64")})
        self.listed["nvidia-cudnn-cu13"].append({**self.listed["nvidia-cudnn-cu13"][0], "filename": name_of("nvidia-cudnn-cu13", "9.98.0.1"), "yanked": "broken"})

    def add(self, package, version, members):
        data, name = wheel(members), name_of(package, version)
        self.files[name] = data
        self.listed.setdefault(package, []).append({"filename": name, "url": f"../../files/{name}", "size": len(data), "yanked": False,
                                                    "hashes": {"sha256": hashlib.sha256(data).hexdigest()}})


def handler_for(index):
    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            parts = self.path.strip("/").split("/")
            if parts[0] == "simple" and parts[1] in index.listed:
                files = [{**f, "url": f"http://{self.headers['Host']}/files/{f['url'].rsplit('/', 1)[1]}"} for f in index.listed[parts[1]]]
                return self.give(200, json.dumps({"meta": {"api-version": "1.0"}, "name": parts[1], "files": files}).encode())
            data = index.files.get(parts[-1])
            if data is None:
                return self.give(404, b"no such file")
            asked, begin = self.headers.get("Range"), 0
            if asked:
                index.ranges.append(asked)
                begin = int(asked.removeprefix("bytes=").split("-")[0])
            what = f"bytes {begin}-{len(data) - 1}/{len(data)}" if asked else None
            if parts[-1] in index.broken_off:
                index.broken_off.discard(parts[-1])
                return self.give(206 if asked else 200, data[begin:], what, (len(data) - begin) // 2)
            return self.give(206 if asked else 200, data[begin:], what)

        def give(self, status, data, what=None, stop_after=None):
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            if what:
                self.send_header("Content-Range", what)
            self.end_headers()
            self.wfile.write(data[:stop_after])

    return Handler


class CudnnCommand(unittest.TestCase):
    def setUp(self):
        self.index = Index()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler_for(self.index))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def run_it(self, *words, code=0, index=None, environment=None):
        address = index or f"http://127.0.0.1:{self.server.server_port}/simple/"
        options = ["--folder", str(self.folder)] + (["--index-url", address] if words[0] != "remove" else [])
        done = subprocess.run([PROGRAM, "cudnn", *words, *options], capture_output=True, text=True,
                              env={**os.environ, "no_proxy": "*", **(environment or {})})
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def names(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name != ".attnprobe.lock")

    def test_fetches_the_newest_of_a_minor_with_what_it_loads(self):
        done = self.run_it("fetch", "9.19")
        self.assertIn("9.19.1.2", done.stdout)
        self.assertEqual(self.names(), ["9.19.1.2", "cuda-13.0"])
        files = sorted(str(p.relative_to(self.folder)) for p in self.folder.rglob("*") if p.is_file() and ".lock" not in p.name)
        self.assertIn("9.19.1.2/nvidia/cudnn/lib/libcudnn.so.9", files)
        self.assertFalse([f for f in files if "include" in f or "other" in f], files)
        self.assertEqual((self.folder / "9.19.1.2/nvidia/cu13/lib/libnvrtc.so.13").read_text(), "nvrtc")
        self.assertEqual(self.run_it("fetch", "9.19.1.2", index="http://127.0.0.1:1/simple").stdout.split(":")[0], "9.19.1.2")
        self.assertIn("9.19.1.2", self.run_it("list").stdout)

    def test_latest_is_for_this_machine_and_not_taken_back(self):
        self.run_it("fetch", "latest")
        self.assertEqual(self.names(), ["9.20.0.48", "cuda-13.0"])

    def test_one_of_each_minor_takes_both_cudas(self):
        self.run_it("fetch", "--one-of-each-minor")
        self.assertEqual(self.names(), ["9.14.0.64", "9.19.1.2", "9.20.0.48", "9.8.0.87", "cuda-12.9", "cuda-13.0"])

    def test_a_dry_run_says_sizes_and_brings_nothing(self):
        done = self.run_it("fetch", "9.14", "--dry-run")
        for word in (name_of("nvidia-cudnn-cu13", "9.14.0.64"), name_of("nvidia-cublas", "13.0.2.14"), "to download", str(self.folder)):
            self.assertIn(word, done.stdout)
        self.assertEqual(self.names(), [])

    def test_a_download_that_breaks_off_goes_on(self):
        name = name_of("nvidia-cudnn-cu13", "9.14.0.64")
        for downloader in filter(shutil.which, ("curl", "wget", "python3")):
            with self.subTest(downloader), tempfile.TemporaryDirectory() as programs:
                for program in (downloader, "sha256sum"):
                    os.symlink(shutil.which(program), os.path.join(programs, program))
                self.index.broken_off.add(name)
                self.index.ranges.clear()
                self.run_it("fetch", "9.14", environment={"PATH": programs})
                library = self.folder / "9.14.0.64/nvidia/cudnn/lib/libcudnn.so.9"
                self.assertEqual(library.read_bytes(), b"cuDNN 9.14.0.64" + NOISE)
                self.assertTrue(self.index.ranges, "it began anew")
                self.run_it("remove", "9.14.0.64")

    def test_what_an_interrupted_run_left_is_used(self):
        name = name_of("nvidia-cudnn-cu13", "9.14.0.64")
        part = self.folder / ".partial-9.14.0.64" / (name + ".part")
        part.parent.mkdir()
        part.write_bytes(self.index.files[name][:1000])
        self.run_it("fetch", "9.14")
        self.assertIn("bytes=1000-", self.index.ranges)

    def test_what_was_unpacked_before_an_interruption_is_not_brought_again(self):
        nvrtc, cublas = name_of("nvidia-cuda-nvrtc", "13.0.88"), name_of("nvidia-cublas", "13.0.2.14")
        good = self.index.files[cublas]
        self.index.files[cublas] = good[:-4] + b"xxxx"
        self.run_it("fetch", "9.14", code=3)
        self.index.files[cublas] = good
        del self.index.files[nvrtc]  # a second request would fail
        self.assertIn("of it are here already)", self.run_it("fetch", "9.14").stderr)
        self.assertEqual(self.names(), ["9.14.0.64", "cuda-13.0"])

    def test_a_framework_beside_it_keeps_its_own(self):
        packages = self.folder / "venv/lib/python3.12/site-packages"
        (packages / "torch-2.99.0.dist-info").mkdir(parents=True)
        (packages / "torch-2.99.0.dist-info/METADATA").write_text("Name: torch\n")
        (packages / "nvidia_cudnn_cu13-9.19.0.56.dist-info").mkdir()
        (packages / "nvidia/cudnn/lib").mkdir(parents=True)
        request = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "libraries"})
        found = subprocess.run([PROGRAM, "serve", "--stdio"], input=request, capture_output=True, text=True).stdout
        real = pathlib.Path(json.loads(found)["result"]["libraries"][0]["path"]).resolve()
        for name in ("libcudnn.so.9", "libcudnn_graph.so.9"):
            (packages / "nvidia/cudnn/lib" / name).symlink_to(real.parent / name)
        said = self.run_it("fetch", "9.14", environment={"VIRTUAL_ENV": str(self.folder / "venv")}).stderr
        self.assertIn("torch 2.99.0 loads cuDNN ", said)
        self.assertIn("what is fetched is asked with --cudnn alone", said)

    def test_wrong_bytes_are_refused(self):
        name = name_of("nvidia-cudnn-cu13", "9.14.0.64")
        self.index.files[name] = self.index.files[name][:-4] + b"xxxx"
        self.assertIn("its SHA-256 is not that of the index", self.run_it("fetch", "9.14", code=3).stderr)
        self.assertNotIn("9.14.0.64", self.names())

    def test_remove_takes_what_nobody_shares_any_more(self):
        self.run_it("fetch", "9.14", "9.20")
        self.assertIn("are free", self.run_it("remove", "9.14.0.64").stdout)
        self.assertEqual(self.names(), ["9.20.0.48", "cuda-13.0"])
        self.run_it("remove", "9.20.0.48")
        self.assertEqual(self.names(), [])
        self.assertIn("\"9.20\" is not a release in", self.run_it("remove", "9.20", code=2).stderr)

    def test_errors_say_what_is_allowed(self):
        for words, text in ((["9.7"], "9.8 is the first that does"), (["10.1"], "not a version of cuDNN 9"), (["9.55"], "the index has no cuDNN 9.55"),
                            ([], "--one-of-each-minor")):
            self.assertIn(text, self.run_it("fetch", *words, code=2).stderr)
        self.assertIn("cannot be reached", self.run_it("fetch", "9.14", code=3, index="http://127.0.0.1:1/simple").stderr)
        self.assertIn("neither curl nor wget nor python3 is on PATH", self.run_it("fetch", "9.14", code=3, environment={"PATH": "/nowhere"}).stderr)

    def test_python_alone_will_do(self):
        tools = self.folder.parent / (self.folder.name + "-tools")
        tools.mkdir()
        self.addCleanup(shutil.rmtree, tools)
        for tool in ("python3", "sha256sum"):
            (tools / tool).write_text(f"#!/bin/sh\nPATH={os.environ['PATH']} exec {sys.executable if tool == 'python3' else shutil.which(tool)} \"$@\"\n")
            (tools / tool).chmod(0o755)
        self.index.broken_off.add(name_of("nvidia-cudnn-cu13", "9.14.0.64"))
        self.run_it("fetch", "9.14", environment={"PATH": str(tools)})
        self.assertEqual((self.folder / "9.14.0.64/nvidia/cudnn/lib/libcudnn.so.9").read_bytes(), b"cuDNN 9.14.0.64" + NOISE)


if __name__ == "__main__":
    unittest.main()
