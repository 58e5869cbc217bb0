"""What a run has left in its directory."""

from __future__ import annotations

import ctypes
import json
import os
import threading
from array import array
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Dict, Iterator, List, NoReturn, Optional,
                    Tuple, Type, Union)

from . import _errors as errors
from ._library import Text, declarations as d, library as lib, text, word

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped,import-not-found,unused-ignore]

_STATES = {
    d.RLF_RUN_UNKNOWN: "unknown", d.RLF_RUN_GOES_ON: "goes on",
    d.RLF_RUN_KILLED: "killed", d.RLF_RUN_DONE: "done",
    d.RLF_RUN_STOPPED: "stopped", d.RLF_RUN_CLOSED: "closed",
    d.RLF_RUN_FAILED: "failed",
}


@dataclass(frozen=True)
class Start:
    """The first start of a run, or a resume."""

    time: str  # "2026-12-01T00:30:00Z"
    resume: bool  # it went on from `step`
    step: int  # 0: it began anew
    version: str  # of rlflow
    how: Optional[str]  # it ended: "done"...; None: it has no end
    end_step: int  # the last step of it, if it has an end
    message: Optional[str]  # of one that failed
    options: Dict[str, str]  # as a session takes them: "save-every"
    details: Dict[str, Any]  # all that run.json has of it


class Record:
    """The directory of a run, read back: complete, going on, killed, or a copy.

        record = rlflow.Record("runs/ppo")
        steps, values = record.metrics["reward"]

    It is as it was read, until refresh(). Any thread may use it.
    """

    _handle: Optional[int] = None

    def __init__(self, directory: Text) -> None:
        self._mutex = threading.RLock()
        self._pid = os.getpid()
        self._using = False
        self._handle = lib.rlf_record_open(word(directory))
        if not self._handle:
            raise errors.OutOfMemoryError("there is no memory for a record")
        try:
            with self._use() as at:
                self._check(at, lib.rlf_record_status(at))
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _use(self) -> Iterator[int]:
        if self._pid != os.getpid():  # a thread of the parent's may have had it
            self._mutex, self._pid = threading.RLock(), os.getpid()
            self._using = False
        with self._mutex:
            if self._handle is None:
                raise errors.ClosedError("the record is closed")
            if self._using:
                raise errors.BusyError("a handler of signals asks nothing of the "
                                       "record that it has interrupted")
            self._using = True
            try:
                yield self._handle
            finally:
                self._using = False

    @staticmethod
    def _check(at: int, result: int) -> None:
        if result < 0:
            message = (text(lib.rlf_record_message(at)) or "").rstrip("\n")
            raise errors.BY_RESULT.get(result, errors.RlflowError)(message)

    def refresh(self) -> None:
        """Read what the run has written since."""
        with self._use() as at:
            self._check(at, lib.rlf_record_refresh(at))

    @property
    def run(self) -> Dict[str, Any]:
        """What the run is, and how far: a dict. `kind`: unknown, goes on, killed,
        done, stopped, closed or failed; `state`: that in words."""
        with self._use() as at:
            r = lib.rlf_record_run(at).contents
            return {"program": text(r.program), "kind": _STATES[r.state],
                    "state": text(r.state_text), "why": text(r.why),
                    "step": r.step, "steps": r.steps or None,
                    "samples": r.samples, "seconds": r.seconds}

    @property
    def metrics(self) -> Dict[str, Tuple["array[int]", "array[float]"]]:
        """For each metric its steps and values, as arrays."""
        found: Dict[str, Tuple["array[int]", "array[float]"]] = {}
        with self._use() as at:
            while p := lib.rlf_record_metric(at, len(found)):
                m = p.contents
                found[text(m.name) or ""] = (array("Q", m.step[: m.n]),
                                             array("d", m.value[: m.n]))
        return found

    @property
    def ranks(self) -> Dict[str, Union["array[int]", "array[float]"]]:
        """What each rank did with each step: columns of one length, a row for
        each rank in each step, as pandas.DataFrame(record.ranks) takes them."""
        found: Dict[str, Union["array[int]", "array[float]"]] = {}
        i = 0
        with self._use() as at:
            while p := lib.rlf_record_rank_column(at, i):
                c = p.contents
                if not i:
                    found["step"] = array("Q", c.step[: c.n])
                    found["rank"] = array("Q", c.rank[: c.n])
                found[text(c.name) or ""] = array("d", c.value[: c.n])
                i += 1
        return found

    @property
    def parameters(self) -> Dict[str, Optional[str]]:
        """The parameters of the program, with the values that they had."""
        found: Dict[str, Optional[str]] = {}
        with self._use() as at:
            while p := lib.rlf_record_parameter(at, len(found)):
                found[text(p.contents.name) or ""] = text(p.contents.value)
        return found

    @property
    def starts(self) -> List[Start]:
        """The starts of the run, in their order."""
        found: List[Start] = []
        with self._use() as at:
            while p := lib.rlf_record_start(at, len(found)):
                s = p.contents
                found.append(Start(
                    time=text(s.time) or "", resume=bool(s.resume), step=s.step,
                    version=text(s.version) or "", how=text(s.how),
                    end_step=s.end_step, message=text(s.message),
                    options={
                        name.lstrip("-"): value for name, value in
                        json.loads(s.options or b"{}").items()},
                    details=json.loads(s.json or b"{}")))
        return found

    @property
    def checkpoints(self) -> List[int]:
        """The steps whose checkpoints are there."""
        found: List[int] = []
        i = 0
        with self._use() as at:
            while p := lib.rlf_record_checkpoint(at, i):
                if p.contents.there:
                    found.append(p.contents.step)
                i += 1
        return found

    @property
    def findings(self) -> List[Dict[str, Any]]:
        """What is worth a look: sentences with their steps."""
        found: List[Dict[str, Any]] = []
        with self._use() as at:
            while p := lib.rlf_record_finding(at, len(found)):
                f = p.contents
                found.append({"kind": text(f.kind), "name": text(f.name),
                              "first": f.first, "last": f.last,
                              "text": text(f.text)})
        return found

    @property
    def notes(self) -> List[str]:
        """What could not be read, and was left out."""
        found: List[str] = []
        with self._use() as at:
            while (note := lib.rlf_record_note(at, len(found))) is not None:
                found.append(text(note))
        return found

    def samples(self, step: Optional[int] = None) -> Iterator[Dict[str, Any]]:
        """The samples, or those of a step, one after the other, as dicts."""
        i = 0
        while True:
            with self._use() as at:
                p = lib.rlf_record_sample(at, i)
                if not p:
                    return
                line = None
                if step is None or p.contents.step == step:
                    line = self._text(at, i, d.RLF_SAMPLE_LINE)
            i += 1
            if line is not None:
                yield json.loads(line)

    @staticmethod
    def _text(at: int, i: int, which: int) -> Optional[str]:
        n = ctypes.c_size_t()
        p = lib.rlf_record_text(at, i, which, ctypes.byref(n))
        return (None if p is None
                else ctypes.string_at(p, n.value).decode("utf-8", "replace"))

    def metrics_frame(self) -> "pandas.DataFrame":
        """The metrics as a pandas.DataFrame: a column each, a row for each step.
        Needs pandas."""
        pandas = _pandas()
        frame = pandas.DataFrame({
            name: pandas.Series(values, index=list(steps), dtype="float64")
            for name, (steps, values) in self.metrics.items()})
        frame.index.name = "step"
        return frame.sort_index()

    def samples_frame(self, step: Optional[int] = None) -> "pandas.DataFrame":
        """The samples as a pandas.DataFrame, a row each; what they have of
        `values` and of their data `row` are columns, "values.score". Needs
        pandas."""
        return _pandas().json_normalize(list(self.samples(step)), max_level=1)

    def close(self) -> None:
        """All that it has given stays; nothing more can be asked."""
        if self._handle is None:
            return
        with self._use() as at:
            self._handle = None
            lib.rlf_record_close(at)

    def __enter__(self) -> "Record":
        return self

    def __exit__(self, _kind: Optional[Type[BaseException]],
                 _error: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            lib.rlf_record_close(handle)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a record is not copied: another one of its directory "
                        "can be opened")


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise ImportError("frames are those of pandas: pip install pandas"
                          ) from None
    return pandas
