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
