#!/usr/bin/env python3
"""Fixtures for tests/unit/model_parity.c: adapters as the PEFT library has them.

For each of some models of tests/data/models makes a random adapter under
tests/data/adapters/NAME, as save_pretrained writes it, and beside it
expected.safetensors: sequences, and what PyTorch in double precision says of
them and of the adapter's gradients. Needs torch, transformers, peft and
safetensors (made with peft 0.21.2, transformers 5.24.0, torch 2.15.0); the tests
themselves need none of these.

    python3 tests/oracle/peft_lora.py tests/data/models tests/data/adapters
        [NAME...]

With --read a directory that rlflow saved is opened by PEFT on top of a model and
its log-probabilities of a few tokens are printed:

    python3 tests/oracle/peft_lora.py --read MODEL ADAPTER TOKEN...

With --merge it makes merged.safetensors beside each adapter, for
tests/unit/model_merge.c: what merge_and_unload makes of weights in double
precision.

    python3 tests/oracle/peft_lora.py --merge tests/data/models
        tests/data/adapters [NAME...]

With --merged a directory that "rlflow merge" wrote is opened by transformers, and
the largest difference of its log-probabilities, or scores, from those of
merge_and_unload is printed, all in double precision:

    python3 tests/oracle/peft_lora.py --merged MODEL ADAPTER DIRECTORY
"""
import os
import sys

sys.path.pop(0)  # this folder's file names would hide packages

import peft
import torch
import transformers
from safetensors.torch import save_file

ADAPTERS = {
    # name: what LoraConfig is told
    "llama": dict(r=4, lora_alpha=6, target_modules=[
        "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
        "down_proj"]),
    "qwen3": dict(r=3, lora_alpha=8, use_rslora=True,
                  target_modules=["q_proj", "v_proj"]),
    "gpt2": dict(r=2, lora_alpha=4, target_modules="all-linear"),
    "cohere": dict(r=2, lora_alpha=3, target_modules=[
        "q_proj", "k_proj", "self_attn.o_proj"]),
    "phi3": dict(r=2, lora_alpha=1, target_modules=[
        "qkv_proj", "gate_up_proj", "down_proj"]),
    "gpt_neox": dict(r=2, lora_alpha=2,
                     target_modules=["query_key_value", "dense"]),
    "gemma2": dict(r=2, lora_alpha=4, target_modules=["v_proj", "up_proj"]),
    "mistral": dict(r=2, lora_alpha=3, lora_dropout=0.2,
                    target_modules="all-linear"),
    "glm": dict(r=2, lora_alpha=3, lora_dropout=0.35, target_modules=[
        "q_proj", "v_proj", "o_proj", "gate_up_proj", "down_proj"]),
    "critic": dict(r=2, lora_alpha=4, task_type="SEQ_CLS",
                   target_modules=["q_proj", "down_proj"]),
}

# prompt and response lengths, temperature
SEQUENCES = [(3, 4, 1.0), (1, 9, 0.7), (7, 1, 1.0), (12, 8, 1.3)]


# The key by which dropout is drawn, as in tests/unit/model_parity.c.
SEED, PURPOSE, SITE, STEP = 11, 9, 2, 3
# All products of a layer, in the order in which the model computes them.
MODULES = {
    "mistral": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj",
                "down_proj"],
    "glm": ["q_proj", "k_proj", "v_proj", "o_proj", "gate_up_proj",
            "down_proj"],
}
FEW = (1 << 32) - 1
MANY = (1 << 64) - 1


def mix(h):
    """The finalizer of MurmurHash3."""
    h ^= h >> 33
    h = h * 0xff51afd7ed558ccd & MANY
    h ^= h >> 33
    h = h * 0xc4ceb9fe1a85ec53 & MANY
    return h ^ h >> 33


def philox(c, key):
    """Philox4x32-10 (Salmon et al. 2011): four words of a counter."""
    k0, k1 = key & FEW, key >> 32
    c0, c1, c2, c3 = c
    for _ in range(10):
        a, b = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (b >> 32 ^ c1 ^ k0, b & FEW, a >> 32 ^ c3 ^ k1,
                          a & FEW)
        k0, k1 = (k0 + 0x9E3779B9) & FEW, (k1 + 0xBB67AE85) & FEW
    return c0, c1, c2, c3


def token_key(sample, position):
    key = mix(SEED ^ mix((STEP << 32 | SITE) +
                         PURPOSE * 0x9E3779B97F4A7C15 & MANY))
    words = philox((position, 0, sample, 0), key)
    return words[1] << 32 | words[0]


class Dropout(torch.nn.Module):
    """Of the sample at hand, by the words that rlflow draws."""
    sample = 0

    def __init__(self, p, module):
        super().__init__()
        self.p, self.module = p, module

    def forward(self, x):
        kept = torch.zeros(x.shape, dtype=x.dtype)
        for i in range(x.shape[1]):
            key = token_key(Dropout.sample, i)
            for j in range(x.shape[2]):
                word = philox((j // 4, self.module, 0, 0), key)[j % 4]
                kept[:, i, j] = word >= int(self.p * 2 ** 32)
        return x * kept / (1 - self.p)


def put_dropout(model, name, p):
    """In the place of PEFT's own, which draws otherwise."""
    all_of = MODULES[name]
    for path, module in model.named_modules():
        if not hasattr(module, "lora_dropout"):
            continue
        layer = int(path.split(".layers.")[1].split(".")[0])
        number = layer * len(all_of) + all_of.index(path.split(".")[-1]) + 1
        assert module.lora_dropout["default"].p == p
        module.lora_dropout["default"] = Dropout(p, number)


def open_base(path, scalar):
    config = transformers.AutoConfig.from_pretrained(path)
    kind = (transformers.AutoModelForSequenceClassification if scalar
            else transformers.AutoModelForCausalLM)
    return kind.from_pretrained(path, config=config, dtype=torch.float32,
                                attn_implementation="eager").eval()


def name_in_files(name):
    return name.replace(".default", "").replace(".modules_to_save", "")


def rows(model, scalar, tokens, n_prompt):
    """The head's output before each response token, and behind the last."""
    if scalar:
        base = model.base_model.model
        out = base.score(base.model(input_ids=tokens[None])
                         .last_hidden_state[0])
    else:
        out = model(input_ids=tokens[None]).logits[0]
    return out[n_prompt - 1:len(tokens) - 1], out[-1:]


def randomize(model):
    for p in model.parameters():
        if p.requires_grad:
            p.data = 0.3 * torch.randn_like(p)


def make(models, adapters, name):
    scalar = ADAPTERS[name].get("task_type") == "SEQ_CLS"
    torch.manual_seed(sum(name.encode()))
    told = dict(ADAPTERS[name])
    told.setdefault("task_type", "CAUSAL_LM")
    base = open_base(os.path.join(models, name), scalar)
    vocab = base.config.vocab_size
    model = peft.get_peft_model(base, peft.LoraConfig(**told)).eval()
    randomize(model)
    path = os.path.join(adapters, name)
    model.peft_config["default"].base_model_name_or_path = name
    model.save_pretrained(path)
    os.remove(os.path.join(path, "README.md"))

    if "lora_dropout" in told:
        put_dropout(model, name, told["lora_dropout"])
    model.double()
    out = {"lengths": [], "tokens": [], "temperature": [], "logprob": [],
           "entropy": [], "scalar": [], "last": [], "weight": [],
           "entropy_weight": []}
    loss = 0
    for sample, (n_prompt, n_response, temperature) in enumerate(SEQUENCES):
        Dropout.sample = sample
        tokens = torch.randint(3, vocab, (n_prompt + n_response,))
        before, last = rows(model, scalar, tokens, n_prompt)
        a = torch.randn(n_response).double()
        b = torch.randn(n_response).double()
        if scalar:
            loss = loss + (a * before[:, 0]).sum()
            out["scalar"].append(before[:, 0])
            out["last"].append(last[:, 0])
        else:
            logp = torch.log_softmax(before / temperature, -1)
            taken = logp.gather(1, tokens[n_prompt:, None])[:, 0]
            entropy = -(logp.exp() * logp).sum(-1)
            loss = loss + (a * taken).sum() + (b * entropy).sum()
            out["logprob"].append(taken)
            out["entropy"].append(entropy)
        out["lengths"].append(torch.tensor([n_prompt, n_response]))
        out["tokens"].append(tokens)
        out["temperature"].append(torch.tensor([temperature]).double())
        out["weight"].append(a)
        out["entropy_weight"].append(b)
    loss.backward()
    result = {}
    for key, parts in out.items():
        if parts:
            x = torch.cat(parts).detach()
            result[key] = x.int() if x.dtype == torch.int64 else x.double()
    for key, p in model.named_parameters():
        if p.requires_grad:
            result["grad." + name_in_files(key)] = p.grad.float().contiguous()
    save_file(result, os.path.join(path, "expected.safetensors"))


def read(base, adapter, tokens):
    model = peft.PeftModel.from_pretrained(open_base(base, False), adapter)
    ids = torch.tensor(tokens)
    logp = torch.log_softmax(model.double()(input_ids=ids[None]).logits[0], -1)
    for i in range(1, len(tokens)):
        print(f"{logp[i - 1, ids[i]].item():.8f}")


def unload(base, adapter):
    """The merged model in double precision, and whether it scores."""
    told = peft.PeftConfig.from_pretrained(adapter)
    scalar = told.task_type == "SEQ_CLS"
    model = peft.PeftModel.from_pretrained(open_base(base, scalar), adapter)
    return model.double().merge_and_unload().eval(), scalar


def merge(models, adapters, name):
    path = os.path.join(adapters, name)
    base = os.path.join(models, name)
    model, scalar = unload(base, path)
    before = open_base(base, scalar).double().state_dict()
    out = {key: x.clone() for key, x in model.state_dict().items()
           if not torch.equal(x, before[key])}
    save_file(out, os.path.join(path, "merged.safetensors"))


def compare(base, adapter, merged):
    model, scalar = unload(base, adapter)
    mine = open_base(merged, scalar).double()
    torch.manual_seed(1)
    ids = torch.randint(3, model.config.vocab_size, (1, 40))

    def outputs(m):
        if scalar:
            return m.score(m.model(input_ids=ids).last_hidden_state)
        return torch.log_softmax(m(input_ids=ids).logits, -1)
    with torch.no_grad():
        print(f"{(outputs(model) - outputs(mine)).abs().max().item():.3g}")


if __name__ == "__main__":
    if sys.argv[1] == "--read":
        read(sys.argv[2], sys.argv[3], [int(t) for t in sys.argv[4:]])
    elif sys.argv[1] == "--merged":
        compare(*sys.argv[2:])
    elif sys.argv[1] == "--merge":
        for each in sys.argv[4:] or ADAPTERS:
            merge(sys.argv[2], sys.argv[3], each)
    else:
        for each in sys.argv[3:] or ADAPTERS:
            make(sys.argv[1], sys.argv[2], each)
