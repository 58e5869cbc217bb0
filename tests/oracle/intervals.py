#!/usr/bin/env python3
"""What tests/unit/base_interval.c and `rlflow eval` are held against.

Without arguments it prints the tables of the unit test. With the output of
`rlflow eval --json` and the file of `--answers` of the same command it computes
every number of the first from the second:

    rlflow eval p.rlf MODEL ... --json --answers answers >scores
    python3 tests/oracle/intervals.py scores answers VALUE [SEED]

where VALUE is the name that the answers' "values" have for the metric. Shares
are found by bisection of sums of exact binomial probabilities, pass@k by counting
subsets, resamples by the generators as they were published (Salmon et al. 2011;
Steele, Lea, Flood 2014).
"""
import json
import math
import sys
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 60
RESAMPLES = 10000
TAIL = Decimal(1) / 40
ALL = (1 << 64) - 1


def upper_tail(x, n, p):
    """P(at least x of n), to 50 digits."""
    return sum(Decimal(1) * math.comb(n, k) * p**k * (1 - p) ** (n - k)
               for k in range(x, n + 1))


def solve(function, bits=64):
    """The share up to which the condition holds."""
    low, high = Decimal(0), Decimal(1)
    for _ in range(bits):
        middle = (low + high) / 2
        if function(middle):
            low = middle
        else:
            high = middle
    return float((low + high) / 2)


def share(x, n):
    low = solve(lambda p: upper_tail(x, n, p) < TAIL) if x else 0.0
    high = (solve(lambda p: 1 - upper_tail(x + 1, n, p) > TAIL)
            if x < n else 1.0)
    return low, high


def mix(x):
    x ^= x >> 33
    x = x * 0xFF51AFD7ED558CCD & ALL
    x ^= x >> 33
    x = x * 0xC4CEB9FE1A85EC53 & ALL
    return x ^ x >> 33


def philox(counter, key):
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = ((b >> 32) ^ c1 ^ k0, b & 0xFFFFFFFF,
                          (a >> 32) ^ c3 ^ k1, a & 0xFFFFFFFF)
        k0 = (k0 + 0x9E3779B9) & 0xFFFFFFFF
        k1 = (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


def resample(seed, number, n):
    """The n indices of one resample."""
    key = mix(seed ^ mix(number))
    words = philox((0, 0, 0, 0), (key & 0xFFFFFFFF, key >> 32))
    state = words[1] << 32 | words[0]
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & ALL
        x = (state ^ state >> 30) * 0xBF58476D1CE4E5B9 & ALL
        x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL
        x ^= x >> 31
        yield (x >> 32) * n >> 32


def quantile(ordered, p):
    at = float(p) * (len(ordered) - 1)
    i = math.floor(at)
    part = at - i
    return ordered[i] + part * (ordered[min(i + 1, len(ordered) - 1)]
                                - ordered[i])


def bootstrap(values, seed):
    n = len(values)
    means = sorted(math.fsum(values[i] for i in resample(seed, r, n)) / n
                   for r in range(RESAMPLES))
    return quantile(means, TAIL), quantile(means, 1 - TAIL)


def pass_at(n, right, k):
    return float(1 - Fraction(math.comb(n - right, k), math.comb(n, k)))


def tables():
    for x, n in [(0, 1), (1, 1), (0, 20), (20, 20), (1, 20), (172, 400),
                 (7, 9), (1300, 1319), (3, 1319)]:
        print("    {%d, %d, %.17g, %.17g}," % (x, n, *share(x, n)))
    for n, right, k in [(1, 0, 1), (1, 1, 1), (8, 3, 1), (8, 3, 4), (8, 3, 8),
                        (8, 0, 8), (200, 1, 100), (200, 37, 10)]:
        print("    {%d, %d, %d, %.17g}," % (n, right, k, pass_at(n, right, k)))
    for seed in 0, 7:
        values = [k * k % 11 / 4 + k / 64 - 1 for k in range(50)]
        print("    {%d, %.17g, %.17g}," % (seed, *bootstrap(values, seed)))


def near(got, want, what):
    good = math.isclose(got, want, rel_tol=1e-12, abs_tol=1e-12)
    print("%s %s: %r, %r" % ("ok" if good else "NOT OK", what, got, want))
    return good


def check(scores, answers, name, seed):
    values, good = {}, True
    for line in answers:
        row = json.loads(line)
        if name in row["values"]:
            values.setdefault(row["model"], []).append(
                (row["sample"], row["values"][name]))
    means = {}
    for model in scores["models"]:
        score = model["scores"][0]
        n, each = score["prompts"], score["samples"]
        mine = [v for _, v in sorted(values[model["model"]])]
        good &= near(len(mine), n * each, model["model"] + " values")
        groups = [mine[i * each:(i + 1) * each] for i in range(n)]
        mean = means[model["model"]] = [math.fsum(g) / each for g in groups]
        good &= near(score["mean"], math.fsum(mean) / n, "mean")
        exact = each == 1 and all(v in (0, 1) for v in mine)
        low, high = share(int(sum(mine)), n) if exact else bootstrap(mean, seed)
        good &= exact == (score["interval"] == "exact")
        good &= near(score["low"], low, "low") & near(score["high"], high,
                                                      "high")
        for k, p in score.get("pass", {}).items():
            want = math.fsum(pass_at(each, int(sum(g)), int(k))
                             for g in groups) / n
            good &= near(p, want, "pass@" + k)
    for d in scores["differences"]:
        pairs = list(zip(means[d["model"]], means[d["less"]]))
        x = [a - b for a, b in pairs]
        low, high = bootstrap(x, seed)
        good &= near(d["mean"], math.fsum(x) / len(x), "difference")
        good &= near(d["low"], low, "low") & near(d["high"], high, "high")
    return good


if __name__ == "__main__":
    if len(sys.argv) < 4:
        tables()
    else:
        with open(sys.argv[1]) as first, open(sys.argv[2]) as second:
            sys.exit(not check(json.load(first), second, sys.argv[3],
                               int(sys.argv[4]) if len(sys.argv) > 4 else 0))
