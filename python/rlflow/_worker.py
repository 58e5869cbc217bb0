"""A session of the library, and the thread that works for it.

The library wants a stack of 8 MB, and a session is used by one thread at a time;
and Python sees Ctrl-C only between its own instructions, so whoever calls has to
wait in Python while the library works. So every session has a thread of its own,
and all that is asked of the library is asked there: a piece of work at a time,
each of which is one call of this module. Where a piece is at work, another is
refused (BusyError) and never waits: a reward that a step waits for could be what
waits.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import queue
import signal
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Set, TypeVar, cast

from . import _errors as errors
from ._library import library as lib, text

STACK = 16 << 20
_T = TypeVar("_T")
_starting = threading.Lock()  # the size of stacks is one for all threads
_inside = threading.local()  # .natives: those whose hooks this thread is in


class _Answer:
    """The result of a piece of work, which may not be there yet. One thread waits
    for it; no Event, whose locks do not bear an exception in the middle of them,
    as Ctrl-C raises it."""

    __slots__ = ("done", "value", "error", "asker", "_lock")

    def __init__(self) -> None:
        self.done = False
        self.value: Any = None
        self.error: Optional[BaseException] = None
        self.asker = threading.current_thread().name
        self._lock = threading.Lock()
        self._lock.acquire()

    def give(self) -> None:
        """It is there."""
        self.done = True
        self._lock.release()

    def wait(self) -> None:
        """Return when it is."""
        while not self.done:
            self._lock.acquire()
            self._lock.release()


class Worker:
    """Does pieces of work one after the other in a thread of its own."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Any] = queue.SimpleQueue()
        # the thread holds the queue alone: whoever has no use for the worker
        # any more lets it go
        self.thread = threading.Thread(target=_run, args=(self._work,),
                                       daemon=True, name="rlflow")
        with _starting:
            before = threading.stack_size(STACK)
            try:
                self.thread.start()
            except RuntimeError as error:
                raise errors.OutOfMemoryError(
                    "no thread can be made for a session") from error
            finally:
                threading.stack_size(before)

    def put(self, work: Callable[[], object], answer: _Answer) -> None:
        """Have it done after what it was given before."""
        self._work.put((work, answer))

    def end(self) -> None:
        """Nothing more is asked: the thread ends after what it was given."""
        self._work.put(None)

    __del__ = end  # also where nobody came to ask anything


def _run(work: queue.SimpleQueue[Any]) -> None:
    while True:
        item = work.get()
        if item is None:
            _ending.discard(threading.current_thread())
            return
        function, answer = item
        try:
            answer.value = function()
        except BaseException as error:  # is raised where it was asked for
            answer.error = error
        answer.give()
        del item, function, answer


class Native:
    """A session of the library, from its opening to its end.

    Who holds it: the session, and the views of its weights, which have to stay
    readable. When the last of them is gone the session is closed. `kept` are the
    functions that the library was given, which have to last as long.
    """

    def __init__(self, begin: Callable[[], Optional[int]]) -> None:
        """`begin`: opens it; called in the thread."""
        self._raw: Optional[int] = None  # until it is freed
        self._open = False
        self._pid = os.getpid()
        # held for moments alone, also by a signal's handler within one
        self._mutex = threading.RLock()
        self._pending: Optional[_Answer] = None
        self._left = False  # the answer of what is at work is not waited for
        self.interrupted = False  # somebody waits for the end of what is at work
        self.kept: List[object] = []
        # without callbacks, in which Ctrl-C would be lost
        self.views: List[weakref.ref[Any]] = []
        self._worker = Worker()
        answer = _Answer()
        try:
            self._worker.put(begin, answer)
            answer.wait()
            if answer.error is not None or not answer.value:
                raise answer.error or errors.OutOfMemoryError(
                    "there is no memory for a session")
            self._raw = answer.value
            self._open = True
            _all[id(self)] = weakref.ref(self)
        except BaseException:
            self._raw = None
            self._worker.put(lambda: lib.rlf_session_close(answer.value),
                             _Answer())
            raise

    @property
    def open(self) -> bool:
        """It was not closed."""
        return self._open

    @property
    def busy(self) -> bool:
        """A piece of work is not done."""
        return self._pending is not None and not self._pending.done

    @property
    def viewed(self) -> bool:
        """There are views of its weights."""
        return any(view() is not None for view in self.views)

    def check_process(self) -> None:
        """A forked process has the memory of the session, and not its threads."""
        if os.getpid() != self._pid:
            raise errors.ForkedError(
                "the session is another process's, from which this one was "
                "forked: a process uses the sessions that it has opened")

    def _check_idle(self) -> None:
        if id(self) in getattr(_inside, "natives", ()):
            raise errors.BusyError("a hook asks nothing of its own session, "
                                   "which waits for it")
        if self._pending is not None and not self._pending.done:
            raise errors.BusyError(
                "the session is at work for thread '%s': it does one thing at a "
                "time, and others are refused until that is done"
                % self._pending.asker)

    def call(self, work: Callable[[int], _T], stops: bool = False,
             after: Optional[Callable[[int], object]] = None) -> _T:
        """work(handle), in the thread of the session; `after` in the same way if
        it was interrupted.

        After an exception in this thread (Ctrl-C raises one) the end of the work
        is waited for, then the exception goes on; `stops`: the run is told to
        end. A second one is not held up: the work goes on without whoever asked.
        """
        self.check_process()
        answer = _Answer()
        interrupt: Optional[BaseException] = None
        try:
            with self._mutex:
                self.check_open()
                self._check_idle()
                self._left = self.interrupted = False
                self._submit(work, answer)
            answer.wait()
        except BaseException as error:
            if self._pending is not answer:
                raise  # nothing was asked, or nobody knows of it
            interrupt = error
            try:
                self._interrupt(answer, error, stops, after)
            except BaseException:
                self._left = self.busy
                raise
        if answer.error is not None:
            raise answer.error
        if interrupt is not None:
            raise interrupt
        value, answer.value = answer.value, None  # views hold the session
        return cast(_T, value)

    def _submit(self, work: Callable[[int], object], answer: _Answer) -> None:
        def at_work() -> object:
            if self._raw is None:  # closed by a handler of signals meanwhile
                raise errors.ClosedError("the session is closed")
            return work(self._raw)

        self._worker.put(at_work, answer)
        self._pending = answer

    def _interrupt(self, answer: _Answer, error: BaseException, stops: bool,
                   after: Optional[Callable[[int], object]]) -> None:
        self.interrupted = True
        if stops:
            self.stop(signal.SIGINT if isinstance(error, KeyboardInterrupt)
                      else signal.SIGTERM)
        answer.wait()
        if after is not None and answer.error is None:
            last = _Answer()
            with self._mutex:
                self._submit(after, last)
            last.wait()

    def stop(self, number: int) -> None:
        """Tell its run to end, from any thread."""
        self.check_process()
        with self._mutex:
            if self._open:
                lib.rlf_session_stop(self._raw, int(number))

    def doing(self) -> str:
        """What is computed now, from any thread."""
        self.check_process()
        with self._mutex:
            self.check_open()
            room = ctypes.create_string_buffer(256)
            lib.rlf_session_doing(self._raw, room, len(room))
        return text(room.value)

    def check_open(self) -> None:
        """It was not closed."""
        if not self._open:
            raise errors.ClosedError("the session is closed")

    def close(self) -> Optional[str]:
        """Ends its run, and it; with views of its weights its memory goes with
        the last of them. A message, if the end failed."""
        if os.getpid() != self._pid:
            return None  # it is another process's
        answer = _Answer()
        with self._mutex:
            if not self._open:
                return None
            if not self._left:
                self._check_idle()
            waits = not self.busy
            self._end(answer, waits)
        if not waits:  # it is closed once that is done
            return None
        try:
            answer.wait()
        except BaseException:
            answer.wait()  # a second one is not held up
            raise
        if answer.error is not None:
            raise answer.error
        return cast(Optional[str], answer.value)

    def _end(self, answer: _Answer, waits: bool) -> None:
        """The last pieces of work: the functions that the library was given last
        until they are done."""
        raw, kept, viewed = self._raw, self.kept, self.viewed
        self._open, self._pending = False, answer
        if not viewed:
            self._raw = None

        def work() -> Optional[str]:
            failed = lib.rlf_session_finish(raw) < 0
            message = text(lib.rlf_session_message(raw)) if failed else None
            if not viewed:
                lib.rlf_session_close(raw)
                kept.clear()
            return message

        self._worker.put(work, answer)
        if not viewed:
            _all.pop(id(self), None)
            if waits:
                _ending.add(self._worker.thread)
            self._worker.end()

    def __del__(self, getpid: Callable[[], int] = os.getpid,
                finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        # by any thread, in the middle of anything: nothing is waited for
        raw, self._raw = getattr(self, "_raw", None), None
        if raw is None or finalizing() or getpid() != self._pid:
            return
        _all.pop(id(self), None)
        kept = self.kept

        def work() -> None:
            lib.rlf_session_close(raw)
            kept.clear()

        _ending.add(self._worker.thread)
        self._worker.put(work, _Answer())
        self._worker.end()


class inside:
    """The time in which this thread is in a hook of a session."""

    __slots__ = ("_native",)

    def __init__(self, native: int) -> None:
        self._native = native

    def __enter__(self) -> None:
        _inside.natives = getattr(_inside, "natives", ()) + (self._native,)

    def __exit__(self, *_error: object) -> None:
        _inside.natives = _inside.natives[:-1]


_all: Dict[int, weakref.ref[Native]] = {}  # by their id
_ending: Set[threading.Thread] = set()  # of sessions that are being closed


def _at_exit() -> None:
    """Runs that nobody has closed get their end; what was left alone does not."""
    for one in list(_all.values()):
        native = one()
        if native is not None and not native.busy:
            native.close()
    for thread in list(_ending):
        thread.join()


def _forked() -> None:
    global _starting
    _starting = threading.Lock()
    _ending.clear()


atexit.register(_at_exit)
os.register_at_fork(after_in_child=_forked)
