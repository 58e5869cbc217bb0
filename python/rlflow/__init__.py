"""rlflow: reinforcement learning of language models as a dataflow program.

    import rlflow

    with rlflow.open("grpo.rlf", lr=1e-5, options={"steps": 100}) as run:
        for metrics in run:
            print(run.steps, metrics["reward"])

A reward in Python stands behind `hook judge = host()` of the program:

    @run.hook("judge")
    def judge(sample):
        return sample.response == sample["answer"]
"""

from __future__ import annotations

from typing import Mapping, Optional, Union

from ._errors import (BusyError, ClosedError, Diagnostic, ForkedError,
                      OutOfMemoryError, ProgramError, RlflowError, RlflowWarning,
                      RunError, UsageError)
from ._evaluation import Difference, Score
from ._library import Text as _Text, version
from ._record import Record, Start
from ._sample import Sample
from ._session import Session, Value as _Value
from ._weights import Weights

__version__ = version()
__all__ = [
    "BusyError", "ClosedError", "Diagnostic", "Difference", "ForkedError",
    "OutOfMemoryError", "ProgramError", "Record", "RlflowError",
    "RlflowWarning", "RunError", "Sample", "Score", "Session", "Start",
    "UsageError", "Weights", "open", "version",
]


def open(path: Optional[_Text] = None, *, text: Union[str, bytes, None] = None,
         options: Optional[Mapping[str, _Value]] = None,
         parameters: Optional[Mapping[str, _Value]] = None,
         **more: _Value) -> Session:
    """A session for a program: see Session."""
    return Session(path, text=text, options=options, parameters=parameters,
                   **more)
