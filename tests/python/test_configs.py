"""Converts the arguments of Python programs to requests of the service."""

import gzip
import lzma
import pathlib
import tempfile
import unittest

import support  # noqa: F401  the module's path
import attnprobe
from attnprobe import _configs


class Documents(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return self.folder / name

    def test_fields_override_files(self):
        self.assertEqual(_configs.document_of({"heads_q": 8, "heads_kv": 2, "seqlen": 64}, {"heads": 4}), {"seqlen": 64, "heads": 4})
        self.assertEqual(_configs.document_of({"defaults": {"seqlen_q": 1}, "configs": [{"head_dim": 64}]}, {"seqlen": 8}),
                         {"defaults": {"seqlen": 8}, "configs": [{"head_dim": 64, "seqlen": 8}]})
        self.assertEqual(_configs.document_of([{"heads": 1}], {"dtype": "bf16"}), [{"heads": 1, "dtype": "bf16"}])

    def test_no_question(self):
        with self.assertRaisesRegex(attnprobe.UsageError, "no question"):
            _configs.document_of(None, {})

    def test_file_with_comments(self):
        path = self.write("a.json", '{"name": "a // no comment", /* one\n two */ "heads": 1} // end')
        self.assertEqual(_configs.document_of(path, {}), {"name": "a // no comment", "heads": 1})

    def test_compressed(self):
        for name, pack in (("a.json.gz", gzip.compress), ("a.json.xz", lzma.compress)):
            (self.folder / name).write_bytes(pack(b'{"heads": 3}'))
            self.assertEqual(_configs.read_document(self.folder / name), {"heads": 3})

    def test_bad_files(self):
        for name, text, words in (("twice.json", '{"heads": 1, "heads": 2}', '"heads" appears twice'), ("cut.json", "{", "is not valid JSON")):
            with self.assertRaisesRegex(attnprobe.UsageError, words):
                _configs.read_document(self.write(name, text))
        with self.assertRaisesRegex(attnprobe.UsageError, "cannot be read"):
            _configs.read_document(self.folder / "none.json")
        (self.folder / "cut.gz").write_bytes(gzip.compress(b"{}" * 100)[:20])
        with self.assertRaisesRegex(attnprobe.UsageError, "cannot be read"):
            _configs.read_document(self.folder / "cut.gz")

    def test_versions(self):
        self.assertEqual(_configs.version_of("9.14"), "9.14")
        self.assertEqual(_configs.version_of(pathlib.Path("/x")), "/x")
        with self.assertRaisesRegex(attnprobe.UsageError, "9.2 equals 9.20"):
            _configs.version_of(9.2)
        with self.assertRaisesRegex(attnprobe.UsageError, "not a cuDNN"):
            _configs.version_of(9)

    def test_matrix_documents(self):
        self.write("b.json", '{"defaults": {"dtype": "bf16", "heads_q": 9}, "configs": [{"name": "b", "heads": 2}]}')
        matrix = self.write("m.json", '{"targets": "h100", "cudnn": ["9.8"], "framework": "torch", "config_files": ["b*.json"]}')
        document, axes = _configs.matrix_document(matrix)
        self.assertEqual(axes, {"targets": "h100", "cudnn": ["9.8"], "framework": "torch"})
        self.assertEqual(document, [{"dtype": "bf16", "name": "b", "heads": 2}])
        with self.assertRaisesRegex(attnprobe.UsageError, "no file is"):
            _configs.matrix_document(self.write("n.json", '{"config_files": "none*.json"}'))


class Calls(unittest.TestCase):
    def test_one_kind_of_question(self):
        with self.assertRaisesRegex(attnprobe.UsageError, "torch: heads is also given"):
            attnprobe.probe(torch={}, heads=1)
        with self.assertRaisesRegex(attnprobe.UsageError, "torch: jax is also given"):
            attnprobe.probe(torch={}, jax={})


if __name__ == "__main__":
    unittest.main()
