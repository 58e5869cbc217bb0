"""What evaluations have come to."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Dict, List, Union

from . import _errors as errors
from ._library import declarations as d, library as lib, text


@dataclass(frozen=True)
class Score:
    """A metric over the prompts of an evaluation that were answered."""

    metric: str
    mean: float  # mean over prompts; NaN: there are none
    low: float  # interval of 95 % of the mean
    high: float
    prompts: int  # number of prompts that were answered,
    all: int  # and in all
    samples: int  # number of answers to each
    values: List[List[float]]  # [prompts][samples]
    binary: bool  # all values are 0 or 1
    binomial: bool  # the interval is Clopper's and Pearson's, else a bootstrap

    def pass_at(self, k: int) -> float:
        """How likely one of k answers to a prompt is 1, without bias (Chen et al.
        2021), mean over prompts; NaN where values are not binary or k is not
        from 1 to `samples`."""
        if not 1 <= k <= self.samples:
            return float("nan")
        return lib.rlf_score_pass(ctypes.byref(self._native()), k)

    def _native(self) -> d.rlf_score:
        flat = [value for row in self.values for value in row]
        numbers = (ctypes.c_double * max(len(flat), 1))(*flat)
        return d.rlf_score(
            metric=self.metric.encode(), all=self.all, prompts=self.prompts,
            samples=self.samples,
            values=ctypes.cast(numbers, ctypes.POINTER(ctypes.c_double)),
            mean=self.mean, low=self.low, high=self.high,
            binary=int(self.binary), binomial=int(self.binomial))


@dataclass(frozen=True)
class Difference:
    """The mean of one score minus that of another, prompt by prompt."""

    prompts: int  # number of prompts that both have answered
    mean: float
    low: float  # interval of 95 % of the mean, by bootstrap over prompts
    high: float


def scores(at: int) -> Dict[str, Score]:
    """All metrics of an evaluation. In the session's thread."""
    found: Dict[str, Score] = {}
    while p := lib.rlf_session_score(at, len(found)):
        s = p.contents
        flat = s.values[: s.prompts * s.samples]
        name = text(s.metric) or ""
        found[name] = Score(
            metric=name, mean=s.mean, low=s.low, high=s.high, prompts=s.prompts,
            all=s.all, samples=s.samples,
            values=[flat[i * s.samples: (i + 1) * s.samples]
                    for i in range(s.prompts)],
            binary=bool(s.binary), binomial=bool(s.binomial))
    return found


def difference(at: int, metric: str, other: Score
               ) -> Union[Difference, errors.UsageError]:
    """A metric minus `other`. In the session's thread."""
    i = 0
    while p := lib.rlf_session_score(at, i):
        if text(p.contents.metric) == metric:
            found = lib.rlf_session_difference(at, i,
                                               ctypes.byref(other._native()))
            if not found:
                break
            c = found.contents
            return Difference(prompts=c.prompts, mean=c.mean, low=c.low,
                              high=c.high)
        i += 1
    return errors.UsageError(text(lib.rlf_session_why(at)) or
                             f"the evaluation has no metric '{metric}'")
