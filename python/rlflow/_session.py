"""A session: a program with its parameters, trained a step at a time."""

import ctypes
import json
import logging
import math
import os
import sys
import threading
import traceback
import warnings as python_warnings
import weakref

from . import _errors as errors
from ._library import data, declarations as d, library as lib, text
from ._weights import Weights
from ._worker import Worker

_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, 5)
_log = logging.getLogger("rlflow")
_HERE = os.path.dirname(os.path.abspath(__file__))
_inside = threading.local()  # .sessions: those whose hooks this thread is in


class Sample:
    """A sample that a hook is called for, during the call: sample["answer"] is a
    field of its data row, and so on."""

    __slots__ = ("_at",)

    def __init__(self, at):
        self._at = at

    def _alive(self):
        if self._at is None:
            raise errors.UsageError("a sample is there during its call alone")
        return self._at

    def _text(self, name):
        n = ctypes.c_size_t()
        p = lib.rlf_hook_sample_text(self._alive(), data(name), ctypes.byref(n))
        return None if p is None else text(ctypes.string_at(p, n.value))

    def __getitem__(self, name):
        value = self._text(name)
        if value is None:
            value = lib.rlf_hook_sample_number(self._alive(), data(name))
            if math.isnan(value):
                raise KeyError(name)
        return value

    def get(self, name, default=None):
        """The field, or `default` where there is none."""
        try:
            return self[name]
        except KeyError:
            return default

    @property
    def prompt(self):
        """The prompt."""
        return self._text("prompt")

    @property
    def response(self):
        """The response, without special tokens."""
        return self._text("response")

    @property
    def tokens(self):
        """The response as tokens of the model."""
        n = ctypes.c_size_t()
        p = lib.rlf_hook_sample_tokens(self._alive(), ctypes.byref(n))
        return p[: n.value] if p else []


class _Hook:
    """A function of Python for a hook of the program."""

    def __init__(self, name, function, session):
        self.name = name
        self.function = function
        self._session = id(session)
        self.error = None
        self._said = threading.local()
        self.native = d.rlf_hook_function(self._call)

    def _reason(self, sentence):
        # it has to last until the next call by this thread
        self._said.text = ctypes.create_string_buffer(data(sentence))
        return ctypes.addressof(self._said.text)

    def _call(self, _arg, at, value):
        sample = Sample(at)
        _inside.sessions = getattr(_inside, "sessions", ()) + (self._session,)
        try:
            value[0] = float(self.function(sample))
            if not math.isfinite(value[0]):
                return self._reason(f"it gave {value[0]}")
            return None
        except BaseException as error:
            self.error = error
            return self._reason(f"{type(error).__name__}: {error}{_place(error)}")
        finally:
            sample._at = None
            _inside.sessions = _inside.sessions[:-1]


def _place(error):
    """Where an exception was raised, outside of this module."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(frame.filename) != _HERE]
    return f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""


def _close(handle, worker):
    worker(lib.rlf_session_close, handle)
    worker.end()


class Session:
    """A program, from its text to its last step.

    Everything that does something raises an error of this module; after the first
    one the session is as it was, and can be asked and closed. It may be used by
    one thread at a time.
    """

    def __init__(self, path=None, *, text=None, options=None, **parameters):
        """The program in the file `path`, or `text` under that name; with
        parameters of the program, and options of the command: steps=20."""
        self._handle = None
        self._worker = Worker(self.stop)
        self._hooks = {}
        self._views = weakref.WeakSet()
        self._finalizer = None
        if text is None:
            if path is None:
                raise errors.UsageError("a session needs the path of a program, "
                                        "or a text")
            handle = self._worker(lib.rlf_session_open, data(path))
        else:
            program = data(text)
            handle = self._worker(lib.rlf_session_open_text,
                                  data(path or "program.rlf"), program,
                                  len(program))
        if not handle:
            raise errors.OutOfMemoryError("there is no memory for a session")
        self._handle = handle
        self._finalizer = weakref.finalize(self, _close, handle, self._worker)
        self._logged = d.rlf_log_function(self._on_log)
        lib.rlf_session_log(handle, self._logged, None)
        try:
            for name, value in parameters.items():
                self.set(name, value)
            for name, value in (options or {}).items():
                self.set_option(name, value)
        except BaseException:
            self.close()
            raise

    # ---- what is asked of all calls ----

    @staticmethod
    def _on_log(_arg, level, line):
        _log.log(_LEVELS[level], "%s", text(line))

    def _alive(self):
        if self._handle is None:
            raise errors.ClosedError("the session is closed")
        if id(self) in getattr(_inside, "sessions", ()):
            raise errors.UsageError("a hook asks nothing of its own session, "
                                    "which waits for it")
        return self._handle

    def _call(self, function, *arguments):
        """A call that does something: its result, unless that is an error."""
        result = self._worker(function, self._alive(), *arguments)
        self._warn()
        if isinstance(result, int) and result < 0:
            self._raise()
        return result

    def _raise(self):
        handle = self._alive()
        message = text(lib.rlf_session_message(handle)).rstrip("\n")
        kind = errors.BY_RESULT.get(lib.rlf_session_status(handle),
                                    errors.RlflowError)
        cause = next((h.error for h in self._hooks.values() if h.error), None)
        raise kind(message, self.diagnostics) from cause

    def _warn(self):
        for line in text(lib.rlf_session_warnings(self._alive())).splitlines():
            python_warnings.warn(line, errors.RlflowWarning, stacklevel=4)

    @property
    def diagnostics(self):
        """What is wrong, or has no effect, as data."""
        found = []
        while True:
            at = lib.rlf_session_diagnostic(self._alive(), len(found))
            if not at:
                return found
            c = at.contents
            found.append(errors.Diagnostic(
                severity=text(c.severity), code=text(c.code),
                text=text(c.text), path=text(c.path), line=c.line,
                column=c.column, length=c.length, hint=text(c.hint)))

    # ---- before the first step ----

    def set(self, name, value):
        """Set a parameter of the program."""
        if isinstance(value, bool):
            value = "true" if value else "false"
        self._call(lib.rlf_session_set, data(name), data(_word(value)))

    def set_option(self, name, value):
        """Set an option of the command: "steps", "out", "save_every"."""
        known = _options()
        name = name[2:] if name.startswith("--") else name
        word = name if name in known else name.replace("_", "-")
        self._call(lib.rlf_session_set, data("--" + word), data(_word(value)))

    def hook(self, name, function=None):
        """A function for `hook NAME = host()`: takes a Sample, gives a number.
        Also as a decorator. Called by the threads of ranks."""
        if function is None:
            return lambda f: self.hook(name, f) and f
        made = _Hook(name, function, self)
        self._call(lib.rlf_session_hook, data(name), made.native, None)
        self._hooks[name] = made
        return function

    @property
    def parameters(self):
        """The parameters of the program, with their values as texts."""
        found = {}
        while True:
            at = self._worker(lib.rlf_session_parameter, self._alive(),
                              len(found))
            if not at:
                if lib.rlf_session_failed(self._alive()):
                    self._raise()
                return found
            found[text(at.contents.name)] = text(at.contents.value)

    def check(self):
        """Compile the program; raise what is wrong with it."""
        self._call(lib.rlf_session_check)

    def plan(self):
        """Find where everything runs; the plan as a text."""
        self._call(lib.rlf_session_plan)
        return self.text(d.RLF_TEXT_PLAN)

    def ready(self):
        """Open models and data: everything short of the first step."""
        self._call(lib.rlf_session_ready)

    # ---- steps ----

    def step(self):
        """Train a step: its metrics, or None if there is none left."""
        try:
            result = self._call(lib.rlf_session_step)
        except KeyboardInterrupt:
            self._call(lib.rlf_session_step)  # saves what there is
            raise
        return self.metrics if result == d.RLF_RESULT_OK else None

    def __iter__(self):
        while (metrics := self.step()) is not None:
            yield metrics

    def save(self):
        """Save a checkpoint now; the step that it is of."""
        self._call(lib.rlf_session_save)
        return lib.rlf_session_saved(self._alive())

    def stop(self, number=15):
        """Tell the run to end, by any thread: after the step at work."""
        if self._handle is not None:
            lib.rlf_session_stop(self._handle, number)

    @property
    def steps(self):
        """The number of the last step."""
        return lib.rlf_session_steps(self._alive())

    @property
    def steps_wanted(self):
        """The number of all steps; None: it is not known."""
        return lib.rlf_session_steps_wanted(self._alive()) or None

    @property
    def metrics(self):
        """What the last step has reported; what is no number is nan."""
        found, i = {}, 0
        while (name := lib.rlf_session_metric_name(self._alive(), i)) is not None:
            value = lib.rlf_session_metric(self._alive(), name)
            if not math.isnan(value) or not lib.rlf_session_why(self._alive()):
                found[text(name)] = value
            i += 1
        return found

    @property
    def samples(self):
        """The samples of the last step, as in samples.jsonl."""
        found = []
        while True:
            one = lib.rlf_session_sample(self._alive(), len(found))
            if one is None:
                return found
            found.append(json.loads(one.decode("utf-8", "replace")))

    def weights(self, model):
        """The tensors of a model by their names in Hugging Face's files:
        read-only views of the memory in which they are trained, which the next
        step changes (see Weights). Needs numpy."""
        return Weights(self, self._alive(), model)

    # ---- what it is ----

    def graph(self, format="text"):
        """The dataflow graph: "text", "dot", "json" or "svg"."""
        found = self._worker(lib.rlf_session_graph, self._alive(), data(format))
        if found is None:
            if lib.rlf_session_failed(self._alive()):
                self._raise()
            raise errors.UsageError(text(lib.rlf_session_why(self._alive())))
        return text(found)

    def _repr_svg_(self):
        return self.graph("svg").partition("-->\n")[2]

    def text(self, which):
        """One of the texts of the library (RLF_TEXT_...), or None."""
        return text(lib.rlf_session_text(self._alive(), which))

    def explain(self):
        """Each statement of the program in words."""
        self._call(lib.rlf_session_dry_run)
        return self.text(d.RLF_TEXT_EXPLANATION)

    # ---- answers of a model ----

    def generate(self, model, prompts):
        """Answers of the model in a directory to prompts, which are texts or
        lists of messages: a list of dicts. A session for this needs no program:
        Session("")."""
        for prompt in prompts:
            chat = not isinstance(prompt, (str, bytes))
            words = data(json.dumps(prompt) if chat else prompt)
            self._call(lib.rlf_session_prompt, data(model), words, len(words),
                       int(chat))
        self._call(lib.rlf_session_generate, d.rlf_answer_function(), None)
        found = []
        while True:
            at = lib.rlf_session_answer(self._alive(), len(found))
            if not at:
                return found
            a = at.contents
            found.append({
                "prompt": a.prompt, "sample": a.sample,
                "text": text(ctypes.string_at(a.text, a.n)),
                "ids": a.ids[: a.count], "logprobs": a.logprobs[: a.count],
                "finished": bool(a.finished)})

    def tokenize(self, tokenizer, words):
        """The tokens of a text, as (id, text) pairs."""
        words = data(words)
        at = self._worker(lib.rlf_session_tokenize, self._alive(),
                          data(tokenizer), words, len(words))
        if not at:
            self._raise()
        tokens = at.contents
        return [(t.id, text(ctypes.string_at(t.text, t.n)))
                for t in tokens.tokens[: tokens.count]]

    # ---- the end ----

    def close(self):
        """End the run as it is, and the session. Views of its weights stay what
        they were: the memory goes with the last of them."""
        if self._handle is None:
            return
        handle, self._handle = self._handle, None
        self._finalizer.detach()
        views = list(self._views)
        if views:
            last = _Last(handle, self._worker, len(views))
            for view in views:
                view.keep(last)
        else:
            _close(handle, self._worker)

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()


class _Last:
    """Closes a session once the last of its views is gone."""

    def __init__(self, handle, worker, n):
        self.handle, self.worker, self.n = handle, worker, n

    def gone(self):
        self.n -= 1
        if self.n == 0 and not sys.is_finalizing():
            _close(self.handle, self.worker)


def _options():
    names, i = set(), 0
    while True:
        at = lib.rlf_session_option(i)
        if not at:
            return names
        names.add(text(at.contents.name)[2:])
        i += 1


def _word(value):
    """A value as it is written on a command line."""
    if isinstance(value, bool):
        return "1" if value else "0"
    word = str(value) if isinstance(value, (int, float)) else value
    if b"\0" in data(word):
        raise ValueError("a value has a NUL in it")
    return word
