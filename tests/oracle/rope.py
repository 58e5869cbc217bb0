#!/usr/bin/env python3
"""Writes tests/data/rope.json: the frequencies of rotary positions that
transformers 5.23 computes, for tests/unit/model_rope.c.

Each case is a config.json, the longest sequence of a run, and what the
reference makes of both: radians per position and the factor of cosines and
sines; and whether frequencies of a long sequence are others than those of a
short one. Needs torch and transformers; the test needs neither.

    python3 tests/oracle/rope.py >tests/data/rope.json
"""
import json
import sys

sys.path.pop(0)  # this folder's file names would hide packages

import transformers
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

FAMILY = {"llama": transformers.LlamaConfig, "qwen2": transformers.Qwen2Config,
          "qwen3": transformers.Qwen3Config}

BASE = dict(hidden_size=128, num_attention_heads=2, num_key_value_heads=2,
            num_hidden_layers=1, intermediate_size=24, vocab_size=11)

YARN = dict(rope_type="yarn", factor=4.0,
            original_max_position_embeddings=32768)

SHORT = [1 + i / 40 for i in range(32)]
LONG = [1.08 * 1.13 ** i for i in range(32)]
LONGROPE = dict(rope_type="longrope", short_factor=SHORT, long_factor=LONG)

CASES = [
    # family, keys beside BASE, longest sequence
    ("llama", dict(rope_theta=1e4), 100),
    ("llama", dict(rope_scaling=dict(type="linear", factor=2.5)), 100),
    ("llama", dict(rope_theta=5e5, max_position_embeddings=131072,
                   rope_scaling=dict(rope_type="llama3", factor=8.0,
                                     low_freq_factor=1.0, high_freq_factor=4.0,
                                     original_max_position_embeddings=8192)),
     100),
    ("llama", dict(max_position_embeddings=2048,
                   rope_scaling=dict(type="dynamic", factor=2.0)), 2048),
    ("llama", dict(max_position_embeddings=2048,
                   rope_scaling=dict(type="dynamic", factor=2.0)), 2049),
    ("llama", dict(max_position_embeddings=2048,
                   rope_scaling=dict(type="dynamic", factor=4.0)), 8000),
    ("qwen2", dict(rope_theta=1e6, max_position_embeddings=32768,
                   rope_scaling=YARN), 100),
    ("qwen2", dict(rope_theta=1e6, max_position_embeddings=131072,
                   rope_parameters=dict(YARN, rope_theta=1e6)), 100000),
    ("qwen3", dict(rope_theta=1e6, head_dim=64, max_position_embeddings=40960,
                   rope_scaling=dict(YARN, attention_factor=0.75)), 100),
    ("llama", dict(rope_scaling=dict(YARN, mscale=0.707, mscale_all_dim=1.0,
                                     beta_fast=24, beta_slow=2)), 100),
    ("llama", dict(rope_scaling=dict(YARN, factor=1.0)), 100),
    ("llama", dict(rope_parameters=dict(YARN, rope_theta=150000.0, factor=32.0,
                                        truncate=False,
                                        original_max_position_embeddings=4096)
                   ), 100),
    ("llama", dict(rope_parameters=dict(YARN, rope_theta=1e4, factor=8.0,
                                        original_max_position_embeddings=4)),
     100),
    ("llama", dict(max_position_embeddings=131072,
                   rope_scaling=dict(LONGROPE,
                                     original_max_position_embeddings=4096)),
     4096),
    ("llama", dict(max_position_embeddings=131072,
                   original_max_position_embeddings=4096,
                   rope_scaling=LONGROPE), 4097),
    ("llama", dict(max_position_embeddings=131072,
                   rope_scaling=dict(LONGROPE, factor=3.0,
                                     original_max_position_embeddings=8192)),
     100),
    ("llama", dict(max_position_embeddings=131072,
                   rope_scaling=dict(LONGROPE, attention_factor=1.25,
                                     original_max_position_embeddings=8192)),
     9000),
]

MOST = 1000000  # tokens, more than any case has positions

cases = []
for family, keys, longest in CASES:
    members = {**BASE, **keys}
    config = FAMILY[family](**json.loads(json.dumps(members)))
    rope = config.rope_parameters
    kind = rope["rope_type"]
    if kind == "default":
        rope = {**rope, "factor": 1.0}
        config.rope_parameters, kind = rope, "linear"
    frequency, scale = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=longest)
    short, long = (ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=n)[0]
                   for n in (2, MOST))
    cases.append({"config": {"model_type": family, **members},
                  "longest": longest, "scale": float(scale),
                  "by_length": not short.equal(long),
                  "frequency": [float(x) for x in frequency]})
print(json.dumps(cases, indent=0))
