"""The wheel, made of the library that is tested: what is in it, and a program run
by it alone. It takes some 5 seconds of processor time: auditwheel goes over the
library and all that it needs."""

import base64
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import EXAMPLES, ROOT  # noqa: E402


def builder():
    path = os.path.join(ROOT, "python", "build_wheel.py")
    spec = importlib.util.spec_from_file_location("build_wheel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


build = builder()
LACKS = [name for name in ("auditwheel", "patchelf", "strip", "dpkg-query")
         if not build.tool(name)]
PIP = subprocess.run([sys.executable, "-m", "pip", "--version"],
                     capture_output=True).returncode == 0


def clean():
    """An environment in which nothing of this tree is found."""
    return {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LANG": "C.UTF-8"}


class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        command = [sys.executable, os.path.join(ROOT, "python", "build_wheel.py"),
                   "--library", os.environ["LIBRLFLOW"], cls.folder.name]
        cls.made = None
        if not LACKS:
            made = subprocess.run(command, capture_output=True, text=True)
            if made.returncode:
                raise AssertionError(made.stderr)
            cls.made = made.stdout.strip()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def setUp(self):
        if LACKS:
            self.skipTest("there is no " + ", ".join(LACKS))

    def test_contents(self):
        """Each library in it has its licence; RECORD is of what is there."""
        self.assertEqual(os.listdir(self.folder.name),
                         [os.path.basename(self.made)])
        self.assertRegex(self.made, r"-py3-none-(manylinux_2_\d+_x86_64\.)*"
                         r"manylinux_2_36_x86_64\.whl$")
        self.assertLess(os.path.getsize(self.made), 10 << 20)
        with zipfile.ZipFile(self.made) as wheel:
            names = wheel.namelist()
            info = names[0].split("/")[0] if ".dist-info" in names[0] else next(
                n.split("/")[0] for n in names if ".dist-info/" in n)
            metadata = wheel.read(info + "/METADATA").decode()
            licenses = re.findall(r"^License-File: (.*)$", metadata, re.M)
            self.assertEqual(
                sorted(licenses),
                sorted(n[len(info + "/licenses/"):] for n in names
                       if n.startswith(info + "/licenses/")))
            self.assertIn("LICENSE", licenses)
            self.assertNotRegex(metadata, r"Requires-Dist: (?!.*; extra ==)")
            libraries = [n for n in names if n.startswith("rlflow.libs/")]
            self.assertGreater(len(libraries), 5)
            for name in libraries:
                self.assertTrue(any(self.is_of(text, name) for text in licenses),
                                name)
            for text in licenses:
                self.assertGreater(len(wheel.read(info + "/licenses/" + text)),
                                   500, text)
            for wanted in ("rlflow/py.typed", "rlflow/_declarations.py",
                           "rlflow/_declarations.pyi",
                           "rlflow/lib/librlflow.so.0",
                           "rlflow/share/rlflow/stdlib/loss.rlf"):
                self.assertIn(wanted, names)
            lines = wheel.read(info + "/RECORD").decode().split("\n")
            for line in filter(None, lines):
                name, digest, size = line.split(",")
                names.remove(name)
                if name.endswith("/RECORD"):
                    continue
                content = wheel.read(name)
                found = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
                self.assertEqual(digest, "sha256=" +
                                 found.rstrip(b"=").decode(), name)
                self.assertEqual(int(size), len(content), name)
            self.assertEqual(names, [])

    # packages of Debian are not always called as their libraries are
    OTHER = {"libmpi": "libopenmpi", "libopen-rte": "libopenmpi",
             "libopen-pal": "libopenmpi", "libevent_core": "libevent-core",
             "libevent_pthreads": "libevent-pthreads"}

    def is_of(self, text, library):
        """Is it the licence of that library?"""
        stem = re.match(r"rlflow\.libs/([^.]+?)-[0-9a-f]{8,}\.", library).group(1)
        stem = re.sub(r"-\d+$", "", stem)
        return text.startswith(self.OTHER.get(stem, stem))

    def test_alone(self):
        """Installed without a network, it takes a program to its first metric."""
        if not PIP:
            self.skipTest("there is no pip")
        with tempfile.TemporaryDirectory() as tmp:
            home = os.path.join(tmp, "venv")
            subprocess.run([sys.executable, "-m", "venv", "--without-pip", home],
                           check=True)
            place = subprocess.run(
                [home + "/bin/python", "-c",
                 "import sysconfig; print(sysconfig.get_path('purelib'))"],
                check=True, text=True, capture_output=True).stdout.strip()
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet",
                            "--no-index", "--no-deps", "--target", place,
                            "--root-user-action", "ignore",
                            "--disable-pip-version-check", self.made], check=True)
            words = ("import rlflow, sys\n"
                     "assert rlflow.__file__.startswith(sys.prefix)\n"
                     "with rlflow.open(sys.argv[1], size=4,"
                     " options={'steps': 1}) as run:\n"
                     "    print(run.step()['reward'])\n"
                     "try:\n    import numpy\n"
                     "except ImportError:\n    print('no numpy')\n")
            found = subprocess.run(
                [home + "/bin/python", "-c", words,
                 os.path.join(EXAMPLES, "grpo.rlf")],
                env=clean(), cwd=tmp, text=True, capture_output=True)
            self.assertEqual((found.returncode, found.stderr), (0, ""))
            self.assertRegex(found.stdout, r"^[01]\.\d+\nno numpy\n$")

    def test_pip(self):
        """pip makes it of the tree, by pyproject.toml."""
        if not PIP:
            self.skipTest("there is no pip")
        with tempfile.TemporaryDirectory() as tmp:
            subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet",
                            "--no-index", "--no-deps",
                            "--disable-pip-version-check", "-w", tmp,
                            os.path.join(ROOT, "python")], check=True)
            self.assertEqual(os.listdir(tmp), [os.path.basename(self.made)])
            with open(os.path.join(tmp, os.path.basename(self.made)), "rb") as a, \
                    open(self.made, "rb") as b:
                self.assertEqual(self.without_time(a), self.without_time(b))

    @staticmethod
    def without_time(file):
        """What is in a wheel, but for auditwheel's list of materials, which has
        a number of its own each time."""
        with zipfile.ZipFile(file) as wheel:
            return {n: wheel.read(n) for n in wheel.namelist()
                    if "/sboms/" not in n and not n.endswith("/RECORD")}


if __name__ == "__main__":
    unittest.main()
