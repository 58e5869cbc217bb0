"""Weights of a model, read where they are trained."""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import (TYPE_CHECKING, Any, Dict, Iterator, Mapping, Optional, Tuple,
                    Union)

from ._library import declarations as d, library as lib, text
from ._worker import Native

if TYPE_CHECKING:
    import numpy  # type: ignore[import-not-found,unused-ignore]
    from numpy.typing import (  # type: ignore[import-not-found,unused-ignore]
        NDArray)

    Array = NDArray[numpy.float32]


class _View:
    """The memory of a tensor, which stays as long as an array looks at it."""

    def __init__(self, address: int, shape: Tuple[int, ...],
                 native: Native) -> None:
        self._native = native
        self.__array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4",
            "data": (address, True)}


class Weights(Mapping[str, "Array"]):
    """Tensors by name: numpy arrays of f32 that cannot be written.

    `is_view`: they are the memory in which the model is trained, so that a step
    changes what they show, and what is to be kept is copied,
    `weights["lm_head.weight"].copy()`. Else they are a copy of what the last step
    left, which all ranks have given their parts of; `why` says what was in the
    way of views. Either stays readable when the session is closed.
    """

    def __init__(self, arrays: Dict[str, "Array"], is_view: bool,
                 why: Optional[str] = None) -> None:
        self._arrays = arrays
        self.is_view = is_view
        self.why = why

    def __getitem__(self, name: str) -> "Array":
        return self._arrays[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def copy(self) -> Dict[str, "Array"]:
        """Copies of all of them, which may be written."""
        return {name: array.copy() for name, array in self._arrays.items()}

    def __reduce__(self) -> Tuple[Any, ...]:
        return Weights, (self.copy(), False, self.why or
                         "it is a copy of another Weights")

    def __repr__(self) -> str:
        kind = "views" if self.is_view else "a copy"
        return f"<rlflow.Weights, {kind}, {len(self)} tensors>"


@dataclass
class NoViews:
    """Views cannot be had: `why`. Nor can a copy: `why_not`."""

    why: str
    why_not: str = ""


def _numpy() -> Any:
    try:
        import numpy
    except ImportError:
        raise ImportError("weights are numpy arrays: pip install numpy") from None
    return numpy


def _shape(w: d.rlf_weight) -> Tuple[int, ...]:
    return (w.rows, w.cols) if w.cols != 1 else (w.rows,)


def read_views(at: int, model: bytes, native: Native) -> Union[Weights, NoViews]:
    """The weights of a model as views, or why there are none. In the session's
    thread."""
    numpy = _numpy()
    arrays: Dict[str, "Array"] = {}
    native.views[:] = [one for one in native.views if one() is not None]
    i = 0
    while p := lib.rlf_session_weight(at, model, i):
        w = p.contents
        address = ctypes.cast(w.data, ctypes.c_void_p).value or 0
        view = _View(address, _shape(w), native)
        native.views.append(weakref.ref(view))
        arrays[text(w.name) or ""] = numpy.asarray(view)
        i += 1
    if arrays:
        return Weights(arrays, True)
    why = text(lib.rlf_session_why(at)) or ""
    names, i = [], 0
    while (name := lib.rlf_session_gathers(at, i)) is not None:
        names.append(name)
        i += 1
    return NoViews(why, "" if model in names else why)


def read_gathered(at: int, why: str) -> Weights:
    """The copy that the session has gathered. In the session's thread."""
    numpy = _numpy()
    arrays: Dict[str, "Array"] = {}
    i = 0
    while p := lib.rlf_session_gathered(at, i):
        w = p.contents
        shape = _shape(w)
        array = numpy.ctypeslib.as_array(w.data, shape=shape).copy()
        array.flags.writeable = False
        arrays[text(w.name) or ""] = array
        i += 1
    return Weights(arrays, False, why)
