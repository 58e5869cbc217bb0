"""What a run has left in its directory."""

import ctypes
import json
from array import array

from . import _errors as errors
from ._library import data, declarations as d, library as lib, text


class Record:
    """The directory of a run, read back: complete, going on, killed, or a copy.

        record = rlflow.Record("runs/ppo")
        steps, values = record.metrics["reward"]
    """

    def __init__(self, directory):
        self._handle = lib.rlf_record_open(data(directory))
        if not self._handle:
            raise errors.OutOfMemoryError("there is no memory for a record")
        self._check()

    def _check(self):
        result = lib.rlf_record_status(self._alive())
        if result < 0:
            message = text(lib.rlf_record_message(self._handle)).rstrip("\n")
            self.close()
            raise errors.BY_RESULT.get(result, errors.RlflowError)(message)

    def _alive(self):
        if self._handle is None:
            raise errors.ClosedError("the record is closed")
        return self._handle

    def refresh(self):
        """Read what the run has written since."""
        lib.rlf_record_refresh(self._alive())
        self._check()

    @property
    def run(self):
        """What the run is, and how far: a dict."""
        r = lib.rlf_record_run(self._alive()).contents
        return {"program": text(r.program), "state": text(r.state_text),
                "why": text(r.why), "step": r.step, "steps": r.steps or None,
                "samples": r.samples, "seconds": r.seconds}

    @property
    def metrics(self):
        """For each metric its steps and values, as arrays."""
        found, i = {}, 0
        while at := lib.rlf_record_metric(self._alive(), i):
            m = at.contents
            found[text(m.name)] = (array("Q", m.step[: m.n]),
                                   array("d", m.value[: m.n]))
            i += 1
        return found

    @property
    def ranks(self):
        """What each rank did with each step: columns of one length, a row for
        each rank in each step, as pandas.DataFrame(record.ranks) takes them."""
        found, i = {}, 0
        while at := lib.rlf_record_rank_column(self._alive(), i):
            c = at.contents
            if not i:
                found["step"] = array("Q", c.step[: c.n])
                found["rank"] = array("Q", c.rank[: c.n])
            found[text(c.name)] = array("d", c.value[: c.n])
            i += 1
        return found

    @property
    def findings(self):
        """What is worth a look: sentences with their steps."""
        found = []
        while at := lib.rlf_record_finding(self._alive(), len(found)):
            f = at.contents
            found.append({"kind": text(f.kind), "name": text(f.name),
                          "first": f.first, "last": f.last,
                          "text": text(f.text)})
        return found

    @property
    def notes(self):
        """What could not be read, and was left out."""
        found = []
        while (note := lib.rlf_record_note(self._alive(), len(found))) is not None:
            found.append(text(note))
        return found

    def samples(self, step=None):
        """The samples, or those of a step, one after the other, as dicts."""
        n = ctypes.c_size_t()
        for i in range(self.run["samples"]):
            if step is not None and lib.rlf_record_sample(
                    self._alive(), i).contents.step != step:
                continue
            line = lib.rlf_record_text(self._alive(), i, d.RLF_SAMPLE_LINE,
                                       ctypes.byref(n))
            if line is not None:
                yield json.loads(ctypes.string_at(line, n.value)
                                 .decode("utf-8", "replace"))

    def close(self):
        """All that it has given stays; nothing more can be asked."""
        if getattr(self, "_handle", None) is not None:
            lib.rlf_record_close(self._handle)
            self._handle = None

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        self.close()

    def __del__(self):
        self.close()
