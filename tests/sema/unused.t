What is said to no effect: warnings.
=== names, arguments, imports, models, metrics
import "std/advantage"
import "std/loss" as loss
import "std/reward"
param beta : float = 0.1
param lr : float = 1e-5
param idle : int = 3
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
data others = jsonl("rows.jsonl", prompt: "question")
model actor = lm("m", optimizer: adamw(lr: lr * min(1, step / 5)))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
hook judge = lua("j.lua")
hook other = lua("j.lua")
state lambda = 1.0
state total = 0
state written = 0
def twice(x, y) = 2 * x
def block(x) {
    a = x + 1
    b = x + 2
    return a
}
def never(x) = x
flow f(batch: prompts[8], more: others[4]) {
    collect batch (rounds: 3) {
        roll = actor.generate(batch, n: 4, max_new: 8)
        inner = judge(roll)
        kept = judge(roll)
        keep std(inner over group) > 0
    }
    score = twice(kept, 1)
    v = mean(critic.value(roll) over tokens)
    adv = grpo(score) * lambda
    unread = block(score)
    for mini in roll.split(parts: 2) {
        update actor {
            old = mini.logprob
            minimize mean(loss.clip(exp(actor.logprob(mini) - old), adv[mini]) over batch)
            gone = actor.logprob(mini)
            report scale = 0.2
        }
    }
    for piece in roll.split(parts: 2) { report beta = beta }
    total := total + mean(score over batch)
    written := mean(v over batch)
}
--- warnings
test.rlf:3:1: warning: nothing of this import is used
    3 | import "std/reward"
      | ^~~~~~~~~~~~~~~~~~~
test.rlf:6:7: warning: 'idle' is declared and never used
    6 | param idle : int = 3
      |       ^~~~
hint: a setting of it would change nothing: take it out, or use it
test.rlf:10:49: warning: model 'critic' has an optimizer and is never updated
   10 | model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
      |                                                 ^~~~~~~~~~~~~~~
hint: leave the optimizer out, or say update critic
test.rlf:11:7: warning: 'ref' is declared and never used
   11 | model ref = copy(actor)
      |       ^~~
hint: take it out, or use it
test.rlf:13:6: warning: 'other' is declared and never used
   13 | hook other = lua("j.lua")
      |      ^~~~~
hint: take it out, or use it
test.rlf:14:1: warning: state 'lambda' is never set: it stays as it is declared
   14 | state lambda = 1.0
      | ^~~~~~~~~~~~~~~~~~
hint: set it by 'lambda := ...', or declare it as a param
test.rlf:15:7: warning: 'total' is declared and never used
   15 | state total = 0
      |       ^~~~~
hint: what ':=' sets is to be read somewhere
test.rlf:16:7: warning: 'written' is declared and never used
   16 | state written = 0
      |       ^~~~~~~
hint: what ':=' sets is to be read somewhere
test.rlf:17:14: warning: 'y' is an argument and never used
   17 | def twice(x, y) = 2 * x
      |              ^
hint: take it out of the def, and of its uses
test.rlf:20:5: warning: 'b' is named and never used
   20 |     b = x + 2
      |     ^
hint: take it out, or use it
test.rlf:23:5: warning: 'never' is declared and never used
   23 | def never(x) = x
      |     ^~~~~
hint: take it out, or use it
test.rlf:24:27: warning: 'more' is drawn and never used
   24 | flow f(batch: prompts[8], more: others[4]) {
      |                           ^~~~
hint: take it out, or use it
test.rlf:34:5: warning: 'unread' is named and never used
   34 |     unread = block(score)
      |     ^~~~~~
hint: take it out, or use it
test.rlf:39:13: warning: 'gone' is named and never used
   39 |             gone = actor.logprob(mini)
      |             ^~~~
hint: take it out, or use it
test.rlf:40:20: warning: the metric 'scale' is 0.2 each time
   40 |             report scale = 0.2
      |                    ^~~~~
hint: it is made of numbers and parameters alone
test.rlf:43:9: warning: 'piece' is split off and never used
   43 |     for piece in roll.split(parts: 2) { report beta = beta }
      |         ^~~~~
hint: take it out, or use it
test.rlf:43:48: warning: the metric 'beta' is 0.1 each time
   43 |     for piece in roll.split(parts: 2) { report beta = beta }
      |                                                ^~~~
hint: it is made of numbers and parameters alone
=== signs, blocks, columns
data prompts = jsonl("rows.jsonl", prompt: "question", anwser: "answer", answers: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, max_new: 8)
    score = judge(roll) - - 0.1 * roll.length
    report a = mean(score - -2 over batch), b = mean(score - (-2) over batch), c = mean(- -score over batch)
    every 5 steps { }
    if step == 1 { checkpoint } else { }
    update actor minimize mean(-score * -actor.logprob(roll) over batch)
}
--- warnings
test.rlf:1:56: warning: the column 'anwser' has almost, but not quite, the name of its field 'answer'
    1 | data prompts = jsonl("rows.jsonl", prompt: "question", anwser: "answer", answers: "answer", grade: "...
      |                                                        ^~~~~~~~~~~~~~~~
hint: answer: "answer"
test.rlf:6:27: warning: one minus after another is a plus
    6 |     score = judge(roll) - - 0.1 * roll.length
      |                           ^
hint: leave one out, or put what is negative in parentheses
test.rlf:7:29: warning: one minus after another is a plus
    7 |     report a = mean(score - -2 over batch), b = mean(score - (-2) over batch), c = mean(- -score ove...
      |                             ^
hint: leave one out, or put what is negative in parentheses
test.rlf:7:91: warning: one minus after another is a plus
    7 | ...rt a = mean(score - -2 over batch), b = mean(score - (-2) over batch), c = mean(- -score over batch)
      |                                                                                      ^
hint: leave one out, or put what is negative in parentheses
test.rlf:8:19: warning: this block holds nothing
    8 |     every 5 steps { }
      |                   ^~~
hint: remove it together with the line that it belongs to
test.rlf:9:38: warning: this block holds nothing
    9 |     if step == 1 { checkpoint } else { }
      |                                      ^~~
hint: remove it together with the line that it belongs to
=== what is used
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade", a: "q", id: "it")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model slow = copy(actor)
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    collect batch (rounds: 3) {
        roll = actor.generate(batch, n: 4, max_new: 8)
        score = judge(roll)
        keep mean(roll.length over group) > 0
    }
    update actor minimize mean(score * actor.logprob(roll) over batch)
    slow := 0.9 * slow + 0.1 * actor
    report n = count(score over batch)
}
--- warnings
compiles
=== a loop over pieces that reads the whole set for each
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    for mini in roll.split(parts: 2) {
        base = ref.logprob(roll)
        update actor minimize mean(actor.logprob(mini) - base[mini] over batch)
        moved = actor.logprob(roll)
        break if mean(roll.logprob - moved over batch) > 0.1
    }
    for mini in roll.split(parts: 2) {
        update actor minimize mean(mean(actor.logprob(roll)[mini] over tokens) over batch)
    }
}
--- warnings
test.rlf:7:16: warning: this reads all of 'roll' again for each 'mini'
    7 |         base = ref.logprob(roll)
      |                ^~~~~~~~~~~~~~~~~
hint: write ref.logprob(mini); or give ref.logprob(roll) a name before the loop, which changes nothing in it
test.rlf:13:41: warning: this reads all of 'roll' again for each 'mini'
   13 |         update actor minimize mean(mean(actor.logprob(roll)[mini] over tokens) over batch)
      |                                         ^~~~~~~~~~~~~~~~~~~
hint: write actor.logprob(mini)
=== what is wrong in a def that nothing uses
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
def f(x) = nothing_there(x) + "a" - f(x)
def g(x) = h(x) + y
def h(x) = g(x)
def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
def j(x) { report a = x }
def k(x, y = missing) = x.length + y
def right(x: token, s: set) { a = sum(x over tokens); return s.length > 0 ? step * a : used(a) }
def used(x) = x * 2
flow e(batch: prompts[8]) { report a = step + used(1) }
--- errors
test.rlf:2:12: error: there is no function named 'nothing_there'
    2 | def f(x) = nothing_there(x) + "a" - f(x)
      |            ^~~~~~~~~~~~~
hint: there are exp log sqrt abs min max clamp floor sigmoid log_sigmoid tanh uniform sg discount cumsum next prev sum mean std var count rank rotate, and those of the library: man rlflow-std
test.rlf:2:31: error: a number is wanted, and this is a text
    2 | def f(x) = nothing_there(x) + "a" - f(x)
      |                               ^~~
test.rlf:2:37: error: 'f' is expanded without end: it uses itself
    2 | def f(x) = nothing_there(x) + "a" - f(x)
      |                                     ^
test.rlf:3:19: error: there is nothing named 'y'
    3 | def g(x) = h(x) + y
      |                   ^
test.rlf:4:12: error: 'g' is expanded without end: it uses itself
    4 | def h(x) = g(x)
      |            ^
test.rlf:5:10: error: there is no level or kind 'tokn'
    5 | def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
      |          ^~~~
hint: it is scalar, prompt, sample, token, vocab, model, set or text
test.rlf:5:34: error: there is no 'over batsh'
    5 | def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
      |                                  ^~~~~
hint: it is over tokens, group, batch or vocab
test.rlf:5:42: error: 'y' is given a second time
    5 | def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
      |                                          ^
test.rlf:5:18: note: first here
    5 | def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
      |                  ^
hint: a name stands for one value; what changes is a state
test.rlf:5:46: error: 'f' is a function: it is used as f(...)
    5 | def i(x: tokn) { y = mean(x over batsh); y = f; return exp(1) }
      |                                              ^
test.rlf:6:12: error: a def with a block ends with a return
    6 | def j(x) { report a = x }
      |            ^~~~~~~~~~~~
test.rlf:6:5: note: of this def
    6 | def j(x) { report a = x }
      |     ^
test.rlf:7:14: error: there is nothing named 'missing'
    7 | def k(x, y = missing) = x.length + y
      |              ^~~~~~~
=== defs that nothing uses and that are right, with what they use
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
hook judge = lua("j.lua")
def right(x: token, s: set) { a = sum(x over tokens); return s.length > 0 ? step * a : other(a) }
def other(x) = x * 2 + mean(judge(x) over batch)
flow e(batch: prompts[8]) { report a = step }
--- errors
compiles
=== conditions that hold in no step, or in every one
param warm : int = 0
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state last = 0.0
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    if step == 0 { checkpoint }
    if step < 1 and last > 0 { checkpoint }
    if 0 == 1 { checkpoint }
    if not (step > 0) { checkpoint }
    if step >= 1 { report a = mean(score over batch) }
    if step != 0 or last > 1 { report b = mean(score over batch) }
    if step == warm { checkpoint }
    if step == 1 { checkpoint }
    if step % 10 == 0 { checkpoint }
    if last > 0 { checkpoint }
    last := mean(score over batch)
    update actor minimize -mean(actor.logprob(roll) * score over batch)
    break if step < -3
}
--- warnings
test.rlf:9:8: warning: this condition holds in no step
    9 |     if step == 0 { checkpoint }
      |        ^~~~~~~~~
hint: the first step is step 1
test.rlf:11:8: warning: this condition holds in no step
   11 |     if 0 == 1 { checkpoint }
      |        ^~~~~~
test.rlf:12:8: warning: this condition holds in no step
   12 |     if not (step > 0) { checkpoint }
      |        ^~~~~~~~~~~~~~
hint: the first step is step 1
test.rlf:13:8: warning: this condition holds in every step
   13 |     if step >= 1 { report a = mean(score over batch) }
      |        ^~~~~~~~~
hint: the first step is step 1
test.rlf:21:14: warning: this condition holds in no step
   21 |     break if step < -3
      |              ^~~~~~~~~
hint: the first step is step 1
=== states that nothing but themselves reads, and that nothing sets
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state a = 0
state b = 0
state c = 0
state d = 0
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    a := a + 1
    c := 0.9 * c + mean(score over batch)
    d := d + 1
    report b = b, d = d
    update actor minimize -mean(actor.logprob(roll) * (score - c) over batch)
}
--- warnings
test.rlf:4:7: warning: 'a' is declared and never used
    4 | state a = 0
      |       ^
hint: what ':=' sets is to be read somewhere
test.rlf:5:1: warning: state 'b' is never set: it stays as it is declared
    5 | state b = 0
      | ^~~~~~~~~~~
hint: set it by 'b := ...', or declare it as a param
=== what is set to itself
param k : float = 1
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
model avg = copy(actor)
hook judge = lua("j.lua")
state s = 1.0
state t = 1.0
state rate : prompts = 0.5
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    ref := ref
    ref := 0 * actor + ref
    ref := 0.5 * (ref + actor) - 0.5 * (actor - ref)
    avg := k * avg + (1 - k) * actor
    avg := ref
    if 1 > 2 { avg := avg }
    s := s
    s := 0 + s * 1 - 0 * mean(score over batch)
    t := (t / 1)
    rate := rate
    rate := rate[batch]
    old = s
    s := s + 1
    s := old
    t := 2 * t - t
    rate := mean(score over group)
    report a = s + t + mean(rate over batch)
    adv = score + mean(ref.logprob(roll) + avg.logprob(roll) over tokens)
    update actor minimize mean(adv * actor.logprob(roll) over batch)
}
--- warnings
test.rlf:13:12: warning: this leaves 'ref' as it is
   13 |     ref := ref
      |            ^~~
hint: take it out, or name the model that it is to become
test.rlf:14:12: warning: this leaves 'ref' as it is
   14 |     ref := 0 * actor + ref
      |            ^~~~~~~~~~~~~~~
hint: take it out, or give another model a factor: avg := 0.99 * avg + 0.01 * actor
test.rlf:15:12: warning: this leaves 'ref' as it is
   15 |     ref := 0.5 * (ref + actor) - 0.5 * (actor - ref)
      |            ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: take it out, or give another model a factor: avg := 0.99 * avg + 0.01 * actor
test.rlf:18:8: warning: this condition holds in no step
   18 |     if 1 > 2 { avg := avg }
      |        ^~~~~
test.rlf:19:10: warning: this leaves 's' as it is
   19 |     s := s
      |          ^
hint: take it out, or write what changes it
test.rlf:20:10: warning: this leaves 's' as it is
   20 |     s := 0 + s * 1 - 0 * mean(score over batch)
      |          ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: take it out, or write what changes it
test.rlf:21:10: warning: this leaves 't' as it is
   21 |     t := (t / 1)
      |          ^~~~~~~
hint: take it out, or write what changes it
test.rlf:22:13: warning: this leaves 'rate' as it is
   22 |     rate := rate
      |             ^~~~
hint: take it out, or write what changes it
test.rlf:23:13: warning: this leaves 'rate' as it is
   23 |     rate := rate[batch]
      |             ^~~~~~~~~~~
hint: take it out, or write what changes it
=== conditions that are written as true or false
param sure : bool = true
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state flag = false
data all = prompts.where(true)
data some = prompts.where(prompts.grade > 1 or not true)
flow f(batch: prompts[8]) {
    report rows = count(all.grade over batch) + count(some.grade over batch)
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    if true { report a = mean(score over batch) }
    if false { checkpoint } else { report b = mean(score over batch) }
    if sure { report c = mean(score over batch) }
    if flag { report d = mean(score over batch) }
    every 1 steps { checkpoint }
    every 1 + 1 steps { checkpoint }
    report e = sure ? step : 1, g = step > 5 ? 2 : step
    flag := true ? mean(score over batch) > 0 : false
    update actor {
        if not false { minimize -mean(actor.logprob(roll) * score over batch) }
    }
    break if false or 1 > 2
}
--- warnings
test.rlf:6:26: warning: this condition holds in every row
    6 | data all = prompts.where(true)
      |                          ^~~~
test.rlf:12:8: warning: this condition holds in every step
   12 |     if true { report a = mean(score over batch) }
      |        ^~~~
test.rlf:13:8: warning: this condition holds in no step
   13 |     if false { checkpoint } else { report b = mean(score over batch) }
      |        ^~~~~
test.rlf:16:11: warning: this block runs in every step
   16 |     every 1 steps { checkpoint }
      |           ^
hint: leave the 'every' out
test.rlf:19:13: warning: this condition holds in every step
   19 |     flag := true ? mean(score over batch) > 0 : false
      |             ^~~~
test.rlf:21:12: warning: this condition holds in every step
   21 |         if not false { minimize -mean(actor.logprob(roll) * score over batch) }
      |            ^~~~~~~~~
test.rlf:23:14: warning: this condition holds in no step
   23 |     break if false or 1 > 2
      |              ^~~~~~~~~~~~~~
