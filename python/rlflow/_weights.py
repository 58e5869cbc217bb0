"""Weights of a model, read where they are trained."""

import ctypes
from collections.abc import Mapping

from . import _errors as errors
from ._library import data, library as lib, text


class _View:
    """The memory of a tensor, which stays as long as an array looks at it."""

    def __init__(self, address, shape):
        self._last = None
        self.__array_interface__ = {
            "version": 3, "shape": shape, "typestr": "<f4",
            "data": (address, True)}

    def keep(self, last):
        """The session is closed but for this."""
        self._last = last

    def __del__(self):
        if self._last is not None:
            self._last.gone()


class Weights(Mapping):
    """Tensors by name: read-only numpy arrays of f32, in the session's memory.

    They are views (`is_view`), not copies: a step changes what they show, so
    what is to be kept is copied, `weights["lm_head.weight"].copy()`. They stay
    readable when the session is closed.
    """

    is_view = True

    def __init__(self, session, handle, model):
        try:
            import numpy
        except ImportError:
            raise ImportError("weights are numpy arrays: pip install numpy")
        self._arrays = {}
        i = 0
        while True:
            at = lib.rlf_session_weight(handle, data(model), i)
            if not at:
                break
            w = at.contents
            shape = (w.rows, w.cols) if w.cols != 1 else (w.rows,)
            address = ctypes.cast(w.data, ctypes.c_void_p).value
            view = _View(address, shape)
            session._views.add(view)
            self._arrays[text(w.name)] = numpy.asarray(view)
            i += 1
        if not self._arrays:
            raise errors.UsageError(text(lib.rlf_session_why(handle)) or
                                    f"no weights of '{model}'")

    def __getitem__(self, name):
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self):
        return len(self._arrays)
