Levels: where values live and where they meet.
=== the example of the manual
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    other = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    adv = score - judge(other)
}
--- errors
test.rlf:14:17: error: one per sample of 'roll' and one per sample of 'other' cannot be combined
   14 |     adv = score - judge(other)
      |           ~~~~~ ^ ~~~~~~~~~~~~
hint: reduce one to the prompts they share: mean(judge(other) over group)
=== down by themselves: prompt, sample, token, subset
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = batch.grade + score + roll.logprob + beta
    best = roll.where(score > 0)
    b = best.logprob - score + roll.logprob
    c = judge(actor.generate(batch, max_new: 3, greedy: true)) - score
}
--- errors
compiles
=== a choice by a parameter has the level of both sides, whichever is taken
#set weighted=true
+++ ppo
param weighted: bool = true
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    w = weighted ? score : 1
    v = weighted ? 1 : roll.logprob
    report w = mean(w over batch), v = mean(v over batch)
    report s = mean(std(w over group) over batch), u = mean(sum(v over tokens) over batch)
}
--- errors
compiles
=== a choice by a parameter has the level of both sides, whichever is taken
#set weighted=false
+++ ppo
param weighted: bool = true
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    w = weighted ? score : 1
    v = weighted ? 1 : roll.logprob
    report w = mean(w over batch), v = mean(v over batch)
    report s = mean(std(w over group) over batch), u = mean(sum(v over tokens) over batch)
}
--- errors
compiles
=== never up or across
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    one = actor.generate(batch, n: 2, max_new: 3)
    a = roll.logprob + one.logprob
    b = roll.at_last(roll.logprob)
    c = one.at_last(score)
    all = judge(prompts)
    d = all + score
    e = roll.where(one.length > 3)
    g = batch.where(score > 0)
    h = roll.where(roll.logprob > 0)
}
--- errors
test.rlf:14:22: error: one per token of 'roll' and one per token of 'one' cannot be combined
   14 |     a = roll.logprob + one.logprob
      |         ~~~~~~~~~~~~ ^ ~~~~~~~~~~~
hint: reduce one to the prompts they share: mean(one.logprob over group)
test.rlf:15:22: error: 'at_last' takes one per sample of 'roll', and this is one per token of 'roll'
   15 |     b = roll.at_last(roll.logprob)
      |                      ^~~~~~~~~~~~
hint: it has a value on each token already
test.rlf:16:21: error: 'at_last' takes one per sample of 'one', and this is one per sample of 'roll'
   16 |     c = one.at_last(score)
      |                     ^~~~~
test.rlf:19:9: error: 'where' takes one per sample or prompt of 'roll', and this is one per sample of 'one'
   19 |     e = roll.where(one.length > 3)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: choose samples of 'one': one.where(one.length > 3); or prompts, by what is one per prompt: max(one.length > 3 over group)
test.rlf:20:9: error: 'where' takes one per sample or prompt of 'batch', and this is one per sample of 'roll'
   20 |     g = batch.where(score > 0)
      |         ^~~~~~~~~~~~~~~~~~~~~~
hint: choose samples of 'roll': roll.where(score > 0); or prompts, by what is one per prompt: max(score > 0 over group)
test.rlf:21:9: error: 'where' takes one per sample or prompt of 'roll', and this is one per token of 'roll'
   21 |     h = roll.where(roll.logprob > 0)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: reduce it: max(roll.logprob > 0 over tokens)
=== reductions say over what
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = mean(score)
    b = mean(score over tokens)
    c = mean(mean(score over batch) over batch)
    d = mean(score over everything)
    e = exp(score over batch)
    g = mean(roll.text over batch)
    h = mean(score, score over batch)
    i = sum(roll.logprob over vocab)
    j = max(score)
    k = min(1, score, 3, 4) + max(score over group)
}
--- errors
test.rlf:13:9: error: 'mean' does not say over what
   13 |     a = mean(score)
      |         ^~~~
hint: mean(score over group), or over batch
test.rlf:14:25: error: 'over tokens' takes one per token, and this is one per sample of 'roll'
   14 |     b = mean(score over tokens)
      |              ~~~~~      ^~~~~~
test.rlf:15:42: error: 'over batch' takes one per prompt, sample or token, and this is a scalar
   15 |     c = mean(mean(score over batch) over batch)
      |              ~~~~~~~~~~~~~~~~~~~~~~      ^~~~~
hint: it is one number already
test.rlf:16:25: error: there is no 'over everything'
   16 |     d = mean(score over everything)
      |                         ^~~~~~~~~~
hint: it is over tokens, group, batch or vocab
test.rlf:17:9: error: 'exp' is not a reduction
   17 |     e = exp(score over batch)
      |         ^~~
hint: reductions are sum mean std var min max count, rank and rotate
test.rlf:18:9: error: 'mean' takes numbers, not texts
   18 |     g = mean(roll.text over batch)
      |         ^~~~
test.rlf:19:9: error: 'mean(x over ...)' takes one argument
   19 |     h = mean(score, score over batch)
      |         ^~~~
test.rlf:20:31: error: 'over vocab' takes one per word at a token, and this is one per token of 'roll'
   20 |     i = sum(roll.logprob over vocab)
      |             ~~~~~~~~~~~~      ^~~~~
test.rlf:21:9: error: 'max' takes 2 to 16 arguments, not 1
   21 |     j = max(score)
      |         ^~~
hint: max(score over group), or over batch
=== over group needs several samples a prompt
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, max_new: 8)
    a = mean(judge(roll) over group)
    b = mean(batch.grade over group)
    many = actor.generate(batch, n: 4, max_new: 8)
    c = max(mean(judge(many) over batch) over group)
}
--- errors
test.rlf:12:31: error: 'over group' takes several samples a prompt, and this is one per sample of 'roll'
   12 |     a = mean(judge(roll) over group)
      |              ~~~~~~~~~~~      ^~~~~
hint: with one sample a prompt there are no groups: give generate an n: of 2 or more
test.rlf:13:31: error: 'over group' takes several samples a prompt, and this is one per prompt of 'batch'
   13 |     b = mean(batch.grade over group)
      |              ~~~~~~~~~~~      ^~~~~
hint: a prompt without responses has no samples: take values of the set that generate gave, as in judge(roll)
test.rlf:15:47: error: 'over group' takes several samples a prompt, and this is a scalar
   15 |     c = max(mean(judge(many) over batch) over group)
      |             ~~~~~~~~~~~~~~~~~~~~~~~~~~~~      ^~~~~
hint: it is one number for all: take what each sample has of it, before it is reduced
=== scans run over tokens
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = discount(score, 1)
    b = next(roll.logprob, roll.logprob)
    c = cumsum(roll.at_all(score))
    d = discount(roll.logprob)
}
--- errors
test.rlf:13:9: error: scans run over tokens, and this is one per sample of 'roll'
   13 |     a = discount(score, 1)
      |         ^~~~~~~~
hint: s.at_last(x) puts one per sample on its last token, s.at_all(x) on each
test.rlf:16:9: error: 'discount' takes 2 arguments, not 1
   16 |     d = discount(roll.logprob)
      |         ^~~~~~~~
=== texts
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = roll.text + 1
    b = roll.text == batch.answer
    c = roll.text < batch.answer
    d = roll.text == 3
    e = roll.text == "yes"
    g = "a" == "b"
    h = not roll.text
    i = exp(roll.text)
    j = rotate(roll.text over group) != roll.text
}
--- errors
test.rlf:13:19: error: this is a text and a number: texts and numbers do not mix
   13 |     a = roll.text + 1
      |         ~~~~~~~~~ ^ ~
hint: two texts can be compared by == and !=
test.rlf:15:19: error: '<' takes numbers, and these are texts
   15 |     c = roll.text < batch.answer
      |         ~~~~~~~~~ ^ ~~~~~~~~~~~~
hint: two texts can be compared by == and !=
test.rlf:16:19: error: this is a text and a number: texts and numbers do not mix
   16 |     d = roll.text == 3
      |         ~~~~~~~~~ ^~ ~
hint: two texts can be compared by == and !=
test.rlf:19:13: error: a number is wanted, and this is a text
   19 |     h = not roll.text
      |             ^~~~~~~~~
test.rlf:20:13: error: a number is wanted, and this is a text
   20 |     i = exp(roll.text)
      |             ^~~~~~~~~
=== parts
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    best = roll.where(score > 0)
    a = score[best]
    b = score[batch]
    c = roll[best]
    d = beta[best]
    e = batch.grade[best] + score[best]
    g = score[3]
    h = score[best, best]
    i = prompts[roll]
    j = best[roll]
}
--- errors
test.rlf:15:9: error: one per sample of 'roll' has no part that belongs to 'batch'
   15 |     b = score[batch]
      |         ^~~~~~~~~~~~
test.rlf:19:15: error: a set of samples is wanted, and this is a number
   19 |     g = score[3]
      |               ^
test.rlf:20:9: error: x[s] takes one set in its brackets
   20 |     h = score[best, best]
      |         ^~~~~
=== in a loop a reduction over all of the set is an error in an update
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    adv = grpo(score)
    for mini in roll.split(parts: 2) {
        fine = mean(score over batch)
        update actor {
            a = mean(score over batch)
            b = mean(score[mini] over batch)
            c = mean(adv over group)
            d = sum(roll.logprob over tokens)
            minimize mean(exp(actor.logprob(mini)) * (score - mean(score over group)) over batch)
        }
    }
}
--- errors
test.rlf:17:17: error: this runs over all of 'roll', not over 'mini'
   17 |             a = mean(score over batch)
      |                 ^~~~ ~~~~~
hint: say score[mini], or give it a name before the loop
test.rlf:19:17: error: this runs over all of 'roll', not over 'mini'
   19 |             c = mean(adv over group)
      |                 ^~~~ ~~~
hint: say adv[mini], or give it a name before the loop
test.rlf:21:63: error: this runs over all of 'roll', not over 'mini'
   21 |             minimize mean(exp(actor.logprob(mini)) * (score - mean(score over group)) over batch)
      |                                                               ^~~~ ~~~~~
hint: say score[mini], or give it a name before the loop
=== what takes one number
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    report a = score
    if score > 0 { report b = 1 }
    every score steps { checkpoint }
    break if roll.length
    lambda := score
    x = actor.generate(batch, max_new: 3, temperature: score)
    y = actor.generate(batch, max_new: step)
    z = actor.generate(batch, max_new: 3, top_p: 2)
}
--- errors
test.rlf:13:16: error: a report is one number, and this is one per sample of 'roll'
   13 |     report a = score
      |                ^~~~~
hint: mean(... over batch)
test.rlf:14:8: error: the condition of 'if' is one number, and this is one per sample of 'roll'
   14 |     if score > 0 { report b = 1 }
      |        ^~~~~~~~~
hint: reduce it, as in mean(... over batch); or choose value by value: c ? a : b
test.rlf:15:11: error: the steps of 'every' is one number, and this is one per sample of 'roll'
   15 |     every score steps { checkpoint }
      |           ^~~~~
hint: reduce it, as in mean(... over batch)
test.rlf:16:14: error: the condition of 'break' is one number, and this is one per sample of 'roll'
   16 |     break if roll.length
      |              ^~~~~~~~~~~
hint: reduce it, as in mean(... over batch)
test.rlf:17:15: error: the value of 'lambda' is one number, and this is one per sample of 'roll'
   17 |     lambda := score
      |               ^~~~~
hint: reduce it, as in mean(... over batch)
test.rlf:18:56: error: 'temperature:' of 'generate' is one number, and this is one per sample of 'roll'
   18 |     x = actor.generate(batch, max_new: 3, temperature: score)
      |                                                        ^~~~~
hint: reduce it, as in mean(... over batch)
test.rlf:19:40: error: 'max_new:' of 'generate' must be known before the run starts
   19 |     y = actor.generate(batch, max_new: step)
      |                                        ^~~~
test.rlf:20:50: error: 'top_p:' of 'generate' is 2, and must be from 1e-09 to 1
   20 |     z = actor.generate(batch, max_new: 3, top_p: 2)
      |                                                  ^
hint: only the most likely tokens that together have this mass
=== sets without responses
+++ ppo
flow f(batch: prompts[8]) {
    a = batch.length
    b = actor.logprob(batch)
    c = batch.at_all(1)
    d = judge(batch)
    e = respond(batch.answer)
    g = e.length
    h = ask(batch.answer)
    i = h.text
    j = ask(3)
}
--- errors
test.rlf:11:9: error: 'batch' has no responses
   11 |     a = batch.length
      |         ^~~~~~~~~~~~
hint: a response is made by m.generate(batch, ...) or respond(text)
test.rlf:12:9: error: 'batch' has no responses
   12 |     b = actor.logprob(batch)
      |         ^~~~~~~~~~~~~~~~~~~~
hint: a response is made by m.generate(batch, ...) or respond(text)
test.rlf:13:9: error: 'batch' has no responses
   13 |     c = batch.at_all(1)
      |         ^~~~~~~~~~~~
test.rlf:18:9: error: 'h' has no responses
   18 |     i = h.text
      |         ^~~~~~
hint: a response is made by m.generate(h, ...) or respond(text)
test.rlf:19:13: error: the text of 'ask' is a column of texts, and this is a number
   19 |     j = ask(3)
      |             ^
hint: texts of rows are a data column, as batch.answer, those of samples, as roll.text, or of a hook: hook h = lua("h.lua") -> text
=== texts answer their own prompts; fields of a hook go down
+++ ppo
hook each = lua("s.lua", per: step)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    other = actor.generate(prompts, n: 2, max_new: 3)
    a = respond(roll.text, to: prompts)
    b = judge(roll, x: other.length)
    c = judge(roll, x: roll.logprob)
    d = each(x: score)
    e = each(x: mean(score over batch), y: 3)
    g = judge(roll, x: batch.grade, y: score, z: roll.text, w: "text")
    h = respond(roll.text, to: batch)
    i = ask(roll.text).answer
}
--- errors
test.rlf:16:21: error: 'x' is one per sample of 'other', which is not broadcast to the samples of 'roll'
   16 |     b = judge(roll, x: other.length)
      |                     ^~~~~~~~~~~~~~~
test.rlf:17:21: error: 'x' is one per token of 'roll', which is not broadcast to the samples of 'roll'
   17 |     c = judge(roll, x: roll.logprob)
      |                     ^~~~~~~~~~~~~~~
test.rlf:18:14: error: a hook per step takes scalars, and 'x' is one per sample of 'roll'
   18 |     d = each(x: score)
      |              ^~~~~~~~
=== a value per token is no value per sample
import "std/advantage"
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
state level = 0
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    v = critic.value(roll)
    a = gae(score, v)
    b = gae(roll.at_last(score), score)
    c = returns(batch.grade)
    d = gae(roll.at_last(score), v, end: 2)
    e = gae(0.5, v, end: score)
    g = token_mean(score)
    h = gae(level, v)
}
--- errors
test.rlf:12:13: error: the argument 'r' of 'gae' takes one per token or one number, and this is one per sample of 'roll'
   12 |     a = gae(score, v)
      |             ^~~~~
STDLIB/advantage.rlf:13:9: note: it is declared here
   13 | def gae(r: token, v: token, gamma: scalar = 1.0 in 0..1, lambda: scalar = 0.95 in 0..1,
      |         ^~~~~~~~
hint: s.at_last(x) puts one per sample on its last token, s.at_all(x) on each
test.rlf:13:34: error: the argument 'v' of 'gae' takes one per token or one number, and this is one per sample of 'roll'
   13 |     b = gae(roll.at_last(score), score)
      |                                  ^~~~~
STDLIB/advantage.rlf:13:19: note: it is declared here
   13 | def gae(r: token, v: token, gamma: scalar = 1.0 in 0..1, lambda: scalar = 0.95 in 0..1,
      |                   ^~~~~~~~
hint: s.at_last(x) puts one per sample on its last token, s.at_all(x) on each
test.rlf:14:17: error: the argument 'r' of 'returns' takes one per token or one number, and this is one per prompt of 'batch'
   14 |     c = returns(batch.grade)
      |                 ^~~~~~~~~~~
STDLIB/advantage.rlf:60:13: note: it is declared here
   60 | def returns(r: token, gamma: scalar = 1.0 in 0..1) = discount(r, gamma)
      |             ^~~~~~~~
hint: s.at_last(x) puts one per sample on its last token, s.at_all(x) on each
test.rlf:17:20: error: the argument 'x' of 'token_mean' takes one per token or one number, and this is one per sample of 'roll'
   17 |     g = token_mean(score)
      |                    ^~~~~
STDLIB/loss.rlf:177:16: note: it is declared here
  177 | def token_mean(x: token) = mean(x over batch)
      |                ^~~~~~~~
hint: s.at_last(x) puts one per sample on its last token, s.at_all(x) on each
=== a sum that repeats a value per sample at each token
import "std/advantage"
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
hook judge = lua("j.lua")
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
state level = 0
def shaped(score, kl) = score - 0.05 * kl
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    v = critic.value(roll)
    kl = k1(roll.logprob, ref.logprob(roll))
    r = score - 0.05 * kl
    a = gae(r, v)
    b = gae(2 * -(kl - batch.grade) + v, v)
    c = returns(clamp((0.05 * score) - kl, -5, 5))
    d = reinforce_pp(shaped(score, kl))
    e = discount(kl + mean(kl over tokens), 0.5)
    g = token_mean((score > 0 ? kl + score : kl) / 2)
    # all of these are right
    h = gae(roll.at_last(score) - 0.05 * kl, v)
    i = gae(roll.at_all(score) - 0.05 * kl, v)
    j = gae(score * kl - level - 1, v, end: score)
    k = remax(kl - mean(kl over batch), score)
    l = token_mean(kl * (v - score))
}
--- errors
test.rlf:16:13: error: the argument 'r' of 'gae' takes one of its own per token, and in this sum each token gets all of what is one per sample of 'roll'
   16 |     a = gae(r, v)
      |             ^
test.rlf:15:9: note: it is added here
   15 |     r = score - 0.05 * kl
      |         ^~~~~
hint: roll.at_last(score) adds it once, on the last token; roll.at_all(score) really on each
test.rlf:17:24: error: the argument 'r' of 'gae' takes one of its own per token, and in this sum each token gets all of what is one per prompt of 'batch'
   17 |     b = gae(2 * -(kl - batch.grade) + v, v)
      |                        ^~~~~~~~~~~
hint: roll.at_last(batch.grade) adds it once, on the last token; roll.at_all(batch.grade) really on each
test.rlf:18:23: error: the argument 'r' of 'returns' takes one of its own per token, and in this sum each token gets all of what is one per sample of 'roll'
   18 |     c = returns(clamp((0.05 * score) - kl, -5, 5))
      |                       ^~~~~~~~~~~~~~
hint: roll.at_last((0.05 * score)) adds it once, on the last token; roll.at_all((0.05 * score)) really on each
test.rlf:19:22: error: the argument 'r' of 'reinforce_pp' takes one of its own per token, and in this sum each token gets all of what is one per sample of 'roll'
   19 |     d = reinforce_pp(shaped(score, kl))
      |                      ^~~~~~~~~~~~~~~~~
test.rlf:9:25: note: it is added here
    9 | def shaped(score, kl) = score - 0.05 * kl
      |                         ^~~~~
hint: roll.at_last(score) adds it once, on the last token; roll.at_all(score) really on each
test.rlf:20:23: error: scans take one of its own per token, and in this sum each token gets all of what is one per sample of 'roll'
   20 |     e = discount(kl + mean(kl over tokens), 0.5)
      |                       ^~~~~~~~~~~~~~~~~~~~
hint: roll.at_last(mean(kl over tokens)) adds it once, on the last token; roll.at_all(mean(kl over tokens)) really on each
test.rlf:21:38: error: the argument 'x' of 'token_mean' takes one of its own per token, and in this sum each token gets all of what is one per sample of 'roll'
   21 |     g = token_mean((score > 0 ? kl + score : kl) / 2)
      |                                      ^~~~~
hint: roll.at_last(score) adds it once, on the last token; roll.at_all(score) really on each
=== groups of one
import "std/advantage"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
param n : int = 1
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: n, max_new: 8)
    score = judge(roll)
    a = grpo(score)
    b = std(score over group)
    best = roll.where(score > 0)
    c = rank(score[best] over group)
    d = mean(score over batch)
}
--- errors
test.rlf:9:14: error: 'over group' takes several samples a prompt, and this is one per sample of 'roll'
    9 |     a = grpo(score)
      |              ^~~~~
STDLIB/advantage.rlf:31:30: note: in 'grpo', here
   31 |     (score - mean(score over group)) / (std(score over group) + eps)
      |                              ^~~~~
hint: with n: 1 a group has nothing to compare: give generate an n: of 2 or more
test.rlf:10:24: error: 'over group' takes several samples a prompt, and this is one per sample of 'roll'
   10 |     b = std(score over group)
      |             ~~~~~      ^~~~~
hint: with n: 1 a group has nothing to compare: give generate an n: of 2 or more
test.rlf:12:31: error: 'over group' takes several samples a prompt, and this is one per sample of 'best'
   12 |     c = rank(score[best] over group)
      |              ~~~~~~~~~~~      ^~~~~
hint: with n: 1 a group has nothing to compare: give generate an n: of 2 or more
=== a count of what holds
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    right = score > 0 and roll.finished
    a = count(score > 0 over batch)
    b = count(right over group)
    c = count(batch.answer == "2" over batch)
    d = count(score over batch)
    e = sum(right over batch) / count(right + 0 over batch)
}
--- errors
test.rlf:8:9: error: 'count' counts all values, also where the condition does not hold
    8 |     a = count(score > 0 over batch)
      |         ^~~~~ ~~~~~~~~~
hint: where it holds it is 1: sum(... over batch)
test.rlf:9:9: error: 'count' counts all values, also where the condition does not hold
    9 |     b = count(right over group)
      |         ^~~~~ ~~~~~
hint: where it holds it is 1: sum(... over group)
test.rlf:10:9: error: 'count' counts all values, also where the condition does not hold
   10 |     c = count(batch.answer == "2" over batch)
      |         ^~~~~ ~~~~~~~~~~~~~~~~~~~
hint: where it holds it is 1: sum(... over batch)
=== a def is no reduction, and names its argument
import "std/advantage"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    a = grpo(score over group)
    b = grpo(score * roll.logprob)
}
--- errors
test.rlf:8:9: error: 'grpo' is not a reduction
    8 |     a = grpo(score over group)
      |         ^~~~
hint: write grpo(score)
test.rlf:9:14: error: the argument 'score' of 'grpo' takes one per sample at most, and this is one per token of 'roll'
    9 |     b = grpo(score * roll.logprob)
      |              ^~~~~~~~~~~~~~~~~~~~
STDLIB/advantage.rlf:30:10: note: it is declared here
   30 | def grpo(score: sample, eps: scalar = 1e-6 in 0..) =
      |          ^~~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
=== one number, and samples of prompts
import "std/advantage"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    if score > 1 {
        report a = 1
    }
    warm = actor.generate(batch, max_new: 8, temperature: score)
    early = judge(batch)
    b = grpo(early)
}
--- errors
test.rlf:8:8: error: the condition of 'if' is one number, and this is one per sample of 'roll'
    8 |     if score > 1 {
      |        ^~~~~~~~~
hint: reduce it, as in mean(... over batch); or choose value by value: c ? a : b
test.rlf:11:59: error: 'temperature:' of 'generate' is one number, and this is one per sample of 'roll'
   11 |     warm = actor.generate(batch, max_new: 8, temperature: score)
      |                                                           ^~~~~
hint: reduce it, as in mean(... over batch)
test.rlf:13:14: error: 'over group' takes several samples a prompt, and this is one per prompt of 'batch'
   13 |     b = grpo(early)
      |              ^~~~~
STDLIB/advantage.rlf:31:30: note: in 'grpo', here
   31 |     (score - mean(score over group)) / (std(score over group) + eps)
      |                              ^~~~~
hint: a prompt without responses has no samples: take values of the set that generate gave, as in judge(roll)
=== a number beside parentheses
data prompts = jsonl("rows.jsonl", prompt: "question", grade: "grade")
flow f(batch: prompts[8]) {
    a = 0.02 (batch.grade)
}
--- errors
test.rlf:3:9: error: this is not a function
    3 |     a = 0.02 (batch.grade)
      |         ^~~~
hint: a product is written with '*'
=== a byte order mark
﻿data prompts = jsonl("rows.jsonl", prompt: "question", grade: "grade")
flow f(batch: prompts[8]) { report x = 1 }
--- errors
compiles
=== preferences compare whole responses
import "std/loss"
data pairs = jsonl("rows.jsonl", prompt: "question", chosen: "answer", rejected: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-4))
flow f(batch: pairs[4]) {
    win = respond(batch.chosen)
    lose = respond(batch.rejected)
    update actor {
        w = actor.logprob(win)
        l = actor.logprob(lose)
        minimize mean(dpo(w - sum(l over tokens)) over batch)
        minimize mean(ipo(w - sum(l over tokens)) over batch)
        minimize mean(kto(w, 0, 1) over batch)
        minimize mean(pair(sum(w over tokens), l) over batch)
        minimize mean(dpo(w - l) over batch)
        minimize mean(pair(sum(w over tokens), sum(l over tokens)) over batch)
    }
}
--- errors
test.rlf:10:27: error: the argument 'margin' of 'dpo' takes one per sample at most, and this is one per token of 'win'
   10 |         minimize mean(dpo(w - sum(l over tokens)) over batch)
      |                           ^~~~~~~~~~~~~~~~~~~~~~
STDLIB/loss.rlf:128:9: note: it is declared here
  128 | def dpo(margin: sample, beta: scalar = 0.1 in 0.., smooth: scalar = 0 in 0..0.5) =
      |         ^~~~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
test.rlf:11:27: error: the argument 'margin' of 'ipo' takes one per sample at most, and this is one per token of 'win'
   11 |         minimize mean(ipo(w - sum(l over tokens)) over batch)
      |                           ^~~~~~~~~~~~~~~~~~~~~~
STDLIB/loss.rlf:133:9: note: it is declared here
  133 | def ipo(margin: sample, beta: scalar = 0.1 in 0..) = (margin - 1 / (2 * beta))^2
      |         ^~~~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
test.rlf:12:27: error: the argument 'gain' of 'kto' takes one per sample at most, and this is one per token of 'win'
   12 |         minimize mean(kto(w, 0, 1) over batch)
      |                           ^
STDLIB/loss.rlf:138:9: note: it is declared here
  138 | def kto(gain: sample, base: sample, good: sample, beta: scalar = 0.1 in 0.., weight_good = 1.0,
      |         ^~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
test.rlf:13:48: error: the argument 'rejected' of 'pair' takes one per sample at most, and this is one per token of 'lose'
   13 |         minimize mean(pair(sum(w over tokens), l) over batch)
      |                                                ^
STDLIB/loss.rlf:163:26: note: it is declared here
  163 | def pair(chosen: sample, rejected: sample, margin: sample = 0) =
      |                          ^~~~~~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
test.rlf:14:29: error: one per token of 'win' and one per token of 'lose' cannot be combined
   14 |         minimize mean(dpo(w - l) over batch)
      |                           ~ ^ ~
hint: reduce each first: sum(... over tokens)
