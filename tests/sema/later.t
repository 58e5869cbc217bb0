What cannot run yet is checked as all else, and refused when nothing is wrong: tools
and turns. And what is wrong with values per word of the vocabulary.
+++ distil
import "std/advantage"
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
hook lookup = lua("x", per: turn)
hook once = lua("x", per: step)
state lambda = 1.0
=== a value per word that is not brought up
+++ distil
flow f(batch: prompts[8]) {
    roll = student.generate(batch, n: 4, max_new: 8)
    p = student.logprobs(roll)
    a = mean(p over batch)
    b = sum(p over tokens)
    c = std(p over group)
    report p = p
    update student minimize student.logprobs(roll)
    update student minimize mean(student.logprobs(roll) over batch)
    d = sum(roll.logprob over vocab)
    e = discount(p, 1.0)
    g = roll.at_last(p)
    h = roll.where(p > 0)
}
--- errors
test.rlf:14:21: error: 'over batch' takes one per token at the finest, and this is one per word at a token of 'roll'
   14 |     a = mean(p over batch)
      |              ~      ^~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:15:20: error: 'over tokens' takes one per token at the finest, and this is one per word at a token of 'roll'
   15 |     b = sum(p over tokens)
      |             ~      ^~~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:16:20: error: 'over group' takes one per token at the finest, and this is one per word at a token of 'roll'
   16 |     c = std(p over group)
      |             ~      ^~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:17:16: error: a report is one number, and this is one per word at a token of 'roll'
   17 |     report p = p
      |                ^
hint: mean(... over batch)
test.rlf:18:29: error: a loss is one number, and this is one per word at a token of 'roll'
   18 |     update student minimize student.logprobs(roll)
      |                             ^~~~~~~~~~~~~~~~~~~~~~
hint: say how to average: mean(... over batch)
test.rlf:19:62: error: 'over batch' takes one per token at the finest, and this is one per word at a token of 'roll'
   19 |     update student minimize mean(student.logprobs(roll) over batch)
      |                                  ~~~~~~~~~~~~~~~~~~~~~~      ^~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:20:31: error: 'over vocab' takes one per word at a token, and this is one per token of 'roll'
   20 |     d = sum(roll.logprob over vocab)
      |             ~~~~~~~~~~~~      ^~~~~
test.rlf:21:9: error: scans run over tokens, and this is one per word at a token of 'roll'
   21 |     e = discount(p, 1.0)
      |         ^~~~~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:22:22: error: 'at_last' takes one per sample of 'roll', and this is one per word at a token of 'roll'
   22 |     g = roll.at_last(p)
      |                      ^
test.rlf:23:9: error: 'where' takes one per sample or prompt of 'roll', and this is one per word at a token of 'roll'
   23 |     h = roll.where(p > 0)
      |         ^~~~~~~~~~~~~~~~~
hint: reduce it: max(p > 0 over tokens)
=== ... that leaves its block
+++ distil
flow f(batch: prompts[8]) {
    roll = student.generate(batch, n: 4, max_new: 8)
    q = teacher.logprobs(roll)
    for mini in roll.split(parts: 2) {
        update student {
            p = student.logprobs(mini)
            minimize mean(sum(exp(p) * (p - q) over vocab) over batch)
        }
        a = sum(q over vocab)
    }
    if lambda > 0 {
        report b = mean(sum(q over vocab) over batch)
    }
    c = q[roll]
}
--- errors
test.rlf:17:45: error: 'q' is one per word at a token of 'roll', which is never stored: it lives in the block that names it
   17 |             minimize mean(sum(exp(p) * (p - q) over vocab) over batch)
      |                                             ^
test.rlf:13:9: note: it was named there
   13 |     q = teacher.logprobs(roll)
      |         ^~~~~~~~~~~~~~~~~~~~~~
hint: call logprobs here, or name what it reduces to: sum(... over vocab)
test.rlf:19:17: error: 'q' is one per word at a token of 'roll', which is never stored: it lives in the block that names it
   19 |         a = sum(q over vocab)
      |                 ^
test.rlf:13:9: note: it was named there
   13 |     q = teacher.logprobs(roll)
      |         ^~~~~~~~~~~~~~~~~~~~~~
hint: call logprobs here, or name what it reduces to: sum(... over vocab)
test.rlf:22:29: error: 'q' is one per word at a token of 'roll', which is never stored: it lives in the block that names it
   22 |         report b = mean(sum(q over vocab) over batch)
      |                             ^
test.rlf:13:9: note: it was named there
   13 |     q = teacher.logprobs(roll)
      |         ^~~~~~~~~~~~~~~~~~~~~~
hint: call logprobs here, or name what it reduces to: sum(... over vocab)
=== ... that goes where it cannot
+++ distil
flow f(batch: prompts[8]) {
    roll = student.generate(batch, n: 4, max_new: 8)
    other = student.generate(batch, n: 4, max_new: 8)
    p = student.logprobs(roll)
    a = judge(roll, p: p)
    lambda := p
    b = student.generate(batch, max_new: 4, temperature: p)
    if p { report one = 1 }
    every p steps { report two = 2 }
    c = p - student.logprobs(other)
    d = gae(p, roll.logprob)
    e = student.logprobs(batch)
    g = student.logprob(roll, p)
    h = student.logprobs(roll, 3)
    break if p
}
--- errors
test.rlf:15:21: error: 'p' is one per word at a token of 'roll', which is not broadcast to the samples of 'roll'
   15 |     a = judge(roll, p: p)
      |                     ^~~~
test.rlf:16:15: error: the value of 'lambda' is one number, and this is one per word at a token of 'roll'
   16 |     lambda := p
      |               ^
hint: reduce it, as in mean(... over batch)
test.rlf:17:58: error: 'temperature:' of 'generate' is one number, and this is one per word at a token of 'roll'
   17 |     b = student.generate(batch, max_new: 4, temperature: p)
      |                                                          ^
hint: reduce it, as in mean(... over batch)
test.rlf:18:8: error: the condition of 'if' is one number, and this is one per word at a token of 'roll'
   18 |     if p { report one = 1 }
      |        ^
hint: reduce it, as in mean(... over batch); or choose value by value: c ? a : b
test.rlf:19:11: error: the steps of 'every' is one number, and this is one per word at a token of 'roll'
   19 |     every p steps { report two = 2 }
      |           ^
hint: reduce it, as in mean(... over batch)
test.rlf:20:11: error: one per word at a token of 'roll' and one per word at a token of 'other' cannot be combined
   20 |     c = p - student.logprobs(other)
      |         ~ ^ ~~~~~~~~~~~~~~~~~~~~~~~
hint: reduce it first: sum(... over vocab)
test.rlf:21:13: error: the argument 'r' of 'gae' takes one per token at most, and this is one per word at a token of 'roll'
   21 |     d = gae(p, roll.logprob)
      |             ^
STDLIB/advantage.rlf:13:9: note: it is declared here
   13 | def gae(r: token, v: token, gamma: scalar = 1.0 in 0..1, lambda: scalar = 0.95 in 0..1,
      |         ^~~~~~~~
test.rlf:22:9: error: 'batch' has no responses
   22 |     e = student.logprobs(batch)
      |         ^~~~~~~~~~~~~~~~~~~~~~~
hint: a response is made by m.generate(batch, ...) or respond(text)
test.rlf:23:31: error: 'logprob' takes no further argument without a name
   23 |     g = student.logprob(roll, p)
      |                               ^
test.rlf:24:32: error: 'logprobs' takes no further argument without a name
   24 |     h = student.logprobs(roll, 3)
      |                                ^
test.rlf:25:14: error: the condition of 'break' is one number, and this is one per word at a token of 'roll'
   25 |     break if p
      |              ^
hint: reduce it, as in mean(... over batch)
=== a tool
+++ distil
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8, tool: lookup, turns: 4)
    report turns = mean(max(roll.turn over tokens) over batch), first = mean(roll.logprob * (roll.turn == 1) over batch)
}
--- errors
test.rlf:12:48: error: tools and turns in one generation cannot run yet: each turn is a call, as in man rlf, Two turns
   12 |     roll = student.generate(batch, max_new: 8, tool: lookup, turns: 4)
      |                                                ^~~~~~~~~~~~
hint: the program is right, but this version of rlflow cannot run this part of it
test.rlf:13:29: error: tools and turns in one generation cannot run yet: each turn is a call, as in man rlf, Two turns
   13 |     report turns = mean(max(roll.turn over tokens) over batch), first = mean(roll.logprob * (roll.tu...
      |                             ^~~~~~~~~
hint: the program is right, but this version of rlflow cannot run this part of it
test.rlf:13:94: error: tools and turns in one generation cannot run yet: each turn is a call, as in man rlf, Two turns
   13 | ...ean(max(roll.turn over tokens) over batch), first = mean(roll.logprob * (roll.turn == 1) over batch)
      |                                                                             ^~~~~~~~~
hint: the program is right, but this version of rlflow cannot run this part of it
=== tools that are none
+++ distil
hook wrong = lua("x", per: turn) -> (a, b)
flow f(batch: prompts[8]) {
    a = student.generate(batch, max_new: 8, tool: judge, turns: 4)
    b = student.generate(batch, max_new: 8, tool: lookup)
    c = student.generate(batch, max_new: 8, turns: 2)
    d = student.generate(batch, max_new: 8, tool: once, turns: 2)
}
--- errors
test.rlf:11:1: error: a hook per turn gives a text
   11 | hook wrong = lua("x", per: turn) -> (a, b)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: leave the arrow out, or write -> text
=== tools that are none, by their hook
+++ distil
flow f(batch: prompts[8]) {
    a = student.generate(batch, max_new: 8, tool: judge, turns: 4)
    b = student.generate(batch, max_new: 8, tool: lookup)
    c = student.generate(batch, max_new: 8, turns: 2)
    d = student.generate(batch, max_new: 8, tool: once, turns: 2)
}
--- errors
test.rlf:12:51: error: a tool is a hook per: turn, and 'judge' is per: sample
   12 |     a = student.generate(batch, max_new: 8, tool: judge, turns: 4)
      |                                                   ^~~~~
test.rlf:7:1: note: it is declared here
    7 | hook judge = lua("j.lua")
      | ^~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:13:51: error: a generation with a tool needs 'turns:'
   13 |     b = student.generate(batch, max_new: 8, tool: lookup)
      |                                                   ^~~~~~
hint: turns: 4 lets the tool answer four times at most
test.rlf:14:52: error: 'turns:' counts the answers of a tool, and there is none
   14 |     c = student.generate(batch, max_new: 8, turns: 2)
      |                                                    ^
hint: add tool: and a hook per: turn, or leave it out
test.rlf:15:51: error: a tool is a hook per: turn, and 'once' is per: step
   15 |     d = student.generate(batch, max_new: 8, tool: once, turns: 2)
      |                                                   ^~~~
test.rlf:9:1: note: it is declared here
    9 | hook once = lua("x", per: step)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
=== arguments of tools, by their kind
+++ distil
flow f(batch: prompts[8]) {
    a = student.generate(batch, max_new: 8, tool: teacher, turns: 4)
    b = student.generate(batch, max_new: 8, tool: lookup, turns: 0)
    c = student.generate(batch, max_new: 8, tool: lookup, turns: 1.5)
    d = student.generate(batch, max_new: 8, tool: "x", turns: 2)
    e = student.generate(batch, max_new: 8, tool: lookop, turns: 2)
    g = student.generate(batch, max_new: 8, tool: lookup, turns: lambda)
    h = lookup(a)
    i = batch.turn
}
--- errors
test.rlf:12:51: error: 'tool:' of 'generate' is a hook, and this is a model
   12 |     a = student.generate(batch, max_new: 8, tool: teacher, turns: 4)
      |                                                   ^~~~~~~
test.rlf:13:66: error: 'turns:' of 'generate' is 0, and must be from 1 to 1024
   13 |     b = student.generate(batch, max_new: 8, tool: lookup, turns: 0)
      |                                                                  ^
hint: answers of the tool at most
test.rlf:14:66: error: 'turns:' of 'generate' is a whole number, not 1.5
   14 |     c = student.generate(batch, max_new: 8, tool: lookup, turns: 1.5)
      |                                                                  ^~~
hint: answers of the tool at most
test.rlf:15:51: error: 'tool:' of 'generate' is a hook, and this is a text
   15 |     d = student.generate(batch, max_new: 8, tool: "x", turns: 2)
      |                                                   ^~~
test.rlf:16:51: error: there is nothing named 'lookop'
   16 |     e = student.generate(batch, max_new: 8, tool: lookop, turns: 2)
      |                                                   ^~~~~~
hint: did you mean 'lookup'?
test.rlf:17:66: error: 'turns:' of 'generate' must be known before the run starts
   17 |     g = student.generate(batch, max_new: 8, tool: lookup, turns: lambda)
      |                                                                  ^~~~~~
test.rlf:18:9: error: 'lookup' is per turn: a generation calls it, not the flow
   18 |     h = lookup(a)
      |         ^~~~~~~~~
hint: m.generate(..., tool: lookup, turns: 4)
test.rlf:19:9: error: 'batch' has no responses
   19 |     i = batch.turn
      |         ^~~~~~~~~~
hint: a response is made by m.generate(batch, ...) or respond(text)
=== ahead of nothing
+++ distil
param k : int = 0
flow f(batch: prompts[8]) {
    a = student.generate(batch, max_new: 8, ahead: k)
}
--- errors
compiles
=== ahead by what is no number of steps
+++ distil
flow f(batch: prompts[8]) {
    a = student.generate(batch, max_new: 8, ahead: -1)
    b = student.generate(batch, max_new: 8, ahead: 1.5)
    c = student.generate(batch, max_new: 8, ahead: lambda)
    d = student.generate(batch, max_new: 8, ahead: "one")
    e = student.generate(batch, max_new: 8, ahead: 1000)
}
--- errors
test.rlf:12:52: error: 'ahead:' of 'generate' is -1, and must be from 0 to 64
   12 |     a = student.generate(batch, max_new: 8, ahead: -1)
      |                                                    ^~
hint: steps by which the weights that sample are older
test.rlf:13:52: error: 'ahead:' of 'generate' is a whole number, not 1.5
   13 |     b = student.generate(batch, max_new: 8, ahead: 1.5)
      |                                                    ^~~
hint: steps by which the weights that sample are older
test.rlf:14:52: error: 'ahead:' of 'generate' must be known before the run starts
   14 |     c = student.generate(batch, max_new: 8, ahead: lambda)
      |                                                    ^~~~~~
test.rlf:15:52: error: 'ahead:' of 'generate' is a number, and this is a text
   15 |     d = student.generate(batch, max_new: 8, ahead: "one")
      |                                                    ^~~~~
test.rlf:16:52: error: 'ahead:' of 'generate' is 1000, and must be from 0 to 64
   16 |     e = student.generate(batch, max_new: 8, ahead: 1000)
      |                                                    ^~~~
hint: steps by which the weights that sample are older
