Updates: liveness and what they hold; other statements.
=== a loss needs something live
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    logp = actor.logprob(roll)
    update actor minimize mean(logp over batch)
    update actor minimize mean(sg(actor.logprob(roll)) over batch)
    update actor minimize mean(critic.value(roll) over batch)
    update actor minimize mean(actor.logprob(roll) > 0 over batch)
    update actor minimize mean(actor.logprob(roll) over batch)
}
--- errors
test.rlf:14:27: error: nothing in this loss is live: it does not change with 'actor'
   14 |     update actor minimize mean(logp over batch)
      |                           ^~~~~~~~~~~~~~~~~~~~~
hint: call actor.logprob(...) in the update; what was named before is a constant
test.rlf:15:32: error: 'actor' changes this loss only through what has no derivative
   15 |     update actor minimize mean(sg(actor.logprob(roll)) over batch)
      |                                ^~~~~~~~~~~~~~~~~~~~~~~
hint: comparisons, the condition of a choice, floor, sg, count and rank are constants to the derivative: minimize what they are made of
test.rlf:16:27: error: nothing in this loss is live: it does not change with 'actor'
   16 |     update actor minimize mean(critic.value(roll) over batch)
      |                           ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: call actor.logprob(...) in the update; what was named before is a constant
test.rlf:17:32: error: 'actor' changes this loss only through what has no derivative
   17 |     update actor minimize mean(actor.logprob(roll) > 0 over batch)
      |                                ^~~~~~~~~~~~~~~~~~~~~~~
hint: comparisons, the condition of a choice, floor, sg, count and rank are constants to the derivative: minimize what they are made of
=== an update that never minimizes
param train : bool = false
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    update actor { if train { minimize mean(actor.logprob(roll) over batch) } }
    update actor { if not train { minimize mean(actor.logprob(roll) over batch) } }
    update actor { if step > 3 { minimize mean(actor.logprob(roll) over batch) } }
}
--- warnings
test.rlf:6:5: warning: this update changes nothing: no 'minimize' of it is ever carried out
    6 |     update actor { if train { minimize mean(actor.logprob(roll) over batch) } }
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
=== a loss is one number
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    update actor minimize actor.logprob(roll)
}
--- errors
test.rlf:13:27: error: a loss is one number, and this is one per token of 'roll'
   13 |     update actor minimize actor.logprob(roll)
      |                           ^~~~~~~~~~~~~~~~~~~
hint: say how to average: mean(... over batch)
=== what an update holds
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    update actor {
        x = judge(roll)
        y = actor.generate(batch, max_new: 3)
        lambda := 2
        for mini in roll.split(parts: 2) { z = 1 }
        every 3 steps { checkpoint }
        checkpoint
        break if 1
        update critic minimize 1
        return 3
        keep 4
    }
}
--- errors
test.rlf:14:13: error: an update holds no Lua
   14 |         x = judge(roll)
      |             ^~~~~~~~~~~
hint: give the result a name before it
test.rlf:15:13: error: an update holds no generation
   15 |         y = actor.generate(batch, max_new: 3)
      |             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: give the set a name before it
test.rlf:16:9: error: this cannot stand in an update
   16 |         lambda := 2
      |         ^~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:17:9: error: this cannot stand in an update
   17 |         for mini in roll.split(parts: 2) { z = 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:18:9: error: this cannot stand in an update
   18 |         every 3 steps { checkpoint }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:19:9: error: this cannot stand in an update
   19 |         checkpoint
      |         ^~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:20:9: error: this cannot stand in an update
   20 |         break if 1
      |         ^~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:21:9: error: this cannot stand in an update
   21 |         update critic minimize 1
      |         ^~~~~~~~~~~~~~~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:22:9: error: this cannot stand in an update
   22 |         return 3
      |         ^~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:23:9: error: this cannot stand in an update
   23 |         keep 4
      |         ^~~~~~
hint: it holds names, if, report and minimize
=== nothing is minimized; no optimizer; not a model
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    update actor { x = actor.logprob(roll) }
    update ref minimize mean(ref.logprob(roll) over batch)
    update roll minimize 1
    update nobody minimize 1
}
--- errors
test.rlf:13:5: error: this update minimizes nothing
   13 |     update actor { x = actor.logprob(roll) }
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: write its loss: update actor minimize LOSS, or a 'minimize LOSS' in the block
test.rlf:14:12: error: model 'ref' has no optimizer
   14 |     update ref minimize mean(ref.logprob(roll) over batch)
      |            ^~~
test.rlf:7:1: note: it is declared here
    7 | model ref = copy(actor)
      | ^~~~~~~~~~~~~~~~~~~~~~~
hint: optimizer: adamw(lr: 1e-5)
test.rlf:15:12: error: an update is of a model, and this is a set
   15 |     update roll minimize 1
      |            ^~~~
test.rlf:16:12: error: there is nothing named 'nobody'
   16 |     update nobody minimize 1
      |            ^~~~~~
=== values of live calls stay in the update
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    update actor {
        logp = actor.logprob(roll)
        x = ref.score(roll) * mean(logp over batch)
        far = roll.where(logp > 0)
        minimize mean(logp over batch)
    }
}
--- errors
test.rlf:16:15: error: 'where' takes one per sample or prompt of 'roll', and this is one per token of 'roll'
   16 |         far = roll.where(logp > 0)
      |               ^~~~~~~~~~~~~~~~~~~~
hint: reduce it: max(logp > 0 over tokens)
=== misplaced statements
+++ ppo
flow f(batch: prompts[8]) {
    minimize 3
    return 4
    keep 5
}
--- errors
test.rlf:11:5: error: minimize stands only in an update
   11 |     minimize 3
      |     ^~~~~~~~~~
hint: update MODEL minimize 3
test.rlf:12:5: error: return stands only in a def
   12 |     return 4
      |     ^~~~~~~~
hint: a flow gives nothing back: report y = 4 writes a number
test.rlf:13:5: error: keep stands only in a collect, at its end
   13 |     keep 5
      |     ^~~~~~
hint: samples of a set s are chosen by s.where(5)
=== what changes
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    score := 3
    beta := 4
    nobody := 5
    ref := 3
    ref := actor + score
    ref := score * actor
    ref := 0.5 * actor + actor * 0.25 - 0.1 * ref
}
--- errors
test.rlf:13:5: error: only states and models change, and 'score' is neither
   13 |     score := 3
      |     ^~~~~
test.rlf:12:5: note: it is named here
   12 |     score = judge(roll)
      |     ^~~~~
hint: a name stands for one value: give the new one another name, with '='
test.rlf:14:5: error: only states and models change, and 'beta' is neither
   14 |     beta := 4
      |     ^~~~
test.rlf:3:7: note: it is named here
    3 | param beta : float = 0.1
      |       ^~~~
hint: for a number that lasts from step to step, declare another name: state s = 0
test.rlf:15:5: error: there is no state or model named 'nobody'
   15 |     nobody := 5
      |     ^~~~~~
hint: what ':=' changes is declared: state nobody = 0; a name is given by '='
test.rlf:16:12: error: a model is set to a weighted sum of models
   16 |     ref := 3
      |            ^
hint: avg := 0.99 * avg + 0.01 * actor
test.rlf:17:20: error: a model is set to a weighted sum of models
   17 |     ref := actor + score
      |                    ^~~~~
hint: avg := 0.99 * avg + 0.01 * actor
test.rlf:18:12: error: a model is weighted by one number
   18 |     ref := score * actor
      |            ^~~~~
=== loops
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    for mini in roll { x = 1 }
    p = roll.split(parts: 2)
}
--- errors
test.rlf:13:17: error: a loop walks the pieces of a set
   13 |     for mini in roll { x = 1 }
      |                 ^~~~
hint: for mini in roll.split(parts: 4) { ... }
test.rlf:14:9: error: pieces are for a loop only
   14 |     p = roll.split(parts: 2)
      |         ^~~~~~~~~~~~~~~~~~~~
hint: for mini in s.split(...) { ... }
=== how a loop cuts
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    for mini in roll.split() { x = 1 }
    for mini in roll.split(parts: 2, size: 3) { x = 1 }
    for a in roll.split(size: 2), b in batch.split(size: 2) { x = 1 }
    for a in roll.split(parts: 2), b in batch.split(parts: 3) { x = 1 }
}
--- errors
test.rlf:13:5: error: split takes either 'parts:' or 'size:'
   13 |     for mini in roll.split() { x = 1 }
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:14:44: error: split takes either 'parts:' or 'size:'
   14 |     for mini in roll.split(parts: 2, size: 3) { x = 1 }
      |                                            ^
test.rlf:15:31: error: sets that are walked side by side are split by 'parts:', not by 'size:'
   15 |     for a in roll.split(size: 2), b in batch.split(size: 2) { x = 1 }
      |                               ^
test.rlf:15:58: error: sets that are walked side by side are split by 'parts:', not by 'size:'
   15 |     for a in roll.split(size: 2), b in batch.split(size: 2) { x = 1 }
      |                                                          ^
test.rlf:16:60: error: sets that are walked side by side have equally many pieces
   16 |     for a in roll.split(parts: 2), b in batch.split(parts: 3) { x = 1 }
      |                                                            ^
=== heads that models do not have
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    x = actor.value(roll)
    y = critic.logprob(roll)
    z = critic.generate(batch, max_new: 3)
    update actor minimize mean(actor.value(roll) over batch)
}
--- errors
test.rlf:13:9: error: model 'actor' has no scalar head, which value needs
   13 |     x = actor.value(roll)
      |         ^~~~~~~~~~~~~~~~~
hint: declare it with head: scalar, or head: both
test.rlf:14:9: error: model 'critic' has no language head, which logprob needs
   14 |     y = critic.logprob(roll)
      |         ^~~~~~~~~~~~~~~~~~~~
hint: declare it with head: lm, or head: both
test.rlf:15:9: error: model 'critic' has no language head, which generate needs
   15 |     z = critic.generate(batch, max_new: 3)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: declare it with head: lm, or head: both
test.rlf:16:32: error: model 'actor' has no scalar head, which value needs
   16 |     update actor minimize mean(actor.value(roll) over batch)
      |                                ^~~~~~~~~~~~~~~~~
hint: declare it with head: scalar, or head: both
=== reports under an if
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    update actor {
        logp = mean(actor.logprob(roll) over batch)
        minimize -logp
        if logp < 0 { report a = logp, b = 1 }
        if roll.logprob < 0 { report c = 1 }
        if roll.length > 2 { minimize logp }
    }
}
--- errors
test.rlf:9:12: error: an if takes one number, and this is one per token of 'roll'
    9 |         if roll.logprob < 0 { report c = 1 }
      |            ^~~~~~~~~~~~~~~~
hint: reduce it, as in max(... over batch); or choose by value: c ? a : b
test.rlf:10:12: error: an if takes one number, and this is one per sample of 'roll'
   10 |         if roll.length > 2 { minimize logp }
      |            ^~~~~~~~~~~~~~~
hint: reduce it, as in max(... over batch); or choose by value: c ? a : b
=== reports under an if: the graph
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    update actor {
        logp = mean(actor.logprob(roll) over batch)
        minimize -logp
        if logp < 0 { report a = logp, b = 1 } else { report c = 2 }
    }
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = actor.generate(%0 batch) {set: %0 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 reports : scalar, %3 a : scalar, %4 b : scalar, %5 reports : scalar, %6 c : scalar = actor.update(%1 roll) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
    if(%2 reports) {condition: %2 reports} by batch, looking
    {
        report(%3 a, %4 b) {a: %3 a, b: %4 b} by batch, looking
    }
    if(%5 reports) {condition: %5 reports} by batch, looking
    {
        report(%6 c) {c: %6 c} by batch, looking
    }
=== a live value beside itself
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    update actor {
        logp = actor.logprob(roll)
        ratio = exp(logp - actor.logprob(roll))
        other = exp(2 * logp) / exp(2 * actor.logprob(roll))
        sums = sum(logp over tokens) - sum(actor.logprob(roll) over tokens)
        fine = exp(logp - roll.logprob) + exp(logp - sg(actor.logprob(roll)))
        more = 2 * logp - logp
        minimize mean(clip(ratio_of(logp, actor.logprob(roll)), score) over batch)
        minimize mean(ratio + other + sums + fine + more over batch)
    }
}
--- warnings
test.rlf:10:26: warning: both sides are the same live value: the difference is always 0
   10 |         ratio = exp(logp - actor.logprob(roll))
      |                          ^
hint: compare it with what was sampled, roll.logprob, with a value that was named before the update, or with sg(...)
test.rlf:11:31: warning: both sides are the same live value: the ratio is always 1
   11 |         other = exp(2 * logp) / exp(2 * actor.logprob(roll))
      |                 ~~~~~~~~~~~~~ ^ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: compare it with what was sampled, roll.logprob, with a value that was named before the update, or with sg(...)
test.rlf:12:38: warning: both sides are the same live value: the difference is always 0
   12 |         sums = sum(logp over tokens) - sum(actor.logprob(roll) over tokens)
      |                ~~~~~~~~~~~~~~~~~~~~  ^ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: compare it with what was sampled, s.logprob, with a value that was named before the update, or with sg(...)
test.rlf:15:28: warning: both sides are the same live value: the difference is always 0
   15 |         minimize mean(clip(ratio_of(logp, actor.logprob(roll)), score) over batch)
      |                            ^~~~~~~~
STDLIB/loss.rlf:11:67: note: in 'ratio_of', here
   11 | def ratio_of(logp, old, cap: scalar = 20 in 0..) = exp(clamp(logp - old, -cap, cap))
      |                                                                   ^
hint: compare it with what was sampled, roll.logprob, with a value that was named before the update, or with sg(...)
=== an update without a loss
model actor = lm("m", optimizer: adamw(lr: 1e-5))
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) {
    update actor { }
    update actor { report a = 1 }
}
--- errors
test.rlf:4:5: error: this update minimizes nothing
    4 |     update actor { }
      |     ^~~~~~~~~~~~~~~~
hint: write its loss: update actor minimize LOSS, or a 'minimize LOSS' in the block
test.rlf:5:5: error: this update minimizes nothing
    5 |     update actor { report a = 1 }
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: write its loss: update actor minimize LOSS, or a 'minimize LOSS' in the block
=== a generation in an update
data prompts = jsonl("rows.jsonl", prompt: "question")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    update actor {
        z = actor.generate(batch, max_new: 2)
        minimize mean(-actor.logprob(z) over batch)
    }
}
--- errors
test.rlf:5:13: error: an update holds no generation
    5 |         z = actor.generate(batch, max_new: 2)
      |             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: give the set a name before it
=== weighted sums of models
data prompts = jsonl("a.jsonl", prompt: "q")
model actor = lm("m")
model avg = copy(actor)
state w = 1
flow f(b: prompts[4]) {
    avg := actor * avg
    avg := 1 / actor
    avg := 2 * (actor - 3)
    avg := -(w * avg - actor) / 2
    avg := actor ^ 2
    w := w + 1
}
--- errors
test.rlf:6:12: error: a model is set to a weighted sum of models
    6 |     avg := actor * avg
      |            ^~~~~~~~~~~
hint: avg := 0.99 * avg + 0.01 * actor
test.rlf:7:12: error: a model is set to a weighted sum of models
    7 |     avg := 1 / actor
      |            ^~~~~~~~~
hint: avg := 0.99 * avg + 0.01 * actor
test.rlf:8:25: error: a model is set to a weighted sum of models
    8 |     avg := 2 * (actor - 3)
      |                         ^
hint: avg := 0.99 * avg + 0.01 * actor
test.rlf:10:12: error: a model is set to a weighted sum of models
   10 |     avg := actor ^ 2
      |            ^~~~~~~~~
hint: avg := 0.99 * avg + 0.01 * actor
=== a loss of which live values leave out rows
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
def len(s: set) = sum(actor.logprob(s) over tokens)
flow f(batch: prompts[8]) {
    one = respond(batch.answer)
    two = respond(batch.prompt)
    for mini in one.split(parts: 2) {
        update actor {
            total = len(mini) + len(two)
            minimize -mean(total over batch)
        }
    }
    roll = actor.generate(batch, n: 4, max_new: 8)
    good = roll.where(judge(roll) > 0)
    update actor minimize -mean(exp(actor.logprob(roll)) * actor.logprob(good) over batch)
}
--- warnings
test.rlf:10:21: warning: of 'two' the loss takes only the rows of 'mini', with which actor.logprob(two) is combined here
   10 |             total = len(mini) + len(two)
      |                     ^~~~~~~~~~~~~~~~~~~~
test.rlf:4:23: note: it is called here
    4 | def len(s: set) = sum(actor.logprob(s) over tokens)
      |                       ^~~~~~~~~~~~~~~~
hint: where that is meant, say so: two[mini]; where all rows are to count, reduce each by itself, mean(... over batch) + mean(... over batch)
test.rlf:16:33: warning: of 'roll' the loss takes only the rows of 'good', with which actor.logprob(roll) is combined here
   16 |     update actor minimize -mean(exp(actor.logprob(roll)) * actor.logprob(good) over batch)
      |                                 ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: where that is meant, say so: roll[good]; where all rows are to count, reduce each by itself, mean(... over batch) + mean(... over batch)
=== losses that take all rows, or say which
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
def len(s: set) = sum(actor.logprob(s) over tokens)
flow f(batch: prompts[8]) {
    one = respond(batch.answer)
    two = respond(batch.prompt)
    for mini in one.split(parts: 2) {
        update actor minimize -mean(len(mini) + len(two[mini]) over batch)
    }
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    good = roll.where(score > 0)
    adv = score[good] - mean(score over batch)
    update actor {
        logp = actor.logprob(roll)
        minimize -mean(logp * adv over batch) - mean(actor.logprob(good) over batch)
        minimize -mean(logp over batch)
    }
    update actor {
        logp = actor.logprob(roll)
        other = actor.logprob(good)
        minimize -mean(logp[good] * other over batch) - mean(logp * other over batch) - mean(logp over batch)
        report all = mean(logp + other over batch)
    }
    update actor minimize -mean(len(one) - len(two) over batch)
}
--- warnings
compiles
=== live values of two sets that do not meet
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    a = roll.where(roll.length > 1)
    b = roll.where(roll.length > 2)
    update actor minimize -mean(actor.logprob(a) + actor.logprob(b) over batch)
}
--- errors
test.rlf:7:50: error: one per token of 'a' and one per token of 'b' cannot be combined
    7 |     update actor minimize -mean(actor.logprob(a) + actor.logprob(b) over batch)
      |                                 ~~~~~~~~~~~~~~~~ ^ ~~~~~~~~~~~~~~~~
hint: a loss of two sets is the sum of what each gives: mean(... over batch) + mean(... over batch)
=== a learning rate of 0
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param w : float = 0
model a = lm("m", optimizer: adamw(lr: 0))
model b = copy(a, optimizer: adamw(lr: w * 1e-5))
model c = copy(a, optimizer: adamw(lr: step > 3 ? 1e-5 : 0))
model d = copy(a, optimizer: adamw(lr: 0))
model e = copy(a, optimizer: adamw(lr: 1e-50))
flow f(batch: prompts[4]) {
    r = respond(batch.answer)
    update e minimize -mean(e.logprob(r) over batch)
    update a minimize -mean(a.logprob(r) over batch)
    update a minimize mean(a.logprob(r) over batch)
    update b minimize -mean(b.logprob(r) over batch)
    update c minimize -mean(c.logprob(r) + 0 * sg(d.logprob(r)) over batch)
}
--- warnings
test.rlf:3:40: warning: the learning rate is 0: 'a' learns nothing
    3 | model a = lm("m", optimizer: adamw(lr: 0))
      |                                        ^
test.rlf:4:40: warning: the learning rate is 0: 'b' learns nothing
    4 | model b = copy(a, optimizer: adamw(lr: w * 1e-5))
      |                                        ^~~~~~~~
test.rlf:6:30: warning: model 'd' has an optimizer and is never updated
    6 | model d = copy(a, optimizer: adamw(lr: 0))
      |                              ^~~~~~~~~~~~
hint: leave the optimizer out, or say update d
test.rlf:7:40: warning: the learning rate is 0 in 32 bits: 'e' learns nothing
    7 | model e = copy(a, optimizer: adamw(lr: 1e-50))
      |                                        ^~~~~
=== what a critic has that is live
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = copy(actor, head: scalar, optimizer: adamw(lr: 1e-5))
model two = copy(actor, head: both, optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[4]) {
    r = respond(batch.answer)
    v = critic.value(r)
    l = two.logprob(r)
    update critic minimize mean(v^2 over batch)
    update two minimize -mean(l over batch)
}
--- errors
test.rlf:9:28: error: nothing in this loss is live: it does not change with 'critic'
    9 |     update critic minimize mean(v^2 over batch)
      |                            ^~~~~~~~~~~~~~~~~~~~
hint: call critic.value(...) in the update; what was named before is a constant
test.rlf:10:25: error: nothing in this loss is live: it does not change with 'two'
   10 |     update two minimize -mean(l over batch)
      |                         ^~~~~~~~~~~~~~~~~~~
hint: call two.logprob(...) in the update; what was named before is a constant
=== factors that weights do not hold
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model avg = copy(actor)
state most = 1.0
flow f(batch: prompts[4]) {
    r = respond(batch.answer)
    update actor minimize -mean(actor.logprob(r) over batch)
    avg := (1e30 * 1e30) * avg + 0.1 * actor
    avg := 0.9 * avg - 1e39 * step * actor
    avg := 1e39 * avg - 1e39 * avg + 1e38 * actor
    avg := (1e300 * 1e300) * avg
    most := 1e300 * 1e300
    if step > 3 { avg := 1e39 * actor }
    if false { avg := 1e39 * actor }
    avg := 1e39 / step * actor
    report x = mean(avg.logprob(r) over batch)
}
--- errors
test.rlf:8:28: error: the factor of 'avg' is 1e+60, and weights, which are f32, go up to 3.4e38
    8 |     avg := (1e30 * 1e30) * avg + 0.1 * actor
      |                            ^~~
test.rlf:9:38: error: the factor of 'actor' is never above -1e+39, and weights, which are f32, go up to 3.4e38
    9 |     avg := 0.9 * avg - 1e39 * step * actor
      |                                      ^~~~~
test.rlf:11:19: error: 1e+300 * 1e+300 is infinite
   11 |     avg := (1e300 * 1e300) * avg
      |             ~~~~~ ^ ~~~~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
test.rlf:12:19: error: 1e+300 * 1e+300 is infinite
   12 |     most := 1e300 * 1e300
      |             ~~~~~ ^ ~~~~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
