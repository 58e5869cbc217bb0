"""Errors of rlflow, each with what the library knows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Dict, Iterable, Optional, Tuple, Type

from ._library import declarations as d


@dataclass(frozen=True)
class Diagnostic:
    """One thing that is wrong, or has no effect, with its place: line, column and
    length count from 1, in bytes; 0: it has none."""

    severity: str
    code: str
    text: str
    path: Optional[str] = None
    line: int = 0
    column: int = 0
    length: int = 0
    hint: Optional[str] = None

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}:{self.column}: " if self.line else ""
        return f"{place}{self.severity}: {self.text}"


class RlflowWarning(UserWarning):
    """What rlflow warns of: names without effect, metrics that are not finite."""


class RlflowError(Exception):
    """An error of rlflow. `diagnostics`: what is wrong, as data."""

    diagnostics: Tuple[Diagnostic, ...]

    def __init__(self, message: str,
                 diagnostics: Iterable[Diagnostic] = ()) -> None:
        super().__init__(message)
        self.diagnostics = tuple(diagnostics)


class ProgramError(RlflowError):
    """The program, its parameters or its data are wrong."""


class UsageError(RlflowError):
    """An impossible call or option."""


class BusyError(UsageError):
    """The session is at work for another thread, or for the one that asks."""


class ForkedError(UsageError, RuntimeError):
    """The session is of the process from which this one was forked."""


class ClosedError(RlflowError):
    """The session is closed."""


class RunError(RlflowError):
    """A run failed while it was running."""


class OutOfMemoryError(RlflowError, MemoryError):
    """There is no memory for it."""


BY_RESULT: Dict[int, Type[RlflowError]] = {
    d.RLF_RESULT_PROGRAM: ProgramError,
    d.RLF_RESULT_USAGE: UsageError,
    d.RLF_RESULT_FAILED: RunError,
    d.RLF_RESULT_MEMORY: OutOfMemoryError,
    d.RLF_RESULT_CUT: RunError,
}
