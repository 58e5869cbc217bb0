"""Sessions and what else there is: threads, forks, garbage, Ctrl-C, the end."""

import copy
import gc
import os
import pickle
import re
import signal
import sys
import tempfile
import threading
import time
import unittest
import warnings
import weakref

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from common import (numpy, opened, right, rlflow, said,  # noqa: E402
                    script)


def until(condition):
    """Waits for it."""
    end = time.monotonic() + 60
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it never came")
        time.sleep(0.01)


class Gate:
    """A reward that waits until it is let."""

    def __init__(self):
        self.inside, self.let = threading.Event(), threading.Event()

    def __call__(self, sample):
        self.inside.set()
        self.let.wait(60)
        return right(sample)


class Threads(unittest.TestCase):
    def test_busy(self):
        """While a step is at work other threads are refused, but for what may be
        asked by any."""
        gate, results = Gate(), []
        with opened() as run:
            run.hook("judge", right)
            first = run.step()
        with opened() as run:
            run.hook("judge", gate)
            thread = threading.Thread(target=lambda: results.append(run.step()))
            thread.start()
            gate.inside.wait(60)
            for call in (run.step, run.check, run.save, run.close,
                         lambda: run.samples, lambda: run.graph(),
                         lambda: run.weights("actor")):
                with self.assertRaisesRegex(rlflow.BusyError, "one thing"):
                    call()
            self.assertEqual((run.metrics, run.steps), ({}, 0))
            self.assertIn("judge", run.doing)
            self.assertIn("at work", repr(run))
            self.assertIsNone(run._repr_svg_())
            gate.let.set()
            thread.join()
            self.assertEqual(results, [first])
            self.assertEqual(run.metrics, first)
            self.assertIsNotNone(run.step())

    def test_hook_that_waits(self):
        """A reward that waits for a thread that asks the session: an error, and
        nobody waits for ever."""
        def judge(sample):
            raised = []

            def ask():
                try:
                    run.samples
                except rlflow.RlflowError as error:
                    raised.append(error)

            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            raise raised[0]

        for ranks in (1, 2):
            with opened(options={"ranks": ranks}) as run:
                run.hook("judge", judge)
                with self.assertRaises(rlflow.ProgramError) as caught:
                    run.step()
                self.assertIsInstance(caught.exception.__cause__,
                                      rlflow.BusyError)

    def test_hook_that_closes(self):
        for ranks in (1, 2):
            with opened(options={"ranks": ranks}) as run:
                run.hook("judge", lambda sample: run.close())
                with self.assertRaises(rlflow.ProgramError) as caught:
                    run.step()
                self.assertIsInstance(caught.exception.__cause__,
                                      rlflow.BusyError)
                self.assertFalse(run.closed)

    def test_stop(self):
        """By another thread: the step is finished."""
        gate = Gate()
        with opened() as run:
            run.hook("judge", gate)
            thread = threading.Timer(0, lambda: (gate.inside.wait(60), run.stop(),
                                                 gate.let.set()))
            thread.start()
            self.assertEqual(len(list(run)), 1)
            self.assertEqual(run.stopped, signal.SIGTERM)
            thread.join()

    def test_races(self):
        """Threads that call and close at once get results or typed errors."""
        for _ in range(5):
            run, errors = opened(), []

            def work():
                try:
                    for _ in range(20):
                        run.parameters, run.doing, run.steps
                        run.stop()
                    run.close()
                except (rlflow.BusyError, rlflow.ClosedError):
                    pass
                except BaseException as error:
                    errors.append(error)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            self.assertEqual(errors, [])
            run.close()

    def test_asyncio(self):
        import asyncio

        async def main():
            with opened() as run:
                run.hook("judge", right)
                found = []
                while (m := await asyncio.to_thread(run.step)) is not None:
                    found.append(m)
                return found

        async def judge(sample):
            return 1

        with opened() as run:
            with self.assertRaisesRegex(TypeError, "coroutine"):
                run.hook("judge", judge)
            run.hook("judge", right)
            want = list(run)
        self.assertEqual(asyncio.run(main()), want)


class Garbage(unittest.TestCase):
    def lives(self):
        return [t for t in threading.enumerate() if t.name == "rlflow"]

    def test_collected(self):
        """A session that nobody closes is closed when nobody has it: also if its
        own reward has it."""
        with tempfile.TemporaryDirectory() as tmp:
            before = len(self.lives())
            run = opened(options={"out": tmp + "/run", "ranks": 2})
            run.hook("judge", lambda sample: right(sample) + 0 * id(run))
            run.step()
            ref = weakref.ref(run)
            with self.assertRaises(rlflow.ProgramError):
                other = opened(options={"out": tmp + "/run", "resume": True})
                other.hook("judge", right)
                other.step()
            other.close()
            del run
            gc.collect()
            self.assertIsNone(ref())
            until(lambda: len(self.lives()) == before)
            with rlflow.Record(tmp + "/run") as record:
                self.assertEqual(record.run["kind"], "closed")

    def test_many(self):
        before = len(self.lives())
        for _ in range(200):
            opened().check()
        gc.collect()
        until(lambda: len(self.lives()) == before)

    @unittest.skipUnless(numpy, "there is no numpy")
    def test_views(self):
        """Views stay readable when their run is closed, which ends at once, and
        its memory goes with the last of them."""
        with tempfile.TemporaryDirectory() as tmp:
            before = len(self.lives())
            for keeps in ("closed", "dropped"):
                out = os.path.join(tmp, keeps)
                run = opened(options={"out": out})
                run.hook("judge", right)
                run.step()
                view = next(iter(run.weights("actor").values()))
                want = view.copy()
                if keeps == "closed":
                    run.close()
                    with rlflow.Record(out) as record:
                        self.assertEqual(record.run["kind"], "closed")
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")  # journals set aside
                        with opened(options={"out": out,
                                             "resume": True}) as again:
                            again.hook("judge", right)
                            self.assertIsNotNone(again.step())
                del run
                gc.collect()
                self.assertTrue(numpy.array_equal(view, want))
                self.assertEqual(len(self.lives()), before + 1)
                del view
                gc.collect()
                until(lambda: len(self.lives()) == before)

    def test_exit(self):
        """A process that ends without closing: the run has its end, and its
        hooks are called by nobody."""
        with tempfile.TemporaryDirectory() as tmp:
            out, err = said("""
                run = opened(out=sys.argv[1], ranks=2)
                run.step()
                try:
                    view = next(iter(run.weights('actor').values()))
                except ImportError:
                    pass
                print(run.steps)
                """, tmp + "/run")
            self.assertEqual((out, err), ("1\n", ""))
            with rlflow.Record(tmp + "/run") as record:
                self.assertEqual(record.run["kind"], "closed")

    def test_copies(self):
        with opened() as run:
            for way in (pickle.dumps, copy.copy, copy.deepcopy):
                with self.assertRaisesRegex(TypeError, "not copied"):
                    way(run)

    def test_error_travels(self):
        """Errors are sent between processes with what they know."""
        with self.assertRaises(rlflow.ProgramError) as caught:
            with rlflow.open(text="flow f(", path="wrong.rlf") as run:
                run.check()
        again = pickle.loads(pickle.dumps(caught.exception))
        self.assertEqual(again.diagnostics, caught.exception.diagnostics)
        self.assertEqual(str(again), str(caught.exception))


class Forks(unittest.TestCase):
    def test_child(self):
        """A child does not touch the parent's session, and has sessions of its
        own; nothing is printed."""
        out, err = said("""
            import gc
            run = opened()
            first = run.step()
            child = os.fork()
            if child == 0:
                for call in (run.step, run.stop, lambda: run.doing,
                             lambda: run.samples):
                    try:
                        call()
                    except rlflow.ForkedError:
                        print("refused")
                with opened() as own:
                    assert own.step() == first
                run.close()
                del run
                gc.collect()
                sys.exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert len(list(run)) == 2
            print("two more")
            """)
        self.assertEqual((out, err), ("refused\n" * 4 + "two more\n", ""))

    def test_multiprocessing(self):
        """Rewards by processes, forked and begun anew, beside a session."""
        with tempfile.TemporaryDirectory() as tmp:
            path = os.path.join(tmp, "pool.py")
            with open(path, "w") as f:
                f.write("""
import multiprocessing, os, sys, rlflow

def judge(pair):
    return pair[0] == pair[1]

def steps(_):
    with rlflow.open(text=os.environ["PROGRAM"], start=os.environ["ARITH"],
                     file=os.environ["ROWS"], options={"steps": 1}) as run:
        run.hook("judge", lambda s: s.response == s["answer"])
        return list(run)

if __name__ == "__main__":
    with rlflow.open(text=os.environ["PROGRAM"], start=os.environ["ARITH"],
                     file=os.environ["ROWS"], options={"steps": 2}) as run:
        for kind in ("fork", "spawn"):
            with multiprocessing.get_context(kind).Pool(2) as pool:
                if kind == "fork":
                    run.hook("judge", lambda s: pool.apply(
                        judge, ((s.response, s["answer"]),)))
                    own = run.step()
                assert pool.map(steps, range(2)) == [[own]] * 2
        run.hook
    print("fine")
""")
            out, err = said("import runpy\n"
                            "runpy.run_path(sys.argv[1], run_name='__main__')",
                            path)
            self.assertEqual((out, err), ("fine\n", ""))


class Interrupts(unittest.TestCase):
    def begun(self, words, *arguments):
        """Such a program that has said "ready", with what it says later."""
        child = script(words, *arguments)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        self.assertEqual(child.stdout.readline(), "ready\n")
        return child

    LONG = """
        run = rlflow.open(text=os.environ['PROGRAM'], start=os.environ['ARITH'],
                          file=os.environ['ROWS'],
                          options={'steps': 3, 'out': sys.argv[1],
                                   'save_every': 'never'})
        let = threading.Event()
        @run.hook('judge')
        def judge(sample):
            if run.steps == 1 and not let.is_set():
                print('ready', flush=True)
                let.wait(60)
                let.set()
            return 0
        """

    def test_twice(self):
        """The second Ctrl-C is not held up by the step; the session lives."""
        with tempfile.TemporaryDirectory() as tmp:
            child = self.begun(self.LONG + """
        try:
            for metrics in run:
                pass
        except KeyboardInterrupt:
            print('left', run.steps, flush=True)
        try:
            run.step()
        except rlflow.BusyError:
            print('busy', flush=True)
        let.set()
        while True:
            try:
                print(run.step(), run.stopped == signal.SIGINT, run.steps)
                break
            except rlflow.BusyError:
                time.sleep(0.01)
        run.close()
        """, tmp + "/run")
            child.send_signal(signal.SIGINT)
            time.sleep(0.3)
            self.assertIsNone(child.poll())
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
            self.assertEqual((out, err), ("left 1\nbusy\nNone True 2\n", ""))
            with rlflow.Record(tmp + "/run") as record:
                self.assertEqual((record.run["kind"], record.run["step"],
                                  record.checkpoints), ("stopped", 2, [2]))

    def test_twice_ends(self):
        """Two of them end a program that does not catch them, by the signal."""
        with tempfile.TemporaryDirectory() as tmp:
            child = self.begun(self.LONG + """
        with run:
            for metrics in run:
                pass
        """, tmp + "/run")
            child.send_signal(signal.SIGINT)
            time.sleep(0.3)
            child.send_signal(signal.SIGINT)
            _, err = child.communicate(timeout=60)
            self.assertEqual(child.returncode, -signal.SIGINT)
            self.assertRegex(err, "KeyboardInterrupt\n$")

    def test_between(self):
        """Ctrl-C between two steps ends the run as one within does."""
        with tempfile.TemporaryDirectory() as tmp:
            child = self.begun("""
                with opened(out=sys.argv[1], save_every='never') as run:
                    run.step()
                    print('ready', flush=True)
                    time.sleep(60)
                """, tmp + "/run")
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=60)
            self.assertEqual(child.returncode, -signal.SIGINT)
            with rlflow.Record(tmp + "/run") as record:
                self.assertEqual((record.run["kind"], record.checkpoints),
                                 ("stopped", [1]))

    def test_other(self):
        """An exception of another signal's handler waits for the step, too."""
        out, err = said("""
            class Late(Exception):
                pass
            def late(*_):
                raise Late()
            signal.signal(signal.SIGALRM, late)
            run = opened(steps=2)
            began = threading.Event()
            @run.hook('judge')
            def judge(sample):
                if not began.is_set():
                    began.set()
                    os.kill(os.getpid(), signal.SIGALRM)
                    time.sleep(0.3)
                return 0
            try:
                run.step()
            except Late:
                print(run.steps, run.stopped, run.step())
            """)
        self.assertEqual((out, err), ("1 %d None\n" % signal.SIGTERM, ""))

    def test_answers(self):
        """Ctrl-C ends answers where they are; the session answers on."""
        out, err = said("""
            with rlflow.Session('', options={'max_new': 4}) as s:
                def watch(answer):
                    if not seen:
                        os.kill(os.getpid(), signal.SIGINT)
                        time.sleep(0.3)
                    seen.append(answer)
                seen = []
                try:
                    s.generate(os.environ['ARITH'], ['1 plus 1 plus 1 ='] * 99,
                               watch)
                except KeyboardInterrupt:
                    print(len(seen) < 99)
                print(len(s.generate(os.environ['ARITH'], ['1 plus 1'])))
            """)
        self.assertEqual((out, err), ("True\n1\n", ""))

    def test_many(self):
        """Ctrl-C at any moment, thirty times: nothing waits for ever, and no
        thread of a session is left."""
        out, err = said("""
            import gc, random
            random.seed(1)
            main, left, over = os.getpid(), 30, threading.Event()
            def press():
                while not over.is_set():
                    time.sleep(random.choice((0.0005, 0.005, 0.03, 0.1)))
                    os.kill(main, signal.SIGINT)
            presses = threading.Thread(target=press)
            presses.start()
            while left:
                try:
                    run = opened()
                    try:
                        while run.step():
                            pass
                    except rlflow.BusyError:
                        pass
                    run.close()
                except KeyboardInterrupt:
                    left -= 1
            over.set()
            while presses.is_alive():
                try:
                    time.sleep(0.01)
                except KeyboardInterrupt:
                    pass
            run = None
            gc.collect()
            while threading.active_count() > 1:
                time.sleep(0.01)
            """)
        # Python itself loses one that comes in a destructor, and says so
        self.assertEqual((out, re.sub(r"Exception ignored in:? .*\nTraceback.*\n"
                                      r"(  .*\n)+KeyboardInterrupt: ?\n", "",
                                      err)), ("", ""))

    def test_notebook(self):
        """As a kernel does it: an interrupt in a cell leaves the kernel and its
        session alive for the next one."""
        with tempfile.TemporaryDirectory() as tmp:
            child = self.begun("""
                def judge(sample):
                    if run.steps == 1 and not told:
                        told.append(print('ready', flush=True))
                        time.sleep(0.5)
                    return 0
                told = []
                cells = ['run = opened(out=sys.argv[1], steps=100000)',
                         'run.hook("judge", judge)', 'for m in run: pass',
                         'print(run.stopped, run.steps)', 'run.close()',
                         'print(run)']
                for cell in cells:
                    try:
                        exec(compile(cell, 'cell', 'exec'))
                    except KeyboardInterrupt:
                        print('interrupted')
                """, tmp + "/run")
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
            self.assertEqual(
                (out, err),
                ("interrupted\n2 2\n<rlflow.Session, closed>\n", ""))


if __name__ == "__main__":
    unittest.main()
