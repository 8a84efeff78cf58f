"""attnprobe.watch around a program that calls cuDNN. Each test has its own process, because cuDNN is loaded once."""

import os
import subprocess
import sys
import textwrap
import unittest

import support

BEGIN = f"""
    import glob, os, sys, tempfile
    sys.path[:0] = [{str(support.MODULE)!r}, {str(support.ROOT / "tests" / "python")!r}]
    import attnprobe
    from attnprobe import _loaded
    from cudnn_calls import Cudnn
    program, library = os.environ["ATTNPROBE_PROGRAM"], os.environ["TEST_CUDNN"]
"""


class Watch(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        import attnprobe

        cls.library = attnprobe.probe(heads=1, seqlen=64, head_dim=64, target="h200", quick=True).only.cudnn.path

    def run_program(self, text, **variables):
        run = subprocess.run([sys.executable, "-c", textwrap.dedent(BEGIN) + textwrap.dedent(text)], capture_output=True, text=True,
                             env={**os.environ, "TEST_CUDNN": self.library, **variables})
        self.assertEqual(run.returncode, 0, run.stderr)
        return run.stdout

    def check(self, order):
        out = self.run_program(order + """
            assert [graph.verdict for graph in seen.graphs] == ["refused", "works"], str(seen)
            assert seen.refused[0].root_cause.category == "shared_memory", seen.refused
            assert [graph.finalized for graph in seen.graphs] == [1, 1]
            assert [config["seqlen_q"] for config in seen.configs] == [64, 128], seen.configs
            assert "2 distinct operation graphs reached cuDNN, 1 refused" in str(seen)
            # Off again: nothing is printed, no file and no variable is left, and the next watch sees only the next graph.
            cudnn.ask("h200", 256)
            assert not [name for name in os.environ if name.startswith("CUDNN_LOG")]
            with attnprobe.watch() as again:
                cudnn.ask("h200", 192)
            assert [config["seqlen_q"] for config in again.configs] == [192]
            assert not glob.glob(tempfile.gettempdir() + "/attnprobe-watch-*-%d.log" % os.getpid())
            print(attnprobe.probe(seen.configs, target="l40s,h200").to_table())
        """)
        self.assertEqual(len(out.splitlines()), 5, out)

    def test_cudnn_is_loaded_inside(self):
        self.check("""
            with attnprobe.watch() as seen:
                assert _loaded.loaded_library() is _loaded.loaded_version() is None
                cudnn = Cudnn(library, program)
                cudnn.ask("l40s", 64), cudnn.ask("h200", 128)
        """)

    def test_cudnn_was_loaded_before(self):
        self.check("""
            cudnn = Cudnn(library, program)
            cudnn.ask("h200", 512)
            assert "libcudnn_graph" in _loaded.loaded_library() and 90800 <= _loaded.loaded_version() < 100000
            with attnprobe.watch() as seen:
                cudnn.ask("l40s", 64), cudnn.ask("h200", 128)
        """)

    def test_threads_and_exceptions(self):
        self.run_program("""
            import threading
            cudnn = Cudnn(library, program)
            try:
                with attnprobe.watch() as seen:
                    threads = [threading.Thread(target=cudnn.ask, args=("h200", length)) for length in (128, 256, 384)]
                    for thread in threads: thread.start()
                    for thread in threads: thread.join()
                    raise KeyError("the program's own")
            except KeyError:
                pass
            assert sorted(config["seqlen_q"] for config in seen.configs) == [128, 256, 384], seen.configs
        """)

    def test_a_callback_of_the_program_is_restored(self):
        self.run_program("""
            import ctypes
            from attnprobe import _cudnn_log
            cudnn, told = Cudnn(library, program), []
            mine = _cudnn_log._Callback(lambda *words: told.append(words[0]))
            cudnn.calls.cudnnSetCallback(ctypes.c_uint(14), None, mine)
            cudnn.ask("h200", 128)
            before = len(told)
            with attnprobe.watch() as seen:
                cudnn.ask("h200", 256)
                inside = len(told)
            assert before and len(seen.graphs) == 1
            cudnn.ask("h200", 384)
            assert len(told) > inside
        """)

    def test_a_callback_set_inside_is_kept(self):
        self.run_program("""
            import ctypes
            from attnprobe import _cudnn_log
            cudnn, told = Cudnn(library, program), []
            mine = _cudnn_log._Callback(lambda *words: told.append(words[0]))
            with attnprobe.watch() as seen:
                cudnn.ask("h200", 256)
                cudnn.calls.cudnnSetCallback(ctypes.c_uint(14), None, mine)
            assert len(seen.graphs) == 1
            cudnn.ask("h200", 384)
            assert told
        """)

    def test_too_much(self):
        self.run_program("""
            cudnn = Cudnn(library, program)
            with attnprobe.watch(most_megabytes=0) as seen:
                cudnn.ask("h200", 128)
            assert seen.graphs == () and "dropped" in seen.notes[0], seen
        """)

    def test_what_is_refused(self):
        self.run_program("""
            with attnprobe.watch() as seen:
                for wrong in (lambda: seen.graphs, lambda: attnprobe.watch().__enter__()):
                    try:
                        wrong()
                    except attnprobe.UsageError:
                        continue
                    raise SystemExit("no error")
            assert seen.graphs == () and seen.refusals == ()
        """)
        out = self.run_program("""
            try:
                with attnprobe.watch(): pass
            except attnprobe.UsageError as problem:
                print(problem)
        """, CUDNN_LOGLEVEL_DBG="3", CUDNN_LOGDEST_DBG="/tmp/x.log")
        self.assertIn('CUDNN_LOGDEST_DBG is "/tmp/x.log"', out)


if __name__ == "__main__":
    unittest.main()
