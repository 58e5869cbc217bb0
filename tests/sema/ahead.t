What is made ahead: which nodes, and what is refused.
+++ grpo
import "std/advantage"
import "std/loss"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
hook judge = lua("j.lua")
state heat = 1.0
state rate : prompts = 0.5
=== two parts
+++ grpo
flow f(batch: prompts[8, weight: rate * (1 - rate) + 0.1]) {
    warm  = heat * 2
    cold  = heat / 3
    roll  = actor.generate(batch, n: 2, max_new: 8, temperature: warm, ahead: 2)
    score = judge(roll) + warm
    update actor minimize mean(-grpo(score) * actor.logprob(roll) over batch)
    rate := 0.5 * rate + 0.5 * mean(score over group)
    heat := cold + warm
    report hot = heat
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state heat = number {1}
state rate = rows {0.5} of prompts
flow f
    %0 rate : prompts = rate.rows() by batch, ahead
    %1 rate : prompts = rate.rows() by batch, ahead
    %2 it : prompts = expr(%0 rate, %1 rate) by sample, ahead
        | %0 = input 0 rate : prompts
        | %1 = const 1 : scalar
        | %2 = input 1 rate : prompts
        | %3 = down %1 : prompts
        | %4 = sub %3 %2 : prompts
        | %5 = mul %0 %4 : prompts
        | %6 = const 0.1 : scalar
        | %7 = down %6 : prompts
        | %8 = add %5 %7 : prompts
        | output 0 it = %8
    %3 batch : set = prompts.draw(%2 it) {count: 8, weight: %2 it} by batch, ahead
    %4 heat : scalar = heat.state() by batch, ahead
    %5 heat : scalar = heat.state() by batch
    %6 warm : scalar = expr(%4 heat) by batch, ahead
        | %0 = input 0 heat : scalar
        | %1 = const 2 : scalar
        | %2 = mul %0 %1 : scalar
        | output 0 warm = %2
    %7 roll : set = actor.generate(%3 batch, %6 warm) {set: %3 batch, n: 2, max_new: 8, temperature: %6 warm, top_p: 1, ahead: 2} by sample, ahead
    %8 judge : roll, %9 ok : roll = judge.sample(%7 roll) {set: %7 roll} by sample
    %10 score : roll = expr(%8 judge, %6 warm) by sample
        | %0 = input 0 judge : roll
        | %1 = input 1 warm : scalar
        | %2 = down %1 : roll
        | %3 = add %0 %2 : roll
        | output 0 score = %3
    actor.update(%7 roll, %10 score) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
        | %0 = input 0 score : roll
        | %1 = mean %0 : batch
        | %2 = down %1 : roll
        | %3 = sub %0 %2 : roll
        | %4 = std %0 : batch
        | %5 = const 1e-06 : scalar
        | %6 = down %5 : batch
        | %7 = add %4 %6 : batch
        | %8 = down %7 : roll
        | %9 = div %3 %8 : roll
        | %10 = neg %9 : roll
        | %11 = input 1 actor.logprob(roll) : tokens of roll
        | %12 = down %10 : tokens of roll
        | %13 = mul %12 %11 : tokens of roll
        | %14 = mean %13 : scalar
        | %15 = const 1 : scalar
        | %16 = const 0 : scalar
        | %17 = down %16 : tokens of roll
        | %18 = count %17 : scalar
        | %19 = div %15 %18 : scalar
        | %20 = down %19 : tokens of roll
        | %21 = mul %20 %12 : tokens of roll
        | output 0 loss = %14
        | output 1 d actor.logprob(roll) = %21
    %11 rate : prompts = rate.rows() by batch
    %12 it : batch = expr(%11 rate, %10 score) by group
        | %0 = const 0.5 : scalar
        | %1 = input 0 rate : prompts
        | %2 = down %0 : prompts
        | %3 = mul %2 %1 : prompts
        | %4 = input 1 score : roll
        | %5 = mean %4 : batch
        | %6 = down %0 : batch
        | %7 = mul %6 %5 : batch
        | %8 = down %3 : batch
        | %9 = add %8 %7 : batch
        | output 0 it = %9
    rate.set_rows(%12 it) {value: %12 it} by batch
    %13 it : scalar = expr(%5 heat, %6 warm) by batch
        | %0 = input 0 heat : scalar
        | %1 = const 3 : scalar
        | %2 = div %0 %1 : scalar
        | %3 = input 1 warm : scalar
        | %4 = add %2 %3 : scalar
        | output 0 it = %4
    heat.set_state(%13 it) {value: %13 it} by batch
    %14 heat : scalar = heat.state() by batch, looking
    report(%14 heat) {hot: %14 heat} by batch, looking
=== a collect as a whole
+++ grpo
flow f(batch: prompts[8]) {
    collect batch (rounds: 3) {
        base  = judge(actor.generate(batch, max_new: 4))
        roll  = actor.generate(batch, n: 4, max_new: 8, ahead: 1)
        score = judge(roll)
        keep std(score over group) > 0 and base < 1
    }
    update actor minimize mean(-grpo(score) * actor.logprob(roll) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state heat = number {1}
state rate = rows {0.5} of prompts
flow f
    %0 batch : set, %1 generate(...) : set, %2 roll : set, %3 score : roll = prompts.collect() {rounds: 3, count: 8} by batch, ahead
    { # each: %4 wanted : scalar
        %5 batch : set = prompts.draw(%4 wanted) {count: %4 wanted} by batch, ahead
        %6 generate(...) : set = actor.generate(%5 batch) {set: %5 batch, max_new: 4, temperature: 1, top_p: 1} by sample, ahead
        %7 base : batch, %8 ok : batch = judge.sample(%6 generate(...)) {set: %6 generate(...)} by sample, ahead
        %9 roll : set = actor.generate(%5 batch) {set: %5 batch, n: 4, max_new: 8, temperature: 1, top_p: 1, ahead: 1} by sample, ahead
        %10 score : roll, %11 ok : roll = judge.sample(%9 roll) {set: %9 roll} by sample, ahead
        %12 it : batch = expr(%10 score, %7 base) by group, ahead
        keep(%12 it, %5 batch, %6 generate(...), %9 roll, %10 score) {condition: %12 it} by batch, ahead
    }
    actor.update(%2 roll, %3 score) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
=== samples of samples
+++ grpo
flow f(batch: prompts[8]) {
    draft = ref.generate(batch, max_new: 4)
    roll  = actor.generate(ask(draft.text), max_new: 8, ahead: 1)
    more  = actor.generate(batch, n: 2, max_new: 8)
    update actor minimize mean(actor.logprob(roll) over batch) + mean(actor.logprob(more) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state heat = number {1}
state rate = rows {0.5} of prompts
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch, ahead
    %1 draft : set = ref.generate(%0 batch) {set: %0 batch, max_new: 4, temperature: 1, top_p: 1} by sample, ahead
    %2 text : text batch = text(%1 draft) by sample, ahead
    %3 ask(...) : set = ask(%2 text, %1 draft) {text: %2 text} by batch, ahead
    %4 roll : set = actor.generate(%3 ask(...)) {set: %3 ask(...), max_new: 8, temperature: 1, top_p: 1, ahead: 1} by sample, ahead
    %5 more : set = actor.generate(%0 batch) {set: %0 batch, n: 2, max_new: 8, temperature: 1, top_p: 1} by sample
    actor.update(%4 roll, %5 more) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
=== two numbers
+++ grpo
flow f(batch: prompts[8]) {
    a = actor.generate(batch, max_new: 8, ahead: 1)
    b = actor.generate(batch, max_new: 8, ahead: 3)
    c = actor.generate(batch, max_new: 8, ahead: 1)
}
--- errors
test.rlf:11:50: error: this is made 3 steps ahead, and other samples 1: a flow has one number of steps
   11 |     b = actor.generate(batch, max_new: 8, ahead: 3)
      |                                                  ^
test.rlf:10:50: note: the other one is here
   10 |     a = actor.generate(batch, max_new: 8, ahead: 1)
      |                                                  ^
=== in blocks
+++ grpo
flow f(batch: prompts[8]) {
    a = actor.generate(batch, max_new: 8)
    if step > 2 {
        b = actor.generate(batch, max_new: 8, ahead: 1)
    }
    for mini in a.split(parts: 2) {
        c = actor.generate(mini, max_new: 8, ahead: 1)
    }
}
--- errors
test.rlf:12:54: error: only what every step generates once can be made ahead, and this stands in a block of 'if'
   12 |         b = actor.generate(batch, max_new: 8, ahead: 1)
      |                                                      ^
test.rlf:11:5: note: the block begins here
   11 |     if step > 2 {
      |     ^~~~~~~~~~~~~
hint: generate it before the block, or leave out 'ahead:'
test.rlf:15:53: error: only what every step generates once can be made ahead, and this stands in a block of 'for'
   15 |         c = actor.generate(mini, max_new: 8, ahead: 1)
      |                                                     ^
test.rlf:14:5: note: the block begins here
   14 |     for mini in a.split(parts: 2) {
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: generate it before the block, or leave out 'ahead:'
