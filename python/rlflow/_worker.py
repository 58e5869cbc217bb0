"""A thread that works for a session.

The library wants a stack of 8 MB, and a session is used by one thread at a time;
and Python sees Ctrl-C only between its own instructions, so whoever calls has to
wait in Python while the library works.
"""

import os
import queue
import signal
import threading

STACK = 16 << 20


class Worker:
    """Calls functions one after the other in a thread of its own."""

    def __init__(self, stop):
        """`stop`: called with a signal's number when Ctrl-C is pressed."""
        self._stop = stop
        self._work = queue.SimpleQueue()
        self._pid = os.getpid()
        before = threading.stack_size(STACK)
        try:
            self._thread = threading.Thread(target=self._run, daemon=True,
                                            name="rlflow")
            self._thread.start()
        finally:
            threading.stack_size(before)

    def _run(self):
        while True:
            item = self._work.get()
            if item is None:
                return
            function, arguments, answer = item
            try:
                answer.value = function(*arguments)
            except BaseException as error:  # is raised where it was asked for
                answer.error = error
            answer.done.set()
            del item, function, arguments, answer

    def __call__(self, function, *arguments):
        """function(*arguments), in the thread. After Ctrl-C the work at hand is
        told to end and waited for, then KeyboardInterrupt; a second one ends the
        process as it would end any other."""
        if os.getpid() != self._pid:
            raise RuntimeError("a session cannot be used by a forked process")
        if threading.current_thread() is self._thread:
            return function(*arguments)  # a callback that asks
        answer = _Answer()
        self._work.put((function, arguments, answer))
        interrupted = False
        while True:
            try:
                while not answer.done.wait(0.1):
                    pass
                break
            except KeyboardInterrupt:
                if interrupted:
                    signal.signal(signal.SIGINT, signal.SIG_DFL)
                    os.kill(os.getpid(), signal.SIGINT)
                interrupted = True
                self._stop(signal.SIGINT)
        if answer.error is not None:
            raise answer.error
        if interrupted:
            raise KeyboardInterrupt
        return answer.value

    def end(self):
        """Nothing more is asked."""
        self._work.put(None)


class _Answer:
    __slots__ = ("done", "value", "error")

    def __init__(self):
        self.done = threading.Event()
        self.value = None
        self.error = None
