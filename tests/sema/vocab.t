Values per word of the vocabulary: what is computed along with them, and where.
=== distillation in pieces
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
flow f(batch: prompts[8]) {
    roll = student.generate(batch, n: 4, max_new: 8)
    for mini in roll.split(parts: 2) {
        update student {
            p = student.logprobs(mini)
            minimize mean(sum(exp(p) * (p - teacher.logprobs(roll)) over vocab) over batch)
        }
    }
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model student = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model teacher = lm {from: "t"}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = student.generate(%0 batch) {set: %0 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    split(%1 roll) {parts: 2, epochs: 1} by batch
    { # each: %2 mini : set
        %3 logprobs : words at tokens of roll = teacher.logprobs(%1 roll) {set: %1 roll} by sample
        student.update(%2 mini, %3 logprobs) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
            | %0 = input 0 p : words
            | %1 = exp %0 : words
            | %2 = input 1 logprobs : words
            | %3 = sub %0 %2 : words
            | %4 = mul %1 %3 : words
            | %5 = sum %4 : tokens
            | output 0 over vocab = %5
            |
            | %0 = input 0 it : tokens of mini
            | %1 = mean %0 : scalar
            | %2 = const 1 : scalar
            | %3 = const 0 : scalar
            | %4 = down %3 : tokens of mini
            | %5 = count %4 : scalar
            | %6 = div %2 %5 : scalar
            | %7 = down %6 : tokens of mini
            | output 0 loss = %1
            | output 1 d it = %7
    }
=== entropy, outside of updates and in one, through a def
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
def entropy(p: vocab) = -sum(exp(p) * p over vocab)
flow f(batch: prompts[8]) {
    roll = student.generate(batch, n: 4, max_new: 8)
    p = student.logprobs(roll)
    h = entropy(p)
    best = max(p over vocab)
    report entropy = mean(h over batch), sure = mean(roll.logprob == best over batch)
    update student {
        q = student.logprobs(roll)
        report entropy_live = mean(entropy(q) over batch)
        minimize mean(entropy(q) * h + student.logprob(roll) over batch)
    }
    update student minimize mean(entropy(teacher.logprobs(roll)) * student.logprob(roll) over batch)
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model student = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model teacher = lm {from: "t"}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = student.generate(%0 batch) {set: %0 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 p : words at tokens of roll = student.logprobs(%1 roll) {set: %1 roll} by sample
    %3 logprob : tokens of roll = logprob(%1 roll) by sample, looking
    %4 over vocab : tokens of roll = student.words(%1 roll, %2 p) by sample
        | %0 = input 0 p : words
        | %1 = exp %0 : words
        | %2 = mul %1 %0 : words
        | %3 = sum %2 : tokens
        | output 0 over vocab = %3
    %5 h : tokens of roll = expr(%4 over vocab) by sample
        | %0 = input 0 it : tokens of roll
        | %1 = neg %0 : tokens of roll
        | output 0 h = %1
    %6 best : tokens of roll = student.words(%1 roll, %2 p) by sample, looking
        | %0 = input 0 p : words
        | %1 = most %0 : tokens
        | output 0 best = %1
    %7 it : scalar, %8 it : scalar = expr(%5 h, %3 logprob, %6 best) by batch, looking
        | %0 = input 0 h : tokens of roll
        | %1 = mean %0 : scalar
        | %2 = input 1 logprob : tokens of roll
        | %3 = input 2 best : tokens of roll
        | %4 = eq %2 %3 : tokens of roll
        | %5 = mean %4 : scalar
        | output 0 it = %1
        | output 1 it = %5
    report(%7 it, %8 it) {entropy: %7 it, sure: %8 it} by batch, looking
    %9 entropy_live : scalar = student.update(%1 roll, %5 h) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
        | %0 = input 0 q : words
        | %1 = exp %0 : words
        | %2 = mul %1 %0 : words
        | %3 = sum %2 : tokens
        | output 0 over vocab = %3
        | output 1 over vocab = %3
        |
        | %0 = input 0 it : tokens of roll
        | %1 = neg %0 : tokens of roll
        | %2 = input 1 h : tokens of roll
        | %3 = mul %1 %2 : tokens of roll
        | %4 = input 2 student.logprob(roll) : tokens of roll
        | %5 = add %3 %4 : tokens of roll
        | %6 = mean %5 : scalar
        | %7 = input 3 it : tokens of roll
        | %8 = neg %7 : tokens of roll
        | %9 = mean %8 : scalar
        | %10 = const 1 : scalar
        | %11 = const 0 : scalar
        | %12 = down %11 : tokens of roll
        | %13 = count %12 : scalar
        | %14 = div %10 %13 : scalar
        | %15 = down %14 : tokens of roll
        | %16 = mul %15 %2 : tokens of roll
        | %17 = neg %16 : tokens of roll
        | output 0 loss = %6
        | output 1 entropy_live = %9
        | output 2 d it = %17
        | output 3 d student.logprob(roll) = %15
        | output 4 d it = %12
    report(%9 entropy_live) {entropy_live: %9 entropy_live} by batch, looking
    %10 logprobs : words at tokens of roll = teacher.logprobs(%1 roll) {set: %1 roll} by sample
    %11 over vocab : tokens of roll = teacher.words(%1 roll, %10 logprobs) by sample
        | %0 = input 0 logprobs : words
        | %1 = exp %0 : words
        | %2 = mul %1 %0 : words
        | %3 = sum %2 : tokens
        | output 0 over vocab = %3
    student.update(%1 roll, %11 over vocab) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
        | %0 = input 0 it : tokens of roll
        | %1 = neg %0 : tokens of roll
        | %2 = input 1 student.logprob(roll) : tokens of roll
        | %3 = mul %1 %2 : tokens of roll
        | %4 = mean %3 : scalar
        | %5 = const 1 : scalar
        | %6 = const 0 : scalar
        | %7 = down %6 : tokens of roll
        | %8 = count %7 : scalar
        | %9 = div %5 %8 : scalar
        | %10 = down %9 : tokens of roll
        | %11 = mul %10 %1 : tokens of roll
        | output 0 loss = %4
        | output 1 d student.logprob(roll) = %11
=== reduced before the weights change; reductions of reductions
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8)
    p = student.logprobs(roll)
    z = log(sum(exp(p - max(p over vocab)) over vocab))
    c = prev(sum(exp(p) * p over vocab))
    update student minimize mean(student.logprob(roll) * z over batch)
    report a = mean(sum(p over vocab) over batch), b = mean(c over batch), k = mean(sum((rank(p over vocab) < 3) * exp(p) over vocab) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model student = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model teacher = lm {from: "t"}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = student.generate(%0 batch) {set: %0 batch, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 p : words at tokens of roll = student.logprobs(%1 roll) {set: %1 roll} by sample
    %3 over vocab : tokens of roll = student.words(%1 roll, %2 p) by sample
    %4 z : tokens of roll = expr(%3 over vocab) by sample
    %5 over vocab : tokens of roll, %6 over vocab : tokens of roll, %7 over vocab : tokens of roll = student.words(%1 roll, %2 p) by sample, looking
    student.update(%1 roll, %4 z) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
    %8 it : scalar, %9 it : scalar, %10 it : scalar = expr(%6 over vocab, %5 over vocab, %7 over vocab) by batch, looking
    report(%8 it, %9 it, %10 it) {a: %8 it, b: %9 it, k: %10 it} by batch, looking
=== reduced when the weights have changed
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
hook judge = lua("j.lua")
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8)
    p = student.logprobs(roll)
    update student minimize mean(student.logprob(roll) over batch)
    again = student.generate(batch, max_new: 8)
    report a = mean(sum(p * judge(again) over vocab) over batch)
}
--- errors
test.rlf:10:21: error: the weights change between logprobs and what is needed to reduce it here
   10 |     report a = mean(sum(p * judge(again) over vocab) over batch)
      |                     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
test.rlf:8:5: note: they change here
    8 |     update student minimize mean(student.logprob(roll) over batch)
      |     ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: reduce it before, or call logprobs after that
=== a live value per token goes down
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8)
    update student {
        q = student.logprobs(roll)
        minimize mean(sum(exp(q) * student.logprob(roll) over vocab) over batch)
    }
}
--- errors
test.rlf:8:36: error: a live value is broadcast to the words of the vocabulary here
    8 |         minimize mean(sum(exp(q) * student.logprob(roll) over vocab) over batch)
      |                                    ^~~~~~~~~~~~~~~~~~~~~
hint: reduce first: x * sum(... over vocab)
=== random numbers for words; texts
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8)
    p = student.logprobs(roll)
    report a = mean(sum(p * uniform(p) over vocab) over batch)
    report b = mean(count((p > -1 ? batch.answer : "b") over vocab) over batch)
}
--- errors
test.rlf:7:29: error: there are no random numbers for each word of the vocabulary
    7 |     report a = mean(sum(p * uniform(p) over vocab) over batch)
      |                             ^~~~~~~~~~
test.rlf:8:37: error: there are no texts for each word of the vocabulary
    8 |     report b = mean(count((p > -1 ? batch.answer : "b") over vocab) over batch)
      |                                     ^~~~~~~~~~~~
=== a head that a model does not have
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model student = lm("m", optimizer: adamw(lr: 1e-5))
model teacher = lm("t")
model critic = lm("m", head: scalar)
flow f(batch: prompts[8]) {
    roll = student.generate(batch, max_new: 8)
    report a = mean(max(critic.logprobs(roll) over vocab) over batch)
}
--- errors
test.rlf:7:25: error: model 'critic' has no language head, which logprobs needs
    7 |     report a = mean(max(critic.logprobs(roll) over vocab) over batch)
      |                         ^~~~~~~~~~~~~~~~~~~~~
hint: declare it with head: lm, or head: both
