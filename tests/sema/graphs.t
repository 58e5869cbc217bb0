Graphs of whole programs.
+++ dynamic
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua") -> (value, why: text)
state heat = 1.0
place { actor on 0 }
flow grpo(batch: prompts[8]) {
    collect batch (rounds: 2) {
        roll = actor.generate(batch, n: 4, max_new: 8, temperature: heat)
        said = judge(roll)
        keep std(said.value over group) > 0
    }
    score = said.value * (said.why == "good")
    report reward = mean(score over batch)
    for mini in roll.split(parts: 2) {
        update actor minimize mean(-actor.logprob(mini) * score over batch)
    }
}
=== proximal policy optimization
+++ ppo
flow f(batch: prompts[8]) {
    roll  = actor.generate(batch, max_new: 16)
    score = judge(roll)
    kl    = k1(roll.logprob, ref.logprob(roll))
    v     = critic.value(roll)
    a     = gae(roll.at_last(score) - beta * kl, v, gamma: 1.0, lambda: 0.95)
    adv   = whiten(a)
    for mini in roll.split(size: 16, epochs: 4) {
        update actor {
            ratio = exp(actor.logprob(mini) - mini.logprob)
            report clipped = mean(abs(ratio - 1) > 0.2 over batch)
            minimize mean(clip(ratio, adv, low: 0.2, high: 0.2) over batch)
        }
        update critic minimize mean(value_clip(critic.value(mini), v, a + v, eps: 0.2) over batch)
    }
    report reward = mean(score over batch), kl = mean(kl over batch)
    every 20 steps { report accuracy = mean(judge(actor.generate(prompts, max_new: 16, greedy: true)) over batch); checkpoint }
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model critic = lm {from: "m", head: "scalar", optimizer: adamw[beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = actor.generate(%0 batch) {set: %0 batch, max_new: 16, temperature: 1, top_p: 1} by sample
    %2 score : batch, %3 ok : batch = judge.sample(%1 roll) {set: %1 roll} by sample
    %4 logprob : tokens of roll = logprob(%1 roll) by sample
    %5 logprob : tokens of roll = ref.logprob(%1 roll) {set: %1 roll} by sample
    %6 v : tokens of roll = critic.value(%1 roll) {set: %1 roll} by sample
    %7 kl : tokens of roll, %8 a : tokens of roll = expr(%4 logprob, %5 logprob, %2 score, %6 v) by sample
        | %0 = input 0 logprob : tokens of roll
        | %1 = input 1 logprob : tokens of roll
        | %2 = sub %0 %1 : tokens of roll
        | %3 = input 2 score : batch
        | %4 = at_last %3 : tokens of roll
        | %5 = const 0.1 : scalar
        | %6 = down %5 : tokens of roll
        | %7 = mul %6 %2 : tokens of roll
        | %8 = sub %4 %7 : tokens of roll
        | %9 = input 3 v : tokens of roll
        | %10 = const 0 : scalar
        | %11 = down %10 : tokens of roll
        | %12 = next %9 %11 : tokens of roll
        | %13 = add %8 %12 : tokens of roll
        | %14 = sub %13 %9 : tokens of roll
        | %15 = const 0.95 : scalar
        | %16 = down %15 : tokens of roll
        | %17 = discount %14 %16 : tokens of roll
        | output 0 kl = %2
        | output 1 a = %17
    %9 adv : tokens of roll = expr(%8 a) by batch
        | %0 = input 0 a : tokens of roll
        | %1 = mean %0 : scalar
        | %2 = down %1 : tokens of roll
        | %3 = sub %0 %2 : tokens of roll
        | %4 = var %0 : scalar
        | %5 = const 1e-08 : scalar
        | %6 = add %4 %5 : scalar
        | %7 = sqrt %6 : scalar
        | %8 = down %7 : tokens of roll
        | %9 = div %3 %8 : tokens of roll
        | output 0 adv = %9
    split(%1 roll) {size: 16, epochs: 4} by batch
    { # each: %10 mini : set
        %11 logprob : tokens of mini = logprob(%10 mini) by sample
        %12 clipped : scalar = actor.update(%10 mini, %9 adv, %11 logprob) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
            | %0 = input 0 adv : tokens of roll
            | %1 = neg %0 : tokens of roll
            | %2 = input 1 actor.logprob(mini) : tokens of mini
            | %3 = input 2 logprob : tokens of mini
            | %4 = sub %2 %3 : tokens of mini
            | %5 = exp %4 : tokens of mini
            | %6 = down %1 : tokens of mini
            | %7 = mul %6 %5 : tokens of mini
            | %8 = const 0.8 : scalar
            | %9 = const 1.2 : scalar
            | %10 = down %8 : tokens of mini
            | %11 = down %9 : tokens of mini
            | %12 = clamp %5 %10 %11 : tokens of mini
            | %13 = mul %6 %12 : tokens of mini
            | %14 = max %7 %13 : tokens of mini
            | %15 = mean %14 : scalar
            | %16 = const 0.2 : scalar
            | %17 = const 1 : scalar
            | %18 = down %17 : tokens of mini
            | %19 = sub %5 %18 : tokens of mini
            | %20 = abs %19 : tokens of mini
            | %21 = down %16 : tokens of mini
            | %22 = lt %21 %20 : tokens of mini
            | %23 = const 0 : scalar
            | %24 = down %23 : tokens of mini
            | %25 = count %24 : scalar
            | %26 = mean %22 : scalar
            | %27 = const nan : scalar
            | %28 = select %25 %26 %27 : scalar
            | %29 = div %17 %25 : scalar
            | %30 = down %29 : tokens of mini
            | %31 = le %13 %7 : tokens of mini
            | %32 = pick %31 %30 %24 : tokens of mini
            | %33 = pick %31 %24 %30 : tokens of mini
            | %34 = mul %33 %6 : tokens of mini
            | %35 = pick %33 %34 %24 : tokens of mini
            | %36 = lt %5 %10 : tokens of mini
            | %37 = pick %36 %10 %5 : tokens of mini
            | %38 = lt %11 %37 : tokens of mini
            | %39 = pick %38 %24 %35 : tokens of mini
            | %40 = pick %36 %24 %39 : tokens of mini
            | %41 = mul %32 %6 : tokens of mini
            | %42 = pick %32 %41 %24 : tokens of mini
            | %43 = add %40 %42 : tokens of mini
            | %44 = mul %43 %5 : tokens of mini
            | %45 = pick %43 %44 %24 : tokens of mini
            | %46 = neg %45 : tokens of mini
            | output 0 loss = %15
            | output 1 clipped = %28
            | output 2 d actor.logprob(mini) = %45
        report(%12 clipped) {clipped: %12 clipped} by batch, looking
        %13 step : scalar = step() by batch
        %14 it : scalar = expr(%13 step) by batch
            | %0 = const 1e-05 : scalar
            | %1 = const 1 : scalar
            | %2 = input 0 step : scalar
            | %3 = const 10 : scalar
            | %4 = div %2 %3 : scalar
            | %5 = min %1 %4 : scalar
            | %6 = mul %0 %5 : scalar
            | output 0 it = %6
        critic.update(%14 it, %10 mini, %8 a, %6 v) {lr: %14 it, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
            | %0 = const 0.5 : scalar
            | %1 = input 0 critic.value(mini) : tokens of mini
            | %2 = input 1 a : tokens of roll
            | %3 = input 2 v : tokens of roll
            | %4 = add %2 %3 : tokens of roll
            | %5 = down %4 : tokens of mini
            | %6 = sub %1 %5 : tokens of mini
            | %7 = const 2 : scalar
            | %8 = down %7 : tokens of mini
            | %9 = mul %6 %6 : tokens of mini
            | %10 = const 0.2 : scalar
            | %11 = down %10 : tokens of roll
            | %12 = sub %3 %11 : tokens of roll
            | %13 = add %3 %11 : tokens of roll
            | %14 = down %12 : tokens of mini
            | %15 = down %13 : tokens of mini
            | %16 = clamp %1 %14 %15 : tokens of mini
            | %17 = sub %16 %5 : tokens of mini
            | %18 = mul %17 %17 : tokens of mini
            | %19 = max %9 %18 : tokens of mini
            | %20 = down %0 : tokens of mini
            | %21 = mul %20 %19 : tokens of mini
            | %22 = mean %21 : scalar
            | %23 = const 1 : scalar
            | %24 = const 0 : scalar
            | %25 = down %24 : tokens of mini
            | %26 = count %25 : scalar
            | %27 = div %23 %26 : scalar
            | %28 = down %27 : tokens of mini
            | %29 = mul %28 %20 : tokens of mini
            | %30 = le %18 %9 : tokens of mini
            | %31 = pick %30 %29 %25 : tokens of mini
            | %32 = pick %30 %25 %29 : tokens of mini
            | %33 = mul %32 %17 : tokens of mini
            | %34 = pick %32 %33 %25 : tokens of mini
            | %35 = add %34 %34 : tokens of mini
            | %36 = neg %35 : tokens of mini
            | %37 = lt %1 %14 : tokens of mini
            | %38 = pick %37 %14 %1 : tokens of mini
            | %39 = lt %15 %38 : tokens of mini
            | %40 = pick %39 %25 %35 : tokens of mini
            | %41 = pick %37 %25 %40 : tokens of mini
            | %42 = mul %31 %6 : tokens of mini
            | %43 = pick %31 %42 %25 : tokens of mini
            | %44 = add %43 %43 : tokens of mini
            | %45 = add %41 %44 : tokens of mini
            | %46 = neg %44 : tokens of mini
            | output 0 loss = %22
            | output 1 d critic.value(mini) = %45
    }
    %15 it : scalar, %16 it : scalar = expr(%2 score, %7 kl) by batch, looking
        | %0 = input 0 score : batch
        | %1 = mean %0 : scalar
        | %2 = input 1 kl : tokens of roll
        | %3 = mean %2 : scalar
        | output 0 it = %1
        | output 1 it = %3
    report(%15 it, %16 it) {reward: %15 it, kl: %16 it} by batch, looking
    every() {steps: 20} by batch, looking
    {
        %17 prompts : set = prompts.draw() by batch, looking
        %18 generate(...) : set = actor.generate(%17 prompts) {set: %17 prompts, max_new: 16, temperature: 1, top_p: 1, greedy: 1} by sample, looking
        %19 judge : prompts, %20 ok : prompts = judge.sample(%18 generate(...)) {set: %18 generate(...)} by sample, looking
        %21 it : scalar = expr(%19 judge) by batch, looking
            | %0 = input 0 judge : prompts
            | %1 = mean %0 : scalar
            | output 0 it = %1
        report(%21 it) {accuracy: %21 it} by batch, looking
        checkpoint() by batch, looking
    }
=== preferences: nothing is generated
+++ ppo
def lp(m: model, s: set) = sum(m.logprob(s) over tokens)
flow f(batch: prompts[8]) {
    base = lp(ref, respond(batch.answer)) - lp(ref, respond(batch.prompt))
    update actor minimize mean(dpo(lp(actor, respond(batch.answer)) - base) over batch)
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model critic = lm {from: "m", head: "scalar", optimizer: adamw[beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 answer : text batch = prompts.words(%0 batch) {name: "answer"} by sample
    %2 respond(...) : set = respond(%1 answer, %0 batch) {text: %1 answer, to: %0 batch} by batch
    %3 prompt : text batch = prompt(%0 batch) by sample
    %4 respond(...) : set = respond(%3 prompt, %0 batch) {text: %3 prompt, to: %0 batch} by batch
    %5 logprob : tokens of respond(...), %6 logprob : tokens of respond(...) = ref.logprob(%2 respond(...), %4 respond(...)) {set: %2 respond(...)} by sample
    %7 respond(...) : set = respond(%1 answer, %0 batch) {text: %1 answer, to: %0 batch} by batch
    %8 base : batch = expr(%5 logprob, %6 logprob) by sample
    actor.update(%7 respond(...), %8 base) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
=== one poses, another solves
+++ ppo
flow f(batch: prompts[8]) {
    q = ref.generate(batch, n: 4, max_new: 8)
    a = actor.generate(ask(q.text), n: 8, max_new: 8)
    rate = mean(judge(a, problem: q.text) over group)
    x = rate * judge(q)
    best = a.where(judge(a) > 0 and rank(judge(a) over group) == 0)
    for m in best.split(size: 4) { update actor minimize -mean(actor.logprob(m) over batch) }
    lambda := lambda * mean(x over batch)
    ref := 0.9 * ref + lambda * actor
}
--- graph
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model critic = lm {from: "m", head: "scalar", optimizer: adamw[beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 q : set = ref.generate(%0 batch) {set: %0 batch, n: 4, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 text : text q = text(%1 q) by sample
    %3 ask(...) : set = ask(%2 text, %1 q) {text: %2 text} by batch
    %4 a : set = actor.generate(%3 ask(...)) {set: %3 ask(...), n: 8, max_new: 8, temperature: 1, top_p: 1} by sample
    %5 judge : a, %6 ok : a = judge.sample(%4 a, %2 text) {set: %4 a, problem: %2 text} by sample
    %7 judge : q, %8 ok : q = judge.sample(%1 q) {set: %1 q} by sample
    %9 judge : a, %10 ok : a = judge.sample(%4 a) {set: %4 a} by sample
    %11 judge : a, %12 ok : a = judge.sample(%4 a) {set: %4 a} by sample
    %13 it : a = expr(%9 judge, %11 judge) by group
    %14 best : set = where(%4 a, %13 it) {condition: %13 it} by batch
    split(%14 best) {size: 4, epochs: 1} by batch
    { # each: %15 m : set
        actor.update(%15 m) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
    }
    %16 lambda : scalar = lambda.state() by batch
    %17 it : scalar = expr(%16 lambda, %5 judge, %7 judge) by batch
    lambda.set_state(%17 it) {value: %17 it} by batch
    %18 lambda : scalar = lambda.state() by batch
    ref.:=(%18 lambda) {[0.9, ref], [%18 lambda, actor]} by batch
=== metrics move no site of what is trained
+++ ppo
flow f(batch: prompts[8]) {
    a = actor.generate(batch, n: 2, max_new: 8)
    report before = mean(judge(actor.generate(batch, n: 2, max_new: 4)) over batch)
    u = mean(uniform(judge(a)) over batch)
    lambda := u
    report u = mean(uniform(a.length) over batch)
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model critic = lm {from: "m", head: "scalar", optimizer: adamw[beta1: 0.9, beta2: 0.999, eps: 1e-08]}
model ref = copy {from: actor}
hook judge = lua {path: "j.lua", instructions: 10000000, memory: 67108864, max_text: 65536, time: 60}
state lambda = number {1}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 a : set = actor.generate(%0 batch) {set: %0 batch, n: 2, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 generate(...) : set = actor.generate(%0 batch) {set: %0 batch, n: 2, max_new: 4, temperature: 1, top_p: 1} by sample, looking
    %3 judge : generate(...), %4 ok : generate(...) = judge.sample(%2 generate(...)) {set: %2 generate(...)} by sample, looking
    %5 it : scalar = expr(%3 judge) by batch, looking
        | %0 = input 0 judge : generate(...)
        | %1 = mean %0 : scalar
        | output 0 it = %1
    report(%5 it) {before: %5 it} by batch, looking
    %6 judge : a, %7 ok : a = judge.sample(%1 a) {set: %1 a} by sample
    %8 u : scalar = expr(%6 judge) by batch
        | %0 = const 0 : scalar
        | %1 = down %0 : a
        | %2 = uniform %1 site 536870912 : a
        | %3 = mean %2 : scalar
        | output 0 u = %3
    lambda.set_state(%8 u) {value: %8 u} by batch
    %9 length : a = length(%1 a) by sample, looking
    %10 it : scalar = expr(%9 length) by batch, looking
        | %0 = const 0 : scalar
        | %1 = down %0 : a
        | %2 = uniform %1 site 2684354560 : a
        | %3 = mean %2 : scalar
        | output 0 it = %3
    report(%10 it) {u: %10 it} by batch, looking
=== what is answered
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
data pages = jsonl("rows.jsonl", body: "question")
data more = mix(pages, pages)
data few = pages.where(pages.body != "x")
flow f(batch: prompts[8], page: pages[8], both: more[8], some: few[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    a = actor.generate(roll, max_new: 8)
    b = actor.generate(roll.where(judge(roll) > 0), max_new: 8)
    c = actor.generate(page, max_new: 8)
    d = actor.generate(both, max_new: 8)
    e = actor.generate(some, max_new: 8)
    g = actor.generate(ask(roll.text), max_new: 8)
    h = actor.generate(batch.where(mean(judge(roll) over group) > 0), max_new: 8)
    i = actor.generate(batch, n: 4, greedy: true, max_new: 8)
    j = actor.generate(batch, n: 1, greedy: true, max_new: 8)
    k = actor.generate(prompts, max_new: 8)
    l = actor.generate(pages, max_new: 8)
    o = actor.generate(batch, n: 4, top_k: 1, max_new: 8)
    p = actor.generate(batch, n: 2, min_p: 1, max_new: 8)
    q = actor.generate(batch, top_k: 1, max_new: 8)
    r = actor.generate(batch, n: 4, top_k: 2, max_new: 8)
}
--- errors
test.rlf:9:24: error: 'roll' has responses, and this would answer its prompts once more, not go on with them
    9 |     a = actor.generate(roll, max_new: 8)
      |                        ^~~~
hint: name the set of the prompts; to go on from a response use its text as a prompt: ask(roll.text)
test.rlf:10:24: error: 'where(...)' has responses, and this would answer its prompts once more, not go on with them
   10 |     b = actor.generate(roll.where(judge(roll) > 0), max_new: 8)
      |                        ^~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: name the set of the prompts; to go on from a response use its text as a prompt: ask(where(...).text)
test.rlf:11:24: error: the rows of 'page' have no prompts to answer
   11 |     c = actor.generate(page, max_new: 8)
      |                        ^~~~
test.rlf:4:1: note: it is declared here
    4 | data pages = jsonl("rows.jsonl", body: "question")
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: name the field that they are in: prompt: "FIELD"
test.rlf:12:24: error: the rows of 'both' have no prompts to answer
   12 |     d = actor.generate(both, max_new: 8)
      |                        ^~~~
test.rlf:5:1: note: it is declared here
    5 | data more = mix(pages, pages)
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: name the field that they are in: prompt: "FIELD"
test.rlf:13:24: error: the rows of 'some' have no prompts to answer
   13 |     e = actor.generate(some, max_new: 8)
      |                        ^~~~
test.rlf:6:1: note: it is declared here
    6 | data few = pages.where(pages.body != "x")
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: name the field that they are in: prompt: "FIELD"
test.rlf:16:34: error: all 4 samples of a prompt are the same when sampling is greedy
   16 |     i = actor.generate(batch, n: 4, greedy: true, max_new: 8)
      |                                  ^
hint: leave out one of the two
test.rlf:19:24: error: the rows of 'pages' have no prompts to answer
   19 |     l = actor.generate(pages, max_new: 8)
      |                        ^~~~~
test.rlf:4:1: note: it is declared here
    4 | data pages = jsonl("rows.jsonl", body: "question")
      | ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
hint: name the field that they are in: prompt: "FIELD"
test.rlf:20:34: error: all 4 samples of a prompt are the same when only the most likely token is kept
   20 |     o = actor.generate(batch, n: 4, top_k: 1, max_new: 8)
      |                                  ^
hint: leave out one of the two
test.rlf:21:34: error: all 2 samples of a prompt are the same when only the most likely token is kept
   21 |     p = actor.generate(batch, n: 2, min_p: 1, max_new: 8)
      |                                  ^
hint: leave out one of the two
=== a picture for graphviz
+++ dynamic
--- dot
digraph flow {
  rankdir=LR
  node [shape=box, fontname="sans-serif"]
  edge [fontname="sans-serif", fontsize=9]
  n0 [label="prompts.collect"]
  n1 [label="prompts.draw"]
  n2 [label="heat.state"]
  n3 [label="actor.generate", style=filled, fillcolor="#dde8f8"]
  n4 [label="judge.sample"]
  n5 [label="expr"]
  n6 [label="keep"]
  n7 [label="expr"]
  n8 [label="expr", style=dashed]
  n9 [label="report", style=dashed]
  n10 [label="split"]
  n11 [label="actor.update", style=filled, fillcolor="#dde8f8"]
  n0 -> n1 [style=dotted]
  n0 -> n2 [style=dotted]
  n0 -> n3 [style=dotted]
  n0 -> n4 [style=dotted]
  n0 -> n5 [style=dotted]
  n0 -> n6 [style=dotted]
  n6 -> n0 [style=bold, constraint=false]
  n0 -> n1 [label="wanted"]
  n1 -> n3 [label="batch"]
  n2 -> n3 [label="heat"]
  n3 -> n4 [label="roll"]
  n4 -> n5 [label="value"]
  n5 -> n6 [label="it"]
  n1 -> n6 [label="batch"]
  n3 -> n6 [label="roll"]
  n4 -> n6 [label="value"]
  n4 -> n6 [label="why"]
  n0 -> n7 [label="value"]
  n0 -> n7 [label="why"]
  n7 -> n8 [label="score"]
  n8 -> n9 [label="it"]
  n0 -> n10 [label="roll"]
  n10 -> n11 [style=dotted]
  n10 -> n11 [label="mini"]
  n7 -> n11 [label="score"]
}
=== JSON
+++ dynamic
--- json
{"flow":"grpo",
"resources":[
 {"kind":"data","name":"prompts","constructor":"jsonl"},
 {"kind":"model","name":"actor","constructor":"lm"},
 {"kind":"hook","name":"judge","constructor":"lua"},
 {"kind":"state","name":"heat","constructor":"number"}],
"values":[
 {"id":0,"name":"batch","on":"batch","kind":"set"},
 {"id":1,"name":"roll","on":"roll","kind":"set"},
 {"id":2,"name":"value","on":"roll","kind":"number"},
 {"id":3,"name":"why","on":"roll","kind":"text"},
 {"id":4,"name":"wanted","on":"scalar","kind":"number"},
 {"id":5,"name":"batch","on":"batch","kind":"set"},
 {"id":6,"name":"heat","on":"scalar","kind":"number"},
 {"id":7,"name":"roll","on":"roll","kind":"set"},
 {"id":8,"name":"value","on":"roll","kind":"number"},
 {"id":9,"name":"why","on":"roll","kind":"text"},
 {"id":10,"name":"ok","on":"roll","kind":"number"},
 {"id":11,"name":"it","on":"batch","kind":"number"},
 {"id":12,"name":"score","on":"roll","kind":"number"},
 {"id":13,"name":"it","on":"scalar","kind":"number"},
 {"id":14,"name":"mini","on":"mini","kind":"set"}],
"nodes":[
 {"id":0,"class":"collect","on":"prompts","region":0,"by":"batch","looking":false,"inputs":[],"outputs":[0,1,2,3],"regions":[1],"line":7,"column":5},
 {"id":1,"class":"draw","on":"prompts","region":1,"by":"batch","looking":false,"inputs":[4],"outputs":[5],"regions":[],"line":6,"column":18},
 {"id":2,"class":"state","on":"heat","region":1,"by":"batch","looking":false,"inputs":[],"outputs":[6],"regions":[],"line":8,"column":69},
 {"id":3,"class":"generate","on":"actor","region":1,"by":"sample","looking":false,"inputs":[5,6],"outputs":[7],"regions":[],"line":8,"column":16},
 {"id":4,"class":"sample","on":"judge","region":1,"by":"sample","looking":false,"inputs":[7],"outputs":[8,9,10],"regions":[],"line":9,"column":16},
 {"id":5,"class":"expr","on":null,"region":1,"by":"group","looking":false,"inputs":[8],"outputs":[11],"regions":[],"line":10,"column":14},
 {"id":6,"class":"keep","on":null,"region":1,"by":"batch","looking":false,"inputs":[11,5,7,8,9],"outputs":[],"regions":[],"line":10,"column":9},
 {"id":7,"class":"expr","on":null,"region":0,"by":"sample","looking":false,"inputs":[2,3],"outputs":[12],"regions":[],"line":12,"column":13},
 {"id":8,"class":"expr","on":null,"region":0,"by":"batch","looking":true,"inputs":[12],"outputs":[13],"regions":[],"line":13,"column":21},
 {"id":9,"class":"report","on":null,"region":0,"by":"batch","looking":true,"inputs":[13],"outputs":[],"regions":[],"line":13,"column":5},
 {"id":10,"class":"split","on":null,"region":0,"by":"batch","looking":false,"inputs":[1],"outputs":[],"regions":[2],"line":14,"column":5},
 {"id":11,"class":"update","on":"actor","region":2,"by":"batch","looking":false,"inputs":[14,12],"outputs":[],"regions":[],"line":15,"column":9}],
"place":{"strategy":null,"rows":[
  {"model":"actor","call":null,"ranks":[0],"tp":1,"pp":1,"dp":1,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null}]}}
