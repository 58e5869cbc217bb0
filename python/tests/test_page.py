"""The code of doc/python.md, and of the module's own page: each block is run after
those before it, and prints what stands behind it. With RLFLOW_WRITE_GOLDEN=1 that
is written."""

import contextlib
import io
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import ROOT, numpy, rlflow  # noqa: E402

BLOCK = re.compile(r"```python\n(.*?)```\n(\n```text\n(.*?)```\n)?", re.S)


class Pages(unittest.TestCase):
    @unittest.skipUnless(numpy, "there is no numpy")
    def test_page(self):
        """doc/python.md"""
        path = os.path.join(ROOT, "doc", "python.md")
        with open(path, encoding="utf-8") as f:
            page = f.read()
        self.assertGreater(len(BLOCK.findall(page)), 8)
        here = os.getcwd()
        with tempfile.TemporaryDirectory() as tmp:
            os.symlink(os.path.join(ROOT, "examples"),
                       os.path.join(tmp, "examples"))
            os.chdir(tmp)
            try:
                written = self.run_blocks(page, path)
            finally:
                os.chdir(here)
        if os.environ.get("RLFLOW_WRITE_GOLDEN") and written != page:
            with open(path, "w", encoding="utf-8") as f:
                f.write(written)
        else:
            self.assertEqual(page, written)

    def run_blocks(self, page, path):
        """The page with what its blocks print."""
        space = {"__name__": "page"}

        def run(match):
            line = page.count("\n", 0, match.start()) + 1
            code = compile("\n" * line + match.group(1), path, "exec")
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(code, space)
            if match.group(2) is None:
                self.assertEqual(out.getvalue(), "", "line %d" % line)
                return match.group(0)
            return "```python\n%s```\n\n```text\n%s```\n" % (match.group(1),
                                                            out.getvalue())

        return BLOCK.sub(run, page)

    def test_readme(self):
        """python/README.md: its programs are of names that the module has."""
        path = os.path.join(ROOT, "python", "README.md")
        with open(path, encoding="utf-8") as f:
            page = f.read()
        blocks = re.findall(r"```python\n(.*?)```", page, re.S)
        self.assertGreater(len(blocks), 1)
        for block in blocks:
            compile(block, path, "exec")
        for name in re.findall(r"`rlflow\.(\w+)", page):
            if name != "h":
                self.assertTrue(hasattr(rlflow, name), name)
        for name in re.findall(r"`run\.(\w+)", page):
            self.assertTrue(hasattr(rlflow.Session, name), name)


if __name__ == "__main__":
    unittest.main()
