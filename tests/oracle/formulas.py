#!/usr/bin/env python3
"""The formulas of stdlib, computed independently.

Writes tests/oracle/formulas.json: columns of a small ragged batch, and for each
case the call as a program would write it, its value, and, for losses, what a
program would minimize and its gradient with respect to the live column. Run
again only to change the cases:

    python3 -m venv VENV && VENV/bin/pip install numpy==2.4.6
    VENV/bin/python tests/oracle/formulas.py > tests/oracle/formulas.json

Everything is written with padded arrays and masks, position by position, as the
well-known trainers do, not as rlflow does. Gradients are complex-step
derivatives (x + ih, h = 1e-30): exact to the last digit, no rule is used.
"""
import json
import sys

import numpy as np

rng = np.random.default_rng(20240607)

# ---- the batch: 4 prompts, 3 responses each, 1..7 tokens ----
GROUPS, N = 4, 3
B, T = GROUPS * N, 7
group = np.repeat(np.arange(GROUPS), N)
length = np.array([3, 1, 7, 5, 2, 4, 1, 6, 3, 7, 2, 5])
mask = (np.arange(T)[None, :] < length[:, None]).astype(float)


def token(scale, shift=0.0):
    return (rng.standard_normal((B, T)) * scale + shift) * mask


score = np.round(rng.standard_normal(B), 3)
score[3:6] = 0.1  # a group without spread: 0.1 + 0.1 + 0.1 is not 0.3
score[6:9] = [1, 0, 1]
baseline = np.round(rng.standard_normal(B), 3)
finished = (rng.random(B) < 0.7).astype(float)
end = (1 - finished) * rng.standard_normal(B)
r = token(0.3)
v = token(1.0)
old = -np.abs(token(1.0)) * mask
logp = old + token(0.4)
logp[2, 1] = old[2, 1] + 25.0  # past every cap of the ratio
ref = old + token(0.5)
sampled = old + token(0.6)
sampled[9, 3] = old[9, 3] - 30.0
adv = token(1.0)
adv[2, 1] = -0.7
vold = v + token(0.3)
target = v + token(0.8)
margin = rng.standard_normal(B) * 5
gain = rng.standard_normal(B) * 4
good = (rng.random(B) < 0.5).astype(float)
chosen, rejected = rng.standard_normal(B), rng.standard_normal(B)

# Distributions: a response is taken for a token, and its tokens for the words of
# a vocabulary (as rlflow's programs over vocab have them), of 1 to 7 words.
logits, others = token(1.5), token(1.5)


def log_partition(a):
    return np.log((np.exp(a) * mask).sum(1))


words = (logits - log_partition(logits)[:, None]) * mask
whose = (others - log_partition(others)[:, None]) * mask

# Means of log-probabilities over the tokens of a response; one is all but certain.
likely, unlikely = -np.abs(rng.standard_normal(B)), -np.abs(rng.standard_normal(B)) * 2
likely[4] = -1e-9
harm, other = rng.standard_normal(B) * 2, rng.standard_normal(B) * 2
sign = np.where(rng.random(B) < 0.5, 1.0, -1.0)

# ---- complex-step pieces ----


def cmax(a, b):
    return np.where(np.real(a) >= np.real(b), a, b)


def cmin(a, b):
    return np.where(np.real(a) <= np.real(b), a, b)


def cclip(a, lo, hi):
    return cmin(cmax(a, lo), hi)


def sg(a):
    return np.real(a).copy()


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def log_sigmoid(a):
    # stable for both signs, and analytic on each
    return np.where(np.real(a) >= 0, -np.log1p(np.exp(-np.abs(np.real(a)) - 1j * np.imag(a))),
                    a - np.log1p(np.exp(np.where(np.real(a) < 0, a, 0))))


def masked_mean(x, m):
    return (x * m).sum() / m.sum()


def per_sequence_mean(x):
    return (x * mask).sum(1) / mask.sum(1)


# ---- advantages ----


def gae(gamma, lam, boot):
    out = np.zeros((B, T))
    for i in range(B):
        nextv, carry = boot[i], 0.0
        for t in reversed(range(T)):
            if not mask[i, t]:
                continue
            delta = r[i, t] + gamma * nextv - v[i, t]
            carry = delta + gamma * lam * carry
            out[i, t] = carry
            nextv = v[i, t]
    return out


def whiten(x, eps=1e-8, shift=True):
    n = mask.sum()
    mu = masked_mean(x, mask)
    var = masked_mean((x - mu) ** 2, mask) * n / (n - 1)
    y = (x - mu) / np.sqrt(var + eps)
    return (y if shift else y + mu) * mask


def group_stat(x, f):
    return np.array([f(x[group == group[i]]) for i in range(B)])


def unbiased(x):
    # of equal values exactly 0, whatever the sum rounds to
    return 0.0 if (x == x[0]).all() else float(np.std(x, ddof=1))


def grpo(eps):
    return (score - group_stat(score, np.mean)) / (group_stat(score, unbiased) + eps)


def rloo():
    out = np.zeros(B)
    for i in range(B):
        others = [score[j] for j in range(B) if group[j] == group[i] and j != i]
        out[i] = score[i] - np.mean(others)
    return out


def returns(gamma):
    out = np.zeros((B, T))
    for i in range(B):
        for t in range(length[i]):
            out[i, t] = sum(gamma ** (s - t) * r[i, s] for s in range(t, length[i]))
    return out


def opo():
    out = np.zeros(B)
    for i in range(B):
        j = group == group[i]
        out[i] = score[i] - (length[j] * score[j]).sum() / length[j].sum()
    return out


def pass_at_k():
    out = np.zeros(B)
    for g in range(GROUPS):
        j = np.where(group == g)[0]
        order = sorted(j, key=lambda k: (-score[k], k))
        out[order[0]] = score[order[0]] - score[order[1]]
    return out


def tile(x):
    return x[:, None] * mask


# ---- losses: each a function of the live column (complex) ----


def ratio(lp, cap=None):
    d = lp - old
    return np.exp(d if cap is None else cclip(d, -cap, cap))


def clip(rho, a, lo=0.2, hi=0.2):
    return cmax(-a * rho, -a * cclip(rho, 1 - lo, 1 + hi))


def dual(rho, a, lo=0.2, hi=0.2, c=3.0):
    x = clip(rho, a, lo, hi)
    return np.where(a < 0, cmin(x, -a * c), x)


def gspo_ratio(lp):
    s = per_sequence_mean(lp - old)
    return np.exp(cmin(lp - sg(lp) + sg(s)[:, None], 10))


def sapo(rho, a):
    tau = np.where(a > 0, 1.0, 1.05)
    return -4 / tau * sigmoid(tau * (rho - 1)) * a


def vclip(x, eps):
    return 0.5 * cmax((x - target) ** 2, (cclip(x, vold - eps, vold + eps) - target) ** 2)


def k3(p, q):
    return np.exp(q - p) + p - q - 1


def k3_cap(p, q):
    d = cclip(q - p, -20, 20)
    return cclip(np.exp(d) - d - 1, -10, 10)


def cabs(x):
    return np.where(np.real(x) > 0, x, np.where(np.real(x) < 0, -x, 0))


def log_odds(p):
    x = cmin(p, -1e-6)
    return x - np.log(1 - np.exp(x))


def pair_cost(worse, better, sign_better):
    """Safe-RLHF's cost model: an order, and a sign for each of the two."""
    return -(log_sigmoid(worse - better) + log_sigmoid(worse) + log_sigmoid(sign_better * better))


def tis(most):
    return np.minimum(np.exp(np.clip(old - sampled, -20, 20)), most)


def icepop(lo, hi):
    w = np.exp(np.clip(old - sampled, -20, 20))
    return np.where((w >= lo) & (w <= hi), w, 0.0)


def k2(p, q):
    return 0.5 * (p - q) ** 2


def overlong(longest, buffer, factor, capped):
    out = np.zeros(B)
    for i in range(B):
        over = length[i] - (longest - buffer)
        x = min(-over / buffer * factor, 0.0)
        out[i] = max(x, -factor) if capped else x
    return out


# ---- writing ----
cases = []


def ragged(x):
    x = np.broadcast_to(np.real(x), (B, T))
    return [[float(x[i, t]) for t in range(length[i])] for i in range(B)]


def flat(x):
    return [float(y) for y in np.broadcast_to(np.real(x), (B,))]


def value(call, x, level):
    out = ragged(x) if level == "token" else flat(x) if level == "sample" else float(np.real(x))
    cases.append({"call": call, "level": level, "value": out})


def step(total, x, positions):
    """d total / dx at each position, by a complex step."""
    g = np.zeros(x.shape)
    for at in positions:
        moved = x.astype(complex)
        moved[at] += 1e-30j
        g[at] = np.imag(total(moved)) / 1e-30
    return g


TOKENS = [(i, t) for i in range(B) for t in range(length[i])]


def loss(call, f, live="logp", form="mean({} over batch)", mean=None):
    """f: per-token loss of the live column; the gradient is that of its mean
    over all tokens, or of `form`, computed by `mean`."""
    x = {"logp": logp, "v": v}[live]
    mean = mean or (lambda y: masked_mean(y, mask))
    value(call, f(x.astype(complex)), "token")
    cases[-1]["loss"] = form.format(call)
    cases[-1]["live"] = live
    cases[-1]["gradient"] = ragged(step(lambda z: mean(f(z)), x, TOKENS))


def scalar_loss(call, f):
    value(call, f(logp.astype(complex)), "scalar")
    cases[-1]["loss"] = call
    cases[-1]["live"] = "logp"
    cases[-1]["gradient"] = ragged(step(f, logp, TOKENS))


def sample_loss(call, f, x, live):
    value(call, f(x.astype(complex)), "sample")
    cases[-1]["loss"] = f"mean({call} over batch)"
    cases[-1]["live"] = live
    cases[-1]["gradient"] = flat(step(lambda z: f(z).mean(), x, [(i,) for i in range(B)]))


value("gae(r, v, gamma: 0.99, lambda: 0.95)", gae(0.99, 0.95, np.zeros(B)), "token")
value("gae(r, v)", gae(1.0, 0.95, np.zeros(B)), "token")
value("gae(r, v, gamma: 0.9, lambda: 0.8, end: end)", gae(0.9, 0.8, end), "token")
value("gae(r, v, gamma: 0.99, lambda: 0.95) + v", gae(0.99, 0.95, np.zeros(B)) + v, "token")
value("whiten(gae(r, v))", whiten(gae(1.0, 0.95, np.zeros(B))), "token")
value("whiten(r)", whiten(r), "token")
value("rescale(r)", whiten(r, shift=False), "token")
for eps in ("1e-4", "1e-6", "1e-9"):
    value(f"grpo(score, eps: {eps})", grpo(float(eps)), "sample")
value("dr_grpo(score)", score - group_stat(score, np.mean), "sample")
value("rloo(score)", rloo(), "sample")
value("opo(score, length)", opo(), "sample")
value("pass_at_k(score)", pass_at_k(), "sample")
value("returns(r, 0.9)", returns(0.9), "token")
value("remax(r, baseline)", (returns(1.0) - baseline[:, None]) * mask, "token")
value("reinforce_pp(r)", whiten(returns(1.0)), "token")
value("reinforce_pp(r, 0.9)", whiten(returns(0.9)), "token")
value("reinforce_pp_baseline(roll, score)",
      whiten(tile(score - group_stat(score, np.mean))), "token")
value("lagrangian(r, v, 0.7)", (r - 0.7 * v) / 1.7, "token")

loss("k1(logp, ref)", lambda p: p - ref)
loss("k2(logp, ref)", lambda p: k2(p, ref))
loss("k3(logp, ref)", lambda p: k3(p, ref))
loss("kabs(logp, ref)", lambda p: cabs(p - ref))
loss("k3_cap(logp, ref)", lambda p: k3_cap(p, ref))
loss("k1_plus(logp, ref)", lambda p: k2(p, ref) - sg(k2(p, ref)) + sg(p - ref))
loss("k3_plus(logp, ref)", lambda p: k2(p, ref) - sg(k2(p, ref)) + sg(k3(p, ref)))

loss("ratio_of(logp, old)", lambda p: ratio(p, 20))
loss("clip(ratio_of(logp, old), adv)", lambda p: clip(ratio(p, 20), adv))
loss("clip(exp(logp - old), adv, low: 0.1, high: 0.3)", lambda p: clip(ratio(p), adv, 0.1, 0.3))
loss("clip(exp(logp - old), adv, high: 0.28)", lambda p: clip(ratio(p), adv, 0.2, 0.28))
loss("dual_clip(ratio_of(logp, old), adv)", lambda p: dual(ratio(p, 20), adv))
loss("clip(gspo(logp, old), adv, low: 0.03, high: 0.04)",
     lambda p: clip(gspo_ratio(p), adv, 0.03, 0.04),
     form="sequence_mean({})", mean=lambda y: per_sequence_mean(y).mean())
loss("cispo(ratio_of(logp, old), adv, logp)",
     lambda p: -sg(cclip(ratio(p, 20), 0.8, 1.2)) * adv * p)
loss("cispo_cap(ratio_of(logp, old), adv, logp)",
     lambda p: -sg(cmin(ratio(p, 20), 5.0)) * adv * p)
loss("sapo(ratio_of(logp, old), adv)", lambda p: sapo(ratio(p, 20), adv))
loss("reinforce(logp, adv)", lambda p: -p * adv)
loss("dro(logp, old, adv)", lambda p: -(p * adv - 0.05 * (p - old) ** 2))
loss("tis(old, sampled) * clip(exp(logp - old), adv)", lambda p: tis(2.0) * clip(ratio(p), adv))
loss("icepop(old, sampled) * clip(exp(logp - old), adv)",
     lambda p: icepop(0.5, 5.0) * clip(ratio(p), adv))
loss("value_clip(v, vold, target, eps: 0.2)", lambda x: vclip(x, 0.2), live="v")
loss("value_error(v, target)", lambda x: 0.5 * (x - target) ** 2, live="v")
value("tis(old, sampled)", tis(2.0), "token")
value("icepop(old, sampled)", icepop(0.5, 5.0), "token")
value("sequence_ratio(logp, old) / 1e9", np.exp(((logp - old) * mask).sum(1)) / 1e9, "sample")

for name, mean in (("token_mean", lambda y: masked_mean(y, mask)),
                   ("sequence_mean", lambda y: per_sequence_mean(y).mean()),
                   ("sequence_sum", lambda y: (y * mask).sum(1).mean())):
    scalar_loss(f"{name}(clip(exp(logp - old), adv))",
                lambda p, mean=mean: mean(clip(ratio(p), adv)))
scalar_loss("token_sum_over(clip(exp(logp - old), adv), 512)",
            lambda p: (clip(ratio(p), adv) * mask).sum(1).mean() / 512)

sample_loss("dpo(margin)", lambda m: -log_sigmoid(0.1 * m), margin, "margin")
sample_loss("dpo(margin, beta: 0.5, smooth: 0.1)",
            lambda m: -0.9 * log_sigmoid(0.5 * m) - 0.1 * log_sigmoid(-0.5 * m), margin, "margin")
sample_loss("ipo(margin)", lambda m: (m - 5.0) ** 2, margin, "margin")
sample_loss("kto(gain, 0.4, good)",
            lambda g: np.where(good > 0, 1 - sigmoid(0.1 * (g - 0.4)), 1 - sigmoid(0.1 * (0.4 - g))),
            gain, "gain")
sample_loss("pair(chosen, rejected, 0.3)", lambda c: -log_sigmoid(c - rejected - 0.3), chosen, "chosen")
sample_loss("simpo(margin)", lambda m: -log_sigmoid(2 * m - 1), margin, "margin")
sample_loss("simpo(margin, beta: 2.5, gamma: 1.4)", lambda m: -log_sigmoid(2.5 * m - 1.4), margin, "margin")
sample_loss("log_odds(likely)", log_odds, likely, "likely")
sample_loss("orpo(likely, unlikely)", lambda c: -log_sigmoid(log_odds(c) - log_odds(unlikely)), likely, "likely")
sample_loss("orpo(likely, unlikely)", lambda r: -log_sigmoid(log_odds(likely) - log_odds(r)), unlikely, "unlikely")
sample_loss("pair_cost(harm, other)", lambda w: pair_cost(w, other, -1.0), harm, "harm")
sample_loss("pair_cost(harm, other, 1, sign)", lambda b: pair_cost(harm, b, sign), other, "other")
value("overlong(length, 6, 3)", overlong(6, 3, 1.0, False), "sample")
value("overlong_cap(length, 6, 3, 0.5)", overlong(6, 3, 0.5, True), "sample")
value("truncated(score, finished, 0.5)", np.where(finished > 0, score, 0.5 * score), "sample")
value("kl_weight(0.1, 9, 6, 256)", 0.1 * (1 + 0.2 * 256 / 10000), "scalar")
value("kl_weight(0.1, 6.3, 6, 256)", 0.1 * (1 + 0.05 * 256 / 10000), "scalar")

def words_loss(call, f):
    """f: per token, of the log-probabilities of its words."""
    value(call, f(words.astype(complex)), "sample")
    cases[-1]["loss"] = f"mean({call} over batch)"
    cases[-1]["live"] = "words"
    cases[-1]["gradient"] = ragged(step(lambda z: f(z).mean(), words, TOKENS))


# values by the logits, whose sums and partition functions the formulas never see
odds = np.exp(logits) * mask / np.exp(log_partition(logits))[:, None]
value("entropy(words)", log_partition(logits) - (odds * logits).sum(1), "sample")
value("kl_full(words, whose)", (odds * (logits - others)).sum(1) - log_partition(logits)
      + log_partition(others), "sample")
value("kl_full(words, words)", np.zeros(B), "sample")
words_loss("entropy(words)", lambda x: -(np.exp(x) * x * mask).sum(1))
words_loss("kl_full(words, whose)", lambda x: (np.exp(x) * (x - whose) * mask).sum(1))
words_loss("kl_full(whose, words)", lambda x: (np.exp(whose) * (whose - x) * mask).sum(1))

tokens = {"words": words, "whose": whose, "r": r, "v": v, "old": old, "logp": logp, "ref": ref, "sampled": sampled, "adv": adv,
          "vold": vold, "target": target}
samples = {"score": score, "baseline": baseline, "finished": finished, "end": end, "length": length,
           "margin": margin, "gain": gain, "good": good, "chosen": chosen, "rejected": rejected,
           "likely": likely, "unlikely": unlikely, "harm": harm, "other": other, "sign": sign}
made = "tests/oracle/formulas.py, Python %s, numpy %s" % (sys.version.split()[0], np.__version__)
lines = [f'"made by": {json.dumps(made)}',
         f'"group": {json.dumps([int(g) for g in group])}',
         f'"lengths": {json.dumps([int(n) for n in length])}']
for key, columns, shape in (("tokens", tokens, ragged), ("samples", samples, flat)):
    rows = ",\n".join(f"  {json.dumps(k)}: {json.dumps(shape(x))}" for k, x in columns.items())
    lines.append(f'"{key}": {{\n{rows}\n }}')
rows = ",\n".join("  " + json.dumps(c) for c in cases)
lines.append(f'"cases": [\n{rows}\n ]')
print("{\n " + ",\n ".join(lines) + "\n}")
