Whole programs and one of every construct.
=== proximal policy optimization, whole
## Proximal policy optimization with a learned critic (Ouyang et al. 2022; Schulman et al. 2017).
import "std/advantage"                 # gae, whiten, grpo, rloo ...
import "std/loss"                      # clip, value_clip, k1, k3, entropy ...
param model_dir : path  = "models/arith"      "policy to start from, a Hugging Face directory"
param beta      : float = 0.02 in 0..1        "weight of the KL penalty"
param lr        : float = 1e-5                "actor's learning rate"
data  prompts = jsonl("data/arith.jsonl", prompt: "question", answer: "answer", skip: 500)
data  test    = jsonl("data/arith.jsonl", prompt: "question", answer: "answer", first: 500)
model actor   = lm(model_dir, optimizer: adamw(lr: lr * min(1, step / 10), clip: 1.0))
model critic  = lm(model_dir, head: scalar, optimizer: adamw(lr: 2 * lr, clip: 1.0))
model ref     = copy(actor)                   # has no optimizer, so it never trains
hook  judge   = lua("rewards/arith.lua")
flow ppo(batch: prompts[64]) {
    roll  = actor.generate(batch, max_new: 16)
    score = judge(roll)
    kl    = k1(roll.logprob, ref.logprob(roll))
    v     = critic.value(roll)
    a     = gae(roll.at_last(score) - beta * kl, v, gamma: 1.0, lambda: 0.95)
    adv   = whiten(a)
    for mini in roll.split(size: 16, epochs: 4) {
        update actor {
            ratio = exp(actor.logprob(mini) - mini.logprob)
            report clipped = mean(abs(ratio - 1) > 0.2 over batch)
            minimize mean(clip(ratio, adv, low: 0.2, high: 0.2) over batch)
        }
        update critic minimize mean(value_clip(critic.value(mini), v, a + v, eps: 0.2) over batch)
    }
    report reward = mean(score over batch), kl = mean(kl over batch), length = mean(roll.length over batch)
    every 20 steps {
        report accuracy = mean(judge(actor.generate(test, max_new: 16, greedy: true)) over batch)
        checkpoint
    }
}
--- ast
## "Proximal policy optimization with a learned critic (Ouyang et al. 2022; Schulman et al. 2017)."
(import "std/advantage")
(import "std/loss")
(param model_dir : path "models/arith" help: "policy to start from, a Hugging Face directory")
(param beta : float 0.02 in: 0 to: 1 help: "weight of the KL penalty")
(param lr : float 1e-05 help: "actor's learning rate")
(data prompts (call jsonl "data/arith.jsonl" prompt: "question" answer: "answer" skip: 500))
(data test (call jsonl "data/arith.jsonl" prompt: "question" answer: "answer" first: 500))
(model actor (call lm model_dir optimizer: (call adamw lr: (* lr (call min 1 (/ step 10))) clip: 1)))
(model critic (call lm model_dir head: scalar optimizer: (call adamw lr: (* 2 lr) clip: 1)))
(model ref (call copy actor))
(hook judge (call lua "rewards/arith.lua"))
(flow ppo (batch (at prompts 64))
  (do
    (let roll (call (. actor generate) batch max_new: 16))
    (let score (call judge roll))
    (let kl (call k1 (. roll logprob) (call (. ref logprob) roll)))
    (let v (call (. critic value) roll))
    (let a (call gae (- (call (. roll at_last) score) (* beta kl)) v gamma: 1 lambda: 0.95))
    (let adv (call whiten a))
    (for (mini (call (. roll split) size: 16 epochs: 4))
      (do
        (update actor
          (do
            (let ratio (call exp (- (call (. actor logprob) mini) (. mini logprob))))
            (report (clipped (call mean (over (> (call abs (- ratio 1)) 0.2) batch))))
            (minimize (call mean (over (call clip ratio adv low: 0.2 high: 0.2) batch)))))
        (update critic
          (do
            (minimize (call mean (over (call value_clip (call (. critic value) mini) v (+ a v) eps: 0.2) batch)))))))
    (report (reward (call mean (over score batch))) (kl (call mean (over kl batch))) (length (call mean (over (. roll length) batch))))
    (every 20
      (do
        (report (accuracy (call mean (over (call judge (call (. actor generate) test max_new: 16 greedy: true)) batch))))
        (checkpoint)))))
=== group relative policy optimization

data prompts = jsonl("math.jsonl", prompt: "question", answer: "answer")
model actor = lm("models/m", optimizer: adamw(lr: 1e-6))
model ref = copy(actor)
hook judge = lua("judge.lua")
flow grpo(batch: prompts[128]) {
    roll = actor.generate(batch, n: 8, max_new: 512)
    score = judge(roll)
    base = ref.logprob(roll)
    adv = (score - mean(score over group)) / (std(score over group) + 1e-6)
    for mini in roll.split(parts: 4) {
        update actor {
            logp = actor.logprob(mini)
            loss = clip(exp(logp - mini.logprob), adv) + beta * k3(logp, base)
            minimize mean(mean(loss over tokens) over batch)    # Dr. GRPO: mean(sum(loss over tokens) over batch) / longest
        }                                                       # DAPO: mean(loss over batch)
    }
}
--- ast
(data prompts (call jsonl "math.jsonl" prompt: "question" answer: "answer"))
(model actor (call lm "models/m" optimizer: (call adamw lr: 1e-06)))
(model ref (call copy actor))
(hook judge (call lua "judge.lua"))
(flow grpo (batch (at prompts 128))
  (do
    (let roll (call (. actor generate) batch n: 8 max_new: 512))
    (let score (call judge roll))
    (let base (call (. ref logprob) roll))
    (let adv (/ (- score (call mean (over score group))) (+ (call std (over score group)) 1e-06)))
    (for (mini (call (. roll split) parts: 4))
      (do
        (update actor
          (do
            (let logp (call (. actor logprob) mini))
            (let loss (+ (call clip (call exp (- logp (. mini logprob))) adv) (* beta (call k3 logp base))))
            (minimize (call mean (over (call mean (over loss tokens)) batch)))))))))
=== groups that teach nothing are drawn anew

flow dapo(batch: prompts[128]) {
    collect batch (rounds: 10) {
        roll  = actor.generate(batch, n: 16, max_new: longest)
        right = judge(roll)
        keep std(right over group) > 0
    }
    score = right + clamp((longest - buffer - roll.length) / buffer, -1, 0)
    ratio = exp(logp - sg(logp) + sg(mean(logp - mini.logprob over tokens)))      # GSPO, token form
    adv = discount(roll.at_last(score) - beta * kl, 1.0) - judge(actor.generate(batch, max_new: 512, greedy: true))
}
--- ast
(flow dapo (batch (at prompts 128))
  (do
    (collect batch rounds: 10
      (do
        (let roll (call (. actor generate) batch n: 16 max_new: longest))
        (let right (call judge roll))
        (keep (> (call std (over right group)) 0))))
    (let score (+ right (call clamp (/ (- (- longest buffer) (. roll length)) buffer) (neg 1) 0)))
    (let ratio (call exp (+ (- logp (call sg logp)) (call sg (call mean (over (- logp (. mini logprob)) tokens))))))
    (let adv (- (call discount (- (call (. roll at_last) score) (* beta kl)) 1) (call judge (call (. actor generate) batch max_new: 512 greedy: true))))))
=== direct preference optimization

data pairs = jsonl("hh.jsonl", prompt: "prompt", chosen: "chosen", rejected: "rejected")
def  logp(m: model, s: set)   = sum(m.logprob(s) over tokens)
def  margin(m: model, p: set) = logp(m, respond(p.chosen)) - logp(m, respond(p.rejected))
flow dpo(batch: pairs[32]) {
    base = margin(ref, batch)
    update policy minimize mean(-log_sigmoid(beta * (margin(policy, batch) - base)) over batch)
}
--- ast
(data pairs (call jsonl "hh.jsonl" prompt: "prompt" chosen: "chosen" rejected: "rejected"))
(def logp (m model) (s set)
  (do
    (return (call sum (over (call (. m logprob) s) tokens)))))
(def margin (m model) (p set)
  (do
    (return (- (call logp m (call respond (. p chosen))) (call logp m (call respond (. p rejected)))))))
(flow dpo (batch (at pairs 32))
  (do
    (let base (call margin ref batch))
    (update policy
      (do
        (minimize (call mean (over (neg (call log_sigmoid (* beta (- (call margin policy batch) base)))) batch)))))))
=== states, two loops side by side, a line that starts with an operator

state lambda = 1.0
state rate : prompts = 0.5      # curriculum
flow safe(batch: prompts[128, weight: rate * (1 - rate) + 0.02], pages: text[64]) {
    adv = (adv_r - lambda * adv_c) / (1 + lambda)
    lambda := clamp(lambda * exp(0.1 * (mean(cost over batch) - limit)), 0.01, 5)
    for mini in roll.split(parts: 8), page in respond(pages.text).split(parts: 8) {
        update actor minimize mean(clip(exp(actor.logprob(mini) - mini.logprob), adv) over batch)
                              - 27.8 * mean(actor.logprob(page) over batch)
    }
    best = roll.where(score > 0 and rank(score over group) == 0)
    minimize mean(sum(exp(p) * (p - teacher.logprobs(roll)) over vocab) over batch)
    roll = actor.generate(batch, n: 8, max_new: 1024, ahead: 1)
    rate := 0.8 * rate + 0.2 * mean(score over group)
    avg := 0.99 * avg + 0.01 * actor
}
--- ast
(state lambda 1)
(state rate : prompts 0.5)
(flow safe (batch (at prompts 128 weight: (+ (* rate (- 1 rate)) 0.02))) (pages (at text 64))
  (do
    (let adv (/ (- adv_r (* lambda adv_c)) (+ 1 lambda)))
    (set lambda (call clamp (* lambda (call exp (* 0.1 (- (call mean (over cost batch)) limit)))) 0.01 5))
    (for (mini (call (. roll split) parts: 8)) (page (call (. (call respond (. pages text)) split) parts: 8))
      (do
        (update actor
          (do
            (minimize (- (call mean (over (call clip (call exp (- (call (. actor logprob) mini) (. mini logprob))) adv) batch)) (* 27.8 (call mean (over (call (. actor logprob) page) batch)))))))))
    (let best (call (. roll where) (and (> score 0) (== (call rank (over score group)) 0))))
    (minimize (call mean (over (call sum (over (* (call exp p) (- p (call (. teacher logprobs) roll))) vocab)) batch)))
    (let roll (call (. actor generate) batch n: 8 max_new: 1024 ahead: 1))
    (set rate (+ (* 0.8 rate) (* 0.2 (call mean (over score group)))))
    (set avg (+ (* 0.99 avg) (* 0.01 actor)))))
=== a library file

## Advantages.

## Generalized advantage estimation (Schulman et al. 2016, eq. 16);
## `end` is the value after a truncated response.
def gae(r: token, v: token, gamma = 1.0, lambda = 0.95, end: sample = 0) =
    discount(r + gamma * next(v, end) - v, gamma * lambda)
# a remark
def clip(ratio, adv, low = 0.2, high = 0.2) = max(-adv * ratio, -adv * clamp(ratio, 1 - low, 1 + high))
def steps(x) {
    y = x + 1
    return y^2
}
--- ast
## "Advantages."
(def gae ## "Generalized advantage estimation (Schulman et al. 2016, eq. 16);\n`end` is the value after a truncated response." (r token) (v token) (gamma - 1) (lambda - 0.95) (end sample 0)
  (do
    (return (call discount (- (+ r (* gamma (call next v end))) v) (* gamma lambda)))))
(def clip (ratio -) (adv -) (low - 0.2) (high - 0.2)
  (do
    (return (call max (* (neg adv) ratio) (* (neg adv) (call clamp ratio (- 1 low) (+ 1 high)))))))
(def steps (x -)
  (do
    (let y (+ x 1))
    (return (^ y 2))))
=== hooks and their results

hook a = lua("a.lua", per: group, instructions: 10M, memory: 64MB, time: 60s, on_error: -1)
hook b = lua("b.lua") -> (correct, format: sample, state)
hook c = lua("c.lua") -> token
hook d = lua("d.lua") -> state
--- ast
(hook a (call lua "a.lua" per: group instructions: 10000000 memory: 67108864B time: 60s on_error: (neg 1)))
(hook b (call lua "b.lua") (correct -) (format sample) (state -))
(hook c : token (call lua "c.lua"))
(hook d : state (call lua "d.lua"))
=== placement

place {
    actor.update   on 0..7  (tp: 4, pp: 2)
    actor.generate on 0..15 (tp: 2)    # a remark

    ref            on 8..11, 14, 15
}
place flatten
--- ast
(place
  (actor.update on 0..7 tp: 4 pp: 2)
  (actor.generate on 0..15 tp: 2)
  (ref on 8..11 14 15))
(place flatten)
=== params

param a : int = 8 in 2..64 "help \u{e9} \"quoted\""
param b : text = "adam" in ["adam", "sgd"]
param c : bool
param d : float = -1.5e-3 in -1..1_000
param e : path
--- ast
(param a : int 8 in: 2 to: 64 help: "help é \"quoted\"")
(param b : text "adam" in: (list "adam" "sgd"))
(param c : bool)
(param d : float (neg 0.0015) in: (neg 1) to: 1000)
(param e : path)
=== if, else if, break, semicolons

flow f() {
    if step < 3 and not a or b != c { x = 1; y = 2 } else if z { checkpoint } else { break if q }
    t = a ? b : c ? d : e
    u = -a ^ -b * c % d
    v = not not a
    w = ((a))[b].import(in: 3, for: [1, 2,],)
    report update = 1, keep = 2
}
--- ast
(flow f
  (do
    (if (or (and (< step 3) (not a)) (!= b c))
      (do
        (let x 1)
        (let y 2))
      (else
        (if z
          (do
            (checkpoint))
          (else
            (break q)))))
    (let t (? a b (? c d e)))
    (let u (% (* (neg (^ a (neg b))) c) d))
    (let v (not (not a)))
    (let w (call (. (at a b) import) in: 3 for: (list 1 2)))
    (report (update 1) (keep 2))))
