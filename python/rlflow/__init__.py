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

from ._errors import (ClosedError, Diagnostic, OutOfMemoryError, ProgramError,
                      RlflowError, RlflowWarning, RunError, UsageError)
from ._library import version
from ._record import Record
from ._session import Sample, Session
from ._weights import Weights

__version__ = version()
__all__ = [
    "ClosedError", "Diagnostic", "OutOfMemoryError", "ProgramError", "Record",
    "RlflowError", "RlflowWarning", "RunError", "Sample", "Session",
    "UsageError", "Weights", "open", "version",
]


def open(path=None, *, text=None, options=None, **parameters):
    """A session for a program: see Session."""
    return Session(path, text=text, options=options, **parameters)
