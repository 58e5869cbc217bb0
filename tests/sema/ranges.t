Ranges of the arguments of a def, and conditions on the number of the step.
+++ models
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
+++ samples
    roll = actor.generate(batch, n: 4, max_new: 8)
    adv = roll.length - mean(roll.length over group)
=== what is no ratio, or not known to be one
+++ models
flow f(batch: prompts[8]) {
+++ samples
    for mini in roll.split(parts: 2) {
        update actor {
            logp = actor.logprob(mini)
            ratio = exp(logp - mini.logprob)
            minimize mean(clip(logp - mini.logprob, adv) over batch)
            minimize mean(clip(adv[mini], ratio) over batch)
            minimize mean(dual_clip(1 + logp - mini.logprob, adv) over batch)
            minimize mean(cispo(logp, adv[mini], logp) over batch)
        }
    }
}
--- warnings
test.rlf:11:32: warning: the argument 'ratio' of 'clip' must be 0 or more, and the run ends where it is not
   11 |             minimize mean(clip(logp - mini.logprob, adv) over batch)
      |                                ^~~~~~~~~~~~~~~~~~~
STDLIB/loss.rlf:28:10: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |          ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: the ratio of two policies is exp(logp - old), or ratio_of(logp, old)
test.rlf:12:32: warning: the argument 'ratio' of 'clip' must be 0 or more, and the run ends where it is not
   12 |             minimize mean(clip(adv[mini], ratio) over batch)
      |                                ^~~~~~~~~
STDLIB/loss.rlf:28:10: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |          ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: the ratio of two policies is exp(logp - old), or ratio_of(logp, old)
test.rlf:13:37: warning: the argument 'ratio' of 'dual_clip' must be 0 or more, and the run ends where it is not
   13 |             minimize mean(dual_clip(1 + logp - mini.logprob, adv) over batch)
      |                                     ^~~~~~~~~~~~~~~~~~~~~~~
STDLIB/loss.rlf:33:15: note: it is declared here
   33 | def dual_clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |               ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: the ratio of two policies is exp(logp - old), or ratio_of(logp, old)
test.rlf:14:33: warning: the argument 'ratio' of 'cispo' must be 0 or more, and the run ends where it is not
   14 |             minimize mean(cispo(logp, adv[mini], logp) over batch)
      |                                 ^~~~
STDLIB/loss.rlf:39:11: note: it is declared here
   39 | def cispo(ratio: prompt..token in 0.., adv: prompt..token, logp: prompt..token,
      |           ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: the ratio of two policies is exp(logp - old), or ratio_of(logp, old)
=== ratios in any form
+++ models
flow f(batch: prompts[8]) {
+++ samples
    update actor {
        logp = actor.logprob(roll)
        old = roll.logprob
        d = logp - old
        a = clip(exp(logp) / exp(old), adv) + clip(ratio_of(logp, old), adv) + clip(exp(d)^2, adv)
        b = clip(sequence_ratio(logp, old), adv) + clip(gspo(logp, old), adv)
        c = clip(roll.length > 1 ? exp(d) : 1, adv) + clip(clamp(1 + d, 0, 2), adv)
        e = clip(exp(mean(d over tokens)), adv) + clip(mean(exp(d) over tokens), adv)
        g = clip(exp(d), adv, high: 0.3) + dual_clip(abs(d) + 1, adv) + clip(max(0, 1 + d), adv)
        minimize mean(a + b + c + e + g over batch)
    }
}
--- warnings
compiles
=== ranges without an upper end
def most(x in 1..) = x
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) {
    report a = most(1) + most(1e300) + most(0.5)
    report b = most(1 - step)
}
--- errors
test.rlf:4:45: error: the argument 'x' of 'most' must be 1 or more
    4 |     report a = most(1) + most(1e300) + most(0.5)
      |                                             ^~~
test.rlf:1:10: note: it is declared here
    1 | def most(x in 1..) = x
      |          ^~~~~~~~
test.rlf:5:21: error: the argument 'x' of 'most' must be 1 or more
    5 |     report b = most(1 - step)
      |                     ^~~~~~~~
test.rlf:1:10: note: it is declared here
    1 | def most(x in 1..) = x
      |          ^~~~~~~~
=== ... that are declared wrongly
def least(x = 0.5 in 1..) = x
def named(m: model in 0..) = 1
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) { report c = least(2) }
--- errors
test.rlf:1:15: error: the default of 'x' must be 1 or more
    1 | def least(x = 0.5 in 1..) = x
      |               ^~~
test.rlf:2:23: error: an argument that takes a model has no range of numbers
    2 | def named(m: model in 0..) = 1
      |                       ^
=== what is never so of the number of a step
+++ models
state last = 0
flow f(batch: prompts[8]) {
+++ samples
    if step == 1.5 { report a = last }
    if step % 5 == 7 { report b = last }
    if 2 * step == 7 { report c = last }
    if step % 10 != 10 { report d = last }
    every 30 steps {
        if step == 31 { report e = last }
        if step == 34 { report g = last }
        if step % 10 == 0 { report h = last }
        every 4 steps { if step == 30 { report i = last } }
    }
    report j = step % 4 == 5 ? last : 1
    update actor {
        if step < 1 { minimize mean(actor.logprob(roll) over batch) }
        minimize -mean(adv * actor.logprob(roll) over batch)
    }
    last := mean(adv over batch)
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:8:8: warning: this condition holds in no step
    8 |     if step == 1.5 { report a = last }
      |        ^~~~~~~~~~~
hint: 'step' is a whole number: 1, 2, 3, ...
test.rlf:9:8: warning: this condition holds in no step
    9 |     if step % 5 == 7 { report b = last }
      |        ^~~~~~~~~~~~~
hint: 'step' is a whole number: 1, 2, 3, ...
test.rlf:10:8: warning: this condition holds in no step
   10 |     if 2 * step == 7 { report c = last }
      |        ^~~~~~~~~~~~~
hint: 'step' is a whole number: 1, 2, 3, ...
test.rlf:11:8: warning: this condition holds in every step
   11 |     if step % 10 != 10 { report d = last }
      |        ^~~~~~~~~~~~~~~
hint: 'step' is a whole number: 1, 2, 3, ...
test.rlf:13:12: warning: this condition holds in no step
   13 |         if step == 31 { report e = last }
      |            ^~~~~~~~~~
hint: in this block 'step' is a multiple of 30
test.rlf:14:12: warning: this condition holds in no step
   14 |         if step == 34 { report g = last }
      |            ^~~~~~~~~~
hint: in this block 'step' is a multiple of 30
test.rlf:15:12: warning: this condition holds in every step
   15 |         if step % 10 == 0 { report h = last }
      |            ^~~~~~~~~~~~~~
hint: in this block 'step' is a multiple of 30
test.rlf:16:28: warning: this condition holds in no step
   16 |         every 4 steps { if step == 30 { report i = last } }
      |                            ^~~~~~~~~~
hint: in this block 'step' is a multiple of 60
test.rlf:18:16: warning: this condition holds in no step
   18 |     report j = step % 4 == 5 ? last : 1
      |                ^~~~~~~~~~~~~
hint: 'step' is a whole number: 1, 2, 3, ...
test.rlf:20:12: warning: this condition holds in no step
   20 |         if step < 1 { minimize mean(actor.logprob(roll) over batch) }
      |            ^~~~~~~~
hint: the first step is step 1
=== what is so of some
+++ models
state last = 0
flow f(batch: prompts[8]) {
+++ samples
    if step % 5 == 4 { report a = last }
    if step / 2 == 1.5 { report b = last }
    if 2 * step == 8 { report c = last }
    if 3 - step == -3 { report d = last }
    every 30 steps {
        if step == 60 { report e = last }
        if step % 7 == 1 { report g = last }
        if step - 30 > 0 { report h = last }
        every 4 steps { if step == 120 { report i = last } }
    }
    if (step - 1) % 30 == 0 { report j = last }
    if step % 2.5 == 0.5 { report k = last }
    last := mean(adv over batch)
    update actor minimize -mean(adv * actor.logprob(roll) over batch)
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
=== what depends on the run is an item that looks at it
+++ models
state last = 0.1
def part(x in 0..1) = x
def twice(x in 0..1) = part(x) + part(x)
flow f(batch: prompts[8]) {
+++ samples
    last := mean(adv over batch)
    report a = twice(last), b = part(0.5), c = part(sigmoid(last)), d = last > 1 ? part(1 / last) : 0
    report e = mean(part(batch.grade) over batch)
    update actor minimize -mean(part(adv) * actor.logprob(roll) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
state last = number {0.1}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = actor.generate(%0 batch) {set: %0 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 length : roll = length(%1 roll) by sample
    %3 adv : roll = expr(%2 length) by group
    %4 it : scalar = expr(%3 adv) by batch
    last.set_state(%4 it) {value: %4 it} by batch
    %5 last : scalar = last.state() by batch, looking
    within(%5 last) {value: %5 last} by batch, looking
    %6 last : scalar = last.state() by batch, looking
    %7 last : scalar = last.state() by batch, looking
    %8 last : scalar = last.state() by batch, looking
    %9 it : scalar = expr(%7 last, %8 last) by batch, looking
    within(%9 it) {value: %9 it} by batch, looking
    %10 it : scalar, %11 it : scalar, %12 it : scalar = expr(%5 last, %6 last, %7 last, %8 last) by batch, looking
    report(%10 it, %11 it, %12 it) {a: %10 it, b: 0.5, c: %11 it, d: %12 it} by batch, looking
    %13 grade : batch = prompts.number(%0 batch) {name: "grade"} by sample, looking
    %14 it : scalar = expr(%13 grade) by batch, looking
    within(%14 it) {value: %14 it} by batch, looking
    %15 it : scalar = expr(%13 grade) by batch, looking
    within(%15 it) {value: %15 it} by batch, looking
    %16 it : scalar = expr(%13 grade) by batch, looking
    report(%16 it) {e: %16 it} by batch, looking
    %17 it : scalar = expr(%3 adv) by batch, looking
    within(%17 it) {value: %17 it} by batch, looking
    %18 it : scalar = expr(%3 adv) by batch, looking
    within(%18 it) {value: %18 it} by batch, looking
    actor.update(%1 roll, %3 adv) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
=== more pieces than prompts
+++ models
param pieces : int = 3
flow f(batch: prompts[2], all: prompts[64]) {
+++ samples
    for mini in roll.split(parts: 4) { report a = mean(mini.length over batch) }
    for mini in roll.split(parts: pieces), part in batch.split(parts: pieces) { report b = mean(mini.length over batch) }
    for mini in roll.split(parts: 2) { report c = mean(mini.length over batch) }
    for mini in all.split(parts: 64) { report d = mean(mini.grade over batch) }
    update actor minimize -mean(adv * actor.logprob(roll) over batch)
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:8:35: warning: 2 of these 4 pieces are empty: 'roll' has 2 prompts
    8 |     for mini in roll.split(parts: 4) { report a = mean(mini.length over batch) }
      |                                   ^
hint: the samples of a prompt stay together
test.rlf:9:35: warning: 1 of these 3 pieces is empty: 'roll' has 2 prompts
    9 |     for mini in roll.split(parts: pieces), part in batch.split(parts: pieces) { report b = mean(mini...
      |                                   ^~~~~~
hint: the samples of a prompt stay together
test.rlf:9:44: warning: 'part' is split off and never used
    9 |     for mini in roll.split(parts: pieces), part in batch.split(parts: pieces) { report b = mean(mini...
      |                                            ^~~~
hint: take it out, or use it
test.rlf:9:71: warning: 1 of these 3 pieces is empty: 'batch' has 2 prompts
    9 | ...ni in roll.split(parts: pieces), part in batch.split(parts: pieces) { report b = mean(mini.length ov...
      |                                                                ^~~~~~
hint: the samples of a prompt stay together
=== one piece, or fewer prompts than a piece is to have
+++ models
param pieces : int = 1
param mini : int = 65
flow f(batch: prompts[64]) {
+++ samples
    for a in roll.split(parts: 1) { report a = mean(a.length over batch) }
    for b in roll.split(parts: 1), c in batch.split(parts: 1, epochs: 1) { report b = mean(b.length over batch) + count(c.answer over batch) }
    for d in roll.split(parts: pieces) { report d = mean(d.length over batch) }
    for e in roll.split(parts: 1, epochs: 2) { report e = mean(e.length over batch) }
    for g in roll.split(parts: 1, epochs: pieces) { report g = mean(g.length over batch) }
    for h in roll.split(parts: 1) { if step > 3 { break if step > 4 }
        report h = mean(h.length over batch) }
    for i in roll.split(size: 65) { report i = mean(i.length over batch) }
    for j in roll.split(size: mini, epochs: 2) { report j = mean(j.length over batch) }
    for k in roll.split(size: 64) { report k = mean(k.length over batch) }
    for l in roll.where(roll.length > 2).split(size: 65) { report l = mean(l.length over batch) }
    update actor minimize -mean(adv * actor.logprob(roll) over batch)
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:9:32: warning: this loop has one piece, all of 'roll'
    9 |     for a in roll.split(parts: 1) { report a = mean(a.length over batch) }
      |                                ^
hint: leave the loop out, or give it more parts: or epochs:
test.rlf:10:32: warning: this loop has one piece, all of 'roll'
   10 |     for b in roll.split(parts: 1), c in batch.split(parts: 1, epochs: 1) { report b = mean(b.length ...
      |                                ^
hint: leave the loop out, or give it more parts: or epochs:
test.rlf:16:31: warning: 'roll' has 64 prompts: this is one piece, all of it
   16 |     for i in roll.split(size: 65) { report i = mean(i.length over batch) }
      |                               ^~
hint: 'size:' counts the prompts of a piece
test.rlf:17:31: warning: 'roll' has 64 prompts: this is one piece, all of it
   17 |     for j in roll.split(size: mini, epochs: 2) { report j = mean(j.length over batch) }
      |                               ^~~~
hint: 'size:' counts the prompts of a piece
test.rlf:19:54: warning: 'where(...)' has 64 prompts: this is one piece, all of it
   19 |     for l in roll.where(roll.length > 2).split(size: 65) { report l = mean(l.length over batch) }
      |                                                      ^~
hint: 'size:' counts the prompts of a piece
=== texts that end nothing, because others do
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m")
flow f(batch: prompts[64]) {
    a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
    b = actor.generate(batch, max_new: 8, stop: ["Q", "A"])
    c = actor.generate(batch, max_new: 8, stop: "Q")
    report a = mean(a.length + b.length + c.length over batch)
}
--- warnings
test.rlf:4:56: warning: this text has no effect: another one is in it, and ends the response no later
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                        ^~~~~
test.rlf:4:85: note: this one
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                                                     ^~~~
test.rlf:4:63: warning: this text has no effect: another one is in it, and ends the response no later
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                               ^~~~~~
test.rlf:4:50: note: this one
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                  ^~~~
test.rlf:4:71: warning: this text is given twice
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                                       ^~~~~
test.rlf:4:56: note: this one
    4 |     a = actor.generate(batch, max_new: 8, stop: ["\n", "###", "\n\n", "###", "Q: ", "##"])
      |                                                        ^~~~~
=== pieces that no collect fills
+++ models
hook good = lua("g.lua")
flow f(batch: prompts[8]) {
    collect batch (rounds: 3) {
        roll = actor.generate(batch, n: 2, max_new: 4)
        right = good(roll)
        keep std(right over group) > 0
    }
    for a in roll.split(size: 9) { report a = mean(a.length over batch) }
    for b in roll.split(size: 8) { report b = mean(b.length over batch) }
    for c in roll.split(parts: 9) { report c = mean(c.length over batch) }
    update actor minimize -mean(actor.logprob(roll) over batch)
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:11:31: warning: 'roll' has 8 prompts: this is one piece, all of it
   11 |     for a in roll.split(size: 9) { report a = mean(a.length over batch) }
      |                               ^
hint: 'size:' counts the prompts of a piece
test.rlf:13:32: warning: 1 of these 9 pieces is empty: 'roll' has 8 prompts
   13 |     for c in roll.split(parts: 9) { report c = mean(c.length over batch) }
      |                                ^
hint: the samples of a prompt stay together
