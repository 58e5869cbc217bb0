#!/usr/bin/env python3
"""The preference losses of formulas.json beside TRL's own code.

Prints for each loss that TRL implements the largest difference of its value and of
its gradient between TRL, on the same numbers, and formulas.json, relative to the
largest of them; ends with status 1 if one is above 2e-6 (TRL computes ORPO in 32
bits, all else here in 64). Writes nothing:

    python3 -m venv VENV && VENV/bin/pip install torch==2.15.0 trl==1.16.0
    VENV/bin/python tests/oracle/trl_losses.py

The losses are methods of trainers. They are called as they stand, on an object that
has the settings they read, with a model that returns given log-probabilities: of one
token a response, so that sums and means over tokens are the same.
"""
import json
import os
import sys
from types import SimpleNamespace
from unittest.mock import MagicMock

import torch
import trl
from trl.experimental.cpo import CPOTrainer
from trl.experimental.orpo import ORPOTrainer
from trl.trainer.dpo_trainer import DPOTrainer
from trl.trainer.kto_trainer import KTOTrainer

FORMULAS = json.load(open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "formulas.json")))
worst = 0.0


def column(name):
    return torch.tensor(FORMULAS["samples"][name], dtype=torch.float64)


def outputs(logp):
    """What a model gives for one response token, behind a prompt of one."""
    zero = torch.zeros(len(logp), 1, dtype=torch.float64)
    return SimpleNamespace(log_probs=logp[:, None], entropy=zero, mean_logits=zero,
                           is_top1=zero.bool(), logits=zero)


def inputs(n):
    mask = torch.tensor([[0, 1]] * n)
    return {"input_ids": mask, "attention_mask": torch.ones_like(mask), "completion_mask": mask}


def trainer(**settings):
    t = MagicMock()
    t.accelerator.gather_for_metrics = t.accelerator.gather = lambda x: x
    t.accelerator.device = "cpu"
    t.precompute_ref_logps, t.aux_loss_enabled = True, False
    t._total_train_tokens, t._tp_size, t.use_weighting, t.ld_alpha = 0, 1, False, None
    for name, setting in settings.items():
        setattr(t, name, setting)
    return t


def dpo(margin, **settings):
    zero = torch.zeros_like(margin)
    t = trainer(f_divergence_type="reverse_kl", loss_weights=[1.0], **settings)
    batch = inputs(2 * len(margin)) | {"ref_chosen_logps": zero, "ref_rejected_logps": zero}
    return DPOTrainer._compute_loss(t, lambda **_: outputs(torch.cat([margin, zero])), batch, False)


def kto(gain):
    t = trainer(loss_type="kto", beta=0.1, desirable_weight=1.0, undesirable_weight=1.0, calculate_KL=True)
    t._compute_kl_logps = lambda *_: torch.full_like(gain, 0.4)
    zero = torch.zeros_like(gain)
    batch = inputs(len(gain)) | {"label": column("good").bool(), "ref_logps": zero, "ref_KL_logps": zero}
    return KTOTrainer._compute_loss(t, lambda **_: outputs(gain), batch, False)


def orpo(chosen, rejected):
    return -ORPOTrainer.odds_ratio_loss(trainer(beta=1.0), chosen, rejected)[0].mean()


def simpo(margin, beta, gamma):
    t = trainer(alpha=0.0, loss_type="simpo", beta=beta, simpo_gamma=gamma, label_smoothing=0.0)
    return CPOTrainer.cpo_loss(t, margin, torch.zeros_like(margin))[0].mean()


def beside(call, live, loss, but=()):
    """`but`: rows that are left out of both."""
    global worst
    case = next(c for c in FORMULAS["cases"] if c["call"] == call and c.get("live") == live)
    rows = [i for i in range(len(case["value"])) if i not in but]
    n = len(case["value"])
    x = column(live)[rows].requires_grad_()
    y = loss(x, rows)
    y.backward()
    value = torch.tensor(case["value"], dtype=torch.float64)[rows].mean()
    gradient = torch.tensor(case["gradient"], dtype=torch.float64)[rows] * n / len(rows)
    off = float((y.detach() - value).abs() / value.abs())
    slope = float((x.grad - gradient).abs().max() / gradient.abs().max())
    worst = max(worst, off, slope)
    print(f"{call:40} by {live:9} value {off:.1e}, gradient {slope:.1e}")


beside("dpo(margin)", "margin", lambda m, _: dpo(m, loss_types=["sigmoid"], beta=0.1))
beside("ipo(margin)", "margin", lambda m, _: dpo(m, loss_types=["ipo"], beta=0.1))
beside("kto(gain, 0.4, good)", "gain", lambda g, _: kto(g))
beside("simpo(margin)", "margin", lambda m, _: simpo(m, 2.0, 1.0))
beside("simpo(margin, beta: 2.5, gamma: 1.4)", "margin", lambda m, _: simpo(m, 2.5, 1.4))
# row 4 is all but certain: p counts as 1 - 1e-6 there, and 32 bits cannot say it
beside("orpo(likely, unlikely)", "likely", lambda c, i: orpo(c, column("unlikely")[i]), but=[4])
beside("orpo(likely, unlikely)", "unlikely", lambda r, i: orpo(column("likely")[i], r), but=[4])
print(f"TRL {trl.__version__}, torch {torch.__version__}: at most {worst:.1e}")
sys.exit(worst > 2e-6)
