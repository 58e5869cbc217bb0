"""Rewards: functions of Python behind `hook NAME = host()` of a program."""

from __future__ import annotations

import ctypes
import inspect
import math
import os
import threading
import traceback
from typing import Any, Callable, Dict, List, NoReturn, Optional, Union

from . import _errors as errors
from ._library import declarations as d, library as lib, text, word
from ._worker import inside

_HERE = os.path.dirname(os.path.abspath(__file__))


class Sample:
    """A sample that a hook is called for, during the call: sample["answer"] is a
    field of its data row, and so on. What is to be kept is taken from it."""

    __slots__ = ("_at",)

    def __init__(self, at: Optional[int]) -> None:
        self._at = at

    def _alive(self) -> int:
        if self._at is None:
            raise errors.UsageError("a sample is there during its call alone")
        return self._at

    def _text(self, name: str) -> Optional[str]:
        n = ctypes.c_size_t()
        p = lib.rlf_hook_sample_text(self._alive(), word(name), ctypes.byref(n))
        return None if p is None else text(ctypes.string_at(p, n.value))

    def __getitem__(self, name: str) -> Union[str, float]:
        value = self._text(name)
        if value is not None:
            return value
        number = lib.rlf_hook_sample_number(self._alive(), word(name))
        if math.isnan(number):
            raise KeyError(name)
        return number

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.get(name) is not None

    def __iter__(self) -> NoReturn:
        raise TypeError("a sample does not list its fields: sample[\"answer\"]")

    def get(self, name: str, default: Any = None) -> Any:
        """The field, or `default` where there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    @property
    def prompt(self) -> str:
        """The prompt."""
        return self._text("prompt") or ""

    @property
    def response(self) -> str:
        """The response, without special tokens."""
        return self._text("response") or ""

    @property
    def finished(self) -> bool:
        """It ended by itself; else max_new or the context cut it off."""
        return bool(self.get("finished", 0.0) == 1)

    @property
    def length(self) -> int:
        """Number of its tokens, the end token included."""
        return len(self.tokens)

    @property
    def tokens(self) -> List[int]:
        """The response as tokens of the model."""
        n = ctypes.c_size_t()
        p = lib.rlf_hook_sample_tokens(self._alive(), ctypes.byref(n))
        return p[: n.value] if p else []

    def __reduce__(self) -> NoReturn:
        raise TypeError("a sample is there during its call alone, and is not "
                        "copied: sample.response is a str")

    def __repr__(self) -> str:
        if self._at is None:
            return "<rlflow.Sample of a call that is over>"
        return f"<rlflow.Sample {self.prompt!r} -> {self.response!r}>"


Reward = Callable[[Sample], Any]


class Hook:
    """A function of Python for a hook of the program."""

    def __init__(self, name: str, function: Reward, native: int) -> None:
        if not callable(function):
            raise TypeError(f"the hook '{name}' is no function: {function!r}")
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"the hook '{name}' is a coroutine, for which no "
                            "step waits: it has to be a function that returns "
                            "its number")
        self.name = name
        self.function = function
        self._native = native
        # what the last call of each thread has said, and why. By its number:
        # threads of ranks are none of Python's, and what is local to one is gone
        # when its call ends
        self._said: Dict[int, Any] = {}
        self._errors: Dict[str, BaseException] = {}
        self.native = d.rlf_hook_function(self._call)

    def forget(self) -> None:
        """A step begins."""
        self._errors.clear()

    def cause(self, message: str) -> Optional[BaseException]:
        """The exception of which a message speaks."""
        found = None
        for reason, error in list(self._errors.items()):
            if reason in message:
                return error
            # a message writes control characters in a way of its own
            if f"{self.name}: {type(error).__name__}" in message:
                found = error
        return found

    def _reason(self, sentence: str) -> int:
        # it has to last until the next call by this thread
        words = sentence.replace("\0", "\\0").encode("utf-8", "backslashreplace")
        said = ctypes.create_string_buffer(words)
        self._said[threading.get_ident()] = said
        return ctypes.addressof(said)

    def _call(self, _arg: Optional[int], at: Optional[int],
              value: Any) -> Optional[int]:
        sample = Sample(at)
        try:
            with inside(self._native):
                value[0] = _number(self.function(sample))
            if not math.isfinite(value[0]):
                return self._reason(f"it gave {value[0]}")
            return None
        except BaseException as error:
            sentence = _sentence(error)
            self._errors[sentence.partition("\n")[0]] = error
            return self._reason(sentence)
        finally:
            sample._at = None


def _number(value: Any) -> float:
    """A reward as a number."""
    if inspect.iscoroutine(value):
        value.close()
        raise TypeError("a hook gave a coroutine, for which no step waits")
    if isinstance(value, (str, bytes)):
        raise TypeError(f"a hook gave the text {value!r}, and not a number")
    return float(value)


def _sentence(error: BaseException) -> str:
    """What an exception says, and where it was raised outside of this module."""
    try:
        said = str(error)
    except Exception:
        said = "(its message cannot be made)"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(frame.filename) != _HERE]
    place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
    return type(error).__name__ + (f": {said}" if said else "") + place
