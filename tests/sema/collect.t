Collecting: what is kept, what is left of the rest, what is refused.
+++ grpo
import "std/advantage"
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
hook judge = lua("j.lua")
hook parts = lua("p.lua") -> (form, value)
hook date = lua("d.lua", per: step)
state lambda = 1.0
=== dynamic sampling
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 10) {
        roll  = actor.generate(batch, n: 16, max_new: 8)
        right = judge(roll)
        keep std(right over group) > 0
    }
    score = right + clamp((6 - roll.length) / 2, -1, 0)
    adv   = grpo(score)
    for mini in roll.split(parts: 4) {
        update actor minimize mean(clip(exp(actor.logprob(mini) - mini.logprob), adv, high: 0.28) over batch)
    }
    report reward = mean(score over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook parts = lua {path: "p.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook date = lua {path: "d.lua", per: "step", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set, %1 roll : set, %2 right : roll = prompts.collect() {rounds: 10, count: 8} by batch
    { # each: %3 wanted : scalar
        %4 batch : set = prompts.draw(%3 wanted) {count: %3 wanted} by batch
        %5 roll : set = actor.generate(%4 batch) {set: %4 batch, n: 16, max_new: 8, temperature: 1, top_p: 1} by sample
        %6 right : roll, %7 ok : roll = judge.sample(%5 roll) {set: %5 roll} by sample
        %8 it : batch = expr(%6 right) by group
        keep(%8 it, %4 batch, %5 roll, %6 right) {condition: %8 it} by batch
    }
    %9 length : roll = length(%1 roll) by sample
    %10 score : roll = expr(%2 right, %9 length) by sample
    %11 adv : roll = expr(%10 score) by group
    split(%1 roll) {parts: 4, epochs: 1} by batch
    { # each: %12 mini : set
        %13 logprob : tokens of mini = logprob(%12 mini) by sample
        actor.update(%12 mini, %11 adv, %13 logprob) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
    }
    %14 it : scalar = expr(%10 score) by batch, looking
    report(%14 it) {reward: %14 it} by batch, looking
=== what goes on after it: sets, parts, columns of every level, texts, records, constants
+++ grpo
flow f(batch: prompts[8]) {
    lim = 3 * lambda
    collect batch (rounds: 4, draw: 16) {
        k      = 2
        same   = lim
        answer = batch.answer
        roll   = actor.generate(batch, n: k, max_new: 8)
        short  = roll.where(roll.length < 4)
        grades = parts(roll)
        logp   = ref.logprob(roll)
        said   = respond(batch.answer)
        q      = judge(actor.generate(ask(roll.text), max_new: 4))
        unused = logp * 2
        keep batch.grade > 2 and mean(grades.form over group) > 0
    }
    report a = mean(short.length over batch) + k + same, b = mean(grades.value over batch),
           c = mean(logp[short] - short.logprob over batch), d = mean(batch.answer == answer over batch),
           e = mean(actor.logprob(said) over batch), f = mean(mean(q over group) over batch),
           g = mean(batch.grade over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook parts = lua {path: "p.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook date = lua {path: "d.lua", per: "step", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 lambda : scalar = lambda.state() by batch, looking
    %1 batch : set, %2 answer : text batch, %3 roll : set, %4 short : set, %5 value : roll, %6 logp : tokens of roll, %7 said : set, %8 generate(...) : set, %9 q : roll = prompts.collect() {rounds: 4, draw: 16, count: 8} by batch
    { # each: %10 wanted : scalar
        %11 batch : set = prompts.draw(%10 wanted) {count: %10 wanted} by batch
        %12 answer : text batch = prompts.words(%11 batch) {name: "answer"} by sample, looking
        %13 roll : set = actor.generate(%11 batch) {set: %11 batch, n: 2, max_new: 8, temperature: 1, top_p: 1} by sample
        %14 length : roll = length(%13 roll) by sample, looking
        %15 it : roll = expr(%14 length) by sample, looking
        %16 short : set = where(%13 roll, %15 it) {condition: %15 it} by batch, looking
        %17 form : roll, %18 value : roll, %19 ok : roll = parts.sample(%13 roll) {set: %13 roll} by sample
        %20 logp : tokens of roll = ref.logprob(%13 roll) {set: %13 roll} by sample, looking
        %21 said : set = respond(%12 answer, %11 batch) {text: %12 answer, to: %11 batch} by batch, looking
        %22 text : text roll = text(%13 roll) by sample, looking
        %23 ask(...) : set = ask(%22 text, %13 roll) {text: %22 text} by batch, looking
        %24 generate(...) : set = actor.generate(%23 ask(...)) {set: %23 ask(...), max_new: 4, temperature: 1, top_p: 1} by sample, looking
        %25 q : roll, %26 ok : roll = judge.sample(%24 generate(...)) {set: %24 generate(...)} by sample, looking
        %27 grade : batch = prompts.number(%11 batch) {name: "grade"} by sample
        %28 it : batch = expr(%27 grade, %17 form) by group
        keep(%28 it, %11 batch, %12 answer, %13 roll, %16 short, %18 value, %20 logp, %21 said, %24 generate(...), %25 q) {condition: %28 it} by batch
    }
    %29 length : short = length(%4 short) by sample, looking
    %30 logprob : tokens of short = logprob(%4 short) by sample, looking
    %31 answer : text batch = prompts.words(%1 batch) {name: "answer"} by sample, looking
    %32 logprob : tokens of said = actor.logprob(%7 said) {set: %7 said} by sample, looking
    %33 grade : batch = prompts.number(%1 batch) {name: "grade"} by sample, looking
    %34 it : scalar, %35 it : scalar, %36 it : scalar, %37 it : scalar, %38 it : scalar, %39 it : scalar, %40 it : scalar = expr(%29 length, %0 lambda, %5 value, %6 logp, %30 logprob, %31 answer, %2 answer, %32 logprob, %9 q, %33 grade) by batch, looking
    report(%34 it, %35 it, %36 it, %37 it, %38 it, %39 it, %40 it) {a: %34 it, b: %35 it, c: %36 it, d: %37 it, e: %38 it, f: %39 it, g: %40 it} by batch, looking
=== names of one round are nothing after it
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, n: 2, max_new: 8)
        acc  = mean(judge(roll) over batch)
        all  = prompts.grade
        test = actor.generate(prompts, max_new: 2)
        day  = date()
        keep std(judge(roll) over group) > 0
    }
    report a = acc, b = mean(all over batch), c = mean(test.length over batch), d = day
    report e = mean(acc + roll.length over batch)
}
--- errors
test.rlf:19:16: error: 'acc' is made anew in each round of the collect and does not exist after it
   19 |     report a = acc, b = mean(all over batch), c = mean(test.length over batch), d = day
      |                ^~~
test.rlf:13:9: note: made here
   13 |         acc  = mean(judge(roll) over batch)
      |         ^~~
hint: name it before the collect, or make it of what was kept
test.rlf:19:30: error: 'all' is made anew in each round of the collect and does not exist after it
   19 |     report a = acc, b = mean(all over batch), c = mean(test.length over batch), d = day
      |                              ^~~
test.rlf:14:9: note: made here
   14 |         all  = prompts.grade
      |         ^~~
hint: name it before the collect, or make it of what was kept
test.rlf:19:56: error: 'test' is made anew in each round of the collect and does not exist after it
   19 |     report a = acc, b = mean(all over batch), c = mean(test.length over batch), d = day
      |                                                        ^~~~
test.rlf:15:9: note: made here
   15 |         test = actor.generate(prompts, max_new: 2)
      |         ^~~~
hint: name it before the collect, or make it of what was kept
test.rlf:19:85: error: 'day' is made anew in each round of the collect and does not exist after it
   19 |     report a = acc, b = mean(all over batch), c = mean(test.length over batch), d = day
      |                                                                                     ^~~
test.rlf:16:9: note: made here
   16 |         day  = date()
      |         ^~~
hint: name it before the collect, or make it of what was kept
test.rlf:20:21: error: 'acc' is made anew in each round of the collect and does not exist after it
   20 |     report e = mean(acc + roll.length over batch)
      |                     ^~~
test.rlf:13:9: note: made here
   13 |         acc  = mean(judge(roll) over batch)
      |         ^~~
hint: name it before the collect, or make it of what was kept
=== what a round drew and what was kept
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, n: 2, max_new: 8)
        keep std(judge(roll) over group) > 0
    }
    other = actor.generate(batch, n: 2, max_new: 8)
    report a = mean(roll.length - other.length over batch), b = mean(mean(roll.length over group) - mean(other.length over group) over batch)
    roll = 1
}
--- errors
test.rlf:16:33: error: one per sample of 'roll' and one per sample of 'other' cannot be combined
   16 |     report a = mean(roll.length - other.length over batch), b = mean(mean(roll.length over group) - ...
      |                     ~~~~~~~~~~~ ^ ~~~~~~~~~~~~
hint: reduce one to the prompts they share: mean(other.length over group)
test.rlf:17:5: error: 'roll' is given a second time
   17 |     roll = 1
      |     ^~~~
test.rlf:12:9: note: first here
   12 |         roll = actor.generate(batch, n: 2, max_new: 8)
      |         ^~~~
hint: a name stands for one value; what changes is a state
=== the condition
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, n: 2, max_new: 8)
        keep judge(roll)
    }
    report a = mean(roll.length over batch)
}
--- errors
test.rlf:13:14: error: 'keep' takes one per prompt of 'batch', and this is one per sample of 'roll'
   13 |         keep judge(roll)
      |              ^~~~~~~~~~~
hint: mean(... over group) is one per prompt
=== a condition by token; of all rows, which go down; of another draw
+++ grpo
flow f(batch: prompts[8], more: prompts[8], rest: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, max_new: 8)
        keep roll.logprob > -1
    }
    collect more (rounds: 4) {
        keep prompts.grade > 1
    }
    collect rest (rounds: 4) {
        keep more.grade > 1
    }
}
--- errors
test.rlf:13:14: error: 'keep' takes one per prompt of 'batch', and this is one per token of 'roll'
   13 |         keep roll.logprob > -1
      |              ^~~~~~~~~~~~~~~~~
test.rlf:19:14: error: 'keep' takes one per prompt of 'rest', and this is one per prompt of 'more'
   19 |         keep more.grade > 1
      |              ^~~~~~~~~~~~~~
=== conditions that are coarser, or by sample without n
+++ grpo
flow f(batch: prompts[8], more: prompts[8], rest: prompts[8]) {
    collect batch (rounds: 4) {
        keep lambda > 1
    }
    collect more (rounds: 4) {
        roll = actor.generate(more, max_new: 8)
        keep judge(roll)
    }
    collect rest (rounds: 4) {
        keep 1
    }
    report a = mean(roll.length over batch), b = count(batch.grade over batch), c = count(rest.grade over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook parts = lua {path: "p.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
hook date = lua {path: "d.lua", per: "step", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set = prompts.collect() {rounds: 4, count: 8} by batch
    { # each: %1 wanted : scalar
        %2 batch : set = prompts.draw(%1 wanted) {count: %1 wanted} by batch
        %3 lambda : scalar = lambda.state() by batch
        %4 it : scalar = expr(%3 lambda) by batch
        keep(%4 it, %2 batch) {condition: %4 it} by batch
    }
    %5 more : set, %6 roll : set = prompts.collect() {rounds: 4, count: 8} by batch
    { # each: %7 wanted : scalar
        %8 more : set = prompts.draw(%7 wanted) {count: %7 wanted} by batch
        %9 roll : set = actor.generate(%8 more) {set: %8 more, max_new: 8, temperature: 1, top_p: 1} by sample
        %10 judge : more, %11 ok : more = judge.sample(%9 roll) {set: %9 roll} by sample
        keep(%10 judge, %8 more, %9 roll) {condition: %10 judge} by batch
    }
    %12 rest : set = prompts.collect() {rounds: 4, count: 8} by batch
    { # each: %13 wanted : scalar
        %14 rest : set = prompts.draw(%13 wanted) {count: %13 wanted} by batch
        %15 it : scalar = expr() by batch
        keep(%15 it, %14 rest) {condition: %15 it} by batch
    }
    %16 length : more = length(%6 roll) by sample, looking
    %17 grade : batch = prompts.number(%0 batch) {name: "grade"} by sample, looking
    %18 grade : rest = prompts.number(%12 rest) {name: "grade"} by sample, looking
    %19 it : scalar, %20 it : scalar, %21 it : scalar = expr(%16 length, %17 grade, %18 grade) by batch, looking
    report(%19 it, %20 it, %21 it) {a: %19 it, b: %20 it, c: %21 it} by batch, looking
=== one keep, at its end
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, n: 2, max_new: 8)
    }
    report a = mean(roll.length over batch)
}
--- errors
test.rlf:11:5: error: a collect ends with 'keep c'
   11 |     collect batch (rounds: 4) {
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~
=== two keeps; statements behind it; inside an if; outside
+++ grpo
flow f(batch: prompts[8], more: prompts[8], rest: prompts[8], last: prompts[8]) {
    collect batch (rounds: 4) {
        keep batch.grade > 1
        keep batch.grade > 2
    }
    collect more (rounds: 4) {
        keep more.grade > 1
        x = more.grade
    }
    collect rest (rounds: 4) {
        if lambda > 1 { keep rest.grade > 2 }
        keep rest.grade > 1
    }
    collect last (rounds: 4) { }
    keep batch.grade > 1
}
--- errors
test.rlf:12:9: error: a collect has one 'keep', at its end
   12 |         keep batch.grade > 1
      |         ^~~~~~~~~~~~~~~~~~~~
hint: keep a and b
test.rlf:15:5: error: a collect ends with 'keep c'
   15 |     collect more (rounds: 4) {
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:20:25: error: keep stands only in a collect, at its end
   20 |         if lambda > 1 { keep rest.grade > 2 }
      |                         ^~~~~~~~~~~~~~~~~~~
test.rlf:23:5: error: a collect ends with 'keep c'
   23 |     collect last (rounds: 4) { }
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:24:5: error: keep stands only in a collect, at its end
   24 |     keep batch.grade > 1
      |     ^~~~~~~~~~~~~~~~~~~~
hint: samples of a set s are chosen by s.where(batch.grade > 1)
=== what it cannot hold
+++ grpo
flow f(batch: prompts[8], more: prompts[8]) {
    collect batch (rounds: 4) {
        roll = actor.generate(batch, n: 2, max_new: 8)
        update actor minimize mean(actor.logprob(roll) over batch)
        lambda := 2
        for mini in roll.split(parts: 2) {
            update actor minimize mean(actor.logprob(mini) over batch)
            break if lambda > 2
        }
        if lambda > 1 { ref := actor }
        break if lambda > 2
        collect more (rounds: 2) { keep more.grade > 1 }
        keep batch.grade > 1
    }
}
--- errors
test.rlf:13:9: error: a collect holds no update and no ':='
   13 |         update actor minimize mean(actor.logprob(roll) over batch)
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:14:9: error: a collect holds no update and no ':='
   14 |         lambda := 2
      |         ^~~~~~~~~~~
test.rlf:16:13: error: a collect holds no update and no ':='
   16 |             update actor minimize mean(actor.logprob(mini) over batch)
      |             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:19:25: error: a collect holds no update and no ':='
   19 |         if lambda > 1 { ref := actor }
      |                         ^~~~~~~~~~~~
test.rlf:20:9: error: a collect holds no break: 'rounds:' ends it
   20 |         break if lambda > 2
      |         ^~~~~~~~~~~~~~~~~~~
test.rlf:21:9: error: a collect holds no other collect
   21 |         collect more (rounds: 2) { keep more.grade > 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
=== where it stands
+++ grpo
flow f(batch: prompts[8], more: prompts[8]) {
    for mini in batch.split(parts: 2) {
        collect batch (rounds: 4) { keep batch.grade > 1 }
    }
    if lambda > 1 {
        collect more (rounds: 4) { keep more.grade > 1 }
    }
    every 2 steps {
        collect more (rounds: 4) { keep more.grade > 1 }
    }
    update actor {
        collect more (rounds: 4) { keep more.grade > 1 }
        minimize mean(actor.logprob(actor.generate(more, max_new: 2)) over batch)
    }
}
--- errors
test.rlf:12:9: error: a collect stands in the flow itself, not in a block of it
   12 |         collect batch (rounds: 4) { keep batch.grade > 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:15:9: error: a collect stands in the flow itself, not in a block of it
   15 |         collect more (rounds: 4) { keep more.grade > 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:18:9: error: a collect stands in the flow itself, not in a block of it
   18 |         collect more (rounds: 4) { keep more.grade > 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:21:9: error: this cannot stand in an update
   21 |         collect more (rounds: 4) { keep more.grade > 1 }
      |         ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: it holds names, if, report and minimize
test.rlf:22:37: error: an update holds no generation
   22 |         minimize mean(actor.logprob(actor.generate(more, max_new: 2)) over batch)
      |                                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: give the set a name before it
=== what is collected
+++ grpo
flow f(batch: prompts[8], more: prompts[8]) {
    roll = actor.generate(batch, max_new: 4)
    collect roll (rounds: 4) { keep roll.length > 1 }
    collect prompts (rounds: 4) { x = 1; keep prompts.grade > 1 }
    collect lambda (rounds: 4) { keep 1 }
    collect nothing (rounds: 4) { keep 1 }
    collect more (rounds: 4) { keep more.grade > 1 }
    collect more (rounds: 4) { keep more.grade > 2 }
    report x = x
}
--- errors
test.rlf:12:13: error: 'roll' is not what the flow draws
   12 |     collect roll (rounds: 4) { keep roll.length > 1 }
      |             ^~~~
hint: what is collected stands in the flow's head, (batch: data[64])
test.rlf:13:13: error: 'prompts' is not what the flow draws
   13 |     collect prompts (rounds: 4) { x = 1; keep prompts.grade > 1 }
      |             ^~~~~~~
hint: what is collected stands in the flow's head, (batch: data[64])
test.rlf:14:13: error: 'lambda' is not what the flow draws
   14 |     collect lambda (rounds: 4) { keep 1 }
      |             ^~~~~~
hint: what is collected stands in the flow's head, (batch: data[64])
test.rlf:15:13: error: there is nothing named 'nothing'
   15 |     collect nothing (rounds: 4) { keep 1 }
      |             ^~~~~~~
test.rlf:17:13: error: 'more' is collected already
   17 |     collect more (rounds: 4) { keep more.grade > 2 }
      |             ^~~~
hint: one collect may hold all that it is kept for
=== used before it is collected
+++ grpo
flow f(batch: prompts[8]) {
    base = ref.generate(batch, max_new: 4)
    collect batch (rounds: 4) {
        roll = actor.generate(batch, max_new: 4)
        keep judge(roll)
    }
    report a = mean(base.length + roll.length over batch)
}
--- errors
test.rlf:11:12: error: 'batch' has no rows before it is collected
   11 |     base = ref.generate(batch, max_new: 4)
      |            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:12:13: note: collected here
   12 |     collect batch (rounds: 4) {
      |             ^~~~~
hint: say this in the collect, or after it
=== its arguments
+++ grpo
flow f(batch: prompts[8]) {
    collect batch { keep batch.grade > 1 }
    collect batch (rounds: 0) { keep batch.grade > 1 }
    collect batch (rounds: 2, draw: 1.5) { keep batch.grade > 1 }
    collect batch (rounds: 2, often: 3) { keep batch.grade > 1 }
}
--- errors
test.rlf:11:13: error: 'collect' lacks 'rounds:'
   11 |     collect batch { keep batch.grade > 1 }
      |             ^~~~~
hint: after so many draws it goes on with what there is
test.rlf:12:28: error: 'rounds:' of 'collect' is 0, and must be from 1 to 1000000
   12 |     collect batch (rounds: 0) { keep batch.grade > 1 }
      |                            ^
hint: after so many draws it goes on with what there is
test.rlf:13:37: error: 'draw:' of 'collect' is a whole number, not 1.5
   13 |     collect batch (rounds: 2, draw: 1.5) { keep batch.grade > 1 }
      |                                     ^~~
hint: prompts drawn in a round; else as many as are still wanted
test.rlf:14:31: error: 'collect' has no argument 'often:'
   14 |     collect batch (rounds: 2, often: 3) { keep batch.grade > 1 }
      |                               ^~~~~
hint: it has rounds:, draw:
=== rounds that draw too few prompts in all
data d = jsonl("rows.jsonl", grade: "grade")
flow f(batch: d[8]) {
    collect batch (rounds: 3, draw: 2) { keep batch.grade > 1 }
    report a = mean(batch.grade over batch)
}
--- warnings
test.rlf:3:37: warning: the rounds draw 6 prompts in all, and 'batch' is to have 8: it is never full
    3 |     collect batch (rounds: 3, draw: 2) { keep batch.grade > 1 }
      |                                     ^
hint: raise draw: or rounds:
=== ... and just enough
data d = jsonl("rows.jsonl", grade: "grade")
flow f(batch: d[8]) {
    collect batch (rounds: 4, draw: 2) { keep batch.grade > 1 }
    report a = mean(batch.grade over batch)
}
--- warnings
compiles
=== names are given once
+++ grpo
flow f(batch: prompts[8]) {
    roll = actor.generate(prompts, max_new: 4)
    collect batch (rounds: 2) {
        roll = actor.generate(batch, max_new: 4)
        batch = 2
        good = judge(roll)
        keep good
    }
    good = 3
}
--- errors
test.rlf:13:9: error: 'roll' is given a second time
   13 |         roll = actor.generate(batch, max_new: 4)
      |         ^~~~
test.rlf:11:5: note: first here
   11 |     roll = actor.generate(prompts, max_new: 4)
      |     ^~~~
hint: a name stands for one value; what changes is a state
test.rlf:14:9: error: 'batch' is given a second time
   14 |         batch = 2
      |         ^~~~~
test.rlf:12:13: note: first here
   12 |     collect batch (rounds: 2) {
      |             ^~~~~
hint: a name stands for one value; what changes is a state
test.rlf:18:5: error: 'good' is given a second time
   18 |     good = 3
      |     ^~~~
test.rlf:15:9: note: first here
   15 |         good = judge(roll)
      |         ^~~~
hint: a name stands for one value; what changes is a state
=== conditions that hold for no prompt, or for each
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m")
flow f(a: prompts[4], b: prompts[4], c: prompts[4], d: prompts[4], e: prompts[4]) {
    collect a (rounds: 2) {
        keep true
    }
    collect b (rounds: 2) {
        keep step < 1
    }
    collect c (rounds: 2, draw: 2) {
        keep 1
    }
    collect d (rounds: 2, draw: 2) {
        keep false
    }
    collect e (rounds: 2) {
        roll = actor.generate(e, max_new: 3)
        keep step > 100 or roll.length > 1
    }
    report x = count(a.answer over batch) + count(b.answer over batch) + count(c.answer over batch),
           y = count(d.answer over batch) + count(e.answer over batch)
}
--- warnings
test.rlf:5:14: warning: this condition holds in every step
    5 |         keep true
      |              ^~~~
test.rlf:8:14: warning: this condition holds in no step
    8 |         keep step < 1
      |              ^~~~~~~~
hint: the first step is step 1
test.rlf:14:14: warning: this condition holds in no step
   14 |         keep false
      |              ^~~~~
