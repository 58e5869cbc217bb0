"""A session: a program with its parameters, trained a step at a time."""

from __future__ import annotations

import ctypes
import json
import logging
import math
import numbers
import os
import signal
import sys
import warnings as python_warnings
from types import TracebackType
from typing import (TYPE_CHECKING, Any, Callable, Dict, Iterator, List, Mapping,
                    NoReturn, Optional, Sequence, Set, Tuple, Type, TypeVar,
                    Union, overload)

from . import _errors as errors
from ._evaluation import Difference, Score, difference, scores
from ._library import Text, data, declarations as d, library as lib, text, word
from ._sample import Hook, Reward
from ._weights import Weights, read_gathered, read_views
from ._worker import Native

if TYPE_CHECKING:
    from typing import TypedDict

    class Answer(TypedDict):
        """An answer of a model to a prompt: see Session.generate."""

        prompt: int
        sample: int
        text: str
        ids: List[int]
        logprobs: List[float]
        finished: bool


_LEVELS = (logging.ERROR, logging.WARNING, logging.INFO, logging.DEBUG, 5)
_log = logging.getLogger("rlflow")
_HERE = os.path.dirname(os.path.abspath(__file__))
_S = TypeVar("_S", bound="Session")
_R = TypeVar("_R", bound=Reward)
_T = TypeVar("_T")

# What a parameter or an option may be: also numbers of numpy, and None, which
# is as if it were not given.
Value = Union[Text, bool, int, float, Any, None]
# A prompt is a text, or a list of messages.
Prompt = Union[str, Sequence[Mapping[str, Any]]]


class Session:
    """A program, from its text to its last step.

    Everything that does something raises an error of this module; after the first
    one the session is as it was, and can be asked and closed. It does one thing
    at a time: what is asked of it while it is at work, by a hook or another
    thread, is refused with BusyError, but for stop(), doing, steps and metrics.
    A process that was forked does not use the sessions of its parent
    (ForkedError).
    """

    _native: Optional[Native] = None

    def __init__(self, path: Optional[Text] = None, *,
                 text: Union[str, bytes, None] = None,
                 options: Optional[Mapping[str, Value]] = None,
                 parameters: Optional[Mapping[str, Value]] = None,
                 **more: Value) -> None:
        """The program in the file `path`, or `text` under that name; with
        parameters of the program, as names or in `parameters`, and options of
        the command: options={"steps": 20}."""
        self._hooks: Dict[str, Hook] = {}
        self._metrics: Dict[str, float] = {}
        self._steps = 0
        if text is None:
            if path is None:
                raise errors.UsageError("a session needs the path of a program, "
                                        "or a text")
            name = word(path)
            self._native = Native(lambda: lib.rlf_session_open(name))
        else:
            program, called = data(text), word(path or "program.rlf")
            self._native = Native(lambda: lib.rlf_session_open_text(
                called, program, len(program)))
        logged = d.rlf_log_function(_on_log)
        self._native.kept.append(logged)
        try:
            self._do(lambda at: lib.rlf_session_log(at, logged, None))
            for one, value in {**(parameters or {}), **more}.items():
                self.set(one, value)
            for one, value in (options or {}).items():
                self.set_option(one, value)
        except BaseException:
            self._native.close()
            raise

    # ---- what is asked of all calls ----

    def _alive(self) -> Native:
        if self._native is None:
            raise errors.UsageError("%s.__init__ did not call that of Session"
                                    % type(self).__name__)
        return self._native

    def _ask(self, work: Callable[[int], _T]) -> _T:
        """A question: its answer, found in the session's thread."""
        return self._alive().call(work)

    def _do(self, function: Callable[[int], int], stops: bool = False,
            after: Optional[Callable[[int], object]] = None) -> int:
        """A call that does something: its result, unless that is an error."""
        def work(at: int) -> Tuple[int, List[str], Optional[errors.RlflowError]]:
            result = function(at)
            said = (text(lib.rlf_session_warnings(at)) or "").splitlines()
            return result, said, self._error(at) if result < 0 else None

        result, said, error = self._alive().call(work, stops, after)
        _warn(said)
        if error is not None:
            raise error
        return result

    def _error(self, at: int) -> errors.RlflowError:
        """The error of the session, with what it came from."""
        message = (text(lib.rlf_session_message(at)) or "").rstrip("\n")
        kind = errors.BY_RESULT.get(lib.rlf_session_status(at),
                                    errors.RlflowError)
        error = kind(message, _diagnostics(at))
        for hook in self._hooks.values():
            error.__cause__ = error.__cause__ or hook.cause(message)
        return error

    @property
    def closed(self) -> bool:
        """It was closed."""
        return not self._alive().open

    @property
    def diagnostics(self) -> List[errors.Diagnostic]:
        """What is wrong, or has no effect, as data."""
        return self._ask(_diagnostics)

    # ---- before the first step ----

    def set(self, name: str, value: Value) -> None:
        """Set a parameter of the program; None: as if it were not."""
        if value is not None:
            known, words = word(name), _value(name, value, "true", "false")
            self._do(lambda at: lib.rlf_session_set(at, known, words))

    def set_option(self, name: str, value: Value) -> None:
        """Set an option of the command: "steps", "out", "save_every"; None: as if
        it were not."""
        if value is None:
            return
        if not isinstance(name, str):
            raise TypeError(f"the name of an option is a text, and not {name!r}")
        name = name[2:] if name.startswith("--") else name
        known = word("--" + (name if name in _options()
                             else name.replace("_", "-")))
        words = _value(name, value, "1", "0")
        self._do(lambda at: lib.rlf_session_set(at, known, words))

    @overload
    def hook(self, name: str) -> Callable[[_R], _R]: ...
    @overload
    def hook(self, name: str, function: _R) -> _R: ...

    def hook(self, name: str, function: Optional[Reward] = None) -> Any:
        """A function for `hook NAME = host()`: takes a Sample, gives a number.
        Also as a decorator. Called by the threads of ranks."""
        if function is None:
            return lambda f: self.hook(name, f)
        native = self._alive()
        made = Hook(name, function, id(native))
        native.kept.append(made.native)
        known = word(name)
        self._do(lambda at: lib.rlf_session_hook(at, known, made.native, None))
        self._hooks[name] = made
        return function

    @property
    def parameters(self) -> Dict[str, Optional[str]]:
        """The parameters of the program, with their values as texts; None: it has
        to be set."""
        def work(at: int) -> Union[Dict[str, Optional[str]],
                                   errors.RlflowError]:
            found: Dict[str, Optional[str]] = {}
            while p := lib.rlf_session_parameter(at, len(found)):
                found[text(p.contents.name) or ""] = text(p.contents.value)
            return self._error(at) if lib.rlf_session_failed(at) else found

        return _or_raise(self._ask(work))

    def check(self) -> None:
        """Compile the program; raise what is wrong with it."""
        self._do(lib.rlf_session_check)

    def plan(self) -> str:
        """Find where everything runs; the plan as a text."""
        self._do(lib.rlf_session_plan)
        return self.text(d.RLF_TEXT_PLAN) or ""

    def ready(self) -> None:
        """Open models and data: everything short of the first step."""
        self._do(lib.rlf_session_ready, stops=True)

    # ---- steps ----

    def step(self) -> Optional[Dict[str, float]]:
        """Train a step: its metrics, or None if there is none left.

        Ctrl-C: the step is finished and a checkpoint saved, if the run has a
        directory, then KeyboardInterrupt; the run has ended. A second one is not
        held up: the session is at work until the step is done."""
        self._alive()

        def work(at: int) -> int:
            # not of a step that is refused while another one is at work
            for hook in self._hooks.values():
                hook.forget()
            result = lib.rlf_session_step(at)
            self._metrics, self._steps = _metrics(at), lib.rlf_session_steps(at)
            return result

        result = self._do(work, stops=True, after=lib.rlf_session_step)
        return self.metrics if result == d.RLF_RESULT_OK else None

    def __iter__(self) -> Iterator[Dict[str, float]]:
        while (metrics := self.step()) is not None:
            yield metrics

    def train(self: _S, *callbacks: Callable[[_S], object]) -> _S:
        """Take all steps that are left; after each of them the callbacks are
        called with the session, whose stop() ends the run."""
        while self.step() is not None:
            for callback in callbacks:
                callback(self)
        return self

    def save(self) -> int:
        """Save a checkpoint now; the step that it is of."""
        self._do(lib.rlf_session_save)
        return self._ask(lib.rlf_session_saved)

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Tell the run to end, by any thread: after the step at work."""
        self._alive().stop(number)

    @property
    def stopped(self) -> Optional[int]:
        """The number of the signal that the run has ended for."""
        return self._ask(lib.rlf_session_stopped) or None

    @property
    def doing(self) -> str:
        """What is being computed, "actor.generate", or "": by any thread."""
        return self._alive().doing()

    @property
    def steps(self) -> int:
        """The number of the last step that step() has taken; of a run that was
        resumed also those before. By any thread."""
        native = self._alive()
        if native.open and not native.busy and not self._steps:
            return self._ask(lib.rlf_session_steps)
        native.check_open()
        return self._steps

    @property
    def steps_wanted(self) -> Optional[int]:
        """The number of all steps; None: it is not known."""
        return self._ask(lib.rlf_session_steps_wanted) or None

    @property
    def metrics(self) -> Dict[str, float]:
        """What the last step has reported; what is no number is nan. By any
        thread."""
        self._alive().check_open()
        return dict(self._metrics)

    @property
    def samples(self) -> List[Dict[str, Any]]:
        """The samples of the last step, as in samples.jsonl."""
        def work(at: int) -> List[bytes]:
            found: List[bytes] = []
            while (one := lib.rlf_session_sample(at, len(found))) is not None:
                found.append(one)
            return found

        return [json.loads(one.decode("utf-8", "replace"))
                for one in self._ask(work)]

    @property
    def models(self) -> List[str]:
        """The names of the program's models, from when the session is ready."""
        def work(at: int) -> List[str]:
            found: List[str] = []
            while name := text(lib.rlf_session_gathers(at, len(found))):
                found.append(name)
            return found

        return self._ask(work)

    def weights(self, model: str) -> Weights:
        """The tensors of a model by their names in Hugging Face's files, as numpy
        arrays of f32 that cannot be written: views of the memory in which they
        are trained, where that holds all of it, else a copy gathered from all
        ranks; `is_view` of what is returned says which, and `why` why not."""
        native = self._alive()
        name = word(model)
        found = self._ask(lambda at: read_views(at, name, native))
        if isinstance(found, Weights):
            return found
        if found.why_not:
            raise errors.UsageError(found.why_not)
        self._do(lambda at: lib.rlf_session_gather(at, name))
        return self._ask(lambda at: read_gathered(at, found.why))

    # ---- what it is ----

    def graph(self, format: str = "text") -> str:
        """The dataflow graph: "text", "dot", "json" or "svg"."""
        known = word(format)

        def work(at: int) -> Union[str, errors.RlflowError]:
            found = text(lib.rlf_session_graph(at, known))
            if found is not None:
                return found
            if lib.rlf_session_failed(at):
                return self._error(at)
            return errors.UsageError(text(lib.rlf_session_why(at)) or "")

        return _or_raise(self._ask(work))

    def _repr_svg_(self) -> Optional[str]:
        """The graph for a notebook; None: it has only a text."""
        native = self._alive()
        if not native.open or native.busy:
            return None
        try:
            return self.graph("svg").partition("-->\n")[2]
        except errors.RlflowError:
            return None

    def __repr__(self) -> str:
        native = self._native
        state = ("not made" if native is None else "closed" if not native.open
                 else "at work" if native.busy else f"after step {self._steps}"
                 if self._steps else "before its first step")
        return f"<rlflow.{type(self).__name__}, {state}>"

    def text(self, which: int) -> Optional[str]:
        """One of the texts of the library (RLF_TEXT_...), or None."""
        return self._ask(lambda at: text(lib.rlf_session_text(at, which)))

    def explain(self) -> str:
        """Each statement of the program in words. A dry run: another session
        takes steps."""
        self._do(lib.rlf_session_dry_run)
        return self.text(d.RLF_TEXT_EXPLANATION) or ""

    # ---- evaluation ----

    def evaluate(self, model: Optional[Text] = None,
                 progress: Optional[Callable[[Dict[str, Score]], object]] = None
                 ) -> Dict[str, Score]:
        """The program's evaluations, by name: the metrics that are means over
        answers to data which no step draws, of the model in the directory
        `model` (a model, an adapter, a checkpoint or a run), or of the program's
        own as it begins. Options: "n", "temperature", "limit". `progress` is
        called with what is known so far, after each part. A session that was not
        compiled before is what this needs, and it takes no steps."""
        name = None if model is None else word(model)
        self._do(lambda at: lib.rlf_session_evaluate(at, name))
        while self.step() is not None:
            if progress is not None:
                progress(self._ask(scores))
        return self._ask(scores)

    def compare(self, metric: str, other: Score) -> Difference:
        """A metric of this evaluation minus that of another, prompt by prompt."""
        return _or_raise(self._ask(lambda at: difference(at, metric, other)))

    # ---- answers of a model ----

    def generate(self, model: Text, prompts: Sequence[Prompt],
                 watch: Optional[Callable[["Answer"], object]] = None
                 ) -> List["Answer"]:
        """Answers of the model in a directory to prompts, which are texts or
        lists of messages: a list of dicts. `watch` is called with each of them
        whenever it has become longer; what it returns ends all if it is true. A
        session for this needs no program: Session("")."""
        if isinstance(prompts, (str, bytes)):
            raise TypeError("prompts are a list of texts, or of lists of "
                            "messages")
        directory = word(model)
        asked = []
        for prompt in prompts:
            chat = not isinstance(prompt, (str, bytes))
            asked.append((data(json.dumps(prompt) if chat else
                               prompt), int(chat)))  # type: ignore[arg-type]
        native = self._alive()
        raised: List[BaseException] = []

        def look(_arg: Optional[int], at: Any) -> int:
            if raised or native.interrupted:
                return 1
            try:
                return int(bool(watch and watch(_answer(at.contents))))
            except BaseException as error:
                raised.append(error)
                return 1

        looks = d.rlf_answer_function(look)

        def work(at: int) -> int:
            for words, chat in asked:
                result = lib.rlf_session_prompt(at, directory, words, len(words),
                                                chat)
                if result < 0:
                    return result
            return lib.rlf_session_generate(at, looks, None)

        self._do(work)
        if raised:
            raise raised[0]
        return self._ask(_answers)

    def tokenize(self, tokenizer: Text, words: Text) -> List[Tuple[int, str]]:
        """The tokens of a text, as (id, text) pairs."""
        name, written = word(tokenizer), data(words)
        return self._tokens(lambda at: lib.rlf_session_tokenize(
            at, name, written, len(written)))

    def detokenize(self, tokenizer: Text, ids: Sequence[int]) -> str:
        """The text of tokens, special ones by their names."""
        name, numbers_of = word(tokenizer), (ctypes.c_int32 * len(ids))(*ids)

        def work(at: int) -> Union[str, errors.RlflowError]:
            found = lib.rlf_session_detokenize(at, name, numbers_of, len(ids))
            if not found:
                return self._error(at)
            return text(_bytes(found.contents.text, found.contents.n))

        return _or_raise(self._ask(work))

    def chat(self, tokenizer: Text, messages: Sequence[Mapping[str, Any]]
             ) -> List[Tuple[int, str]]:
        """The tokens of a chat, by the template that the tokenizer comes with."""
        name, written = word(tokenizer), data(json.dumps(messages))
        return self._tokens(lambda at: lib.rlf_session_chat(
            at, name, written, len(written)))

    def _tokens(self, function: Callable[[int], Any]) -> List[Tuple[int, str]]:
        def work(at: int) -> Union[List[Tuple[int, str]], errors.RlflowError]:
            found = function(at)
            if not found:
                return self._error(at)
            tokens = found.contents
            return [(t.id, text(_bytes(t.text, t.n)))
                    for t in tokens.tokens[: tokens.count]]

        return _or_raise(self._ask(work))

    # ---- the end ----

    def close(self) -> None:
        """End the run as it is, and the session. Views of its weights stay what
        they were: the memory goes with the last of them. RunError if the end of
        the run failed: a log that cannot be written, another process of it that
        was lost."""
        message = self._alive().close()
        if message is not None:
            raise errors.RunError(message.rstrip("\n"))

    def __enter__(self: _S) -> _S:
        self._alive().check_open()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]],
                 _error: Optional[BaseException],
                 _trace: Optional[TracebackType]) -> None:
        native = self._alive()
        if kind is None:
            return self.close()
        try:
            if (issubclass(kind, KeyboardInterrupt) and self._steps
                    and native.open and not native.busy):
                # Ctrl-C between two steps ends the run as one within does
                self.stop(signal.SIGINT)
                self.step()
            self.close()
        except errors.RlflowError as error:  # that of the block is told
            _warn([str(error)])

    def __reduce__(self) -> NoReturn:
        raise TypeError("a session is not copied or sent to another process, "
                        "which opens one of its own")


# ---- in the session's thread ----


def _diagnostics(at: int) -> List[errors.Diagnostic]:
    found: List[errors.Diagnostic] = []
    while p := lib.rlf_session_diagnostic(at, len(found)):
        c = p.contents
        found.append(errors.Diagnostic(
            severity=text(c.severity) or "", code=text(c.code) or "",
            text=text(c.text) or "", path=text(c.path), line=c.line,
            column=c.column, length=c.length, hint=text(c.hint)))
    return found


def _metrics(at: int) -> Dict[str, float]:
    found: Dict[str, float] = {}
    i = 0
    while (name := lib.rlf_session_metric_name(at, i)) is not None:
        value = lib.rlf_session_metric(at, name)
        if not math.isnan(value) or not lib.rlf_session_why(at):
            found[text(name)] = value
        i += 1
    return found


def _answer(a: d.rlf_answer) -> "Answer":
    return {"prompt": a.prompt, "sample": a.sample,
            "text": text(_bytes(a.text, a.n)), "ids": a.ids[: a.count],
            "logprobs": a.logprobs[: a.count], "finished": bool(a.finished)}


def _answers(at: int) -> List["Answer"]:
    found: List["Answer"] = []
    while p := lib.rlf_session_answer(at, len(found)):
        found.append(_answer(p.contents))
    return found


def _bytes(address: Optional[int], n: int) -> bytes:
    return ctypes.string_at(address, n) if address else b""


# ---- in any ----


def _on_log(_arg: Optional[int], level: int, line: Optional[bytes]) -> None:
    _log.log(_LEVELS[level], "%s", text(line))


def _or_raise(found: Union[_T, errors.RlflowError]) -> _T:
    if isinstance(found, errors.RlflowError):
        raise found
    return found


def _warn(lines: Sequence[str]) -> None:
    """Warnings of the place that called this module."""
    level, frame = 1, sys._getframe()
    while (frame.f_back is not None
           and os.path.dirname(frame.f_code.co_filename) == _HERE):
        level, frame = level + 1, frame.f_back
    for line in lines:
        python_warnings.warn(line, errors.RlflowWarning, stacklevel=level)


def _options() -> Set[str]:
    names: Set[str] = set()
    i = 0
    while p := lib.rlf_session_option(i):
        names.add((text(p.contents.name) or "")[2:])
        i += 1
    return names


def _value(name: str, value: Any, yes: str, no: str) -> bytes:
    """A value as it is written on a command line."""
    if not isinstance(value, (str, bytes, os.PathLike)):
        item = getattr(value, "item", None)  # a number of numpy or torch
        value = item() if callable(item) else value
    if isinstance(value, bool):
        return data(yes if value else no)
    if isinstance(value, numbers.Integral):
        return data(str(int(value)))
    if isinstance(value, numbers.Real):
        return data(repr(float(value)))
    try:
        return word(value)
    except TypeError:
        raise TypeError(f"the value of '{name}' is a "
                        f"{type(value).__name__}, and not a text, a number, a "
                        "path, True or False") from None
