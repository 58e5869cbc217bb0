What newcomers write as in other languages: how it is written here, in the program's own words.
=== functions that are methods, fields, declarations, formulas
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar)
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = generate(actor, batch, max_new: 8)
    b = generate(batch, model: actor)
    c = logprob(actor, roll)
    d = logprob(roll)
    e = value(critic, roll)
    g = score(critic, roll)
    h = sample(actor, batch, max_new: 8)
    i = at_last(roll, score)
    j = split(roll, parts: 2)
    k = where(roll, score > 0)
    l = length(roll)
    m = len(roll)
    n = actor(roll)
    o = roll(0)
    p = jsonl("rows.jsonl")
    q = copy(actor)
    r = adamw(lr: 1)
}
--- errors
test.rlf:9:9: error: there is no function named 'generate'
    9 |     a = generate(actor, batch, max_new: 8)
      |         ^~~~~~~~
hint: it is a method: write actor.generate(batch, max_new: 8)
test.rlf:10:9: error: there is no function named 'generate'
   10 |     b = generate(batch, model: actor)
      |         ^~~~~~~~
hint: it is a method: write actor.generate(batch)
test.rlf:11:9: error: there is no function named 'logprob'
   11 |     c = logprob(actor, roll)
      |         ^~~~~~~
hint: it is a method: write actor.logprob(roll)
test.rlf:12:9: error: there is no function named 'logprob'
   12 |     d = logprob(roll)
      |         ^~~~~~~
hint: it is a method: write m.logprob(roll), with the model before the dot
test.rlf:13:9: error: there is no function named 'value'
   13 |     e = value(critic, roll)
      |         ^~~~~
hint: it is a method: write critic.value(roll)
test.rlf:14:9: error: 'score' is not a function
   14 |     g = score(critic, roll)
      |         ^~~~~
test.rlf:8:5: note: it is named here
    8 |     score = judge(roll)
      |     ^~~~~
hint: the method is called so: critic.score(roll)
test.rlf:15:9: error: there is no function named 'sample'
   15 |     h = sample(actor, batch, max_new: 8)
      |         ^~~~~~
hint: it is a method: write actor.generate(batch, max_new: 8)
test.rlf:16:9: error: there is no function named 'at_last'
   16 |     i = at_last(roll, score)
      |         ^~~~~~~
hint: it is a method: write roll.at_last(score)
test.rlf:17:9: error: there is no function named 'split'
   17 |     j = split(roll, parts: 2)
      |         ^~~~~
hint: it is a method: write roll.split(parts: 2)
test.rlf:18:9: error: there is no function named 'where'
   18 |     k = where(roll, score > 0)
      |         ^~~~~
hint: it is a method: write roll.where(score > 0)
test.rlf:19:9: error: there is no function named 'length'
   19 |     l = length(roll)
      |         ^~~~~~
hint: it is a field: write roll.length
test.rlf:20:9: error: there is no function named 'len'
   20 |     m = len(roll)
      |         ^~~
hint: write roll.length
test.rlf:21:9: error: 'actor' is not a function
   21 |     n = actor(roll)
      |         ^~~~~
test.rlf:3:7: note: it is named here
    3 | model actor = lm("m", optimizer: adamw(lr: 1e-5))
      |       ^~~~~
hint: a model is called by its methods: actor.generate(...), actor.logprob(...), actor.logprobs(...), actor.value(...), actor.score(...)
test.rlf:22:9: error: 'roll' is not a function
   22 |     o = roll(0)
      |         ^~~~
test.rlf:7:5: note: it is named here
    7 |     roll = actor.generate(batch, n: 4, max_new: 8)
      |     ^~~~
hint: a set has methods: roll.where(...), roll.at_last(...), roll.at_all(...), and in the head of a loop roll.split(...)
test.rlf:23:9: error: there is no function named 'jsonl'
   23 |     p = jsonl("rows.jsonl")
      |         ^~~~~
hint: it is declared outside of the flow: data NAME = jsonl("rows.jsonl")
test.rlf:24:9: error: there is no function named 'copy'
   24 |     q = copy(actor)
      |         ^~~~
hint: it is declared outside of the flow: model NAME = copy(actor)
test.rlf:25:9: error: there is no function named 'adamw'
   25 |     r = adamw(lr: 1)
      |         ^~~~~
hint: it stands in the lm(...) of a declaration
=== functions that are formulas
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    s = round(2.5)
    t = round(score / 2)
    u = ceil(score)
    v = ceil(score + 1)
    w = relu(score - 1)
    x = log2(score)
    y = avg(score)
    z = cosine(score)
}
--- errors
test.rlf:8:9: error: there is no function named 'round'
    8 |     s = round(2.5)
      |         ^~~~~
hint: write floor(2.5 + 0.5)
test.rlf:9:9: error: there is no function named 'round'
    9 |     t = round(score / 2)
      |         ^~~~~
hint: write floor((score / 2) + 0.5)
test.rlf:10:9: error: there is no function named 'ceil'
   10 |     u = ceil(score)
      |         ^~~~
hint: write -floor(-score)
test.rlf:11:9: error: there is no function named 'ceil'
   11 |     v = ceil(score + 1)
      |         ^~~~
hint: write -floor(-(score + 1))
test.rlf:12:9: error: there is no function named 'relu'
   12 |     w = relu(score - 1)
      |         ^~~~
hint: write max(score - 1, 0)
test.rlf:13:9: error: there is no function named 'log2'
   13 |     x = log2(score)
      |         ^~~~
hint: write log(score) / log(2)
test.rlf:14:9: error: there is no function named 'avg'
   14 |     y = avg(score)
      |         ^~~
hint: write mean(score over batch)
test.rlf:15:9: error: there is no function named 'cosine'
   15 |     z = cosine(score)
      |         ^~~~~~
hint: there are exp log sqrt abs min max clamp floor sigmoid log_sigmoid tanh uniform sg discount cumsum next prev sum mean std var count rank rotate, and those of the library: man rlflow-std
=== methods and fields that are something else
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    lp = roll.logprob
    a = score.mean()
    b = score.mean
    c = lp.sum(tokens)
    d = lp.exp()
    e = lp.k1(roll.logprob)
    g = lp.detach()
    h = roll.length()
    i = roll.judge()
    j = roll.logprob(actor)
    k = batch.generate(actor, max_new: 8)
    l = judge.call(roll)
    m = roll.filter(score > 0)
    n = roll.shuffle()
    o = actor.sample(batch, max_new: 8)
    p = actor.train(batch)
}
--- errors
test.rlf:9:15: error: the hook's results have no methods
    9 |     a = score.mean()
      |               ^~~~
hint: it is a function: write mean(score over batch)
test.rlf:10:15: error: 'judge' gives no 'mean'
   10 |     b = score.mean
      |               ^~~~
hint: write mean(score over batch)
test.rlf:11:12: error: a number has no methods
   11 |     c = lp.sum(tokens)
      |            ^~~
hint: it is a function: write sum(lp over tokens)
test.rlf:12:12: error: a number has no methods
   12 |     d = lp.exp()
      |            ^~~
hint: it is a function: write exp(lp)
test.rlf:13:12: error: a number has no methods
   13 |     e = lp.k1(roll.logprob)
      |            ^~
hint: it is a function: write k1(lp, roll.logprob)
test.rlf:14:12: error: a number has no methods
   14 |     g = lp.detach()
      |            ^~~~~~
hint: it is a function: write sg(lp)
test.rlf:15:14: error: a set has no method 'length'
   15 |     h = roll.length()
      |              ^~~~~~
hint: a field has no parentheses: write roll.length
test.rlf:16:14: error: a set has no method 'judge'
   16 |     i = roll.judge()
      |              ^~~~~
hint: it is a function: write judge(roll)
test.rlf:17:14: error: a set has no method 'logprob'
   17 |     j = roll.logprob(actor)
      |              ^~~~~~~
hint: it is a method of models: write actor.logprob(roll)
test.rlf:18:15: error: a set has no method 'generate'
   18 |     k = batch.generate(actor, max_new: 8)
      |               ^~~~~~~~
hint: it is a method of models: write actor.generate(batch, max_new: 8)
test.rlf:19:15: error: a hook has no methods
   19 |     l = judge.call(roll)
      |               ^~~~
hint: a hook is called by its name: judge(roll)
test.rlf:20:14: error: a set has no method 'filter'
   20 |     m = roll.filter(score > 0)
      |              ^~~~~~
hint: did you mean 'where'?
test.rlf:21:14: error: a set has no method 'shuffle'
   21 |     n = roll.shuffle()
      |              ^~~~~~~
hint: it has roll.where(...), roll.at_last(...), roll.at_all(...), and in the head of a loop roll.split(...)
test.rlf:22:15: error: a model has no method 'sample'
   22 |     o = actor.sample(batch, max_new: 8)
      |               ^~~~~~
hint: did you mean 'generate'?
test.rlf:23:15: error: a model has no method 'train'
   23 |     p = actor.train(batch)
      |               ^~~~~
hint: it has actor.generate(...), actor.logprob(...), actor.logprobs(...), actor.value(...), actor.score(...)
=== fields
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    lp = roll.logprob
    q = roll.len
    r = roll.response
    s = roll.where
    t = roll.color
    u = batch.color
    v = roll.size
    w = actor.generate
    x = lp.mean
}
--- errors
test.rlf:6:14: error: 'roll' has no field 'len'
    6 |     q = roll.len
      |              ^~~
hint: did you mean 'length'?
test.rlf:7:14: error: 'roll' has no field 'response'
    7 |     r = roll.response
      |              ^~~~~~~~
hint: did you mean 'text'?
test.rlf:8:14: error: 'roll' has no field 'where'
    8 |     s = roll.where
      |              ^~~~~
hint: a method is called: roll.where(...)
test.rlf:9:14: error: 'roll' has no field 'color'
    9 |     t = roll.color
      |              ^~~~~
hint: it has roll.prompt, roll.text, roll.length, roll.finished, roll.logprob, and the fields of its data
test.rlf:10:15: error: 'batch' has no field 'color'
   10 |     u = batch.color
      |               ^~~~~
hint: it has batch.prompt, and the fields of its data
test.rlf:11:14: error: 'roll' has no field 'size'
   11 |     v = roll.size
      |              ^~~~
hint: how many samples there are is count(y over batch), of a value y of each
test.rlf:12:15: error: a model has no field 'generate'
   12 |     w = actor.generate
      |               ^~~~~~~~
hint: a method is called: actor.generate(...)
test.rlf:13:12: error: a number has no field 'mean'
   13 |     x = lp.mean
      |            ^~~~
hint: write mean(lp over batch)
=== samples that are chosen
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = batch.where(score > 0)
    b = roll.where(roll.logprob < 0)
    c = roll.where(step > 3)
    d = batch.where(grade > 3)
    e = roll.where(length > 3)
    f2 = roll[score > 0]
    g = roll[0]
    keep score > 0
    for m in roll { report q = step }
    for m in split(roll, 4) { report q = step }
}
--- errors
test.rlf:7:9: error: 'where' takes one per sample or prompt of 'batch', and this is one per sample of 'roll'
    7 |     a = batch.where(score > 0)
      |         ^~~~~~~~~~~~~~~~~~~~~~
hint: choose samples of 'roll': roll.where(score > 0); or prompts, by what is one per prompt: max(score > 0 over group)
test.rlf:8:9: error: 'where' takes one per sample or prompt of 'roll', and this is one per token of 'roll'
    8 |     b = roll.where(roll.logprob < 0)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: reduce it: max(roll.logprob < 0 over tokens)
test.rlf:9:9: error: 'where' takes one per sample or prompt of 'roll', and this is a scalar
    9 |     c = roll.where(step > 3)
      |         ^~~~~~~~~~~~~~~~~~~~
hint: for all samples or none of them: if step > 3 { ... }
test.rlf:10:21: error: there is nothing named 'grade'
   10 |     d = batch.where(grade > 3)
      |                     ^~~~~
hint: a field of the set: write batch.grade
test.rlf:11:20: error: there is nothing named 'length'
   11 |     e = roll.where(length > 3)
      |                    ^~~~~~
hint: a field of the set: write roll.length
test.rlf:12:15: error: x[s] is the part of x that belongs to the set s, and this is a number
   12 |     f2 = roll[score > 0]
      |               ^~~~~~~~~
hint: samples are chosen by a condition: roll.where(score > 0)
test.rlf:13:14: error: x[s] is the part of x that belongs to the set s, and this is a number
   13 |     g = roll[0]
      |              ^
hint: samples are chosen by a condition: roll.where(...)
test.rlf:14:5: error: keep stands only in a collect, at its end
   14 |     keep score > 0
      |     ^~~~~~~~~~~~~~
hint: samples of a set s are chosen by s.where(score > 0)
test.rlf:15:14: error: a loop walks the pieces of a set
   15 |     for m in roll { report q = step }
      |              ^~~~
hint: for mini in roll.split(parts: 4) { ... }
test.rlf:16:14: error: a loop walks the pieces of a set
   16 |     for m in split(roll, 4) { report q = step }
      |              ^~~~~~~~~~~~~~
hint: for mini in roll.split(parts: 4) { ... }
=== texts of two sets
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    one = actor.generate(batch, n: 4, max_new: 8)
    two = actor.generate(batch, n: 4, max_new: 8)
    same = one.text == two.text
    three = actor.generate(batch, max_new: 8)
    four = actor.generate(batch, max_new: 8)
    fine = three.text == four.text and one.text == batch.answer
}
--- errors
test.rlf:6:21: error: one per sample of 'one' and one per sample of 'two' cannot be combined
    6 |     same = one.text == two.text
      |            ~~~~~~~~ ^~ ~~~~~~~~
hint: texts meet where each prompt has one: generate without n:, or compare with a text of the prompt, as batch.prompt
=== types of parameters
param a : string = "x"
param b : number = 1
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
flow f(batch: prompts[8]) { }
--- errors
test.rlf:1:11: error: there is no type 'string'
    1 | param a : string = "x"
      |           ^~~~~~
hint: did you mean 'text'?
test.rlf:2:11: error: there is no type 'number'
    2 | param b : number = 1
      |           ^~~~~~
hint: did you mean 'float'?
=== sizes and states
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model other = lm("m", optimizer: adamw(lr: 1e-5, momentum: 0.9))
model third = lm("m", optimizer: adamw(lr: 1e-5, betas: 0.9))
hook small = lua("j.lua", memory: 64)
hook text = lua("j.lua", memory: "64MB")
hook much = lua("j.lua", memory: 1_000_000_000_000_000)
state c : float = 1
state d : actor = 1
flow f(batch: prompts[8]) { }
--- errors
test.rlf:3:50: error: 'adamw' has no argument 'momentum:'
    3 | model other = lm("m", optimizer: adamw(lr: 1e-5, momentum: 0.9))
      |                                                  ^~~~~~~~
hint: it has lr:, beta1:, beta2:, eps:, decay:, clip:
test.rlf:4:50: error: 'adamw' has no argument 'betas:'
    4 | model third = lm("m", optimizer: adamw(lr: 1e-5, betas: 0.9))
      |                                                  ^~~~~
hint: write beta1: ..., beta2: ...
test.rlf:5:35: error: 'memory:' of 'lua' is 64, and must be from 1048576 to 1e+12
    5 | hook small = lua("j.lua", memory: 64)
      |                                   ^~
hint: write its unit: 64MB (bytes that may be alive in the Lua state)
test.rlf:6:34: error: 'memory:' of 'lua' is a number, and this is a text
    6 | hook text = lua("j.lua", memory: "64MB")
      |                                  ^~~~~~
hint: write it without the quotes: 64MB
test.rlf:7:34: error: 'memory:' of 'lua' is 1e+15, and must be from 1048576 to 1e+12
    7 | hook much = lua("j.lua", memory: 1_000_000_000_000_000)
      |                                  ^~~~~~~~~~~~~~~~~~~~~
hint: bytes that may be alive in the Lua state
test.rlf:8:11: error: a state has no type: it is a number
    8 | state c : float = 1
      |           ^~~~~
hint: leave it out: state c = ...
test.rlf:9:11: error: a state has one number, or one per row of a data set, and this is a model
    9 | state d : actor = 1
      |           ^~~~~
hint: state d = ... is one number; state d : DATA = ... one per row of DATA
=== the least memory of a hook
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook small = lua("j.lua", memory: 64K)
hook smaller = lua("j.lua", memory: 100KB)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    report n = mean(roll.length over batch)
}
--- errors
test.rlf:3:35: error: 'memory:' of 'lua' is 64000, and must be from 1048576 to 1e+12
    3 | hook small = lua("j.lua", memory: 64K)
      |                                   ^~~
hint: write 1MB or more (bytes that may be alive in the Lua state)
test.rlf:4:37: error: 'memory:' of 'lua' is 102400, and must be from 1048576 to 1e+12
    4 | hook smaller = lua("j.lua", memory: 100KB)
      |                                     ^~~~~
hint: write 1MB or more (bytes that may be alive in the Lua state)
=== an update that is written as a method
flow f(batch: prompts[8]) {
    actor.update { minimize 1 }
}
--- errors
test.rlf:2:10: error: unexpected '.', expected ':=' or '='
    2 |     actor.update { minimize 1 }
      |          ^
hint: write update actor { minimize ... }
=== a name that is no statement before the step
flow f(batch: prompts[8]) {
    assert step > 0
    while step < 2 { }
}
--- errors
test.rlf:2:12: error: unexpected name 'step', expected ':=' or '='
    2 |     assert step > 0
      |            ^~~~
hint: 'break if c' ends a run, 'report name = c' writes it down
test.rlf:3:11: error: unexpected name 'step', expected ':=' or '='
    3 |     while step < 2 { }
      |           ^~~~
hint: there is no 'while': use 'for' over s.split(...) and 'break if'
=== the length of a text
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    report n = mean(len(roll.text) over batch)
}
--- errors
test.rlf:5:21: error: there is no function named 'len'
    5 |     report n = mean(len(roll.text) over batch)
      |                     ^~~
hint: write roll.length
=== a choice between values, a number already, a scale that others switch
import "std/advantage"
data prompts = jsonl("p", prompt: "q")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook j = lua("j.lua")
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 2)
    s = j(roll)
    a = where(s > 0, s, roll.length + 1)
    b = mean(mean(s over batch))
    c = max(s)
    d = grpo(s, scale: false)
}
--- errors
test.rlf:8:9: error: there is no function named 'where'
    8 |     a = where(s > 0, s, roll.length + 1)
      |         ^~~~~
hint: write s > 0 ? s : roll.length + 1
test.rlf:9:9: error: 'mean' does not say over what
    9 |     b = mean(mean(s over batch))
      |         ^~~~
hint: mean(s over batch) is one number already
test.rlf:10:9: error: 'max' takes 2 to 16 arguments, not 1
   10 |     c = max(s)
      |         ^~~
hint: max(s over group), or over batch
test.rlf:11:17: error: 'grpo' has no argument 'scale'
   11 |     d = grpo(s, scale: false)
      |                 ^~~~~
STDLIB/advantage.rlf:30:5: note: it is declared here
   30 | def grpo(score: sample, eps: scalar = 1e-6 in 0..) =
      |     ^~~~
hint: grpo(score) divides by the deviation of the group, dr_grpo(score) does not
=== values one by one in a list, an axis
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    a = sum([roll.length, roll.length - 1])
    b = mean([roll.length, 1, 2])
    c = max([roll.length, 1])
    d = sum(roll.length, roll.finished)
    e = mean(roll.logprob, -1)
    g = mean(roll.logprob, dim: -1)
    h = std([roll.length, 1])
    i = mean(roll.length, batch)
    j = sum(roll.length, roll)
    k = mean(roll.length, tokens)
    l = mean((roll.length != null) over batch)
}
--- errors
test.rlf:5:9: error: 'sum' does not say over what
    5 |     a = sum([roll.length, roll.length - 1])
      |         ^~~
hint: write roll.length + (roll.length - 1)
test.rlf:6:9: error: 'mean' does not say over what
    6 |     b = mean([roll.length, 1, 2])
      |         ^~~~
hint: write (roll.length + 1 + 2) / 3
test.rlf:7:9: error: 'max' takes 2 to 16 arguments, not 1
    7 |     c = max([roll.length, 1])
      |         ^~~
hint: write max(roll.length, 1)
test.rlf:8:9: error: 'sum' does not say over what
    8 |     d = sum(roll.length, roll.finished)
      |         ^~~
hint: write roll.length + roll.finished
test.rlf:9:9: error: 'mean' does not say over what
    9 |     e = mean(roll.logprob, -1)
      |         ^~~~
hint: mean(roll.logprob over tokens), or over group, or over batch
test.rlf:10:9: error: 'mean' does not say over what
   10 |     g = mean(roll.logprob, dim: -1)
      |         ^~~~
hint: mean(roll.logprob over tokens), or over group, or over batch
test.rlf:11:9: error: 'std' does not say over what
   11 |     h = std([roll.length, 1])
      |         ^~~
hint: std([roll.length, 1] over tokens), or over group, or over batch
test.rlf:12:9: error: 'mean' does not say over what
   12 |     i = mean(roll.length, batch)
      |         ^~~~
hint: write mean(roll.length over batch)
test.rlf:13:9: error: 'sum' does not say over what
   13 |     j = sum(roll.length, roll)
      |         ^~~
hint: write sum(roll.length over batch)
test.rlf:14:9: error: 'mean' does not say over what
   14 |     k = mean(roll.length, tokens)
      |         ^~~~
hint: write mean(roll.length over tokens)
test.rlf:15:30: error: there is nothing named 'null'
   15 |     l = mean((roll.length != null) over batch)
      |                              ^~~~
hint: there is no such value, every value is there: leave out what would be given or compared
=== a set that is written twice
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, max_new: 8)
    gold = respond(batch.answer, to: batch, max_response: 6)
    report a = mean(ref.logprob(gold.where(roll.length > 3)) - actor.logprob(gold.where(roll.length > 3)) over batch)
    for mini in roll.split(parts: 2) {
        update actor minimize mean(ref.logprob(gold[mini]) - actor.logprob(gold[mini]) over batch)
    }
}
--- errors
test.rlf:7:62: error: one per token of 'where(...)' and one per token of 'where(...)' cannot be combined
    7 | ...   report a = mean(ref.logprob(gold.where(roll.length > 3)) - actor.logprob(gold.where(roll.length >...
      |                       ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~ ^ ~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: each time that it is written it makes a set of its own: where one set is meant, give it a name, x = ..., and use x twice
test.rlf:9:60: error: one per token of 'gold[mini]' and one per token of 'gold[mini]' cannot be combined
    9 |         update actor minimize mean(ref.logprob(gold[mini]) - actor.logprob(gold[mini]) over batch)
      |                                    ~~~~~~~~~~~~~~~~~~~~~~~ ^ ~~~~~~~~~~~~~~~~~~~~~~~~~
hint: each time that it is written it makes a set of its own: where one set is meant, give it a name, x = ..., and use x twice
