Names: what they mean, and that each is given once.
=== unknown names and what was meant
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = scoer + 1
    b = log_sigmoidd(score)
    c = True
    d = clop(score, score)
    e = actr.logprob(roll)
    f = roll.lenght
    g = actor.logprobb(roll)
    h = batch.anser
    i = ln(score)
    j = roll.splt(parts: 2)
    k = nothing_like_it
}
--- errors
test.rlf:13:9: error: there is nothing named 'scoer'
   13 |     a = scoer + 1
      |         ^~~~~
hint: did you mean 'score'?
test.rlf:14:9: error: there is no function named 'log_sigmoidd'
   14 |     b = log_sigmoidd(score)
      |         ^~~~~~~~~~~~
hint: did you mean 'log_sigmoid'?
test.rlf:15:9: error: there is nothing named 'True'
   15 |     c = True
      |         ^~~~
hint: write 'true'
test.rlf:16:9: error: there is no function named 'clop'
   16 |     d = clop(score, score)
      |         ^~~~
hint: did you mean 'clip'?
test.rlf:17:9: error: there is nothing named 'actr'
   17 |     e = actr.logprob(roll)
      |         ^~~~
hint: did you mean 'actor'?
test.rlf:18:5: error: 'f' is given a second time
   18 |     f = roll.lenght
      |     ^
test.rlf:10:6: note: first here
   10 | flow f(batch: prompts[8]) {
      |      ^
hint: a name stands for one value; what changes is a state
test.rlf:18:14: error: 'roll' has no field 'lenght'
   18 |     f = roll.lenght
      |              ^~~~~~
hint: did you mean 'length'?
test.rlf:19:15: error: a model has no method 'logprobb'
   19 |     g = actor.logprobb(roll)
      |               ^~~~~~~~
hint: did you mean 'logprob'?
test.rlf:20:15: error: 'batch' has no field 'anser'
   20 |     h = batch.anser
      |               ^~~~~
hint: did you mean 'answer'?
test.rlf:21:9: error: there is no function named 'ln'
   21 |     i = ln(score)
      |         ^~
hint: write log(score)
test.rlf:22:14: error: a set has no method 'splt'
   22 |     j = roll.splt(parts: 2)
      |              ^~~~
hint: did you mean 'split'?
test.rlf:23:9: error: there is nothing named 'nothing_like_it'
   23 |     k = nothing_like_it
      |         ^~~~~~~~~~~~~~~
=== what is built in is not set
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, max_new: 8)
    step := 3
    stepp := 3
}
--- errors
test.rlf:12:5: error: there is no state or model named 'step'
   12 |     step := 3
      |     ^~~~
hint: 'step' is a built-in value, which no program sets; what ':=' changes is declared, with another name: state my_step = 0
test.rlf:13:5: error: there is no state or model named 'stepp'
   13 |     stepp := 3
      |     ^~~~~
hint: what ':=' changes is declared: state stepp = 0; a name is given by '='
=== a name is given once
+++ ppo
flow f(batch: prompts[8]) {
    a = 1
    a = 2
    if a == 1 { a = 3 }
    beta = 4
    b = 1
    for mini in batch.split(parts: 2) { b = 2 }
}
--- errors
test.rlf:12:5: error: 'a' is given a second time
   12 |     a = 2
      |     ^
test.rlf:11:5: note: first here
   11 |     a = 1
      |     ^
hint: a name stands for one value; what changes is a state
test.rlf:13:17: error: 'a' is given a second time
   13 |     if a == 1 { a = 3 }
      |                 ^
test.rlf:11:5: note: first here
   11 |     a = 1
      |     ^
hint: a name stands for one value; what changes is a state
test.rlf:14:5: error: 'beta' is given a second time
   14 |     beta = 4
      |     ^~~~
test.rlf:3:7: note: first here
    3 | param beta : float = 0.1
      |       ^~~~
hint: a name stands for one value; what changes is a state
test.rlf:16:41: error: 'b' is given a second time
   16 |     for mini in batch.split(parts: 2) { b = 2 }
      |                                         ^
test.rlf:15:5: note: first here
   15 |     b = 1
      |     ^
hint: a name stands for one value; what changes is a state
=== names end with their block, and hide imported and built-in ones
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    if step == 1 { inner = 1 }
    x = inner
    clip = 3
    mean = 4
    y = clip + mean
}
--- errors
test.rlf:14:9: error: there is nothing named 'inner'
   14 |     x = inner
      |         ^~~~~
test.rlf:13:20: note: a name ends with its block, and this did
   13 |     if step == 1 { inner = 1 }
      |                    ^~~~~
hint: use it in the block, or name before the block what is needed after it
=== declared twice
+++ ppo
data prompts = jsonl("x")
def beta() = 1
flow f(batch: prompts[8]) {
    a = 1
}
--- errors
test.rlf:10:6: error: 'prompts' is declared twice
   10 | data prompts = jsonl("x")
      |      ^~~~~~~
test.rlf:4:6: note: first here
    4 | data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
      |      ^~~~~~~
test.rlf:11:5: error: 'beta' is declared twice
   11 | def beta() = 1
      |     ^~~~
test.rlf:3:7: note: first here
    3 | param beta : float = 0.1
      |       ^~~~
=== functions and values are not the same
+++ ppo
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = clip + 1
    b = score(1)
    c = beta(2)
    d = f
    e = exp
    g = actor
    h = actor.logprob
    i = 3 . x
    j = score()
    k = (score)(1)
}
--- errors
test.rlf:13:9: error: 'clip' is a function: it is used as clip(...)
   13 |     a = clip + 1
      |         ^~~~
test.rlf:14:9: error: 'score' is not a function
   14 |     b = score(1)
      |         ^~~~~
test.rlf:12:5: note: it is named here
   12 |     score = judge(roll)
      |     ^~~~~
test.rlf:15:9: error: 'beta' is not a function
   15 |     c = beta(2)
      |         ^~~~
test.rlf:3:7: note: it is named here
    3 | param beta : float = 0.1
      |       ^~~~
test.rlf:16:9: error: 'f' is the flow and has no value
   16 |     d = f
      |         ^
test.rlf:17:9: error: 'exp' is a function: it is used as exp(...)
   17 |     e = exp
      |         ^~~
test.rlf:19:15: error: a model has no field 'logprob'
   19 |     h = actor.logprob
      |               ^~~~~~~
hint: a method is called: actor.logprob(...)
test.rlf:20:13: error: a number has no field 'x'
   20 |     i = 3 . x
      |             ^
test.rlf:21:9: error: 'score' is not a function
   21 |     j = score()
      |         ^~~~~
test.rlf:12:5: note: it is named here
   12 |     score = judge(roll)
      |     ^~~~~
test.rlf:22:10: error: 'score' is not a function
   22 |     k = (score)(1)
      |          ^~~~~
test.rlf:12:5: note: it is named here
   12 |     score = judge(roll)
      |     ^~~~~
=== imports: hiding, two that give a name, an alias
+++ ppo
import "other"
import "other.rlf" as o
flow f(batch: prompts[8]) {
    a = twice(2) + o.twice(3)
    b = clip(1)
    c = o.clip(1)
    d = o.nothing(1)
}
--- errors
test.rlf:14:9: error: two imports give 'clip'
   14 |     b = clip(1)
      |         ^~~~
test.rlf:2:1: note: this one
    2 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:10:1: note: and this one
   10 | import "other"
      | ^~~~~~~~~~~~~~
hint: import one of them as a name of its own: import "..." as x, then x.clip
test.rlf:16:11: error: 'o' declares no 'nothing'
   16 |     d = o.nothing(1)
      |           ^~~~~~~
other.rlf:3:15: error: 'loop' is expanded without end: it uses itself
    3 | def loop(x) = loop(x)
      |               ^~~~
=== imports that are not there, or come back
+++ ppo
import "std/nothing"
import "gone"
import "cycle"
flow f(batch: prompts[8]) {
    a = 1
}
--- errors
test.rlf:10:8: error: cannot open STDLIB/nothing.rlf: No such file or directory
   10 | import "std/nothing"
      |        ^~~~~~~~~~~~~
hint: the installed library is in STDLIB (RLFLOW_STDLIB names another directory)
test.rlf:11:8: error: cannot open gone.rlf: No such file or directory
   11 | import "gone"
      |        ^~~~~~
hint: it is looked for beside the file that imports it; the library is "std/..."
cycle.rlf:1:8: error: 'cycle' imports itself, through this import
    1 | import "cycle"
      |        ^~~~~~~
=== a def that uses itself
+++ ppo
import "other" as o
flow f(batch: prompts[8]) {
    a = o.loop(1)
}
--- errors
other.rlf:3:15: error: 'loop' is expanded without end: it uses itself
    3 | def loop(x) = loop(x)
      |               ^~~~
test.rlf:12:11: note: in this use of 'loop'
   12 |     a = o.loop(1)
      |           ^~~~
=== arguments of defs
+++ ppo
def two(a, b = 2) = a + b
def m(x: model, s: set, t: token, p: prompt, w: word) = 1
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = two()
    b = two(1, 2, 3)
    c = two(1, a: 2)
    d = two(1, bb: 2)
    e = two(1, b: 3) + two(b: 1, a: 2)
    g = two(1 over batch)
    h = m(roll, roll, 1, 1, 1)
    i = m(actor, actor, 1, 1, 1)
    j = m(actor, batch, 1, score, 1)
    k = gae(1, roll.logprob, end: roll.logprob)
}
--- errors
test.rlf:11:49: error: there is no level or kind 'word'
   11 | def m(x: model, s: set, t: token, p: prompt, w: word) = 1
      |                                                 ^~~~
hint: it is scalar, prompt, sample, token, vocab, model, set or text
test.rlf:15:9: error: 'two' lacks its argument 'a'
   15 |     a = two()
      |         ^~~
test.rlf:10:9: note: it is declared here
   10 | def two(a, b = 2) = a + b
      |         ^
test.rlf:16:19: error: 'two' takes 2 arguments
   16 |     b = two(1, 2, 3)
      |                   ^
test.rlf:10:5: note: it is declared here
   10 | def two(a, b = 2) = a + b
      |     ^~~
test.rlf:17:16: error: 'two' already has 'a'
   17 |     c = two(1, a: 2)
      |                ^
test.rlf:10:5: note: it is declared here
   10 | def two(a, b = 2) = a + b
      |     ^~~
test.rlf:18:16: error: 'two' has no argument 'bb'
   18 |     d = two(1, bb: 2)
      |                ^~
test.rlf:10:5: note: it is declared here
   10 | def two(a, b = 2) = a + b
      |     ^~~
hint: did you mean 'b'?
test.rlf:20:9: error: 'two' is not a reduction
   20 |     g = two(1 over batch)
      |         ^~~
hint: write two(1)
test.rlf:21:11: error: the argument 'x' of 'm' takes a model, and this is a set
   21 |     h = m(roll, roll, 1, 1, 1)
      |           ^~~~
test.rlf:22:18: error: a set of samples is wanted, and this is a model
   22 |     i = m(actor, actor, 1, 1, 1)
      |                  ^~~~~
test.rlf:23:28: error: the argument 'p' of 'm' takes one per prompt at most, and this is one per sample of 'roll'
   23 |     j = m(actor, batch, 1, score, 1)
      |                            ^~~~~
test.rlf:11:35: note: it is declared here
   11 | def m(x: model, s: set, t: token, p: prompt, w: word) = 1
      |                                   ^~~~~~~~~
test.rlf:24:35: error: the argument 'end' of 'gae' takes one per sample at most, and this is one per token of 'roll'
   24 |     k = gae(1, roll.logprob, end: roll.logprob)
      |                                   ^~~~~~~~~~~~
STDLIB/advantage.rlf:14:5: note: it is declared here
   14 |     end: sample = 0) = discount(r + gamma * next(v, end) - v, gamma * lambda)
      |     ^~~~~~~~~~~~~~~
hint: reduce it first: sum(... over tokens), or mean(... over tokens)
=== bodies of defs
+++ ppo
def a(x) { y = x + 1; return y * 2 }
def b(x) { y = x }
def c(x) { return x; y = 2 }
def d(x) { report z = x }
flow f(batch: prompts[8]) {
    p = a(1) + b(2) + c(3) + d(4)
}
--- errors
test.rlf:11:12: error: a def with a block ends with a return
   11 | def b(x) { y = x }
      |            ^~~~~
test.rlf:11:5: note: of this def
   11 | def b(x) { y = x }
      |     ^
test.rlf:12:12: error: a def holds only names and, at its end, a return
   12 | def c(x) { return x; y = 2 }
      |            ^~~~~~~~
test.rlf:12:5: note: of this def
   12 | def c(x) { return x; y = 2 }
      |     ^
test.rlf:13:12: error: a def with a block ends with a return
   13 | def d(x) { report z = x }
      |            ^~~~~~~~~~~~
test.rlf:13:5: note: of this def
   13 | def d(x) { report z = x }
      |     ^
=== an error inside a def says in which use
+++ ppo
def add(x, y) = x + y
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    other = judge(actor.generate(batch, n: 2, max_new: 3))
    z = add(score, other)
}
--- errors
test.rlf:10:19: error: one per sample of 'roll' and one per sample of 'generate(...)' cannot be combined
   10 | def add(x, y) = x + y
      |                 ~ ^ ~
test.rlf:15:9: note: in this use of 'add'
   15 |     z = add(score, other)
      |         ^~~
hint: reduce one to the prompts they share: mean(y over group)
=== no flow, two flows
+++ ppo
flow a() { }
flow b() { }
--- errors
test.rlf:11:6: error: a program has one flow
   11 | flow b() { }
      |      ^
test.rlf:10:6: note: first here
   10 | flow a() { }
      |      ^
=== no flow
+++ ppo

--- errors
test.rlf:1:1: error: the program has no flow
    1 | import "std/advantage"
      | ^
=== what a flow draws from
+++ ppo
flow f(a: prompts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weight: 3], h: 3) { }
--- errors
test.rlf:10:11: error: the flow's head says how many rows a step draws
   10 | flow f(a: prompts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weig...
      |           ^~~~~~~
hint: a: prompts[64]
test.rlf:10:23: error: a flow draws from a data set, and this is a model
   10 | flow f(a: prompts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weig...
      |                       ^~~~~
test.rlf:10:44: error: the count of 'prompts[...]' is 0, and must be from 1 to 1000000000
   10 | flow f(a: prompts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weig...
      |                                            ^
hint: how many rows a step draws
test.rlf:10:59: error: the count of 'prompts[...]' is a whole number, not 1.5
   10 | flow f(a: prompts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weig...
      |                                                           ^~~
hint: how many rows a step draws
test.rlf:10:76: error: the count of 'prompts[...]' is a whole number, not 0.1
   10 | ...ts, b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weight: 3], h: 3) {...
      |                                                                ^~~~
hint: how many rows a step draws
test.rlf:10:112: error: a flow draws from a data set, and this is a number
   10 | ..., b: actor[3], c: prompts[0], d: prompts[1.5], e: prompts[beta], g: prompts[4, weight: 3], h: 3) { }
      |                                                                                                  ^
=== a metric is written once
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    report a = mean(score over batch), a = mean(roll.length over batch)
    report b = mean(score over batch)
    if step == 1 { report b = 2 }
    if step == 1 { report c = 1 } else { report c = 2 }
    every 5 steps { report c = 3 }
    for mini in roll.split(parts: 2) {
        update actor {
            logp = actor.logprob(mini)
            if mean(logp over batch) > 0 { report d = mean(logp over batch) } else { report d = 0 }
            report e = mean(logp over batch), d = 2
            minimize mean(logp over batch)
        }
        report e = step, step = 3, tokens = 1, seconds = 2
    }
}
--- errors
test.rlf:7:40: error: 'a' is reported twice: the mean of both would be written
    7 |     report a = mean(score over batch), a = mean(roll.length over batch)
      |                                        ^
test.rlf:7:12: note: first here
    7 |     report a = mean(score over batch), a = mean(roll.length over batch)
      |            ^
hint: give one of them another name
test.rlf:9:27: error: 'b' is reported twice: the mean of both would be written
    9 |     if step == 1 { report b = 2 }
      |                           ^
test.rlf:8:12: note: first here
    8 |     report b = mean(score over batch)
      |            ^
hint: give one of them another name
test.rlf:16:47: error: 'd' is reported twice: the mean of both would be written
   16 |             report e = mean(logp over batch), d = 2
      |                                               ^
test.rlf:15:51: note: first here
   15 |             if mean(logp over batch) > 0 { report d = mean(logp over batch) } else { report d = 0 }
      |                                                   ^
hint: give one of them another name
test.rlf:19:16: error: 'e' is reported twice: the mean of both would be written
   19 |         report e = step, step = 3, tokens = 1, seconds = 2
      |                ^
test.rlf:16:20: note: first here
   16 |             report e = mean(logp over batch), d = 2
      |                    ^
hint: give one of them another name
test.rlf:19:26: error: each line of metrics has its own 'step'
   19 |         report e = step, step = 3, tokens = 1, seconds = 2
      |                          ^~~~
hint: give the metric another name
test.rlf:19:36: error: each line of metrics has its own 'tokens'
   19 |         report e = step, step = 3, tokens = 1, seconds = 2
      |                                    ^~~~~~
hint: give the metric another name
test.rlf:19:48: error: each line of metrics has its own 'seconds'
   19 |         report e = step, step = 3, tokens = 1, seconds = 2
      |                                                ^~~~~~~
hint: give the metric another name
=== what was meant
import "std/loss" as loss
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow grpo(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 3)
    score = judge(roll)
    kl := 3
    actr := actor
    for mini in roll.split(parts: 2) { update actor minimize mean(actor.logprob(mini) over batch) }
    a = mean(mini.length over batch)
    b = clip(score, score)
    c = loss
    d = whiten(score)
    e = dro
    roll := actor.generate(batch, max_new: 3)
    g = batch.answer > "2"
    h = batch.answer + "2"
    i = batch.answer == 2
    update actor minimize mean(floor(actor.logprob(roll)) over batch)
    j = x
}
--- errors
test.rlf:8:5: error: there is no state or model named 'kl'
    8 |     kl := 3
      |     ^~
hint: what ':=' changes is declared: state kl = 0; a name is given by '='
test.rlf:9:5: error: there is no state or model named 'actr'
    9 |     actr := actor
      |     ^~~~
hint: did you mean 'actor'?
test.rlf:11:14: error: there is nothing named 'mini'
   11 |     a = mean(mini.length over batch)
      |              ^~~~
test.rlf:10:9: note: a name ends with its block, and this did
   10 |     for mini in roll.split(parts: 2) { update actor minimize mean(actor.logprob(mini) over batch) }
      |         ^~~~
hint: use it in the block, or name before the block what is needed after it
test.rlf:12:9: error: there is no function named 'clip'
   12 |     b = clip(score, score)
      |         ^~~~
hint: write 'loss.clip'
test.rlf:13:9: error: there is nothing named 'loss'
   13 |     c = loss
      |         ^~~~
hint: an import has that name: loss.NAME is one of its functions
test.rlf:14:9: error: there is no function named 'whiten'
   14 |     d = whiten(score)
      |         ^~~~~~
hint: it is in the library: import "std/advantage"
test.rlf:15:9: error: there is nothing named 'dro'
   15 |     e = dro
      |         ^~~
hint: write 'loss.dro'
test.rlf:16:5: error: only states and models change, and 'roll' is neither
   16 |     roll := actor.generate(batch, max_new: 3)
      |     ^~~~
test.rlf:6:5: note: it is named here
    6 |     roll = actor.generate(batch, n: 4, max_new: 3)
      |     ^~~~
hint: a name stands for one value: give the new one another name, with '='
test.rlf:17:22: error: '>' takes numbers, and these are texts
   17 |     g = batch.answer > "2"
      |         ~~~~~~~~~~~~ ^ ~~~
hint: two texts can be compared by == and !=
test.rlf:18:22: error: '+' takes numbers, and these are texts
   18 |     h = batch.answer + "2"
      |         ~~~~~~~~~~~~ ^ ~~~
hint: two texts can be compared by == and !=
test.rlf:19:22: error: this is a text and a number: texts and numbers do not mix
   19 |     i = batch.answer == 2
      |         ~~~~~~~~~~~~ ^~ ~
hint: two texts can be compared by == and !=
test.rlf:20:32: error: 'actor' changes this loss only through what has no derivative
   20 |     update actor minimize mean(floor(actor.logprob(roll)) over batch)
      |                                ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: comparisons, the condition of a choice, floor, sg, count and rank are constants to the derivative: minimize what they are made of
test.rlf:21:9: error: there is nothing named 'x'
   21 |     j = x
      |         ^
=== a flow is called as a function that it uses
import "std/advantage"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow grpo(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 3)
    adv = grpo(judge(roll))
    update actor minimize mean(adv * actor.logprob(roll) over batch)
}
--- errors
compiles
=== what lacks hides nothing else
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    a = actor.generate(batch, greedy: true, temperatur: 0.5)
    b = mean(judge(a) over grup)
    report x = a.lenght
}
--- errors
test.rlf:5:15: error: 'generate' lacks 'max_new:'
    5 |     a = actor.generate(batch, greedy: true, temperatur: 0.5)
      |               ^~~~~~~~
hint: tokens of a response at most
test.rlf:5:45: error: 'generate' has no argument 'temperatur:'
    5 |     a = actor.generate(batch, greedy: true, temperatur: 0.5)
      |                                             ^~~~~~~~~~
hint: did you mean 'temperature:'?
test.rlf:6:28: error: there is no 'over grup'
    6 |     b = mean(judge(a) over grup)
      |                            ^~~~
hint: it is over tokens, group, batch or vocab
test.rlf:7:18: error: 'a' has no field 'lenght'
    7 |     report x = a.lenght
      |                  ^~~~~~
hint: did you mean 'length'?
=== what is built in is not hidden
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
param step : int = 3
state uniform = 1
def abs(x) = x
def ask(x) = x
def twice(step) = 2 * step
hook log = lua("j.lua")
model mean = copy(actor)
flow max(batch: prompts[8]) { report x = step }
--- errors
test.rlf:4:7: error: 'step' is a built-in value already
    4 | param step : int = 3
      |       ^~~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:6:5: error: 'abs' is a built-in function already
    6 | def abs(x) = x
      |     ^~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:7:5: error: 'ask' is a built-in function already
    7 | def ask(x) = x
      |     ^~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:8:11: error: 'step' is a built-in value already
    8 | def twice(step) = 2 * step
      |           ^~~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:9:6: error: 'log' is a built-in function already
    9 | hook log = lua("j.lua")
      |      ^~~
hint: it would be replaced wherever it is used: choose another name
=== nor in a flow
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow max(batch: prompts[8]) {
    step = 4
    roll = actor.generate(batch, n: 2, max_new: 8)
    min = judge(roll)
    for step in roll.split(parts: 2) { report a = 1 }
    if 1 > 0 {
        step = 5
    }
}
--- errors
test.rlf:5:5: error: 'step' is a built-in value already
    5 |     step = 4
      |     ^~~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:8:9: error: 'step' is a built-in value already
    8 |     for step in roll.split(parts: 2) { report a = 1 }
      |         ^~~~
hint: it would be replaced wherever it is used: choose another name
test.rlf:10:9: error: 'step' is a built-in value already
   10 |         step = 5
      |         ^~~~
hint: it would be replaced wherever it is used: choose another name
=== named below, or elsewhere
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    a = score + 1
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    b = avg(score over batch)
    c = judge(roll).joy
    d = prompts(3)
}
--- errors
test.rlf:5:9: error: there is nothing named 'score'
    5 |     a = score + 1
      |         ^~~~~
hint: it is named below, in line 7: a name is used after that
test.rlf:8:9: error: 'avg' is not a reduction
    8 |     b = avg(score over batch)
      |         ^~~
hint: did you mean 'mean'?
test.rlf:9:21: error: 'judge' gives no 'joy'
    9 |     c = judge(roll).joy
      |                     ^~~
hint: what a hook gives is named where it is declared: hook judge = lua(...) -> (joy, ...)
test.rlf:10:9: error: 'prompts' is not a function
   10 |     d = prompts(3)
      |         ^~~~~~~
test.rlf:1:6: note: it is named here
    1 | data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
      |      ^~~~~~~
hint: the flow's head draws rows of it: prompts[64]
=== a field where rows are chosen
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
data some = prompts.where(answer == "3")
flow f(batch: prompts[8]) { report x = 1 }
--- errors
test.rlf:2:27: error: there is nothing named 'answer'
    2 | data some = prompts.where(answer == "3")
      |                           ^~~~~~
hint: a field of a row: write prompts.answer
=== imports that are not there
import "std/los"
import "std/answer"
import "std/nothing_like_it"
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) { report x = 1 }
--- errors
test.rlf:1:8: error: cannot open STDLIB/los.rlf: No such file or directory
    1 | import "std/los"
      |        ^~~~~~~~~
hint: did you mean "std/loss"?
test.rlf:2:8: error: cannot open STDLIB/answer.rlf: No such file or directory
    2 | import "std/answer"
      |        ^~~~~~~~~~~~
hint: it is a Lua module: require("answer") in the file of a hook
test.rlf:3:8: error: cannot open STDLIB/nothing_like_it.rlf: No such file or directory
    3 | import "std/nothing_like_it"
      |        ^~~~~~~~~~~~~~~~~~~~~
hint: the installed library is in STDLIB (RLFLOW_STDLIB names another directory)
=== a constructor after a dot
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = actor.copy()
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) { report x = 1 }
--- errors
test.rlf:2:19: error: 'copy(...)' is written by itself, not after a name and a dot
    2 | model ref = actor.copy()
      |                   ^~~~
hint: copy(actor)
=== clip, which others have for clamp
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    report x = mean(clip(roll.length, 0, 1) over batch)
}
--- errors
test.rlf:5:21: error: there is no function named 'clip'
    5 |     report x = mean(clip(roll.length, 0, 1) over batch)
      |                     ^~~~
hint: PPO's clip(ratio, adv) is in the library, import "std/loss"; a value between two bounds is clamp(x, low, high)
=== names of the program that library functions have
import "std/loss"
data clip = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model gae = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
hook remax = lua("j.lua")
param rloo : float = 0.1
flow grpo(batch: clip[8]) {
    roll = gae.generate(batch, n: 4, max_new: 3)
    whiten = judge(roll)
    a = grpo(whiten)
    b = clip(whiten, whiten)
    c = gae(whiten, whiten)
    d = rloo(whiten)
    e = whiten(whiten)
    g = remax(whiten, whiten)
    h = remax(gae)
    report a = a, b = b, c = c, d = d, e = e
}
--- errors
test.rlf:10:9: error: 'grpo' is not a function
   10 |     a = grpo(whiten)
      |         ^~~~
test.rlf:7:6: note: it is named here
    7 | flow grpo(batch: clip[8]) {
      |      ^~~~
hint: it is in the library: import "std/advantage"
test.rlf:11:9: error: 'clip' is not a function
   11 |     b = clip(whiten, whiten)
      |         ^~~~
test.rlf:2:6: note: it is named here
    2 | data clip = jsonl("rows.jsonl", prompt: "question", answer: "answer")
      |      ^~~~
hint: the library has clip(...), in "std/loss", which this name hides: give it another one
test.rlf:12:9: error: 'gae' is not a function
   12 |     c = gae(whiten, whiten)
      |         ^~~
test.rlf:3:7: note: it is named here
    3 | model gae = lm("m", optimizer: adamw(lr: 1e-5))
      |       ^~~
hint: the library has gae(...), in "std/advantage", which this name hides: give it another one
test.rlf:13:9: error: 'rloo' is not a function
   13 |     d = rloo(whiten)
      |         ^~~~
test.rlf:6:7: note: it is named here
    6 | param rloo : float = 0.1
      |       ^~~~
hint: the library has rloo(...), in "std/advantage", which this name hides: give it another one
test.rlf:14:9: error: 'whiten' is not a function
   14 |     e = whiten(whiten)
      |         ^~~~~~
test.rlf:9:5: note: it is named here
    9 |     whiten = judge(roll)
      |     ^~~~~~
hint: the library has whiten(...), in "std/advantage", which this name hides: give it another one
test.rlf:15:15: error: a set of samples is wanted, and this is the hook's results
   15 |     g = remax(whiten, whiten)
      |               ^~~~~~
hint: the library has remax(...), in "std/advantage", which this name hides: give it another one
test.rlf:15:23: error: 'remax' takes no further argument without a name
   15 |     g = remax(whiten, whiten)
      |                       ^~~~~~
test.rlf:16:15: error: a set of samples is wanted, and this is a model
   16 |     h = remax(gae)
      |               ^~~
hint: the library has remax(...), in "std/advantage", which this name hides: give it another one
=== a name of the flow that a renamed import declares
import "std/loss" as loss
data rows = jsonl("rows.jsonl", prompt: "question", answer: "answer")
flow clip(batch: rows[8]) {
    report a = mean(clip(batch.length, batch.length) over batch)
}
--- errors
test.rlf:4:21: error: 'clip' is not a function
    4 |     report a = mean(clip(batch.length, batch.length) over batch)
      |                     ^~~~
test.rlf:3:6: note: it is named here
    3 | flow clip(batch: rows[8]) {
      |      ^~~~
hint: write 'loss.clip'
