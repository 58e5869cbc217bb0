"""The shared library, with its declarations."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, Iterator, Optional, Union, cast, overload

if TYPE_CHECKING:
    from . import _declarations as declarations

_HERE = os.path.dirname(os.path.abspath(__file__))
__all__ = ["Text", "data", "declarations", "library", "text", "version", "word"]
Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def _candidates() -> Iterator[str]:
    """Files that may be the library, best first."""
    named = os.environ.get("LIBRLFLOW")
    if named:
        yield named
        return
    yield os.path.join(_HERE, "lib", "librlflow.so.0")  # of a wheel
    tree = os.path.dirname(os.path.dirname(_HERE))
    if os.path.exists(os.path.join(tree, "engine", "rlflow.h")):
        yield os.path.join(tree, "build", "librlflow.so.0")
    yield "librlflow.so.0"  # where it is installed


def _made() -> ModuleType:
    """The module that is made of the header now, which in the source tree lies
    near."""
    import io

    root = os.path.dirname(os.path.dirname(_HERE))
    path = os.path.join(root, "python", "declarations.py")
    spec = importlib.util.spec_from_file_location("rlflow_declarations", path)
    assert spec and spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    out = io.StringIO()
    with open(os.path.join(root, "engine", "rlflow.h"), encoding="utf-8") as f:
        maker.Header(f.read()).emit(out)
    module = ModuleType(__package__ + "._declarations")
    exec(compile(out.getvalue(), "_declarations.py", "exec"), module.__dict__)
    sys.modules[module.__name__] = module
    return module


def _load() -> ctypes.CDLL:
    tried = []
    for path in _candidates():
        try:
            return ctypes.CDLL(path)
        except OSError as error:
            tried.append(str(error))
    raise ImportError(
        "the library of rlflow is not there: " + "; ".join(tried)
        + " (LIBRLFLOW names it)")


if not TYPE_CHECKING:
    # what was made of the header, with the wheel
    if importlib.util.find_spec(__package__ + "._declarations"):
        from . import _declarations as declarations
    else:
        declarations = _made()

_loaded = _load()
for _name, (_result, _arguments) in declarations.FUNCTIONS.items():
    try:
        _function = getattr(_loaded, _name)
    except AttributeError:
        raise ImportError("the library of rlflow is older than this module: it "
                          "has no %s" % _name) from None
    _function.restype = _result
    _function.argtypes = _arguments
library = cast("declarations.Calls", _loaded)


@overload
def text(value: None) -> None: ...
@overload
def text(value: bytes) -> str: ...


def text(value: Optional[bytes]) -> Optional[str]:
    """A text of the library: bytes that need not be UTF-8."""
    return None if value is None else value.decode("utf-8", "surrogateescape")


def data(text_or_path: Text) -> bytes:
    """A text for the library, with a number beside it."""
    if isinstance(text_or_path, bytes):
        return text_or_path
    words: Any = os.fspath(text_or_path)
    return (words if isinstance(words, bytes)
            else cast(bytes, words.encode("utf-8", "surrogateescape")))


def word(text_or_path: Text) -> bytes:
    """A text for the library that ends with a 0, so that it has none."""
    words = data(text_or_path)
    if b"\0" in words:
        raise ValueError("there is a NUL in %r" % (text_or_path,))
    return words


def version() -> str:
    """The version of the library."""
    return text(library.rlf_version()) or ""
