"""Tests of the module, on the library that LIBRLFLOW names."""

import contextlib
import importlib.util
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import unittest
import warnings

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import (ARITH, COMMAND, EXAMPLES, PROGRAM, ROOT, ROWS,  # noqa: E402
                    numpy, opened, right, rlflow)
from rlflow._library import declarations  # noqa: E402


def read_tensors(path):
    """The header of a safetensors file, without metadata, and its bytes."""
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        header = json.loads(f.read(n))
        header.pop("__metadata__", None)
        return header, f.read()


class Declarations(unittest.TestCase):
    def test_every_function(self):
        with open(os.path.join(ROOT, "engine", "rlflow.h")) as header:
            names = set(re.findall(r"^RLF_PUBLIC[^;]*?\b(rlf_\w+)\(",
                                   header.read(), re.M | re.S))
        self.assertEqual(set(declarations.FUNCTIONS), names)

    def test_sizes(self):
        """Structs are as long as the compiler has them."""
        names = [n for n, c in vars(declarations).items()
                 if isinstance(c, type) and issubclass(c, declarations.Structure)
                 and n.startswith("rlf_")]
        self.assertGreater(len(names), 15)
        source = '#include "%s/engine/rlflow.h"\n#include <stdio.h>\n' % ROOT
        source += "int main(void) {\n" + "".join(
            'printf("%s %%zu\\n", sizeof(%s));\n' % (n, n) for n in names)
        with tempfile.TemporaryDirectory() as tmp:
            with open(tmp + "/a.c", "w") as out:
                out.write(source + "return 0; }\n")
            subprocess.run(["cc", tmp + "/a.c", "-o", tmp + "/a"], check=True)
            lines = subprocess.run([tmp + "/a"], check=True, text=True,
                                   capture_output=True).stdout.split("\n")
        for line in filter(None, lines):
            name, size = line.split()
            self.assertEqual(
                declarations.sizeof(getattr(declarations, name)), int(size),
                name)

    def test_unknown(self):
        """What the reader of the header does not understand is an error."""
        sys.path.insert(0, os.path.join(ROOT, "python"))
        import declarations as reader

        with self.assertRaises(ValueError):
            reader.Header("RLF_PUBLIC int (*rlf_odd(void))(int);")


class Runs(unittest.TestCase):
    def test_bits(self):
        """The same metrics and samples as the command's."""
        with tempfile.TemporaryDirectory() as tmp:
            program = os.path.join(EXAMPLES, "grpo.rlf")
            out = os.path.join(tmp, "run")
            subprocess.run([COMMAND, "run", program, "size=4", "--steps", "3",
                            "--quiet", "--samples", "1000", "--out", out],
                           check=True)
            with open(out + "/metrics.jsonl") as f:
                lines = [json.loads(line) for line in f]
            with open(out + "/samples.jsonl") as f:
                samples = [json.loads(line) for line in f]
        got = []
        with rlflow.open(program, size=4, options={"steps": 3}) as run:
            for line, metrics in zip(lines, run):
                self.assertEqual(run.steps, line["step"])
                for name, value in metrics.items():
                    self.assertEqual(line[name], value, name)
                self.assertIn("reward", metrics)
                got += run.samples
            self.assertIsNone(run.step())
            self.assertEqual(run.steps_wanted, 3)
        self.assertEqual(samples, got)

    def test_reward(self):
        """A reward in Python has the bits of the same in Lua."""
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "judge.lua")
            with open(path, "w") as f:
                f.write("return function(s) "
                        "return s.response == s.answer and 1 or 0 end\n")
            with opened('lua("%s")' % path) as run:
                want = list(run)
        with opened() as run:
            run.hook("judge", right)
            self.assertEqual(list(run), want)
        with opened(options={"ranks": 2}) as run:
            run.hook("judge")(right)
            self.assertEqual(list(run), want)

    def test_sample(self):
        seen = {}

        def judge(sample):
            seen["sample"] = sample
            seen["tokens"] = list(sample.tokens)
            seen["length"], seen["finished"] = sample.length, sample.finished
            seen["length"] = sample["length"]
            seen["none"] = sample.get("none", 7)
            return 0

        with opened() as run:
            run.hook("judge", judge)
            run.step()
        self.assertEqual(len(seen["tokens"]), seen["length"])
        self.assertEqual(seen["none"], 7)
        with self.assertRaises(rlflow.UsageError):
            seen["sample"].prompt  # the call is over

    def test_resume(self):
        with tempfile.TemporaryDirectory() as tmp:
            out = os.path.join(tmp, "run")
            with opened() as run:
                run.hook("judge", right)
                want = list(run)
            with opened(options={"out": out}) as run:
                run.hook("judge", right)
                self.assertEqual(run.step(), want[0])
                self.assertEqual(run.save(), 1)
            with opened(options={"out": out, "resume": True}) as run:
                run.hook("judge", right)
                self.assertEqual(list(run), want[1:])
            with rlflow.Record(out) as record:
                steps, values = record.metrics["reward"]
                self.assertEqual(list(steps), [1, 2, 3])
                self.assertEqual(list(values), [m["reward"] for m in want])
                self.assertEqual(record.run["state"], "done")
                ranks = record.ranks
                self.assertEqual(list(ranks["step"]), [1, 2, 3])
                self.assertEqual(list(ranks["rank"]), [0, 0, 0])
                for i, whole in enumerate(ranks["seconds"]):
                    parts = [v[i] for k, v in ranks.items()
                             if k.startswith("seconds.")]
                    self.assertAlmostEqual(sum(parts), whole, delta=1e-5)
                self.assertEqual(len(list(record.samples(step=2))), 8)

    @unittest.skipUnless(importlib.util.find_spec("pandas"),
                         "there is no pandas")
    def test_frames(self):
        with tempfile.TemporaryDirectory() as tmp:
            with opened(options={"out": tmp + "/run"}) as run:
                run.hook("judge", right)
                want = list(run)
            with rlflow.Record(tmp + "/run") as record:
                frame = record.metrics_frame()
                self.assertEqual(list(frame.index), [1, 2, 3])
                self.assertEqual(list(frame["reward"]),
                                 [m["reward"] for m in want])
                samples = record.samples_frame()
                self.assertEqual(len(samples), 24)
                for step, rows in samples.groupby("step"):
                    self.assertEqual(rows["values.score"].mean(),
                                     want[step - 1]["reward"])
                self.assertEqual(len(record.samples_frame(2)), 8)
                self.assertEqual(record.parameters["size"], "4")
                self.assertEqual(record.starts[0].options["steps"], "3")
                self.assertEqual(record.starts[0].how, "done")

    def test_record_that_goes_on(self):
        """A record is as it was read, and closed while its samples are read."""
        with tempfile.TemporaryDirectory() as tmp:
            with opened(options={"out": tmp + "/run"}) as run:
                run.hook("judge", right)
                run.step()
                record = rlflow.Record(tmp + "/run")
                self.assertEqual(record.run["kind"], "goes on")
                run.step()
                self.assertEqual(record.run["step"], 1)
                record.refresh()
                self.assertEqual(record.run["step"], 2)
                samples = record.samples()
                next(samples)
                record.close()
                with self.assertRaises(rlflow.ClosedError):
                    next(samples)

    def test_threads(self):
        """Two sessions at once, each in a thread."""
        results = {}

        def work(name):
            with opened() as run:
                run.hook("judge", right)
                results[name] = list(run)

        threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(results[0], results[1])
        self.assertEqual(len(results[0]), 3)

    def test_pictures(self):
        with opened() as run:
            self.assertTrue(run._repr_svg_().startswith("<svg"))
            self.assertIn("actor.generate", run.graph("text"))
            with self.assertRaises(rlflow.UsageError):
                run.graph("png")
            self.assertEqual(run.parameters["size"], "4")
        with opened() as run:
            run.hook("judge", right)
            self.assertIn("a set of 8 samples", run.explain())

    def test_train(self):
        """Callbacks after each step; what they raise goes on, what they stop
        ends."""
        seen = []
        with opened() as run:
            run.hook("judge", right)
            self.assertIs(run.train(lambda r: seen.append((r.steps, r.metrics))),
                          run)
        self.assertEqual([step for step, _ in seen], [1, 2, 3])
        with opened() as run:
            run.hook("judge", right)
            run.train(lambda r: r.stop())
            self.assertEqual((run.steps, run.metrics), seen[0])
        with opened() as run:
            run.hook("judge", right)
            with self.assertRaises(ZeroDivisionError):
                run.train(lambda r: 1 / 0)
            self.assertEqual((run.step(), run.steps), (seen[1][1], 2))

    def test_evaluate(self):
        """The accuracy that the run reports before it has learned, and values
        that it is made of."""
        program = os.path.join(EXAMPLES, "grpo.rlf")
        with rlflow.open(program, options={"steps": 1}) as run:
            want = run.step()["accuracy"]
        seen = []
        with rlflow.open(program) as s:
            score = s.evaluate(progress=lambda p: seen.append(
                p["accuracy"].prompts))["accuracy"]
            self.assertEqual(score.mean, want)
            self.assertEqual(score.mean, sum(map(sum, score.values)) / 400)
            self.assertEqual(score.pass_at(1), score.mean)
            self.assertNotEqual(score.pass_at(2), score.pass_at(2))  # NaN
            self.assertLess(score.low, score.mean)
            self.assertEqual((seen[-1], score.prompts, score.all), (400,) * 3)
        with rlflow.open(program, options={"limit": 40, "n": 2}) as s:
            two = s.evaluate(ARITH)["accuracy"]
            self.assertGreaterEqual(two.pass_at(2), two.pass_at(1))
            found = s.compare("accuracy", score)
            self.assertEqual(found.prompts, 40)
            first = sum(map(sum, score.values[:40])) / 40
            self.assertAlmostEqual(found.mean, two.mean - first)
            with self.assertRaisesRegex(rlflow.UsageError, "nosuch"):
                s.compare("nosuch", score)

    def test_watch(self):
        """Answers as they come; what a watch raises is raised."""
        with rlflow.Session("", options={"max_new": 4}) as s:
            seen = []
            found = s.generate(ARITH, ["1 plus 1 plus 1 ="], seen.append)
            self.assertEqual(seen[-1], found[0])
            with self.assertRaises(ZeroDivisionError):
                s.generate(ARITH, ["1 plus"], lambda answer: 1 / 0)
            ids = [token for token, _ in s.tokenize(ARITH, "1 plus 2")]
            self.assertTrue(s.detokenize(ARITH, ids).endswith("1 plus 2"))

    def test_answers(self):
        with rlflow.Session("", options={"max_new": 4, "greedy": True}) as s:
            prompts = ["1 plus 1 plus 1 =", "2 plus 3 plus 4 ="]
            answers = s.generate(ARITH, prompts)
            self.assertEqual([a["prompt"] for a in answers], [0, 1])
            self.assertEqual(len(answers[0]["ids"]),
                             len(answers[0]["logprobs"]))
            tokens = s.tokenize(ARITH, "1 plus 2")
            self.assertTrue("".join(word for _, word in tokens)
                            .replace(" ", "").endswith("1plus2"))


@unittest.skipUnless(numpy, "there is no numpy")
class WeightsTest(unittest.TestCase):
    def test_views(self):
        run = opened()
        run.hook("judge", right)
        run.step()
        weights = run.weights("actor")
        name = next(iter(weights))
        view, before = weights[name], weights[name].copy()
        self.assertTrue(weights.is_view)
        self.assertEqual(view.dtype, numpy.float32)
        with self.assertRaises(ValueError):
            view[...] = 0
        run.step()
        self.assertFalse(numpy.array_equal(view, before))
        after = view.copy()
        run.close()
        self.assertTrue(numpy.array_equal(view, after))  # still there
        del view, weights

    def test_saved(self):
        """The same numbers as in the checkpoint's file."""
        with tempfile.TemporaryDirectory() as tmp, \
                opened(options={"out": tmp + "/run", "steps": 1}) as run:
            run.hook("judge", right)
            run.step()
            run.save()
            header, body = read_tensors(
                tmp + "/run/checkpoints/step-00000001/actor/model.safetensors")
            for name, array in run.weights("actor").items():
                entry = header[name]
                if entry["dtype"] != "F32":
                    continue
                a, b = entry["data_offsets"]
                self.assertEqual(array.tobytes(), body[a:b], name)

    NUMERICS = "shards: 2, lanes: 2) }"
    PLACES = {
        "tp": "place { actor on 0..1 (tp: 2, ",
        "pp": "place { actor on 0..1 (pp: 2, ",
        "zero": "place { actor on 0..1 (dp: 2, zero: 1, ",
        "tp and pp": "place { actor on 0..3 (tp: 2, pp: 2, ",
    }

    def test_gathered(self):
        """Weights that ranks have in parts are gathered: the bits of one rank,
        and nothing that is trained is another for it."""
        text = PROGRAM % "host()"
        with rlflow.open(text=text + "place { actor on 0 (" + self.NUMERICS,
                         start=ARITH, file=ROWS, options={"steps": 3}) as run:
            run.hook("judge", right)
            run.ready()
            first = run.weights("actor").copy()
            want = list(run)
            weights = run.weights("actor")
            self.assertTrue(weights.is_view)
            self.assertIsNone(weights.why)
            last = weights.copy()
        for name, place in self.PLACES.items():
            ranks = 4 if "and" in name else 2
            with rlflow.open(text=text + place + self.NUMERICS, start=ARITH,
                             file=ROWS,
                             options={"steps": 3, "ranks": ranks}) as run:
                run.hook("judge", right)
                run.ready()
                before = run.weights("actor")
                self.assertEqual(run.models, ["actor"])
                got = list(run)
                after = run.weights("actor")
            if name == "zero":  # each rank has all of them, and views stay
                self.assertTrue(before.is_view)
            else:
                self.assertFalse(before.is_view)
                self.assertIn("is cut into parts", before.why)
                self.assert_same(before, first, name)
            self.assert_same(after, last, name)
            self.assertEqual(got, want, name)
            with self.assertRaises(ValueError):
                next(iter(after.values()))[...] = 0

    def assert_same(self, got, want, where):
        self.assertEqual(list(got), list(want), where)
        for name in want:
            self.assertTrue(numpy.array_equal(got[name], want[name]),
                            (where, name))

    def test_base(self):
        """The base of a model with adapters has no weights of its own."""
        text = (PROGRAM % "host()").replace("hook  judge", "model ref = "
                                            "base(actor)\nhook  judge")
        text = text.replace("lm(start", "lm(start, lora: lora(rank: 2, alpha: 2)")
        text = text.replace("report", "far = ref.logprob(roll)\n"
                            "    report far = mean(far over batch)\n    report")
        with rlflow.open(text=text, start=ARITH, file=ROWS,
                         options={"steps": 1}) as run:
            run.hook("judge", right)
            run.step()
            self.assertEqual(run.models, ["actor"])
            with self.assertRaisesRegex(rlflow.UsageError, "base of a model"):
                run.weights("ref")
            self.assertEqual(run.steps, 1)

    def test_frozen(self):
        """A model that is not trained has the weights of its files; of adapters
        there are these, with the numbers of the checkpoint."""
        text = (PROGRAM % "host()").replace("hook  judge", "model ref = "
                                            "copy(actor)\nhook  judge")
        text = text.replace("report", "far = ref.logprob(roll)\n"
                            "    report far = mean(far over batch)\n    report")
        with opened() as run:
            run.hook("judge", right)
            run.ready()
            first = run.weights("actor").copy()
        with rlflow.open(text=text, start=ARITH, file=ROWS,
                         options={"steps": 1}) as run:
            run.hook("judge", right)
            run.step()
            weights = run.weights("ref")
            self.assertEqual(run.models, ["actor", "ref"])
            self.assertFalse(weights.is_view)
            self.assertIn("as its products read it", weights.why)
            self.assert_same(weights, first, "ref")
        text = (PROGRAM % "host()").replace(
            "lm(start", "lm(start, lora: lora(rank: 2, alpha: 2)")
        with tempfile.TemporaryDirectory() as tmp:
            with rlflow.open(text=text, start=ARITH, file=ROWS,
                             options={"steps": 1, "out": tmp + "/run"}) as run:
                run.hook("judge", right)
                run.step()
                run.save()
                weights = run.weights("actor")
                self.assertFalse(weights.is_view)
                self.assertTrue(all("lora_" in name for name in weights))
            header, body = read_tensors(
                tmp + "/run/checkpoints/step-00000001/actor/"
                "adapter_model.safetensors")
            self.assertEqual(set(weights), set(header))
            for name, array in weights.items():
                a, b = header[name]["data_offsets"]
                self.assertEqual(array.tobytes(), body[a:b], name)

    def test_none(self):
        with opened() as run:
            with self.assertRaisesRegex(rlflow.UsageError, "not ready"):
                run.weights("actor")
            run.hook("judge", right)
            run.step()
            with self.assertRaisesRegex(rlflow.UsageError, "nosuch"):
                run.weights("nosuch")


class Mistakes(unittest.TestCase):
    def test_program(self):
        with self.assertRaises(rlflow.ProgramError) as caught:
            with rlflow.open(text="flow f(", path="wrong.rlf") as run:
                run.check()
        one = caught.exception.diagnostics[0]
        self.assertEqual((one.severity, one.path, one.line),
                         ("error", "wrong.rlf", 1))
        self.assertIn("wrong.rlf:1:", str(caught.exception))

    def test_parameters(self):
        with self.assertRaises(rlflow.ProgramError):
            opened(nosuch=3).check()
        with self.assertRaises(rlflow.UsageError):
            opened(options={"stepps": 3})
        with self.assertRaises(rlflow.UsageError):
            opened(options={"steps": 0})
        with self.assertRaises(TypeError):
            opened(options={"out": object()})
        with self.assertRaises(rlflow.UsageError):
            rlflow.open()

    def test_reward(self):
        def judge(sample):
            raise RuntimeError("no idea")

        with opened() as run:
            run.hook("judge", judge)
            with self.assertRaises(rlflow.ProgramError) as caught:
                run.step()
            self.assertRegex(str(caught.exception),
                             r"RuntimeError: no idea \(.*test_rlflow.py:\d+\)")
            self.assertIsInstance(caught.exception.__cause__, RuntimeError)
            with self.assertRaises(rlflow.ProgramError):
                run.step()  # it stays failed
        for value in (float("nan"), "text", None):
            with opened() as run:
                run.hook("judge", lambda sample: value)
                with self.assertRaises(rlflow.ProgramError):
                    run.step()

    def test_values(self):
        """What parameters and options may be."""
        class Text(str):
            pass

        for value in (4, "4", b"4", Text("4"), 4.0, None):
            with opened(size=value, options={"out": None}) as run:
                self.assertEqual(run.parameters["size"], "4", repr(value))
        if numpy:
            for value in (numpy.int64(4), numpy.float32(4), numpy.array(4)):
                with opened(size=value) as run:
                    self.assertEqual(run.parameters["size"], "4", repr(value))
        for value in ([4], {}, object(), 4j, lambda: 4):
            with self.assertRaisesRegex(TypeError, "'size'"):
                opened(size=value)
        with self.assertRaises(TypeError):
            opened(options={1: 2})
        with self.assertRaisesRegex(ValueError, "NUL"):
            rlflow.open("a\0b")
        with opened(parameters={"size": 5}) as run:
            self.assertEqual(run.parameters["size"], "5")

    def test_odd_rewards(self):
        """Numbers of any kind; what is none is said, with its exception."""
        values = [True, 0.5, 1]
        if numpy:
            values += [numpy.float32(1), numpy.bool_(True), numpy.array(1.0)]
        for value in values:
            with opened(options={"steps": 1}) as run:
                run.hook("judge", lambda sample: value)
                self.assertEqual(run.step()["reward"], float(value))

        async def late():
            return 1

        class Mute(Exception):
            def __str__(self):
                raise ValueError("no")

        for value in ("1", b"1", [1], 10 ** 400, late):
            with opened() as run:
                run.hook("judge", lambda s: value() if value is late else value)
                with self.assertRaises(rlflow.ProgramError) as caught:
                    run.step()
                self.assertIsInstance(caught.exception.__cause__,
                                      (TypeError, OverflowError))
        for error in (SystemExit(3), KeyboardInterrupt(), Mute(),
                      UnicodeError("\ud800 \0 \u2603")):
            def judge(sample):
                raise error

            for ranks in (1, 2):
                with opened(options={"ranks": ranks}) as run:
                    run.hook("judge", judge)
                    with self.assertRaises(rlflow.ProgramError) as caught:
                        run.step()
                    self.assertIs(caught.exception.__cause__, error)
                    self.assertIn("judge: " + type(error).__name__,
                                  str(caught.exception))

    def test_subclass(self):
        class Unmade(rlflow.Session):
            def __init__(self):
                pass

        class Own(rlflow.Session):
            def __init__(self):
                super().__init__(text=PROGRAM % "host()", start=ARITH, file=ROWS,
                                 options={"steps": 1})
                self.hook("judge", self.judge)

            def judge(self, sample):
                return 1

        for call in (Unmade().step, Unmade().close, Unmade().__enter__):
            with self.assertRaisesRegex(rlflow.UsageError, "Unmade.__init__"):
                call()
        self.assertIn("not made", repr(Unmade()))
        with Own() as run:
            self.assertEqual(len(list(run)), 1)

    def test_end(self):
        """What goes wrong at the end is said."""
        run = opened(options={"steps": 1, "trace": "/dev/full"})
        run.hook("judge", right)
        with self.assertRaisesRegex(rlflow.RunError, "trace"):
            run.step()
            run.close()
        run.close()

    def test_closed(self):
        run = opened()
        run.close()
        run.close()
        run.stop()
        for call in (run.step, run.check, run.save, lambda: run.metrics,
                     lambda: run.samples, lambda: run.graph()):
            with self.assertRaises(rlflow.ClosedError):
                call()

    def test_late(self):
        with opened() as run:
            run.hook("judge", right)
            run.step()
            with self.assertRaises(rlflow.UsageError):
                run.set_option("steps", 9)

    def test_warnings(self):
        text = (PROGRAM % "host()").replace(
            "    score = judge", "    unread = roll.length\n    score = judge")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            with rlflow.open(text=text, start=ARITH, file=ROWS,
                             options={"steps": 1}) as run:
                run.hook("judge", right)
                run.hook("other", right)
                run.step()
        self.assertTrue(any("other" in str(w.message) for w in caught))

    def test_hook_that_asks(self):
        """A hook of one rank of several that asks its session ends the run."""
        for ranks in (1, 2):
            with opened(options={"ranks": ranks}) as run:
                run.hook("judge", lambda sample: run.step())
                with self.assertRaises(rlflow.ProgramError) as caught:
                    run.step()
                self.assertIsInstance(caught.exception.__cause__,
                                      rlflow.UsageError)

    def test_nul(self):
        with self.assertRaises(ValueError):
            opened(size="5\0junk")

    def test_record(self):
        with self.assertRaises(TypeError):
            rlflow.Record(3)
        with self.assertRaises(rlflow.ProgramError):
            rlflow.Record("/nowhere")

    def test_fork(self):
        with opened() as run:
            child = os.fork()
            if child == 0:
                try:
                    run.check()
                except RuntimeError:
                    os._exit(7)
                os._exit(1)
            _, status = os.waitpid(child, 0)
            self.assertEqual(os.waitstatus_to_exitcode(status), 7)
            run.check()


class Notebook(unittest.TestCase):
    def test_cells(self):
        """The notebook's cells, one after the other."""
        path = os.path.join(ROOT, "python", "examples", "grpo.ipynb")
        with open(path, encoding="utf-8") as f:
            cells = json.load(f)["cells"]
        os.environ["EXAMPLES"], os.environ["STEPS"] = EXAMPLES, "3"
        space = {}
        for cell in cells:
            if cell["cell_type"] == "code":
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile("".join(cell["source"]), path, "exec"), space)
        self.assertEqual(len(space["rewards"]), 3)


class Interrupt(unittest.TestCase):
    def test_once(self):
        """Ctrl-C: the step at work is finished and saved."""
        script = textwrap.dedent("""
            import sys, os
            sys.path.insert(0, sys.argv[1])
            import rlflow
            run = rlflow.open(sys.argv[2], size=16,
                              options={"steps": 100000, "out": sys.argv[3],
                                       "save_every": "never"})
            try:
                for metrics in run:
                    print("step", flush=True)
            except KeyboardInterrupt:
                print("interrupted", run.steps, flush=True)
            run.close()
            """)
        with tempfile.TemporaryDirectory() as tmp:
            command = [sys.executable, "-c", script,
                       os.path.join(ROOT, "python"),
                       os.path.join(EXAMPLES, "grpo.rlf"), tmp + "/run"]
            with subprocess.Popen(command, stdout=subprocess.PIPE,
                                  text=True) as child:
                self.assertEqual(child.stdout.readline(), "step\n")
                time.sleep(0.3)
                child.send_signal(signal.SIGINT)
                lines = child.stdout.read().split("\n")
            self.assertEqual(child.returncode, 0)
            steps = int(re.search(r"interrupted (\d+)", "\n".join(lines)).group(1))
            with rlflow.Record(tmp + "/run") as record:
                self.assertIn("stopped", record.run["state"])
                self.assertEqual(record.run["step"], steps)


if __name__ == "__main__":
    unittest.main()
