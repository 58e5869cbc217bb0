"""The shared library, with its declarations."""

import ctypes
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))


def _candidates():
    """Files that may be the library, best first."""
    named = os.environ.get("LIBRLFLOW")
    if named:
        yield named
        return
    yield os.path.join(_HERE, "lib", "librlflow.so.0")  # of a wheel
    yield "librlflow.so.0"  # where it is installed


def _declarations():
    """The module that was made of the header, or is made of it now."""
    if importlib.util.find_spec(__package__ + "._declarations"):
        from . import _declarations

        return _declarations
    # in the source tree the header lies near
    import io
    import types

    root = os.path.dirname(os.path.dirname(_HERE))
    path = os.path.join(root, "python", "declarations.py")
    spec = importlib.util.spec_from_file_location("rlflow_declarations", path)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    out = io.StringIO()
    with open(os.path.join(root, "engine", "rlflow.h"), encoding="utf-8") as f:
        maker.Header(f.read()).emit(out)
    module = types.ModuleType(__package__ + "._declarations")
    exec(compile(out.getvalue(), "_declarations.py", "exec"), module.__dict__)
    sys.modules[module.__name__] = module
    return module


def _load():
    tried = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        "the library of rlflow is not there: " + "; ".join(tried)
        + " (LIBRLFLOW names it)")


declarations = _declarations()
library = _load()
for _name, (_result, _arguments) in declarations.FUNCTIONS.items():
    try:
        _function = getattr(library, _name)
    except AttributeError:
        raise ImportError("the library of rlflow is older than this module: it "
                          "has no %s" % _name) from None
    _function.restype = _result
    _function.argtypes = _arguments


def text(value):
    """A text of the library: bytes that need not be UTF-8."""
    return None if value is None else value.decode("utf-8", "surrogateescape")


def data(text_or_path):
    """A text for the library."""
    if isinstance(text_or_path, bytes):
        return text_or_path
    return os.fspath(text_or_path).encode("utf-8", "surrogateescape")


def version():
    """The version of the library."""
    return text(library.rlf_version())
