Declarations of data, models, hooks and states.
=== constructors
import "std/advantage"
import "std/loss"
param beta : float = 0.1
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5 * min(1, step / 10)))
model ref = copy(actor)
hook judge = lua("j.lua")
state lambda = 1.0
data d1 = jsonk("x")
data d2 = 3
data d3 = mix(prompts, prompts)
data d4 = prompts.where(prompts.grade >= 3)
data d5 = jsonl()
data d6 = jsonl("rows.jsonl", first: 0)
model m1 = lm()
model m2 = lm("x", head: scaler)
model m3 = lm("x", optimizer: sgd(lr: 1))
model m4 = copy(prompts)
model m5 = lm("x", optimizer: adamw())
model m6 = lm("x", optimizer: adamw(lr: 1e9))
model m7 = lm(llama(layers: step, hidden: 4), tokenizer: "x")
model m8 = lm("x", optmizer: adamw(lr: 1))
model m9 = copy(m9)
hook h1 = lua("x", per: turn2)
hook h2 = lua(3)
hook h3 = lua("x") -> (a: b)
state s1 : prompts = 0.5
state s2 = step
flow f(batch: prompts[8]) {
    a = 1
}
--- errors
test.rlf:10:11: error: nothing named 'jsonk(...)' makes a data set
   10 | data d1 = jsonk("x")
      |           ^~~~~
hint: did you mean 'jsonl'?
test.rlf:11:11: error: this does not make a data set
   11 | data d2 = 3
      |           ^
hint: it is made by jsonl(...), csv(...), parquet(...), files(...), mix(...), where(...)
test.rlf:14:11: error: 'jsonl' lacks 'path'
   14 | data d5 = jsonl()
      |           ^~~~~
hint: a file with one JSON object a line, or a JSON list; several, as a pattern or a folder
test.rlf:15:38: error: 'first:' of 'jsonl' is 0, and must be from 1 to 4000000000
   15 | data d6 = jsonl("rows.jsonl", first: 0)
      |                                      ^
hint: only so many rows of the data, from where `skip` ends
test.rlf:16:12: error: 'lm' lacks 'from'
   16 | model m1 = lm()
      |            ^~
hint: a Hugging Face directory, the name of a model in the hub's cache, or llama(...) for a new model
test.rlf:17:26: error: 'head:' of 'lm' cannot be this
   17 | model m2 = lm("x", head: scaler)
      |                          ^~~~~~
hint: it is one of lm, scalar, both
test.rlf:18:31: error: 'optimizer:' of 'lm' cannot be this
   18 | model m3 = lm("x", optimizer: sgd(lr: 1))
      |                               ^~~~~~~~~~
hint: how update changes it: adamw(...)
test.rlf:19:17: error: 'from' of 'copy' is a model, and this is a data set
   19 | model m4 = copy(prompts)
      |                 ^~~~~~~
test.rlf:20:31: error: 'adamw' lacks 'lr:'
   20 | model m5 = lm("x", optimizer: adamw())
      |                               ^~~~~
hint: learning rate; may use step and states
test.rlf:21:41: error: 'lr:' of 'adamw' is 1000000000, and must be from 0 to 1000
   21 | model m6 = lm("x", optimizer: adamw(lr: 1e9))
      |                                         ^~~
hint: learning rate; may use step and states
test.rlf:22:15: error: 'llama' lacks 'heads:'
   22 | model m7 = lm(llama(layers: step, hidden: 4), tokenizer: "x")
      |               ^~~~~
hint: query heads
test.rlf:22:29: error: 'step' has no value before the run starts
   22 | model m7 = lm(llama(layers: step, hidden: 4), tokenizer: "x")
      |                             ^~~~
hint: here only parameters and numbers can stand
test.rlf:23:20: error: 'lm' has no argument 'optmizer:'
   23 | model m8 = lm("x", optmizer: adamw(lr: 1))
      |                    ^~~~~~~~
hint: did you mean 'optimizer:'?
test.rlf:24:7: error: 'm9' is declared by itself
   24 | model m9 = copy(m9)
      |       ^~
test.rlf:25:25: error: 'per:' of 'lua' cannot be this
   25 | hook h1 = lua("x", per: turn2)
      |                         ^~~~~
hint: it is one of sample, group, batch, turn, step
test.rlf:26:15: error: 'path' of 'lua' is a path, and this is a number
   26 | hook h2 = lua(3)
      |               ^
test.rlf:27:27: error: a hook cannot give one per 'b'
   27 | hook h3 = lua("x") -> (a: b)
      |                           ^
hint: it gives a sample, token or text
test.rlf:29:12: error: 'step' has no value before the run starts
   29 | state s2 = step
      |            ^~~~
hint: here only parameters and numbers can stand
=== paths: relative to the file, absolute, of the library
import "std/advantage"
import "std/loss"
param beta : float = 0.1
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5 * min(1, step / 10)))
model ref = copy(actor)
hook judge = lua("j.lua")
state lambda = 1.0
data a = jsonl("/tmp/none.jsonl")
hook h = lua("std/reward.lua")
flow f(batch: prompts[8]) {
    x = 1
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model critic = lm {from: "m", head: "scalar", optimizer: adamw[beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
data a = jsonl {path: "/tmp/none.jsonl"}
hook h = lua {path: "STDLIB/reward.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
=== results of a hook
hook a = lua("j.lua") -> (right, right)
hook b = lua("j.lua") -> (right, ok)
hook c = lua("j.lua") -> ok
hook d = lua("j.lua") -> (right, form)
flow f() { report x = 1 }
--- errors
test.rlf:1:34: error: 'right' is given a second time
    1 | hook a = lua("j.lua") -> (right, right)
      |                                  ^~~~~
hint: give it another name
test.rlf:2:34: error: each call gives an 'ok' of its own: whether it went well
    2 | hook b = lua("j.lua") -> (right, ok)
      |                                  ^~
hint: give it another name
test.rlf:3:26: error: each call gives an 'ok' of its own: whether it went well
    3 | hook c = lua("j.lua") -> ok
      |                          ^~
hint: give it another name
=== levels of results
hook a = lua("j.lua") -> scalar
hook b = lua("j.lua") -> prompt
hook c = lua("j.lua", per: group) -> (right, all: prompt)
hook d = lua("j.lua", per: step) -> token
hook e = lua("j.lua", per: step) -> (x, y: sample)
hook f1 = lua("j.lua") -> sample
hook g = lua("j.lua", per: batch) -> (right: sample, credit: token, remark: text)
hook h = lua("j.lua", per: step) -> scalar
hook i = lua("j.lua", per: step) -> (x: scalar, word: text)
flow f() { report x = h() }
--- errors
test.rlf:1:26: error: a hook per sample cannot give one per scalar
    1 | hook a = lua("j.lua") -> scalar
      |                          ^~~~~~
hint: a hook with 'per: step' gives one per step; or reduce the result: mean(... over batch)
test.rlf:2:26: error: a hook per sample cannot give one per prompt
    2 | hook b = lua("j.lua") -> prompt
      |                          ^~~~~~
hint: reduce the result: mean(... over group); called with a set of prompts, a hook gives one per prompt without '->'
test.rlf:3:51: error: a hook per group cannot give one per prompt
    3 | hook c = lua("j.lua", per: group) -> (right, all: prompt)
      |                                                   ^~~~~~
hint: reduce the result: mean(... over group); called with a set of prompts, a hook gives one per prompt without '->'
test.rlf:4:37: error: a hook per step cannot give one per token
    4 | hook d = lua("j.lua", per: step) -> token
      |                                     ^~~~~
hint: it gives numbers or texts; leave out 'per: step' to have one per sample
test.rlf:5:44: error: a hook per step cannot give one per sample
    5 | hook e = lua("j.lua", per: step) -> (x, y: sample)
      |                                            ^~~~~~
hint: it gives numbers or texts; leave out 'per: step' to have one per sample
=== paths without quotes
data prompts = jsonl(rows.jsonl, prompt: "question")
model actor = lm(models/small)
model other = lm("m", template: templates/chat.lua)
hook judge = lua(judge.lua)
hook named = lua(judge)
flow f(batch: prompts[8]) { report x = 1 }
--- errors
test.rlf:1:22: error: 'path' of 'jsonl' is a path, which stands in quotes
    1 | data prompts = jsonl(rows.jsonl, prompt: "question")
      |                      ^~~~~~~~~~
hint: write "rows.jsonl"
test.rlf:2:18: error: 'from' of 'lm' is a path, which stands in quotes
    2 | model actor = lm(models/small)
      |                  ^~~~~~~~~~~~
hint: write "models/small"
test.rlf:3:33: error: 'template:' of 'lm' is a path, which stands in quotes
    3 | model other = lm("m", template: templates/chat.lua)
      |                                 ^~~~~~~~~~~~~~~~~~
hint: write "templates/chat.lua"
test.rlf:4:18: error: 'path' of 'lua' is a path, which stands in quotes
    4 | hook judge = lua(judge.lua)
      |                  ^~~~~~~~~
hint: write "judge.lua"
