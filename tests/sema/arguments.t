Arguments: which there are, of which kind, unit and size.
+++ actor
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
=== a label that is no option and no column
data a = jsonl("rows.jsonl", promt: "question")
data b = jsonl("rows.jsonl", prompt: "question", frist: 8)
data c = jsonl("rows.jsonl", prompt: "question", on_eror: drop)
data d = jsonl("rows.jsonl", prompt: "question", wanted: 8)
data e = csv("rows.csv", prompt: "question", max_promt: 3)
data g = jsonl("rows.jsonl", prompt: "question", answer: "answer", answer: "grade")
flow f(batch: b[8]) { report a = mean(1 + 0 * batch.grade over batch) }
--- errors
test.rlf:1:30: error: 'jsonl' has no argument 'promt:'
    1 | data a = jsonl("rows.jsonl", promt: "question")
      |                              ^~~~~
hint: did you mean 'prompt:'?
test.rlf:2:50: error: 'jsonl' has no argument 'frist:'
    2 | data b = jsonl("rows.jsonl", prompt: "question", frist: 8)
      |                                                  ^~~~~
hint: did you mean 'first:'?
test.rlf:3:50: error: 'jsonl' has no argument 'on_eror:'
    3 | data c = jsonl("rows.jsonl", prompt: "question", on_eror: drop)
      |                                                  ^~~~~~~
hint: did you mean 'on_error:'?
test.rlf:4:50: error: 'jsonl' has no option 'wanted:', and a column is the name of a field, a text
    4 | data d = jsonl("rows.jsonl", prompt: "question", wanted: 8)
      |                                                  ^~~~~~
hint: wanted: "FIELD" makes a column of it
test.rlf:5:46: error: 'csv' has no argument 'max_promt:'
    5 | data e = csv("rows.csv", prompt: "question", max_promt: 3)
      |                                              ^~~~~~~~~
hint: did you mean 'max_prompt:'?
test.rlf:6:68: error: 'answer:' is given a second time
    6 | data g = jsonl("rows.jsonl", prompt: "question", answer: "answer", answer: "grade")
      |                                                                    ^~~~~~
test.rlf:6:50: note: first here
    6 | data g = jsonl("rows.jsonl", prompt: "question", answer: "answer", answer: "grade")
      |                                                  ^~~~~~
=== what a hook's sample has by itself
+++ actor
data a = jsonl("rows.jsonl", prompt: "question", response: "answer")
data b = jsonl("rows.jsonl", prompt: "question", length: "grade", tokens: "answer", pieces: "answer", finished: "grade", turns: "grade")
flow f(batch: prompts[8]) { report a = 1 }
--- errors
test.rlf:4:50: error: a column cannot be called 'response': what hooks get has its own
    4 | data a = jsonl("rows.jsonl", prompt: "question", response: "answer")
      |                                                  ^~~~~~~~
hint: choose another name, as in given_response:
test.rlf:5:50: error: a column cannot be called 'length': what hooks get has its own
    5 | data b = jsonl("rows.jsonl", prompt: "question", length: "grade", tokens: "answer", pieces: "answer"...
      |                                                  ^~~~~~
hint: choose another name, as in given_length:
test.rlf:5:67: error: a column cannot be called 'tokens': what hooks get has its own
    5 | ... = jsonl("rows.jsonl", prompt: "question", length: "grade", tokens: "answer", pieces: "answer", fini...
      |                                                                ^~~~~~
hint: choose another name, as in given_tokens:
test.rlf:5:85: error: a column cannot be called 'pieces': what hooks get has its own
    5 | ...nl", prompt: "question", length: "grade", tokens: "answer", pieces: "answer", finished: "grade", tur...
      |                                                                ^~~~~~
hint: choose another name, as in given_pieces:
test.rlf:5:103: error: a column cannot be called 'finished': what hooks get has its own
    5 | ... "question", length: "grade", tokens: "answer", pieces: "answer", finished: "grade", turns: "grade")
      |                                                                      ^~~~~~~~
hint: choose another name, as in given_finished:
test.rlf:5:122: error: a column cannot be called 'turns': what hooks get has its own
    5 | ... "question", length: "grade", tokens: "answer", pieces: "answer", finished: "grade", turns: "grade")
      |                                                                                         ^~~~~
hint: choose another name, as in given_turns:
=== what a call adds
+++ actor
hook often = lua("o.lua", per: step)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = judge(roll, response: batch.answer)
    b = judge(roll, length: 3)
    c = often(step: step)
    d = judge(roll, best: score, best: 2 * score)
    e = often(length: mean(score over batch))
}
--- errors
test.rlf:8:21: error: what a call adds cannot be called 'response': what hooks get has its own
    8 |     a = judge(roll, response: batch.answer)
      |                     ^~~~~~~~
hint: choose another name, as in given_response:
test.rlf:9:21: error: what a call adds cannot be called 'length': what hooks get has its own
    9 |     b = judge(roll, length: 3)
      |                     ^~~~~~
hint: choose another name, as in given_length:
test.rlf:10:15: error: what a call adds cannot be called 'step': what hooks get has its own
   10 |     c = often(step: step)
      |               ^~~~
hint: choose another name, as in given_step:
test.rlf:11:34: error: 'best:' is given a second time
   11 |     d = judge(roll, best: score, best: 2 * score)
      |                                  ^~~~
test.rlf:11:21: note: first here
   11 |     d = judge(roll, best: score, best: 2 * score)
      |                     ^~~~
=== units
+++ actor
param limit : float = 2
hook h1 = lua("j.lua", time: 64MB)
hook h2 = lua("j.lua", memory: 60s)
hook h3 = lua("j.lua", time: limit * 30s + 500ms, memory: 2 * 64MB / 4, instructions: 10M)
hook h4 = lua("j.lua", time: 30s * 2s)
hook h5 = lua("j.lua", time: 30s + 64MB)
hook h6 = lua("j.lua", instructions: 1h / 1s)
hook h7 = lua("j.lua", time: min(3min, 100s), memory: 1GB > 1MB ? 64MB : 1MB)
model m = lm("m", optimizer: adamw(lr: 3s))
state lambda = 1s
flow f(batch: prompts[8]) { report a = 1 }
--- errors
test.rlf:5:30: error: 'time:' of 'lua' is a time, not a number of bytes
    5 | hook h1 = lua("j.lua", time: 64MB)
      |                              ^~~~
hint: units of time are ms s min h
test.rlf:6:32: error: 'memory:' of 'lua' is a number of bytes, not a time
    6 | hook h2 = lua("j.lua", memory: 60s)
      |                                ^~~
hint: units of bytes are KB MB GB
test.rlf:8:34: error: a time and a time do not go together here
    8 | hook h4 = lua("j.lua", time: 30s * 2s)
      |                                  ^ ~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
test.rlf:9:34: error: a time and a number of bytes do not go together here
    9 | hook h5 = lua("j.lua", time: 30s + 64MB)
      |                                  ^ ~~~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
test.rlf:12:40: error: 'lr:' of 'adamw' is a number, not a time
   12 | model m = lm("m", optimizer: adamw(lr: 3s))
      |                                        ^~
hint: write it without the unit
test.rlf:13:16: error: a number is wanted, and this is a time
   13 | state lambda = 1s
      |                ^~
hint: write it without the unit
=== units in a flow
+++ actor
state lambda = 1
flow f(batch: prompts[8]) {
    bad = actor.generate(batch, n: 4, max_new: 16s, temperature: 1ms)
    roll = actor.generate(batch, n: 4, max_new: 16)
    a = judge(roll) * 3s
    every 2min steps { report b = 3KB }
    c = step + 1h
    d = roll.at_last(3s)
    e = judge(roll, x: 3MB)
    report f = 4h / 2h
    update actor minimize mean(actor.logprob(roll) * 1s over batch)
    lambda := 3s
    g = -1s
    h = exp(1s)
}
--- errors
test.rlf:6:48: error: 'max_new:' of 'generate' is a number, not a time
    6 |     bad = actor.generate(batch, n: 4, max_new: 16s, temperature: 1ms)
      |                                                ^~~
hint: write it without the unit
test.rlf:6:66: error: 'temperature:' of 'generate' is a number, not a time
    6 |     bad = actor.generate(batch, n: 4, max_new: 16s, temperature: 1ms)
      |                                                                  ^~~
hint: write it without the unit
test.rlf:8:21: error: a number and a time do not go together here
    8 |     a = judge(roll) * 3s
      |                     ^ ~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
test.rlf:9:11: error: the steps of 'every' is a number, not a time
    9 |     every 2min steps { report b = 3KB }
      |           ^~~~
hint: write it without the unit
test.rlf:10:14: error: a number and a time do not go together here
   10 |     c = step + 1h
      |              ^ ~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
test.rlf:11:22: error: a number is wanted, and this is a time
   11 |     d = roll.at_last(3s)
      |                      ^~
hint: write it without the unit
test.rlf:12:24: error: a number is wanted, and this is a number of bytes
   12 |     e = judge(roll, x: 3MB)
      |                        ^~~
hint: write it without the unit
test.rlf:14:52: error: a number and a time do not go together here
   14 |     update actor minimize mean(actor.logprob(roll) * 1s over batch)
      |                                                    ^ ~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
test.rlf:15:15: error: the value of 'lambda' is a number, not a time
   15 |     lambda := 3s
      |               ^~
hint: write it without the unit
test.rlf:17:9: error: a number is wanted, and this is a time
   17 |     h = exp(1s)
      |         ^~~ ~~
hint: write it without the unit: units are for arguments that measure a time or bytes, as time: 60s
=== a flag is true or false
+++ actor
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, max_new: 8, greedy: 5)
    a = actor.generate(batch, max_new: 8, greedy: 1)
    b = actor.generate(batch, max_new: 8, greedy: 0.5)
}
--- errors
test.rlf:5:54: error: 'greedy:' of 'generate' is true or false, and this is a number
    5 |     roll = actor.generate(batch, max_new: 8, greedy: 5)
      |                                                      ^
test.rlf:6:51: error: 'greedy:' of 'generate' is true or false, and this is a number
    6 |     a = actor.generate(batch, max_new: 8, greedy: 1)
      |                                                   ^
test.rlf:7:51: error: 'greedy:' of 'generate' is true or false, and this is a number
    7 |     b = actor.generate(batch, max_new: 8, greedy: 0.5)
      |                                                   ^~~
=== what is made of a value many times over costs once
+++ actor
def square(x) = x * x
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a = square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(square(score))))))))))))))))))))))))))))))))))))))))
    update actor {
        x0 = actor.logprob(roll)
        x1 = x0 * x0
        x2 = x1 * x1
        x3 = x2 * x2
        x4 = x3 * x3
        x5 = x4 * x4
        x6 = x5 * x5
        x7 = x6 * x6
        x8 = x7 * x7
        x9 = x8 * x8
        x10 = x9 * x9
        x11 = x10 * x10
        x12 = x11 * x11
        x13 = x12 * x12
        x14 = x13 * x13
        x15 = x14 * x14
        x16 = x15 * x15
        x17 = x16 * x16
        x18 = x17 * x17
        x19 = x18 * x18
        x20 = x19 * x19
        x21 = x20 * x20
        x22 = x21 * x21
        x23 = x22 * x22
        x24 = x23 * x23
        x25 = x24 * x24
        x26 = x25 * x25
        x27 = x26 * x26
        x28 = x27 * x27
        x29 = x28 * x28
        x30 = x29 * x29
        x31 = x30 * x30
        x32 = x31 * x31
        x33 = x32 * x32
        x34 = x33 * x33
        x35 = x34 * x34
        x36 = x35 * x35
        x37 = x36 * x36
        x38 = x37 * x37
        x39 = x38 * x38
        x40 = x39 * x39
        p0 = actor.logprobs(roll)
        p1 = p0 * p0
        p2 = p1 * p1
        p3 = p2 * p2
        p4 = p3 * p3
        p5 = p4 * p4
        p6 = p5 * p5
        p7 = p6 * p6
        p8 = p7 * p7
        p9 = p8 * p8
        p10 = p9 * p9
        p11 = p10 * p10
        p12 = p11 * p11
        p13 = p12 * p12
        p14 = p13 * p13
        p15 = p14 * p14
        p16 = p15 * p15
        p17 = p16 * p16
        p18 = p17 * p17
        p19 = p18 * p18
        p20 = p19 * p19
        p21 = p20 * p20
        p22 = p21 * p21
        p23 = p22 * p22
        p24 = p23 * p23
        p25 = p24 * p24
        p26 = p25 * p25
        p27 = p26 * p26
        p28 = p27 * p27
        p29 = p28 * p28
        p30 = p29 * p29
        p31 = p30 * p30
        p32 = p31 * p31
        p33 = p32 * p32
        p34 = p33 * p33
        p35 = p34 * p34
        p36 = p35 * p35
        p37 = p36 * p36
        p38 = p37 * p37
        p39 = p38 * p38
        p40 = p39 * p39
        q0 = sum(p40 over vocab)
        q1 = q0 * q0
        q2 = q1 * q1
        q3 = q2 * q2
        q4 = q3 * q3
        q5 = q4 * q4
        q6 = q5 * q5
        q7 = q6 * q6
        q8 = q7 * q7
        q9 = q8 * q8
        q10 = q9 * q9
        q11 = q10 * q10
        q12 = q11 * q11
        q13 = q12 * q12
        q14 = q13 * q13
        q15 = q14 * q14
        q16 = q15 * q15
        q17 = q16 * q16
        q18 = q17 * q17
        q19 = q18 * q18
        q20 = q19 * q19
        q21 = q20 * q20
        q22 = q21 * q21
        q23 = q22 * q22
        q24 = q23 * q23
        q25 = q24 * q24
        q26 = q25 * q25
        q27 = q26 * q26
        q28 = q27 * q27
        q29 = q28 * q28
        q30 = q29 * q29
        q31 = q30 * q30
        q32 = q31 * q31
        q33 = q32 * q32
        q34 = q33 * q33
        q35 = q34 * q34
        q36 = q35 * q35
        q37 = q36 * q36
        q38 = q37 * q37
        q39 = q38 * q38
        q40 = q39 * q39
        minimize mean(x40 * a + q40 over batch)
    }
}
--- errors
compiles
=== what stands in a list
+++ actor
param often : int = 2
data a = jsonl("rows.jsonl", prompt: "question")
data b = mix(a, a, weights: ["x", 2])
data c = mix(a, a, weights: "x")
data d = mix(a, a, weights: [1, [2]])
flow f(batch: b[2]) { report x = 1 }
--- errors
test.rlf:6:30: error: an element of 'weights:' of 'mix' is a number, and this is a text
    6 | data b = mix(a, a, weights: ["x", 2])
      |                              ^~~
test.rlf:7:29: error: 'weights:' of 'mix' is a list of numbers, and this is a text
    7 | data c = mix(a, a, weights: "x")
      |                             ^~~
test.rlf:8:33: error: an element of 'weights:' of 'mix' is a number, and this is a list
    8 | data d = mix(a, a, weights: [1, [2]])
      |                                 ^~~
=== what a set of samples has by itself
data a = jsonl("rows.jsonl", prompt: "question", text: "answer", logprob: "grade")
data b = jsonl("rows.jsonl", text: "question")
data c = jsonl("rows.jsonl", prompt: "question", turn: "grade")
flow f(batch: a[8]) { report a = 1 }
--- errors
test.rlf:1:50: error: a column cannot be called 'text': a set of samples has its own
    1 | data a = jsonl("rows.jsonl", prompt: "question", text: "answer", logprob: "grade")
      |                                                  ^~~~
hint: choose another name, as in given_text:
test.rlf:1:66: error: a column cannot be called 'logprob': a set of samples has its own
    1 | data a = jsonl("rows.jsonl", prompt: "question", text: "answer", logprob: "grade")
      |                                                                  ^~~~~~~
hint: choose another name, as in given_logprob:
test.rlf:2:30: error: a column cannot be called 'text': a set of samples has its own
    2 | data b = jsonl("rows.jsonl", text: "question")
      |                              ^~~~
hint: choose another name, as in given_text:
test.rlf:3:50: error: a column cannot be called 'turn': a set of samples has its own
    3 | data c = jsonl("rows.jsonl", prompt: "question", turn: "grade")
      |                                                  ^~~~
hint: choose another name, as in given_turn:
=== true or false
+++ actor
param yes : bool = true
param one : int = 1
flow f(batch: prompts[8]) {
    a = actor.generate(batch, max_new: 8, greedy: yes)
    b = actor.generate(batch, max_new: 8, greedy: true and not yes)
    c = actor.generate(batch, max_new: 8, greedy: 1)
    d = actor.generate(batch, max_new: 8, greedy: one)
    e = actor.generate(batch, max_new: 8, greedy: "yes")
}
--- errors
test.rlf:9:51: error: 'greedy:' of 'generate' is true or false, and this is a number
    9 |     c = actor.generate(batch, max_new: 8, greedy: 1)
      |                                                   ^
test.rlf:10:51: error: 'greedy:' of 'generate' is true or false, and this is a number
   10 |     d = actor.generate(batch, max_new: 8, greedy: one)
      |                                                   ^~~
test.rlf:11:51: error: 'greedy:' of 'generate' is true or false, and this is a text
   11 |     e = actor.generate(batch, max_new: 8, greedy: "yes")
      |                                                   ^~~~~
=== bounds in their order
+++ actor
import "std/loss"
param low : float = 2.0
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    a = clamp(score, 1, 0)
    b = clamp(score, low, 1)
    c = clamp(1, 3, 2)
    d = clamp(score, 1, 1)
    e = clip(score, score, low: -0.2, high: -0.3)
    report x = mean(a + b + d + e over batch) + c
}
--- errors
test.rlf:9:9: error: there is nothing from 1 to 0
    9 |     a = clamp(score, 1, 0)
      |         ^~~~~
hint: clamp(x, low, high) takes the smaller bound first
test.rlf:10:9: error: there is nothing from 2 to 1
   10 |     b = clamp(score, low, 1)
      |         ^~~~~
hint: clamp(x, low, high) takes the smaller bound first
test.rlf:11:9: error: there is nothing from 3 to 2
   11 |     c = clamp(1, 3, 2)
      |         ^~~~~
hint: clamp(x, low, high) takes the smaller bound first
test.rlf:13:33: error: the argument 'low' of 'clip' must be from 0 to 1
   13 |     e = clip(score, score, low: -0.2, high: -0.3)
      |                                 ^~~~
STDLIB/loss.rlf:28:59: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                                           ^~~~~~~~~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:13:45: error: the argument 'high' of 'clip' must be from 0 to 1
   13 |     e = clip(score, score, low: -0.2, high: -0.3)
      |                                             ^~~~
STDLIB/loss.rlf:29:5: note: it is declared here
   29 |     high: scalar = 0.2 in 0..1) = max(-adv * ratio, -adv * clamp(ratio, 1 - low, 1 + high))
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
=== what stands in a list of texts
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
param often : int = 2
flow f(batch: prompts[8]) {
    k = actor.generate(batch, max_new: 8, stop: [" ", 1])
    l = actor.generate(batch, max_new: 8, stop: [1, 2])
    m = actor.generate(batch, max_new: 8, stop: [often])
    n = actor.generate(batch, max_new: 8, stop: [true])
    o = actor.generate(batch, max_new: 8, stop: ["a", [1]])
    p = actor.generate(batch, max_new: 8, stop: [batch.answer])
    q = actor.generate(batch, max_new: 8, stop: 1)
}
--- errors
test.rlf:5:55: error: an element of 'stop:' of 'generate' is a text, and this is a number
    5 |     k = actor.generate(batch, max_new: 8, stop: [" ", 1])
      |                                                       ^
test.rlf:6:50: error: an element of 'stop:' of 'generate' is a text, and this is a number
    6 |     l = actor.generate(batch, max_new: 8, stop: [1, 2])
      |                                                  ^
test.rlf:6:53: error: an element of 'stop:' of 'generate' is a text, and this is a number
    6 |     l = actor.generate(batch, max_new: 8, stop: [1, 2])
      |                                                     ^
test.rlf:7:50: error: an element of 'stop:' of 'generate' is a text, and this is a number
    7 |     m = actor.generate(batch, max_new: 8, stop: [often])
      |                                                  ^~~~~
test.rlf:8:50: error: an element of 'stop:' of 'generate' is a text, and this is a number
    8 |     n = actor.generate(batch, max_new: 8, stop: [true])
      |                                                  ^~~~
test.rlf:9:55: error: an element of 'stop:' of 'generate' is a text, and this is a list
    9 |     o = actor.generate(batch, max_new: 8, stop: ["a", [1]])
      |                                                       ^~~
test.rlf:10:50: error: 'stop:' of 'generate' must be known before the run starts
   10 |     p = actor.generate(batch, max_new: 8, stop: [batch.answer])
      |                                                  ^~~~~~~~~~~~
test.rlf:11:49: error: 'stop:' of 'generate' is a text or a list, and this is a number
   11 |     q = actor.generate(batch, max_new: 8, stop: 1)
      |                                                 ^
=== the name that an argument lacks
param lr : float = 1e-5
data a = jsonl("rows.jsonl", "question", "answer")
data b = jsonl("rows.jsonl", "answer", prompt: "question")
model c = lm("m", optimizer: adamw(lr, clip: 1.0))
model d = lm("m", optimizer: adamw(1e-5))
model e = lm("m", optimizer: adam(lr: lr))
flow f(batch: a[8]) { report x = 1 }
--- errors
test.rlf:2:30: error: 'jsonl' takes no further argument without a name
    2 | data a = jsonl("rows.jsonl", "question", "answer")
      |                              ^~~~~~~~~~
hint: write a name before it: prompt: "question", or that of a column: NAME: "question"
test.rlf:2:42: error: 'jsonl' takes no further argument without a name
    2 | data a = jsonl("rows.jsonl", "question", "answer")
      |                                          ^~~~~~~~
hint: write the name of a column before it: NAME: "answer"
test.rlf:3:30: error: 'jsonl' takes no further argument without a name
    3 | data b = jsonl("rows.jsonl", "answer", prompt: "question")
      |                              ^~~~~~~~
hint: write the name of a column before it: NAME: "answer"
test.rlf:4:36: error: 'adamw' takes no further argument without a name
    4 | model c = lm("m", optimizer: adamw(lr, clip: 1.0))
      |                                    ^~
hint: write its name before it: lr: lr
test.rlf:5:36: error: 'adamw' takes no further argument without a name
    5 | model d = lm("m", optimizer: adamw(1e-5))
      |                                    ^~~~
hint: write its name before it: lr: 1e-5
test.rlf:6:30: error: 'optimizer:' of 'lm' cannot be this
    6 | model e = lm("m", optimizer: adam(lr: lr))
      |                              ^~~~~~~~~~~~
hint: there is no 'adam'; there is adamw(...)
=== and that of a call
+++ actor
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, 4, max_new: 8)
    for mini in roll.split(2) { report x = 1 }
    a = actor.generate(batch, 4)
}
--- errors
test.rlf:5:34: error: 'generate' takes no further argument without a name
    5 |     roll = actor.generate(batch, 4, max_new: 8)
      |                                  ^
hint: write its name before it: n: 4
test.rlf:6:28: error: 'split' takes no further argument without a name
    6 |     for mini in roll.split(2) { report x = 1 }
      |                            ^
hint: write its name before it: parts: 2
test.rlf:7:31: error: 'generate' takes no further argument without a name
    7 |     a = actor.generate(batch, 4)
      |                               ^
hint: write its name before it: max_new: 4
=== what is there, though wrong, does not lack
import "std/advantage"
+++ actor
flow f(batch: prompts[8]) {
    a = actor.generate(batch, num: 4, max_new: 8)
    b = grpo(judge(a))
    c = actor.generate(batch, n: 4, max_tokens: 8)
    d = actor.generate(batch, n: "4", max_new: 8)
    e = grpo(judge(d))
    g = actor.generate(batch, n: -1, max_new: 8)
    h = grpo(judge(g))
    i = actor.generate(batch, what_is_this: 3)
}
--- errors
test.rlf:6:31: error: 'generate' has no argument 'num:'
    6 |     a = actor.generate(batch, num: 4, max_new: 8)
      |                               ^~~
hint: did you mean 'n:'?
test.rlf:8:37: error: 'generate' has no argument 'max_tokens:'
    8 |     c = actor.generate(batch, n: 4, max_tokens: 8)
      |                                     ^~~~~~~~~~
hint: did you mean 'max_new:'?
test.rlf:9:34: error: 'n:' of 'generate' is a number, and this is a text
    9 |     d = actor.generate(batch, n: "4", max_new: 8)
      |                                  ^~~
hint: write it without the quotes: 4
test.rlf:11:34: error: 'n:' of 'generate' is -1, and must be from 1 to 65536
   11 |     g = actor.generate(batch, n: -1, max_new: 8)
      |                                  ^~
hint: samples for each prompt; without it one, and then the sample is the prompt's row
test.rlf:13:31: error: 'generate' has no argument 'what_is_this:'
   13 |     i = actor.generate(batch, what_is_this: 3)
      |                               ^~~~~~~~~~~~
hint: it has set:, n:, max_new:, temperature:, top_p:, top_k:, min_p:, stop:, greedy:, tool:, turns:, ahead:
=== names of other libraries
data a = jsonl("rows.jsonl", prompt: "question")
model b = lm(llama(layer: 2, hidden: 8, heads: 2), tokenizer: "m")
model c = lm("m", optimizer: adamw(learning_rate: 1e-5))
model d = lm("m", optimizer: adamw(lr: 1e-5, betas: [0.9, 0.95]))
flow f(batch: a[8]) { report x = 1 }
--- errors
test.rlf:2:20: error: 'llama' has no argument 'layer:'
    2 | model b = lm(llama(layer: 2, hidden: 8, heads: 2), tokenizer: "m")
      |                    ^~~~~
hint: did you mean 'layers:'?
test.rlf:3:36: error: 'adamw' has no argument 'learning_rate:'
    3 | model c = lm("m", optimizer: adamw(learning_rate: 1e-5))
      |                                    ^~~~~~~~~~~~~
hint: did you mean 'lr:'?
test.rlf:4:46: error: 'adamw' has no argument 'betas:'
    4 | model d = lm("m", optimizer: adamw(lr: 1e-5, betas: [0.9, 0.95]))
      |                                              ^~~~~
hint: write beta1: 0.9, beta2: 0.95
=== how many rows are drawn
+++ actor
flow f(batch: prompts[0], other: prompts[1.5]) { report x = 1 }
--- errors
test.rlf:4:23: error: the count of 'prompts[...]' is 0, and must be from 1 to 1000000000
    4 | flow f(batch: prompts[0], other: prompts[1.5]) { report x = 1 }
      |                       ^
hint: how many rows a step draws
test.rlf:4:42: error: the count of 'prompts[...]' is a whole number, not 1.5
    4 | flow f(batch: prompts[0], other: prompts[1.5]) { report x = 1 }
      |                                          ^~~
hint: how many rows a step draws
=== what a hook's call adds hides no field
+++ actor
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    a = judge(roll, grade: 1000)
    b = judge(batch, answer: "x")
    c = judge(roll, limit: 20)
}
--- errors
test.rlf:6:21: error: what a call adds cannot be called 'grade': that is a field of 'prompts', which the function would not see
    6 |     a = judge(roll, grade: 1000)
      |                     ^~~~~~~~~~~
hint: choose another name, as in given_grade:
test.rlf:7:22: error: what a call adds cannot be called 'answer': that is a field of 'prompts', which the function would not see
    7 |     b = judge(batch, answer: "x")
      |                      ^~~~~~~~~~~
hint: choose another name, as in given_answer:
=== texts that end nothing
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    a = actor.generate(batch, max_new: 8, stop: "")
    b = actor.generate(batch, max_new: 8, stop: ["x", ""])
    report n = count(a.length over batch) + count(b.length over batch)
}
--- errors
test.rlf:4:49: error: 'stop:' of 'generate' is an empty text, which does nothing
    4 |     a = actor.generate(batch, max_new: 8, stop: "")
      |                                                 ^~
hint: leave 'stop:' out, or write a text
test.rlf:5:55: error: 'stop:' of 'generate' is an empty text, which does nothing
    5 |     b = actor.generate(batch, max_new: 8, stop: ["x", ""])
      |                                                       ^~
hint: leave 'stop:' out, or write a text
=== numbers that are out of bounds in every step
param lr : float = -1e-3
model actor = lm("m", optimizer: adamw(lr: lr * min(1, step / 5)))
model later = lm("m", optimizer: adamw(lr: 1e-3 * (0.5 - step)))
model large = lm("m", optimizer: adamw(lr: max(exp(step), 2000)))
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_new: 2, temperature: -1 / step)
    update actor minimize mean(actor.logprob(roll) over batch)
    update later minimize mean(later.logprob(roll) over batch)
    update large minimize mean(large.logprob(roll) over batch)
}
data prompts = jsonl("p.jsonl", prompt: "q")
--- errors
test.rlf:2:44: error: 'lr:' of 'adamw' is never above -0.0002, and must be from 0 to 1000
    2 | model actor = lm("m", optimizer: adamw(lr: lr * min(1, step / 5)))
      |                                            ^~~~~~~~~~~~~~~~~~~~~
hint: learning rate; may use step and states
test.rlf:3:44: error: 'lr:' of 'adamw' is never above -0.0005, and must be from 0 to 1000
    3 | model later = lm("m", optimizer: adamw(lr: 1e-3 * (0.5 - step)))
      |                                            ^~~~~~~~~~~~~~~~~~~
hint: learning rate; may use step and states
test.rlf:4:44: error: 'lr:' of 'adamw' is never below 2000, and must be from 0 to 1000
    4 | model large = lm("m", optimizer: adamw(lr: max(exp(step), 2000)))
      |                                            ^~~~~~~~~~~~~~~~~~~~
hint: learning rate; may use step and states
test.rlf:6:59: error: 'temperature:' of 'generate' is never above 0, and must be from 0.001 to 1000
    6 |     roll = actor.generate(batch, max_new: 2, temperature: -1 / step)
      |                                                           ^~~~~~~~~
hint: logits are divided by it; greedy: true takes the most likely token
=== numbers that are none in a step are left to it
model actor = lm("m", optimizer: adamw(lr: 1e-3))
flow f(batch: prompts[4]) {
    nz = min(step, 1) - min(step, 1)
    roll = actor.generate(batch, max_new: 2, temperature: nz / nz, top_p: 1 / nz)
    other = actor.generate(batch, max_new: 2, temperature: nz * exp(1000 * step))
    update actor minimize mean(actor.logprob(roll) over batch) + mean(actor.logprob(other) over batch)
}
data prompts = jsonl("p.jsonl", prompt: "q")
--- errors
compiles
=== numbers that are in bounds in some step
state c = 0 - 1
model actor = lm("m", optimizer: adamw(lr: 1e-3 * (9 - step)))
model other = lm("m", optimizer: adamw(lr: c * 1e-3))
model third = lm("m", optimizer: adamw(lr: clamp(step - 9, -1, 1e-3)))
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_new: 2, temperature: step > 5 ? -1 : 1)
    update actor minimize mean(actor.logprob(roll) over batch)
    update other minimize mean(other.logprob(roll) over batch)
    update third minimize mean(third.logprob(roll) over batch)
    c := c + step
}
data prompts = jsonl("p.jsonl", prompt: "q")
--- errors
compiles
=== what other libraries call an argument
import "std/loss"
import "std/advantage"
data a = jsonl("rows.jsonl", prompt: "question", max_prompt_length: 256)
data b = jsonl("rows.jsonl", prompt: "question", max_length: 256)
data c = jsonl("rows.jsonl", prompt: "question", batch_size: 8)
data d = jsonl("rows.jsonl", prompt: "question", max_samples: 8)
data e = jsonl("rows.jsonl", prompt: "question", level: batch.grade)
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(learning_rate: 1e-5, adam_epsilon: 1e-6))
model other = lm("m", lr: 1e-5)
model third = lm("m", weight_decay: 0.1)
model fourth = lm("m", dtype: bf16)
model fifth = lm(pretrain: "m")
flow f(batch: prompts[8]) { }
--- errors
test.rlf:3:50: error: 'jsonl' has no argument 'max_prompt_length:'
    3 | data a = jsonl("rows.jsonl", prompt: "question", max_prompt_length: 256)
      |                                                  ^~~~~~~~~~~~~~~~~
hint: did you mean 'max_prompt:'?
test.rlf:4:50: error: 'jsonl' has no argument 'max_length:'
    4 | data b = jsonl("rows.jsonl", prompt: "question", max_length: 256)
      |                                                  ^~~~~~~~~~
hint: did you mean 'max_prompt:'?
test.rlf:5:50: error: 'jsonl' has no argument 'batch_size:'
    5 | data c = jsonl("rows.jsonl", prompt: "question", batch_size: 8)
      |                                                  ^~~~~~~~~~
hint: rows of a step are counted in the head of the flow: batch: prompts[8]
test.rlf:6:50: error: 'jsonl' has no argument 'max_samples:'
    6 | data d = jsonl("rows.jsonl", prompt: "question", max_samples: 8)
      |                                                  ^~~~~~~~~~~
hint: did you mean 'first:'?
test.rlf:7:50: error: 'jsonl' has no option 'level:', and a column is the name of a field, a text
    7 | data e = jsonl("rows.jsonl", prompt: "question", level: batch.grade)
      |                                                  ^~~~~
hint: level: "grade" makes a column of it
test.rlf:9:40: error: 'adamw' has no argument 'learning_rate:'
    9 | model actor = lm("m", optimizer: adamw(learning_rate: 1e-5, adam_epsilon: 1e-6))
      |                                        ^~~~~~~~~~~~~
hint: did you mean 'lr:'?
test.rlf:9:61: error: 'adamw' has no argument 'adam_epsilon:'
    9 | model actor = lm("m", optimizer: adamw(learning_rate: 1e-5, adam_epsilon: 1e-6))
      |                                                             ^~~~~~~~~~~~
hint: did you mean 'eps:'?
test.rlf:10:23: error: 'lm' has no argument 'lr:'
   10 | model other = lm("m", lr: 1e-5)
      |                       ^~
hint: it is written optimizer: adamw(lr: 1e-5)
test.rlf:11:23: error: 'lm' has no argument 'weight_decay:'
   11 | model third = lm("m", weight_decay: 0.1)
      |                       ^~~~~~~~~~~~
hint: it is written optimizer: adamw(decay: 0.1)
test.rlf:12:31: error: 'dtype:' of 'lm' cannot be this
   12 | model fourth = lm("m", dtype: bf16)
      |                               ^~~~
hint: it is f32 (type that it computes in; that of a run: --dtype bf16)
test.rlf:13:18: error: 'lm' has no argument 'pretrain:'
   13 | model fifth = lm(pretrain: "m")
      |                  ^~~~~~~~
hint: did you mean 'from:'?
=== what other libraries call an argument of a call
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[8]) {
    x = actor.generate(batch, n: 2, max_new: 4, do_sample: true)
    y = actor.generate(batch, num_generations: 2, max_completion_length: 4)
    z = respond(batch.answer, batch)
    v = respond(batch.answer, batch, max_length: 5)
    for mini in x.split(ppo_mini_batch_size: 4, ppo_epochs: 2) {
    }
    l = clip(1, 1, clip_eps: 0.2)
    k = clip(1, 1, epsilon_high: 0.2)
    q = respond("yes")
    t = ask(3)
}
--- errors
test.rlf:5:49: error: 'generate' has no argument 'do_sample:'
    5 |     x = actor.generate(batch, n: 2, max_new: 4, do_sample: true)
      |                                                 ^~~~~~~~~
hint: sampling is what it does anyway: greedy: true switches it off
test.rlf:6:31: error: 'generate' has no argument 'num_generations:'
    6 |     y = actor.generate(batch, num_generations: 2, max_completion_length: 4)
      |                               ^~~~~~~~~~~~~~~
hint: did you mean 'n:'?
test.rlf:6:51: error: 'generate' has no argument 'max_completion_length:'
    6 |     y = actor.generate(batch, num_generations: 2, max_completion_length: 4)
      |                                                   ^~~~~~~~~~~~~~~~~~~~~
hint: did you mean 'max_new:'?
test.rlf:7:31: error: 'respond' takes no further argument without a name
    7 |     z = respond(batch.answer, batch)
      |                               ^~~~~
hint: write its name before it: to: batch
test.rlf:8:31: error: 'respond' takes no further argument without a name
    8 |     v = respond(batch.answer, batch, max_length: 5)
      |                               ^~~~~
hint: write its name before it: to: batch
test.rlf:8:38: error: 'respond' has no argument 'max_length:'
    8 |     v = respond(batch.answer, batch, max_length: 5)
      |                                      ^~~~~~~~~~
hint: did you mean 'max_response:'?
test.rlf:9:25: error: 'split' has no argument 'ppo_mini_batch_size:'
    9 |     for mini in x.split(ppo_mini_batch_size: 4, ppo_epochs: 2) {
      |                         ^~~~~~~~~~~~~~~~~~~
hint: did you mean 'size:'?
test.rlf:9:49: error: 'split' has no argument 'ppo_epochs:'
    9 |     for mini in x.split(ppo_mini_batch_size: 4, ppo_epochs: 2) {
      |                                                 ^~~~~~~~~~
hint: did you mean 'epochs:'?
test.rlf:11:20: error: 'clip' has no argument 'clip_eps'
   11 |     l = clip(1, 1, clip_eps: 0.2)
      |                    ^~~~~~~~
STDLIB/loss.rlf:28:5: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |     ^~~~
hint: write low: 0.2, high: 0.2
test.rlf:12:20: error: 'clip' has no argument 'epsilon_high'
   12 |     k = clip(1, 1, epsilon_high: 0.2)
      |                    ^~~~~~~~~~~~
STDLIB/loss.rlf:28:5: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |     ^~~~
hint: did you mean 'high'?
test.rlf:13:17: error: the text of 'respond' is a column of texts, and this is a text
   13 |     q = respond("yes")
      |                 ^~~~~
hint: texts of rows are a data column, as batch.answer, those of samples, as roll.text, or of a hook: hook h = lua("h.lua") -> text
test.rlf:14:13: error: the text of 'ask' is a column of texts, and this is a number
   14 |     t = ask(3)
      |             ^
hint: texts of rows are a data column, as batch.answer, those of samples, as roll.text, or of a hook: hook h = lua("h.lua") -> text
=== a field where the set goes with all of them
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m")
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    x = actor.generate(batch, n: 2, max_new: 4)
    a = judge(x.text)
    b = judge(batch.answer)
    c = judge(x.length)
    report a = mean(a over batch), b = mean(b over batch), c = mean(c over batch)
}
--- errors
test.rlf:6:15: error: a set of samples is wanted, and this is a text
    6 |     a = judge(x.text)
      |               ^~~~~~
hint: a set goes with all its fields: write x
test.rlf:7:15: error: a set of samples is wanted, and this is a text
    7 |     b = judge(batch.answer)
      |               ^~~~~~~~~~~~
hint: a set goes with all its fields: write batch
test.rlf:8:15: error: a set of samples is wanted, and this is a number
    8 |     c = judge(x.length)
      |               ^~~~~~~~
hint: a set goes with all its fields: write x
=== reductions that there are not
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
def half(x) = x / 2
flow f(batch: prompts[8]) {
    report a = median(batch.grade over batch), b = argmax(batch.grade over batch)
    report c = product(batch.grade over batch), d = half(batch.grade over batch)
    report e = kl(batch.grade, batch.grade), g = argmax(batch.grade)
}
--- errors
test.rlf:4:16: error: 'median' is not a reduction
    4 |     report a = median(batch.grade over batch), b = argmax(batch.grade over batch)
      |                ^~~~~~
hint: reductions are sum mean std var min max count; rank(x over batch) is the place of each value in the order of all
test.rlf:4:52: error: 'argmax' is not a reduction
    4 |     report a = median(batch.grade over batch), b = argmax(batch.grade over batch)
      |                                                    ^~~~~~
hint: there are no places: x == max(x over group) holds where the most is
test.rlf:5:16: error: 'product' is not a reduction
    5 |     report c = product(batch.grade over batch), d = half(batch.grade over batch)
      |                ^~~~~~~
hint: reductions are sum mean std var min max count, rank and rotate
test.rlf:5:53: error: 'half' is not a reduction
    5 |     report c = product(batch.grade over batch), d = half(batch.grade over batch)
      |                                                     ^~~~
hint: write half(batch.grade)
test.rlf:6:16: error: there is no function named 'kl'
    6 |     report e = kl(batch.grade, batch.grade), g = argmax(batch.grade)
      |                ^~
hint: the library has several, import "std/loss": k3(p, q) or k2(p, q) in a loss, k1(p, q) to report
test.rlf:6:50: error: there is no function named 'argmax'
    6 |     report e = kl(batch.grade, batch.grade), g = argmax(batch.grade)
      |                                                  ^~~~~~
hint: there are no places: x == max(x over group) holds where the most is
=== a state that changes by '='
state beta = 0.1
data prompts = jsonl("rows.jsonl", prompt: "question")
flow f(batch: prompts[8]) {
    beta = beta * 0.9
    report b = beta
}
--- errors
test.rlf:4:5: error: 'beta' is given a second time
    4 |     beta = beta * 0.9
      |     ^~~~
test.rlf:1:7: note: first here
    1 | state beta = 0.1
      |       ^~~~
hint: a state changes by ':=': write beta := ...
=== tools and turns, refused
data prompts = jsonl("rows.jsonl", prompt: "question")
model actor = lm("m")
hook judge = lua("j.lua", per: turn) -> text
flow f(batch: prompts[8]) {
    x = actor.generate(batch, n: 2, max_new: 4, tool: judge, turns: 2)
    report n = mean(x.length over batch)
}
--- errors
test.rlf:5:49: error: tools and turns in one generation cannot run yet: each turn is a call, as in man rlf, Two turns
    5 |     x = actor.generate(batch, n: 2, max_new: 4, tool: judge, turns: 2)
      |                                                 ^~~~~~~~~~~
hint: the program is right, but this version of rlflow cannot run this part of it
=== bounds that cross where they are not taken
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m")
hook judge = lua("j.lua")
param low : float = 2.0
param high : float = 1.0
def within(x, low, high) = low <= high ? clamp(x, low, high) : x
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    score = judge(roll)
    if low <= high { report y = mean(clamp(score, low, high) over batch) }
    report x = mean(within(score, low, high) over batch)
}
--- warnings
compiles
=== what is no reduction, has no names, no responses, no part
+++ actor
data others = jsonl("rows.jsonl", prompt: "question", answer: "answer")
hook credit = lua("j.lua") -> (each: token)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    a = respond(batch.answer over batch)
    b = exp(x: 1)
    c = roll[others]
    d = credit(batch)
    e = respond("yes")
    g = respond(others.answer, to: batch)
    more = actor.generate(others, max_new: 8)
    h = roll.length > 2 ? 1 : more.length
    report i = roll.text == 3, j = roll.text + 1
    update actor {
        for m in roll.split(parts: 2) { }
        report x = actor.logprob(roll)
        minimize mean(actor.logprob(roll) over batch)
    }
}
--- errors
test.rlf:8:9: error: 'respond' is not a reduction
    8 |     a = respond(batch.answer over batch)
      |         ^~~~~~~
hint: reductions are sum mean std var min max count, rank and rotate
test.rlf:9:13: error: arguments of 'exp' have no names
    9 |     b = exp(x: 1)
      |             ^
test.rlf:10:9: error: 'roll' has no part that belongs to 'others'
   10 |     c = roll[others]
      |         ^~~~~~~~~~~~
hint: what stands in the brackets has some of the prompts of what stands before them
test.rlf:11:9: error: 'credit' gives one per token, and 'batch' has no responses
   11 |     d = credit(batch)
      |         ^~~~~~~~~~~~~
test.rlf:12:17: error: the text of 'respond' is a column of texts, and this is a text
   12 |     e = respond("yes")
      |                 ^~~~~
hint: texts of rows are a data column, as batch.answer, those of samples, as roll.text, or of a hook: hook h = lua("h.lua") -> text
test.rlf:13:9: error: the text is one per prompt of 'others', whose rows belong to no prompts of 'batch'
   13 |     g = respond(others.answer, to: batch)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:15:25: error: one per sample of 'roll' and one per sample of 'more' cannot be combined
   15 |     h = roll.length > 2 ? 1 : more.length
      |                         ^     ~~~~~~~~~~~
test.rlf:16:26: error: this is a text and a number: texts and numbers do not mix
   16 |     report i = roll.text == 3, j = roll.text + 1
      |                ~~~~~~~~~ ^~ ~
hint: two texts can be compared by == and !=
test.rlf:16:46: error: this is a text and a number: texts and numbers do not mix
   16 |     report i = roll.text == 3, j = roll.text + 1
      |                                    ~~~~~~~~~ ^ ~
hint: two texts can be compared by == and !=
test.rlf:18:9: error: this cannot stand in an update
   18 |         for m in roll.split(parts: 2) { }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:19:20: error: a report is one number, and this is one per token of 'roll'
   19 |         report x = actor.logprob(roll)
      |                    ^~~~~~~~~~~~~~~~~~~
hint: mean(... over batch)
=== fields and methods that are none, and what was meant
+++ actor
hook verdict = lua("j.lua") -> (value, form)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch over batch, n: 2, max_new: 8)
    all  = actor.generate(batch, max_new: 8)
    said = verdict(all)
    a = said.valu
    b = said + 1
    c = all.length.exp
    d = all.length.mean
    e = all.at_last()
    g = all.at_all(x: 1)
}
--- errors
test.rlf:6:18: error: 'generate' is not a reduction
    6 |     roll = actor.generate(batch over batch, n: 2, max_new: 8)
      |                  ^~~~~~~~
test.rlf:9:14: error: 'verdict' gives no 'valu'
    9 |     a = said.valu
      |              ^~~~
hint: did you mean 'value'?
test.rlf:10:9: error: a number is wanted, and this is the hook's results
   10 |     b = said + 1
      |         ^~~~
hint: name one of them: .value
test.rlf:11:20: error: a number has no field 'exp'
   11 |     c = all.length.exp
      |                    ^~~
hint: write exp(all.length)
test.rlf:12:20: error: a number has no field 'mean'
   12 |     d = all.length.mean
      |                    ^~~~
hint: write mean(all.length over batch)
test.rlf:13:13: error: 'at_last' takes one argument
   13 |     e = all.at_last()
      |             ^~~~~~~
test.rlf:14:13: error: 'at_all' takes one argument
   14 |     g = all.at_all(x: 1)
      |             ^~~~~~
=== PPO's clip where clamp is meant
import "std/loss"
data d = jsonl("d.jsonl", prompt: "question")
model actor = lm("m")
hook judge = lua("judge.lua")
flow f(batch: d[8]) {
    roll = actor.generate(batch, max_new: 8, n: 2)
    score = judge(roll)
    a = clip(score, 0, 1)
    b = clip(score, -1, 1)
    c = clip(exp(roll.logprob), score, low: 0.8, high: 1.2)
    e = clip(exp(roll.logprob), 0.8, 1.2)
    g = dual_clip(0.9, score)
    report a = mean(a + b + c + e + g over batch)
}
--- errors
test.rlf:8:21: error: the argument 'adv' of 'clip' takes one per prompt to one per token, and this is a scalar
    8 |     a = clip(score, 0, 1)
      |                     ^
STDLIB/loss.rlf:28:39: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                       ^~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:9:21: error: the argument 'adv' of 'clip' takes one per prompt to one per token, and this is a scalar
    9 |     b = clip(score, -1, 1)
      |                     ^~
STDLIB/loss.rlf:28:39: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                       ^~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:10:56: error: the argument 'high' of 'clip' must be from 0 to 1
   10 |     c = clip(exp(roll.logprob), score, low: 0.8, high: 1.2)
      |                                                        ^~~
STDLIB/loss.rlf:29:5: note: it is declared here
   29 |     high: scalar = 0.2 in 0..1) = max(-adv * ratio, -adv * clamp(ratio, 1 - low, 1 + high))
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:11:33: error: the argument 'adv' of 'clip' takes one per prompt to one per token, and this is a scalar
   11 |     e = clip(exp(roll.logprob), 0.8, 1.2)
      |                                 ^~~
STDLIB/loss.rlf:28:39: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                       ^~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:11:38: error: the argument 'low' of 'clip' must be from 0 to 1
   11 |     e = clip(exp(roll.logprob), 0.8, 1.2)
      |                                      ^~~
STDLIB/loss.rlf:28:59: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                                           ^~~~~~~~~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
test.rlf:12:19: error: the argument 'ratio' of 'dual_clip' takes one per prompt to one per token, and this is a scalar
   12 |     g = dual_clip(0.9, score)
      |                   ^~~
STDLIB/loss.rlf:33:15: note: it is declared here
   33 | def dual_clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |               ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: its ratio counts from 1 - low to 1 + high; a value between two bounds is clamp(x, low, high)
=== what an argument of a def takes: ranges
data d = jsonl("d.jsonl", prompt: "question")
model actor = lm("m")
param p : float = 2.0
def u(x: sample..token, y = 1 in 0..1) = x * y
def g(x: token..sample) = x
def h(x: sample..model, y: row..token) = x
flow f(batch: d[8]) {
    roll = actor.generate(batch, max_new: 8, n: 2)
    a = u(roll.length)
    b = u(roll.logprob, y: p)
    c = u(3)
    e = u(batch.prompt)
    k = u(roll.length, y: step - 10)
    l = u(roll.length, y: -step)
    report a = mean(a + b + c + k + l over batch)
}
--- errors
test.rlf:5:10: error: token..sample are no levels from a coarser to a finer one
    5 | def g(x: token..sample) = x
      |          ^~~~~~~~~~~~~
hint: levels are scalar, prompt, sample, token, vocab
test.rlf:6:10: error: sample..model are no levels from a coarser to a finer one
    6 | def h(x: sample..model, y: row..token) = x
      |          ^~~~~~~~~~~~~
hint: levels are scalar, prompt, sample, token, vocab
test.rlf:6:28: error: there is no level or kind 'row'
    6 | def h(x: sample..model, y: row..token) = x
      |                            ^~~
hint: it is scalar, prompt, sample, token, vocab, model, set or text
test.rlf:10:28: error: the argument 'y' of 'u' must be from 0 to 1
   10 |     b = u(roll.logprob, y: p)
      |                            ^
test.rlf:4:25: note: it is declared here
    4 | def u(x: sample..token, y = 1 in 0..1) = x * y
      |                         ^~~~~~~~~~~~~
test.rlf:11:11: error: the argument 'x' of 'u' takes one per sample to one per token, and this is a scalar
   11 |     c = u(3)
      |           ^
test.rlf:4:7: note: it is declared here
    4 | def u(x: sample..token, y = 1 in 0..1) = x * y
      |       ^~~~~~~~~~~~~~~~
test.rlf:12:11: error: a number is wanted, and this is a text
   12 |     e = u(batch.prompt)
      |           ^~~~~~~~~~~~
test.rlf:14:27: error: the argument 'y' of 'u' must be from 0 to 1
   14 |     l = u(roll.length, y: -step)
      |                           ^~~~~
test.rlf:4:25: note: it is declared here
    4 | def u(x: sample..token, y = 1 in 0..1) = x * y
      |                         ^~~~~~~~~~~~~
=== ranges of arguments of a def where nothing is taken
import "std/loss"
data d = jsonl("d.jsonl", prompt: "question")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("judge.lua")
param k : bool = false
param low : float = 5
flow f(batch: d[8]) {
    roll = actor.generate(batch, max_new: 8, n: 2)
    adv = judge(roll)
    if k {
        x = clip(exp(roll.logprob), adv, low: 5)
        report x = mean(x over batch)
    }
    y = k ? clip(exp(roll.logprob), adv, low: low) : 0
    report y = mean(y over batch)
    if low <= 1 {
        update actor minimize mean(clip(exp(actor.logprob(roll) - roll.logprob), adv, low: low) over batch)
    } else {
        update actor minimize mean(-adv * actor.logprob(roll) over batch)
    }
    update actor {
        ratio = exp(actor.logprob(roll) - roll.logprob)
        if low > 1 { minimize mean(-adv * ratio over batch) }
        else { minimize mean(clip(ratio, adv, low: low) over batch) }
    }
}
--- errors
compiles
=== ranges of arguments of a def that can hold nothing, or not the default
data d = jsonl("d.jsonl", prompt: "question")
param top : float = 0.5
def a(x in 1..0) = x
def b(x = 2 in 0..1) = x
def c(x: text in 0..1) = x == "a"
def e(x = -2 in -1..1, y = -1 in -1..1, z = 2 in 0..top) = x + y + z
flow f(batch: d[8]) { report a = b(1) + e(z: 0.2) }
--- errors
test.rlf:3:12: error: there is nothing in this range
    3 | def a(x in 1..0) = x
      |            ^~~~
hint: the smaller number comes first
test.rlf:4:11: error: the default of 'x' must be from 0 to 1
    4 | def b(x = 2 in 0..1) = x
      |           ^
test.rlf:5:18: error: an argument that takes a text has no range of numbers
    5 | def c(x: text in 0..1) = x == "a"
      |                  ^~~~
test.rlf:6:11: error: the default of 'x' must be from -1 to 1
    6 | def e(x = -2 in -1..1, y = -1 in -1..1, z = 2 in 0..top) = x + y + z
      |           ^~
=== numbers given where the library takes one number for all
import "std/loss"
import "std/advantage"
data d = jsonl("d.jsonl", prompt: "question")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("judge.lua")
flow f(batch: d[8]) {
    roll = actor.generate(batch, max_new: 8, n: 2)
    score = judge(roll)
    v = value_clip(score, score, score, score)
    w = grpo(score, score)
    report v = mean(v + w over batch)
    update actor minimize mean(dpo(sum(actor.logprob(roll) over tokens), score, 0.1) over batch)
    update actor minimize mean(dpo(sum(actor.logprob(roll) over tokens), smooth: 2) over batch)
}
--- errors
test.rlf:9:41: error: the argument 'eps' of 'value_clip' takes one number for all, and this is one per sample of 'roll'
    9 |     v = value_clip(score, score, score, score)
      |                                         ^~~~~
STDLIB/loss.rlf:69:32: note: it is declared here
   69 | def value_clip(v, old, target, eps: scalar = 0.2 in 0..) =
      |                                ^~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:10:21: error: the argument 'eps' of 'grpo' takes one number for all, and this is one per sample of 'roll'
   10 |     w = grpo(score, score)
      |                     ^~~~~
STDLIB/advantage.rlf:30:25: note: it is declared here
   30 | def grpo(score: sample, eps: scalar = 1e-6 in 0..) =
      |                         ^~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:12:74: error: the argument 'beta' of 'dpo' takes one number for all, and this is one per sample of 'roll'
   12 |     update actor minimize mean(dpo(sum(actor.logprob(roll) over tokens), score, 0.1) over batch)
      |                                                                          ^~~~~
STDLIB/loss.rlf:128:25: note: it is declared here
  128 | def dpo(margin: sample, beta: scalar = 0.1 in 0.., smooth: scalar = 0 in 0..0.5) =
      |                         ^~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:13:82: error: the argument 'smooth' of 'dpo' must be from 0 to 0.5
   13 |     update actor minimize mean(dpo(sum(actor.logprob(roll) over tokens), smooth: 2) over batch)
      |                                                                                  ^
STDLIB/loss.rlf:128:52: note: it is declared here
  128 | def dpo(margin: sample, beta: scalar = 0.1 in 0.., smooth: scalar = 0 in 0..0.5) =
      |                                                    ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
=== true and false are no numbers
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", skip: true)
param sure : bool = true
hook judge = lua("judge.lua", instructions: true)
model actor = lm("m", optimizer: adamw(lr: true, clip: sure))
flow f() { }
--- errors
test.rlf:1:80: error: 'skip:' of 'jsonl' is a number, and this is true
    1 | data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", skip: true)
      |                                                                                ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:3:45: error: 'instructions:' of 'lua' is a number, and this is true
    3 | hook judge = lua("judge.lua", instructions: true)
      |                                             ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:4:44: error: 'lr:' of 'adamw' is a number, and this is true
    4 | model actor = lm("m", optimizer: adamw(lr: true, clip: sure))
      |                                            ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:4:56: error: 'clip:' of 'adamw' is a number, and this is true
    4 | model actor = lm("m", optimizer: adamw(lr: true, clip: sure))
      |                                                        ^~~~
hint: write a number, or choose one: c ? a : b
=== true and false in a flow
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param sure : bool = true
param off : bool = 0
hook judge = lua("judge.lua")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model other = copy(actor, optimizer: adamw(lr: step > 10))
state seen = true
flow f(batch: prompts[true], more: prompts[4]) {
    roll = actor.generate(more, n: true, max_new: 3 > 2, temperature: sure ? true : off, greedy: true)
    small = actor.generate(more, max_new: "a" == "a")
    good = actor.generate(more, max_new: sure ? 3 : 4, temperature: 1 + (step > 3))
    s = judge(good)
    update actor minimize mean(clip(actor.logprob(good) - good.logprob, s, low: step > 3, high: sure) over batch)
    update other minimize mean(-(s > 0) * other.logprob(good) over batch)
    seen := step > 3
    if sure and step > 3 { report a = mean(s > 0 over batch), b = sure }
    every true steps { report c = (mean(s over batch) > 0) * 2 }
    for part in good.split(parts: true) { report d = mean(part.length over batch) }
    break if step > 3
}
--- errors
test.rlf:7:48: error: 'lr:' of 'adamw' is a number, and this is a condition
    7 | model other = copy(actor, optimizer: adamw(lr: step > 10))
      |                                                ^~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:9:23: error: the count of 'prompts[...]' is a number, and this is true
    9 | flow f(batch: prompts[true], more: prompts[4]) {
      |                       ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:10:36: error: 'n:' of 'generate' is a number, and this is true
   10 |     roll = actor.generate(more, n: true, max_new: 3 > 2, temperature: sure ? true : off, greedy: tru...
      |                                    ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:10:51: error: 'max_new:' of 'generate' is a number, and this is true
   10 |     roll = actor.generate(more, n: true, max_new: 3 > 2, temperature: sure ? true : off, greedy: tru...
      |                                                   ^~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:10:78: error: 'temperature:' of 'generate' is a number, and this is true
   10 | ...  roll = actor.generate(more, n: true, max_new: 3 > 2, temperature: sure ? true : off, greedy: true)
      |                                                                               ^~~~
hint: write a number
test.rlf:11:43: error: 'max_new:' of 'generate' is a number, and this is true
   11 |     small = actor.generate(more, max_new: "a" == "a")
      |                                           ^~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:14:81: error: the argument 'low' of 'clip' is a number, and this is a condition
   14 | ...tor minimize mean(clip(actor.logprob(good) - good.logprob, s, low: step > 3, high: sure) over batch)
      |                                                                       ^~~~~~~~
STDLIB/loss.rlf:28:59: note: it is declared here
   28 | def clip(ratio: prompt..token in 0.., adv: prompt..token, low: scalar = 0.2 in 0..1,
      |                                                           ^~~~~~~~~~~~~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:14:97: error: the argument 'high' of 'clip' is a number, and this is true
   14 | ...tor minimize mean(clip(actor.logprob(good) - good.logprob, s, low: step > 3, high: sure) over batch)
      |                                                                                       ^~~~
STDLIB/loss.rlf:29:5: note: it is declared here
   29 |     high: scalar = 0.2 in 0..1) = max(-adv * ratio, -adv * clamp(ratio, 1 - low, 1 + high))
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:18:11: error: the steps of 'every' is a number, and this is true
   18 |     every true steps { report c = (mean(s over batch) > 0) * 2 }
      |           ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:19:35: error: 'parts:' of 'split' is a number, and this is true
   19 |     for part in good.split(parts: true) { report d = mean(part.length over batch) }
      |                                   ^~~~
hint: write a number, or choose one: c ? a : b
=== conditions count where values are computed
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param sure : bool = true
hook judge = lua("judge.lua")
model actor = lm("m", optimizer: adamw(lr: (step > 2) * 1e-5))
state seen = true
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_new: sure ? 3 : 4, temperature: 1 + (step > 3))
    most = actor.generate(batch, max_new: 3, greedy: 3 > 2)
    s = judge(roll)
    update actor minimize mean(-(s > 0) * actor.logprob(roll) over batch)
    seen := step > 3
    if sure and step > 3 { report a = mean(s > 0 over batch), b = sure, d = mean(most.length over batch) }
    every sure + 1 steps { report c = (mean(s over batch) > 0) * 2 }
    break if seen
}
--- warnings
test.rlf:1:1: warning: nothing of this import is used
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
test.rlf:13:63: warning: the metric 'b' is 1 each time
   13 | ...  if sure and step > 3 { report a = mean(s > 0 over batch), b = sure, d = mean(most.length over batc...
      |                                                                ^
hint: it is made of numbers and parameters alone
=== true and false as sides of a choice and operands of a rate
param k: int = 1
model actor = lm("m", optimizer: adamw(lr: k > 0 ? 1e-3 : true))
model two = lm("m", optimizer: adamw(lr: 1e-3 * true))
--- errors
test.rlf:2:59: error: 'lr:' of 'adamw' is a number, and this is true
    2 | model actor = lm("m", optimizer: adamw(lr: k > 0 ? 1e-3 : true))
      |                                                           ^~~~
hint: write a number
test.rlf:3:49: error: '*' takes numbers, and this is true
    3 | model two = lm("m", optimizer: adamw(lr: 1e-3 * true))
      |                                                 ^~~~
hint: write 1
=== ... in a flow, for arguments of defs whose default is a number, and lists of nothing
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param k: int = 1
model actor = lm("m", optimizer: adamw(lr: 1e-3))
model late = lm("m", optimizer: adamw(lr: step > 2 ? 1e-3 : step > 1))
def flagged(x, strict = false, most = 2) = strict ? min(x, most) : x
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_new: 3 + false)
    end = actor.generate(batch, max_new: 3, stop: [])
    warm = actor.generate(batch, max_new: 3, temperature: step > 3 ? true : 2)
    good = actor.generate(batch, max_new: 3)
    report a = mean(flagged(good.length, strict: true) over batch)
    report b = mean(flagged(good.length, most: true) over batch)
    update actor {
        p = sum(actor.logprob(good) over tokens)
        minimize mean(pair(p, 0, margin: true) over batch)
        minimize mean(dpo(p, beta: k > 0 ? 0.1 : false) over batch)
    }
    update late minimize -mean(late.logprob(good) over batch)
}
--- errors
test.rlf:5:43: error: 'lr:' of 'adamw' is a number, and this is a condition
    5 | model late = lm("m", optimizer: adamw(lr: step > 2 ? 1e-3 : step > 1))
      |                                           ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:8:47: error: '+' takes numbers, and this is false
    8 |     roll = actor.generate(batch, max_new: 3 + false)
      |                                               ^~~~~
hint: write 0
test.rlf:9:51: error: 'stop:' of 'generate' is an empty list, which does nothing
    9 |     end = actor.generate(batch, max_new: 3, stop: [])
      |                                                   ^~
hint: leave 'stop:' out, or write a text
test.rlf:10:70: error: 'temperature:' of 'generate' is a number, and this is true
   10 |     warm = actor.generate(batch, max_new: 3, temperature: step > 3 ? true : 2)
      |                                                                      ^~~~
hint: write a number
test.rlf:13:48: error: the argument 'most' of 'flagged' is a number, and this is true
   13 |     report b = mean(flagged(good.length, most: true) over batch)
      |                                                ^~~~
test.rlf:6:32: note: it is declared here
    6 | def flagged(x, strict = false, most = 2) = strict ? min(x, most) : x
      |                                ^~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:16:42: error: the argument 'margin' of 'pair' is a number, and this is true
   16 |         minimize mean(pair(p, 0, margin: true) over batch)
      |                                          ^~~~
STDLIB/loss.rlf:163:44: note: it is declared here
  163 | def pair(chosen: sample, rejected: sample, margin: sample = 0) =
      |                                            ^~~~~~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:17:50: error: the argument 'beta' of 'dpo' is a number, and this is false
   17 |         minimize mean(dpo(p, beta: k > 0 ? 0.1 : false) over batch)
      |                                                  ^~~~~
STDLIB/loss.rlf:128:25: note: it is declared here
  128 | def dpo(margin: sample, beta: scalar = 0.1 in 0.., smooth: scalar = 0 in 0..0.5) =
      |                         ^~~~~~~~~~~~~~~~~~~~~~~~~
hint: write a number
=== ... for those of the library that have no default
import "std/loss"
import "std/advantage"
import "std/reward"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-3))
state w = 0.1
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 3)
    good = roll.length == 1
    right = lagrangian(good, good, w) + overlong(roll.length, 3, 1) + kl_weight(w, 1, 2, 8)
    report a = mean(lagrangian(good, good, true) over batch), b = mean(right over batch)
    report c = mean(overlong(roll.length, step > 1, 1) + overlong_cap(roll.length, 3, 0) over batch)
    w := kl_weight(step > 2, 1, -1, false)
    update actor minimize token_sum_over(actor.logprob(roll), true)
}
--- errors
test.rlf:11:44: error: the argument 'weight' of 'lagrangian' is a number, and this is true
   11 |     report a = mean(lagrangian(good, good, true) over batch), b = mean(right over batch)
      |                                            ^~~~
STDLIB/advantage.rlf:77:30: note: it is declared here
   77 | def lagrangian(reward, cost, weight in 0..) = (reward - weight * cost) / (1 + weight)
      |                              ^~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:12:43: error: the argument 'longest' of 'overlong' is a number, and this is a condition
   12 |     report c = mean(overlong(roll.length, step > 1, 1) + overlong_cap(roll.length, 3, 0) over batch)
      |                                           ^~~~~~~~
STDLIB/reward.rlf:6:30: note: it is declared here
    6 | def overlong(length: sample, longest in 1.., buffer in 1.., factor: scalar = 1.0) =
      |                              ^~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:12:87: error: the argument 'buffer' of 'overlong_cap' must be 1 or more
   12 |     report c = mean(overlong(roll.length, step > 1, 1) + overlong_cap(roll.length, 3, 0) over batch)
      |                                                                                       ^
STDLIB/reward.rlf:10:50: note: it is declared here
   10 | def overlong_cap(length: sample, longest in 1.., buffer in 1.., factor: scalar = 1.0) =
      |                                                  ^~~~~~~~~~~~~
test.rlf:13:20: error: the argument 'beta' of 'kl_weight' is a number, and this is a condition
   13 |     w := kl_weight(step > 2, 1, -1, false)
      |                    ^~~~~~~~
STDLIB/loss.rlf:106:15: note: it is declared here
  106 | def kl_weight(beta in 0.., kl, target in 0.., n in 0.., horizon: scalar = 10000) =
      |               ^~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:13:33: error: the argument 'target' of 'kl_weight' must be 0 or more
   13 |     w := kl_weight(step > 2, 1, -1, false)
      |                                 ^~
STDLIB/loss.rlf:106:32: note: it is declared here
  106 | def kl_weight(beta in 0.., kl, target in 0.., n in 0.., horizon: scalar = 10000) =
      |                                ^~~~~~~~~~~~~
test.rlf:13:37: error: the argument 'n' of 'kl_weight' is a number, and this is false
   13 |     w := kl_weight(step > 2, 1, -1, false)
      |                                     ^~~~~
STDLIB/loss.rlf:106:47: note: it is declared here
  106 | def kl_weight(beta in 0.., kl, target in 0.., n in 0.., horizon: scalar = 10000) =
      |                                               ^~~~~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:14:63: error: the argument 'longest' of 'token_sum_over' is a number, and this is true
   14 |     update actor minimize token_sum_over(actor.logprob(roll), true)
      |                                                               ^~~~
STDLIB/loss.rlf:186:30: note: it is declared here
  186 | def token_sum_over(x: token, longest in 1..) = sequence_sum(x) / longest
      |                              ^~~~~~~~~~~~~~
hint: write a number, or choose one: c ? a : b
=== true and false as operands, everywhere; a flag, a parameter and a comparison are numbers
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param k: int = 1
param sure: bool = true
model actor = lm("m", optimizer: adamw(lr: 1e-3 * (step > 10)))
model ref = copy(actor)
state s = true
state t = 3
def half(x) = x / (k > 0 ? true : 2)
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 3)
    r = roll.length
    s := s + true
    t := s ? 2 : 1
    ref := ref + true * (actor - ref)
    ref := true * ref
    report a = mean(r * true - false over batch), b = mean(-false + r over batch)
    report c = mean(half(r) over batch), d = mean(r ^ (false) over batch)
    if s == true { report e = mean(r * sure + 1e-3 * (r > 2) over batch) }
    s := true
    s := not false
    update actor minimize true * mean(actor.logprob(roll) over batch)
}
--- errors
test.rlf:8:28: error: '/' takes numbers, and this is true
    8 | def half(x) = x / (k > 0 ? true : 2)
      |                            ^~~~
test.rlf:17:21: note: in this use of 'half'
   17 |     report c = mean(half(r) over batch), d = mean(r ^ (false) over batch)
      |                     ^~~~
hint: write 1
test.rlf:12:14: error: '+' takes numbers, and this is true
   12 |     s := s + true
      |              ^~~~
hint: write 1
test.rlf:14:18: error: '*' takes numbers, and this is true
   14 |     ref := ref + true * (actor - ref)
      |                  ^~~~
hint: write 1
test.rlf:15:12: error: '*' takes numbers, and this is true
   15 |     ref := true * ref
      |            ^~~~
hint: write 1
test.rlf:16:25: error: '*' takes numbers, and this is true
   16 |     report a = mean(r * true - false over batch), b = mean(-false + r over batch)
      |                         ^~~~
hint: write 1
test.rlf:16:61: error: '-' takes numbers, and this is false
   16 |     report a = mean(r * true - false over batch), b = mean(-false + r over batch)
      |                                                             ^~~~~
hint: write 0
test.rlf:17:55: error: '^' takes numbers, and this is false
   17 |     report c = mean(half(r) over batch), d = mean(r ^ (false) over batch)
      |                                                       ^~~~~~~
hint: write 0
test.rlf:21:27: error: '*' takes numbers, and this is true
   21 |     update actor minimize true * mean(actor.logprob(roll) over batch)
      |                           ^~~~
hint: write 1
=== true and false as arguments of functions, in reductions, compared by size, given to a hook
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param sure: bool = true
model actor = lm("m", optimizer: adamw(lr: 1e-3))
hook judge = lua("j.lua")
state s = true
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 3)
    r = judge(roll, strict: false, limit: 2)
    report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
    report b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 = sg(true)
    report c01 = min(true, s), c02 = max(s, 1, (false)), c03 = clamp(s, false, 1)
    report d01 = mean(discount(roll.logprob, true) over batch), d02 = mean(cumsum(s > 0 ? false : 1) over batch)
    report d03 = mean(next(roll.logprob, true) over batch), d04 = mean(prev(roll.logprob, true) over batch)
}
--- errors
test.rlf:8:29: error: a hook gets numbers and texts, and this is false
    8 |     r = judge(roll, strict: false, limit: 2)
      |                             ^~~~~
hint: write strict: 0, and compare in Lua, where 0 counts as true
test.rlf:9:22: error: 'exp' takes numbers, and this is true
    9 |     report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
      |                      ^~~~
hint: write 1
test.rlf:9:39: error: 'log' takes numbers, and this is true
    9 |     report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
      |                                       ^~~~
hint: write 1
test.rlf:9:57: error: 'sqrt' takes numbers, and this is false
    9 |     report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
      |                                                         ^~~~~
hint: write 0
test.rlf:9:75: error: 'abs' takes numbers, and this is false
    9 |     report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
      |                                                                           ^~~~~
hint: write 0
test.rlf:9:95: error: 'floor' takes numbers, and this is true
    9 |     report a01 = exp(true), a02 = log(true), a03 = sqrt(false), a04 = abs(false), a05 = floor(true)
      |                                                                                               ^~~~
hint: write 1
test.rlf:10:23: error: 'tanh' takes numbers, and this is true
   10 |     report b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 ...
      |                       ^~~~
hint: write 1
test.rlf:10:44: error: 'sigmoid' takes numbers, and this is true
   10 |     report b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 ...
      |                                            ^~~~
hint: write 1
test.rlf:10:69: error: 'log_sigmoid' takes numbers, and this is true
   10 | ...rt b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 = sg(tru...
      |                                                                ^~~~
hint: write 1
test.rlf:10:90: error: 'uniform' takes numbers, and this is true
   10 | ... b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 = sg(true)
      |                                                                                   ^~~~
hint: write 1
test.rlf:10:106: error: 'sg' takes numbers, and this is true
   10 | ... b01 = tanh(true), b02 = sigmoid(true), b03 = log_sigmoid(true), b04 = uniform(true), b05 = sg(true)
      |                                                                                                   ^~~~
hint: write 1
test.rlf:11:22: error: 'min' takes numbers, and this is true
   11 |     report c01 = min(true, s), c02 = max(s, 1, (false)), c03 = clamp(s, false, 1)
      |                      ^~~~
hint: write 1
test.rlf:11:48: error: 'max' takes numbers, and this is false
   11 |     report c01 = min(true, s), c02 = max(s, 1, (false)), c03 = clamp(s, false, 1)
      |                                                ^~~~~~~
hint: write 0
test.rlf:11:73: error: 'clamp' takes numbers, and this is false
   11 |     report c01 = min(true, s), c02 = max(s, 1, (false)), c03 = clamp(s, false, 1)
      |                                                                         ^~~~~
hint: write 0
test.rlf:12:46: error: 'discount' takes numbers, and this is true
   12 |     report d01 = mean(discount(roll.logprob, true) over batch), d02 = mean(cumsum(s > 0 ? false : 1)...
      |                                              ^~~~
hint: write 1
test.rlf:12:91: error: 'cumsum' takes numbers, and this is false
   12 | ...01 = mean(discount(roll.logprob, true) over batch), d02 = mean(cumsum(s > 0 ? false : 1) over batch)
      |                                                                                  ^~~~~
hint: write 0
test.rlf:13:42: error: 'next' takes numbers, and this is true
   13 |     report d03 = mean(next(roll.logprob, true) over batch), d04 = mean(prev(roll.logprob, true) over...
      |                                          ^~~~
hint: write 1
test.rlf:13:91: error: 'prev' takes numbers, and this is true
   13 | ...ort d03 = mean(next(roll.logprob, true) over batch), d04 = mean(prev(roll.logprob, true) over batch)
      |                                                                                       ^~~~
hint: write 1
=== ... in reductions, methods of sets and comparisons, and what is right
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
param sure: bool = true
model actor = lm("m", optimizer: adamw(lr: 1e-3))
hook judge = lua("j.lua")
state s = true
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 3)
    r = judge(roll, strict: sure, limit: 2)
    flag = r > 0 ? true : false
    report a = sum(r > 0 ? true : false over batch), b = mean(r > 0 ? true : false over batch)
    report c = mean(std(r > 0 ? 1 : false over group) over batch), d = mean(rank(r > 0 ? false : 1 over group) over batch)
    report e = max(r > 0 ? true : false over batch), g = count(flag over batch), h = sum(true over batch)
    report i = mean(roll.at_last(true) over batch), j = mean(roll.at_all(false) over batch)
    report k = mean(r < true over batch), l = mean(true >= r over batch)
    report m = mean(r == true over batch), n = sum(flag over batch), o = mean(rotate(flag over group) over batch)
    report p = mean(max(s, sure, r > 1) over batch), q = mean(not true or r > 1 over batch), u = min(s, sure)
}
--- errors
test.rlf:10:28: error: 'sum' takes numbers, and this is true
   10 |     report a = sum(r > 0 ? true : false over batch), b = mean(r > 0 ? true : false over batch)
      |                            ^~~~
hint: write 1
test.rlf:10:71: error: 'mean' takes numbers, and this is true
   10 |     report a = sum(r > 0 ? true : false over batch), b = mean(r > 0 ? true : false over batch)
      |                                                                       ^~~~
hint: write 1
test.rlf:11:37: error: 'std' takes numbers, and this is false
   11 |     report c = mean(std(r > 0 ? 1 : false over group) over batch), d = mean(rank(r > 0 ? false : 1 o...
      |                                     ^~~~~
hint: write 0
test.rlf:11:90: error: 'rank' takes numbers, and this is false
   11 | ...d(r > 0 ? 1 : false over group) over batch), d = mean(rank(r > 0 ? false : 1 over group) over batch)
      |                                                                       ^~~~~
hint: write 0
test.rlf:12:28: error: 'max' takes numbers, and this is true
   12 |     report e = max(r > 0 ? true : false over batch), g = count(flag over batch), h = sum(true over b...
      |                            ^~~~
hint: write 1
test.rlf:12:58: error: 'count' counts all values, also where the condition does not hold
   12 |     report e = max(r > 0 ? true : false over batch), g = count(flag over batch), h = sum(true over b...
      |                                                          ^~~~~ ~~~~
hint: where it holds it is 1: sum(... over batch)
test.rlf:12:90: error: 'sum' takes numbers, and this is true
   12 | ...eport e = max(r > 0 ? true : false over batch), g = count(flag over batch), h = sum(true over batch)
      |                                                                                        ^~~~
hint: write 1
test.rlf:13:34: error: 'at_last' takes numbers, and this is true
   13 |     report i = mean(roll.at_last(true) over batch), j = mean(roll.at_all(false) over batch)
      |                                  ^~~~
hint: write 1
test.rlf:13:74: error: 'at_all' takes numbers, and this is false
   13 |     report i = mean(roll.at_last(true) over batch), j = mean(roll.at_all(false) over batch)
      |                                                                          ^~~~~
hint: write 0
test.rlf:14:25: error: '<' takes numbers, and this is true
   14 |     report k = mean(r < true over batch), l = mean(true >= r over batch)
      |                         ^~~~
hint: write 1
test.rlf:14:52: error: '>=' takes numbers, and this is true
   14 |     report k = mean(r < true over batch), l = mean(true >= r over batch)
      |                                                    ^~~~
hint: write 1
=== a name of true or false as an operand; a name of a comparison, and where it is not computed with
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-3))
def twice(x, so = true) = so ? 2 * x : x
def times(x, so = true) = x * so
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, n: 2, max_new: 3)
    r = roll.length
    yes = true
    no = false
    late = step > 2
    same = yes
    report a = mean(r * yes over batch), b = mean(-no + r over batch)
    report c = mean(late * r over batch), d = mean(twice(r, yes) over batch), e = mean(times(r) over batch)
    report g = mean(yes over batch), h = exp(no), i = mean(r * (step > 1 ? yes : 2) over batch), j = 1 - same
    if yes and not no { report k = mean(r over batch) }
    update actor minimize mean(actor.logprob(roll) over batch)
}
--- errors
test.rlf:4:31: error: '*' takes numbers, and 'so' is true
    4 | def times(x, so = true) = x * so
      |                               ^~
test.rlf:13:88: note: in this use of 'times'
   13 | ...ort c = mean(late * r over batch), d = mean(twice(r, yes) over batch), e = mean(times(r) over batch)
      |                                                                                    ^~~~~
hint: write a number, or choose one: so ? a : b
test.rlf:12:25: error: '*' takes numbers, and 'yes' is true
   12 |     report a = mean(r * yes over batch), b = mean(-no + r over batch)
      |                         ^~~
hint: write a number, or choose one: yes ? a : b
test.rlf:12:52: error: '-' takes numbers, and 'no' is false
   12 |     report a = mean(r * yes over batch), b = mean(-no + r over batch)
      |                                                    ^~
hint: write a number, or choose one: no ? a : b
test.rlf:14:21: error: 'mean' takes numbers, and 'yes' is true
   14 |     report g = mean(yes over batch), h = exp(no), i = mean(r * (step > 1 ? yes : 2) over batch), j =...
      |                     ^~~
hint: write a number, or choose one: yes ? a : b
test.rlf:14:46: error: 'exp' takes numbers, and 'no' is false
   14 |     report g = mean(yes over batch), h = exp(no), i = mean(r * (step > 1 ? yes : 2) over batch), j =...
      |                                              ^~
hint: write a number, or choose one: no ? a : b
test.rlf:14:76: error: '*' takes numbers, and 'yes' is true
   14 | ...t g = mean(yes over batch), h = exp(no), i = mean(r * (step > 1 ? yes : 2) over batch), j = 1 - same
      |                                                                      ^~~
hint: write a number, or choose one: yes ? a : b
test.rlf:14:106: error: '-' takes numbers, and 'same' is true
   14 | ...t g = mean(yes over batch), h = exp(no), i = mean(r * (step > 1 ? yes : 2) over batch), j = 1 - same
      |                                                                                                    ^~~~
hint: write a number, or choose one: same ? a : b
