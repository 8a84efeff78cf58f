"""Progress lines on a terminal: never wider than the terminal, and removed at the end."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import unittest

import support  # noqa: F401  (says what is missing)

COLUMNS = 44


class Progress(unittest.TestCase):
    def test_width(self):
        terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
        run = subprocess.Popen([os.environ["ATTNPROBE_PROGRAM"], "--name", "a-name-that-is-longer-than-the-terminal-is-wide", "--heads", "2",
                                "--seqlen", "8:1200:8", "--head-dim", "64", "--target", "a100,h100", "--quick", "--format", "jsonl"],
                               stdout=subprocess.DEVNULL, stderr=side)
        os.close(side)
        told = b""
        while True:
            try:
                part = os.read(terminal, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            told += part
        os.close(terminal)
        self.assertEqual(run.wait(), 0)
        lines = re.split(r"\r\x1b\[K", told.decode())
        shown = [line for line in lines if line]
        self.assertTrue(shown, told)
        for line in shown:
            self.assertLess(len(line), COLUMNS)
            self.assertNotIn("\n", line)
        self.assertEqual(lines[-1], "")


if __name__ == "__main__":
    unittest.main()
