Data made of data, draws by weight, states per row of data.
=== mixtures and choices
param easy : float = 3
def hard(x) = x > easy
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data plain = jsonl("rows.jsonl", prompt: "question", answer: "answer", first: 20)
data both = mix(prompts, plain, weights: [3, 1])
data some = prompts.where(prompts.grade >= easy and prompts.answer == "2")
data nested = mix(prompts.where(prompts.prompt != ""), mix(plain, plain)).where(true)
model actor = lm("m")
flow f(a: both[8], b: some[2], c: nested[4]) {
    right = a.answer == "2"
    report right = mean(right over batch), high = mean(hard(b.grade) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
data plain = jsonl {path: "rows.jsonl", prompt: "question", first: 20, answer: "answer"}
data both = mix {prompts, plain, weights: [3, 1]}
data some = where of prompts
data nested.1.1 = where of prompts
data nested.1.2 = mix {plain, plain}
data nested.1 = mix {nested.1.1, nested.1.2}
data nested = where of nested.1
model actor = lm {from: "m"}
flow f
    %0 a : set = both.draw() {count: 8} by batch
    %1 b : set = some.draw() {count: 2} by batch
    %2 c : set = nested.draw() {count: 4} by batch
    %3 answer : text a = both.words(%0 a) {name: "answer"} by sample, looking
    %4 grade : b = some.number(%1 b) {name: "grade"} by sample, looking
    %5 it : scalar, %6 it : scalar = expr(%3 answer, %4 grade) by batch, looking
    report(%5 it, %6 it) {right: %5 it, high: %6 it} by batch, looking
=== ... of what they are not made
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data plain = jsonl("rows.jsonl", prompt: "question", grade: "answer")
data other = jsonl("rows.jsonl", grade: "grade")
model actor = lm("m")
state s = 1
data d1 = mix()
data d2 = mix(prompts, actor)
data d3 = mix(prompts, plain)
data d4 = mix(prompts, other)
data d5 = mix(prompts, prompts, weights: [1])
data d6 = mix(prompts, prompts, weights: [1, 0])
data d7 = mix(prompts, prompts, weights: 3)
data d8 = mix(prompts, prompts, wieghts: [1, 2])
data d9 = prompts.mix(prompts)
data d10 = where(prompts.grade > 3)
data d11 = prompts.where()
data d12 = prompts.where(prompts.grad > 3)
data d13 = prompts.where(plain.grade == "x")
data d14 = prompts.where(prompts.answer > 3)
data d15 = prompts.where(uniform(prompts.grade) > 0.5)
data d16 = prompts.where(mean(prompts.grade over batch) > 0.5)
data d17 = prompts.where(step > 3)
data d18 = prompts.where(s)
data d19 = d19.where(true)
data d20 = prompts.where(prompts.answer)
flow f(batch: prompts[8]) { }
--- errors
test.rlf:6:11: error: 'mix' lacks the data sets that it is made of
    6 | data d1 = mix()
      |           ^~~
test.rlf:7:24: error: a data set is wanted, and this is a model
    7 | data d2 = mix(prompts, actor)
      |                        ^~~~~
test.rlf:8:1: error: 'grade' is a number in 'prompts' and a text in 'plain'
    8 | data d3 = mix(prompts, plain)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: give it another label in one of them, or make it the same kind in both
test.rlf:9:1: error: 'prompts' has prompts and 'other' has none
    9 | data d4 = mix(prompts, other)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: say prompt: in both, or in neither
test.rlf:10:42: error: 'weights:' of 'mix' is a list of 2 numbers, one for each data set
   10 | data d5 = mix(prompts, prompts, weights: [1])
      |                                          ^~~
hint: weights: [3, 1]
test.rlf:11:46: error: a weight of a mixture is a number above 0
   11 | data d6 = mix(prompts, prompts, weights: [1, 0])
      |                                              ^
test.rlf:12:42: error: 'weights:' of 'mix' is a list of numbers, and this is a number
   12 | data d7 = mix(prompts, prompts, weights: 3)
      |                                          ^
test.rlf:13:33: error: 'mix' has no argument 'wieghts:'
   13 | data d8 = mix(prompts, prompts, wieghts: [1, 2])
      |                                 ^~~~~~~
hint: did you mean 'weights:'?
test.rlf:14:19: error: 'mix(...)' is written by itself, not after a name and a dot
   14 | data d9 = prompts.mix(prompts)
      |                   ^~~
hint: mix(...)
test.rlf:15:12: error: 'where(...)' is written after a data set, with a dot
   15 | data d10 = where(prompts.grade > 3)
      |            ^~~~~
hint: d.where(...)
test.rlf:16:20: error: 'where' takes one condition
   16 | data d11 = prompts.where()
      |                    ^~~~~
hint: prompts.where(prompts.grade >= 3)
test.rlf:17:34: error: 'prompts' has no field 'grad'
   17 | data d12 = prompts.where(prompts.grad > 3)
      |                                  ^~~~
hint: did you mean 'grade'?
test.rlf:18:26: error: 'plain' has other rows than 'prompts', whose rows are chosen here
   18 | data d13 = prompts.where(plain.grade == "x")
      |                          ^~~~~~~~~~~
test.rlf:19:41: error: this is a text and a number: texts and numbers do not mix
   19 | data d14 = prompts.where(prompts.answer > 3)
      |                          ~~~~~~~~~~~~~~ ^ ~
hint: two texts can be compared by == and !=
test.rlf:20:26: error: a row of data is chosen by what stands in it alone
   20 | data d15 = prompts.where(uniform(prompts.grade) > 0.5)
      |                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: uniform and reductions take rows of a step
test.rlf:21:26: error: a row of data is chosen by what stands in it alone
   21 | data d16 = prompts.where(mean(prompts.grade over batch) > 0.5)
      |                          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: uniform and reductions take rows of a step
test.rlf:22:26: error: 'step' has no value before the run starts
   22 | data d17 = prompts.where(step > 3)
      |                          ^~~~
hint: here only fields of the row, parameters and numbers can stand
test.rlf:23:26: error: a state has no value before the run starts
   23 | data d18 = prompts.where(s)
      |                          ^
hint: here only fields of the row, parameters and numbers can stand
test.rlf:24:6: error: 'd19' is declared by itself
   24 | data d19 = d19.where(true)
      |      ^~~
test.rlf:25:26: error: a number is wanted, and this is a text
   25 | data d20 = prompts.where(prompts.answer)
      |                          ^~~~~~~~~~~~~~
=== a file that is not there is not so for a field
data x = jsonl("none.jsonl", prompt: "question", grade: "grade")
flow f(batch: x[2]) { report k = count(x.grade over batch) }
--- errors
test.rlf:1:16: error: cannot open none.jsonl: No such file or directory
    1 | data x = jsonl("none.jsonl", prompt: "question", grade: "grade")
      |                ^~~~~~~~~~~~
hint: a path is relative to the file that it is written in, on the command line to where that was started
=== parts of what has no name
data d = jsonl("rows.jsonl", prompt: "question", grade: "grade", held_out: 2)
data e = d.where(d.grade < 3).held_out
data g = jsonl("rows.jsonl", prompt: "question", held_out: 2).held_out
data h = mix(d, d.where(d.grade > 3).held_out)
flow f(batch: d[2]) { report k = count(d.grade over batch) }
--- errors
test.rlf:2:31: error: 'held_out' stands after the name of a data set, and this has none
    2 | data e = d.where(d.grade < 3).held_out
      |                               ^~~~~~~~
hint: data that is read from files has it: d.held_out.where(...)
test.rlf:3:63: error: 'held_out' stands after the name of a data set, and this has none
    3 | data g = jsonl("rows.jsonl", prompt: "question", held_out: 2).held_out
      |                                                               ^~~~~~~~
hint: declare it: data d = jsonl(..., held_out: N); then d.held_out is such data
test.rlf:4:38: error: 'held_out' stands after the name of a data set, and this has none
    4 | data h = mix(d, d.where(d.grade > 3).held_out)
      |                                      ^~~~~~~~
hint: data that is read from files has it: d.held_out.where(...)
=== ... whose fields are not shared
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data plain = jsonl("rows.jsonl", prompt: "question", answer: "answer")
data both = mix(prompts, plain)
flow f(batch: both[8]) {
    report right = mean((batch.answer == "2") over batch), high = mean(batch.grade over batch)
}
--- errors
test.rlf:3:1: error: 'both' has the fields that all its members have, and 'grade' is none of them
    3 | data both = mix(prompts, plain)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:5:78: note: it is read for this field
    5 |     report right = mean((batch.answer == "2") over batch), high = mean(batch.grade over batch)
      |                                                                              ^~~~~
=== draws larger than their data
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data few = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade", first: 5)
data both = mix(prompts, few, weights: [1, 3])
data all = mix(prompts, few)
data chosen = few.where(few.grade < 4)
data none = prompts.where(prompts.grade > 4)
flow f(a: prompts[64], b: prompts[65], c: both[8], d: all[69], e: all[70], g: chosen[6], h: chosen[5],
       i: both[4, weight: 1], j: none[1], k: both[6]) {
}
--- errors
test.rlf:7:35: error: a step draws 65 rows from 'prompts', which has 64
    7 | flow f(a: prompts[64], b: prompts[65], c: both[8], d: all[69], e: all[70], g: chosen[6], h: chosen[5...
      |                                   ^~
hint: a draw never has a row twice in a step: draw fewer, or give the data more rows
test.rlf:7:48: error: a step draws 8 rows from 'both', 6 of them from 'few', which has 5
    7 | flow f(a: prompts[64], b: prompts[65], c: both[8], d: all[69], e: all[70], g: chosen[6], h: chosen[5...
      |                                                ^
hint: a draw never has a row twice in a step: draw fewer, or give 'few' a smaller weight
test.rlf:7:71: error: a step draws 70 rows from 'all', which has 69
    7 | ...ow f(a: prompts[64], b: prompts[65], c: both[8], d: all[69], e: all[70], g: chosen[6], h: chosen[5],
      |                                                                        ^~
hint: a draw never has a row twice in a step: draw fewer, or give the data more rows
test.rlf:7:86: error: a step draws 6 rows from 'chosen', which has 5
    7 | ...ow f(a: prompts[64], b: prompts[65], c: both[8], d: all[69], e: all[70], g: chosen[6], h: chosen[5],
      |                                                                                       ^
hint: a draw never has a row twice in a step: draw fewer, or give the data more rows
test.rlf:8:16: error: 'both' is mixed by weights, so that its rows cannot be drawn by another weight
    8 |        i: both[4, weight: 1], j: none[1], k: both[6]) {
      |                ^
hint: leave out the weights: of the mixture, or the weight: of the draw
=== what else is wrong with a file's arguments
data a = jsonl("rows.jsonl", prompt: "question", on_error: drop)
data b = jsonl("rows.jsonl", prompt: "question", on_error: skip, max_prompt: 3)
data c = jsonl("rows.jsonl", prompt: "question", on_error: drop, max_prompt: 0)
flow f(batch: a[8]) { }
--- errors
test.rlf:2:60: error: 'on_error:' of 'jsonl' cannot be this
    2 | data b = jsonl("rows.jsonl", prompt: "question", on_error: skip, max_prompt: 3)
      |                                                            ^~~~
hint: it is drop (drop: rows that lack a field, have null or another kind of value there, a key twice, or a prompt or response that no model can read are left out)
test.rlf:3:78: error: 'max_prompt:' of 'jsonl' is 0, and must be from 1 to 1000000000
    3 | data c = jsonl("rows.jsonl", prompt: "question", on_error: drop, max_prompt: 0)
      |                                                                              ^
hint: tokens of the longest prompt; a longer one is an error
=== columns that are parts of conversations, and rows held out, where they do not fit
data a = jsonl("rows.jsonl", messages: "m", answer: "y")
data b = jsonl("rows.jsonl", pair: ["a", "b"], prompt: "p")
data c = jsonl("rows.jsonl", pair: ["a"], until: "x")
data d = jsonl("rows.jsonl", prompt: "question", until: "x")
data e = jsonl("rows.jsonl", pair: ["a", "b"], messages: "c")
data g = jsonl("rows.jsonl", prompt: "question").held_out
data h = jsonl("rows.jsonl", prompt: "question", held_out: 0)
data k = jsonl("rows.jsonl", prompt: "question")
data l = k.held_out
data m = k.held_out()
flow f(batch: k[8]) { report n = mean(batch.length over batch) }
--- errors
test.rlf:1:45: error: the column 'answer' is made by 'messages:' already
    1 | data a = jsonl("rows.jsonl", messages: "m", answer: "y")
      |                                             ^~~~~~~~~~~
hint: leave out one of them
test.rlf:2:56: error: the column 'prompt' is made by 'pair:' already
    2 | data b = jsonl("rows.jsonl", pair: ["a", "b"], prompt: "p")
      |                                                        ^~~
hint: leave out one of them
test.rlf:3:36: error: 'pair:' names two fields
    3 | data c = jsonl("rows.jsonl", pair: ["a"], until: "x")
      |                                    ^~~~~
hint: pair: ["chosen", "rejected"]
test.rlf:4:57: error: 'until:' is what the prompts of 'pair:' end with
    4 | data d = jsonl("rows.jsonl", prompt: "question", until: "x")
      |                                                         ^~~
test.rlf:5:36: error: 'pair:' and 'messages:' both make the prompt
    5 | data e = jsonl("rows.jsonl", pair: ["a", "b"], messages: "c")
      |                                    ^~~~~~~~~~
test.rlf:6:50: error: 'held_out' stands after the name of a data set, and this has none
    6 | data g = jsonl("rows.jsonl", prompt: "question").held_out
      |                                                  ^~~~~~~~
hint: declare it: data d = jsonl(..., held_out: N); then d.held_out is such data
test.rlf:7:60: error: 'held_out:' of 'jsonl' is 0, and must be from 1 to 4000000000
    7 | data h = jsonl("rows.jsonl", prompt: "question", held_out: 0)
      |                                                            ^
hint: so many rows are another data set, NAME.held_out
test.rlf:9:12: error: 'k' has no 'held_out'
    9 | data l = k.held_out
      |            ^~~~~~~~
hint: say so where it is declared: held_out: N
test.rlf:10:12: error: 'held_out' is no call, but a part of a data set
   10 | data m = k.held_out()
      |            ^~~~~~~~
hint: d.held_out, of a data set d that has held_out: N
=== weights and states per row
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data hard = prompts.where(prompts.grade >= 3)
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state rate : prompts = 0.5
state seen : hard = 0
flow f(batch: prompts[8, weight: rate * (1 - rate) + 0.02], more: hard[4, weight: rate + hard.grade - seen]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll, rate: rate)
    best = roll.where(score > rate)
    rate := 0.8 * rate + 0.2 * mean(score over group)
    seen := 1 + seen[more]
    update actor minimize -mean(rate * actor.logprob(best) over batch)
    every 2 steps { seen := 0 }
    report rate = mean(rate over batch), drawn = mean(rate[batch] over batch), hard = mean(rate[more] over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
data hard = where of prompts
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state rate = rows {0.5} of prompts
state seen = rows {0} of hard
flow f
    %0 rate : prompts = rate.rows() by batch
    %1 rate : prompts = rate.rows() by batch
    %2 it : prompts = expr(%0 rate, %1 rate) by sample
    %3 batch : set = prompts.draw(%2 it) {count: 8, weight: %2 it} by batch
    %4 rate : prompts = rate.rows() by batch
    %5 hard : set = hard.draw() by batch
    %6 grade : hard = hard.number(%5 hard) {name: "grade"} by sample
    %7 seen : hard = seen.rows() by batch
    %8 it : hard = expr(%4 rate, %6 grade, %7 seen) by sample
    %9 more : set = hard.draw(%8 it) {count: 4, weight: %8 it} by batch
    %10 roll : set = actor.generate(%3 batch) {set: %3 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    %11 rate : prompts = rate.rows() by batch
    %12 score : roll, %13 ok : roll = judge.sample(%10 roll, %11 rate) {set: %10 roll, rate: %11 rate} by sample
    %14 rate : prompts = rate.rows() by batch
    %15 it : roll = expr(%14 rate, %12 score) by sample
    %16 best : set = where(%10 roll, %15 it) {condition: %15 it} by batch
    %17 rate : prompts = rate.rows() by batch
    %18 it : batch = expr(%17 rate, %12 score) by group
    rate.set_rows(%18 it) {value: %18 it} by batch
    %19 seen : hard = seen.rows() by batch
    %20 it : more = expr(%19 seen, %9 more) by sample
    seen.set_rows(%20 it) {value: %20 it} by batch
    %21 rate : prompts = rate.rows() by batch
    actor.update(%16 best, %21 rate) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
    every() {steps: 2} by batch
    {
        %22 it : scalar = expr() by batch
        seen.set_rows(%22 it) {value: %22 it} by batch
    }
    %23 rate : prompts = rate.rows() by batch, looking
    %24 rate : prompts = rate.rows() by batch, looking
    %25 rate : prompts = rate.rows() by batch, looking
    %26 it : scalar, %27 it : scalar, %28 it : scalar = expr(%23 rate, %24 rate, %25 rate, %3 batch, %9 more) by batch, looking
    report(%26 it, %27 it, %28 it) {rate: %26 it, drawn: %27 it, hard: %28 it} by batch, looking
=== ... of what has no rows
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m")
state wrong : actor = 0.5
state nothing : promts = 0.5
state text : prompts = "a"
flow f(batch: prompts[8]) { }
--- errors
test.rlf:3:15: error: a state has one number, or one per row of a data set, and this is a model
    3 | state wrong : actor = 0.5
      |               ^~~~~
hint: state wrong = ... is one number; state wrong : DATA = ... one per row of DATA
test.rlf:4:17: error: there is nothing named 'promts'
    4 | state nothing : promts = 0.5
      |                 ^~~~~~
hint: did you mean 'prompts'?
test.rlf:5:24: error: a number is wanted, and this is a text
    5 | state text : prompts = "a"
      |                        ^~~
=== ... where they do not fit
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data other = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data hard = prompts.where(prompts.grade >= 3)
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state rate : prompts = 0.5
state part : hard = 0.5
flow f(a: prompts[8, weight: other.grade], b: prompts[8, weight: part], c: prompts[4, weight: prompts.answer],
       d: other[4, weight: rate], e: prompts[2, weight: a.grade]) {
    roll = actor.generate(a, n: 4, max_new: 8)
    score = judge(roll)
    rate := score
    rate := roll.logprob
    rate := d.grade
    rate := part
    part := rate
    part := mean(score over group)
    rate := a.answer
    x = rate + d.grade
    update actor {
        rate := 0
        minimize -mean(rate * actor.logprob(roll) over batch)
    }
    y = a.grade + b.grade
}
--- errors
test.rlf:8:30: error: 'weight:' is one per row of 'prompts', and this is one per prompt of 'other'
    8 | flow f(a: prompts[8, weight: other.grade], b: prompts[8, weight: part], c: prompts[4, weight: prompt...
      |                              ^~~~~~~~~~~
test.rlf:8:66: error: 'weight:' is one per row of 'prompts', and this is one per prompt of 'hard'
    8 | ...f(a: prompts[8, weight: other.grade], b: prompts[8, weight: part], c: prompts[4, weight: prompts.ans...
      |                                                                ^~~~
test.rlf:8:95: error: a number is wanted, and this is a text
    8 | ...prompts[8, weight: other.grade], b: prompts[8, weight: part], c: prompts[4, weight: prompts.answer],
      |                                                                                        ^~~~~~~~~~~~~~
test.rlf:9:28: error: 'weight:' is one per row of 'other', and this is one per prompt of 'prompts'
    9 |        d: other[4, weight: rate], e: prompts[2, weight: a.grade]) {
      |                            ^~~~
test.rlf:9:57: error: 'weight:' is one per row of 'prompts', and this is one per prompt of 'a'
    9 |        d: other[4, weight: rate], e: prompts[2, weight: a.grade]) {
      |                                                         ^~~~~~~
test.rlf:12:13: error: 'rate' is one per row of 'prompts', and this is one per sample of 'roll'
   12 |     rate := score
      |             ^~~~~
hint: reduce it: mean(... over group)
test.rlf:13:13: error: 'rate' is one per row of 'prompts', and this is one per token of 'roll'
   13 |     rate := roll.logprob
      |             ^~~~~~~~~~~~
hint: reduce it: mean(mean(... over tokens) over group)
test.rlf:14:13: error: 'rate' is one per row of 'prompts', and this is one per prompt of 'd'
   14 |     rate := d.grade
      |             ^~~~~~~
test.rlf:16:13: error: 'part' is one per row of 'hard', and this is one per prompt of 'prompts'
   16 |     part := rate
      |             ^~~~
test.rlf:17:13: error: 'part' is one per row of 'hard', and this is one per prompt of 'a'
   17 |     part := mean(score over group)
      |             ^~~~~~~~~~~~~~~~~~~~~~
test.rlf:18:13: error: a number is wanted, and this is a text
   18 |     rate := a.answer
      |             ^~~~~~~~
test.rlf:19:14: error: one per prompt of 'prompts' and one per prompt of 'd' cannot be combined
   19 |     x = rate + d.grade
      |         ~~~~ ^ ~~~~~~~
hint: they share no prompts: reduce one to a scalar, mean(... over batch)
test.rlf:21:9: error: this cannot stand in an update
   21 |         rate := 0
      |         ^~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:24:17: error: one per prompt of 'a' and one per prompt of 'b' cannot be combined
   24 |     y = a.grade + b.grade
      |         ~~~~~~~ ^ ~~~~~~~
hint: they share no prompts: reduce one to a scalar, mean(... over batch)
=== a flow that draws from a choice made in its head
data rows = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
flow f(batch: rows.where(rows.answer == "2")[8]) {
    report n = mean(batch.grade over batch)
}
--- errors
test.rlf:2:15: error: a flow draws from a data set, and this is a set
    2 | flow f(batch: rows.where(rows.answer == "2")[8]) {
      |               ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: declare what it draws from: data hard = rows.where(...)
=== chat: false beside system:
data prompts = jsonl("rows.jsonl", prompt: "question", chat: false, system: "S")
flow f(batch: prompts[4]) { report a = mean(1 + 0 * (batch.prompt == "x") over batch) }
--- errors
test.rlf:1:62: error: 'chat:' is false, and 'system:' makes chats of the prompts
    1 | data prompts = jsonl("rows.jsonl", prompt: "question", chat: false, system: "S")
      |                                                              ^~~~~
test.rlf:1:77: note: it is given here
    1 | data prompts = jsonl("rows.jsonl", prompt: "question", chat: false, system: "S")
      |                                                                             ^~~
hint: leave out one of the two
