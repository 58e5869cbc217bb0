Metrics: those that are never finite, and when those of sets that may be empty
count.
+++ actor
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
=== metrics that are never finite, and by what
+++ actor
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch),
           d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
    report j = mean(clamp(roll.length, 2, 8) ^ (0 / 0) over batch), k = mean((0 / 0) ^ clamp(roll.length, 1, 3) over batch),
           l = mean(roll.length ^ (0 / 0) over batch)
    update actor minimize mean(actor.logprob(roll) over batch)
}
--- warnings
test.rlf:5:12: warning: the metric 'a' is never finite: null each time
    5 |     report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch...
      |            ^
test.rlf:5:23: note: 1 / 0 is infinite
    5 |     report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch...
      |                       ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:5:29: warning: the metric 'b' is never finite: null each time
    5 |     report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch...
      |                             ^
test.rlf:5:36: note: 1 / 0 is infinite
    5 |     report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch...
      |                                    ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:5:46: warning: the metric 'c' is not a number: null each time
    5 |     report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch...
      |                                              ^
test.rlf:5:66: note: 0 / 0 is not a number
    5 | ...  report a = 2 ^ (1 / 0), b = (1 / 0) ^ 2, c = mean(discount(0 / 0 * roll.logprob, 0.9) over batch),
      |                                                                   ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:6:42: warning: the metric 'e' is never finite: null each time
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                          ^
test.rlf:6:50: note: 1 / 0 is infinite
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                  ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:6:56: warning: the metric 'g' is not a number: null each time
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                        ^
test.rlf:6:60: note: sqrt(-1) is not a number
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                            ^~~~
hint: write what it is to be instead, or choose: c ? a : b
test.rlf:6:70: warning: the metric 'h' is not a number: null each time
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                                      ^
test.rlf:6:80: note: 0 / 0 is not a number
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                                                ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:6:86: warning: the metric 'i' is not a number: null each time
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                                                      ^
test.rlf:6:90: note: log(0) is infinite
    6 |            d = (0 / 0 > 1) and step > 3, e = -(1 / 0), g = sqrt(-1), h = exp(0 / 0), i = log(0) % 3
      |                                                                                          ^~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
test.rlf:7:12: warning: the metric 'j' is not a number: null each time
    7 |     report j = mean(clamp(roll.length, 2, 8) ^ (0 / 0) over batch), k = mean((0 / 0) ^ clamp(roll.le...
      |            ^
test.rlf:7:51: note: 0 / 0 is not a number
    7 |     report j = mean(clamp(roll.length, 2, 8) ^ (0 / 0) over batch), k = mean((0 / 0) ^ clamp(roll.le...
      |                                                   ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:7:69: warning: the metric 'k' is not a number: null each time
    7 | ...rt j = mean(clamp(roll.length, 2, 8) ^ (0 / 0) over batch), k = mean((0 / 0) ^ clamp(roll.length, 1,...
      |                                                                ^
test.rlf:7:81: note: 0 / 0 is not a number
    7 | ...clamp(roll.length, 2, 8) ^ (0 / 0) over batch), k = mean((0 / 0) ^ clamp(roll.length, 1, 3) over bat...
      |                                                                ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
=== metrics of a set that may be empty: null where what decides has no value
+++ actor
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 2, max_new: 8)
    short = roll.where(roll.length < 4)
    x = mean(short.length over batch)
    y = mean(short.length ^ 2 over batch)
    report both = x > 1 and y > 2, one = x > 1 or y > 2, half = x > 1 and step > 3, pick = x > 1 ? y : 3, other = step > 1 ? y : x
    update actor minimize mean(actor.logprob(roll) over batch)
}
--- full
data prompts = jsonl {path: "rows.jsonl", prompt: "question", answer: "answer", grade: "grade"}
model actor = lm {from: "m", optimizer: adamw[lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08]}
flow f
    %0 batch : set = prompts.draw() {count: 8} by batch
    %1 roll : set = actor.generate(%0 batch) {set: %0 batch, n: 2, max_new: 8, temperature: 1, top_p: 1} by sample
    %2 length : roll = length(%1 roll) by sample, looking
    %3 it : roll = expr(%2 length) by sample, looking
        | %0 = input 0 length : roll
        | %1 = const 4 : scalar
        | %2 = down %1 : roll
        | %3 = lt %0 %2 : roll
        | output 0 it = %3
    %4 short : set = where(%1 roll, %3 it) {condition: %3 it} by batch, looking
    %5 length : short = length(%4 short) by sample, looking
    %6 step : scalar = step() by batch, looking
    %7 x : scalar, %8 y : scalar, %9 it : scalar, %10 it : scalar, %11 it : scalar, %12 it : scalar, %13 it : scalar = expr(%5 length, %6 step) by batch, looking
        | %0 = input 0 length : short
        | %1 = mean %0 : scalar
        | %2 = const 2 : scalar
        | %3 = mul %0 %0 : short
        | %4 = mean %3 : scalar
        | %5 = const 0 : scalar
        | %6 = down %5 : short
        | %7 = count %6 : scalar
        | %8 = and %7 %7 : scalar
        | %9 = const 1 : scalar
        | %10 = lt %9 %1 : scalar
        | %11 = not %10 : scalar
        | %12 = and %7 %11 : scalar
        | %13 = or %8 %12 : scalar
        | %14 = lt %2 %4 : scalar
        | %15 = not %14 : scalar
        | %16 = and %7 %15 : scalar
        | %17 = or %13 %16 : scalar
        | %18 = and %10 %14 : scalar
        | %19 = const nan : scalar
        | %20 = select %17 %18 %19 : scalar
        | %21 = and %7 %10 : scalar
        | %22 = or %8 %21 : scalar
        | %23 = and %7 %14 : scalar
        | %24 = or %22 %23 : scalar
        | %25 = or %10 %14 : scalar
        | %26 = select %24 %25 %19 : scalar
        | %27 = const 3 : scalar
        | %28 = input 1 step : scalar
        | %29 = lt %27 %28 : scalar
        | %30 = not %29 : scalar
        | %31 = or %7 %30 : scalar
        | %32 = and %10 %29 : scalar
        | %33 = select %31 %32 %19 : scalar
        | %34 = select %10 %7 %9 : scalar
        | %35 = and %7 %34 : scalar
        | %36 = select %10 %4 %27 : scalar
        | %37 = select %35 %36 %19 : scalar
        | %38 = lt %9 %28 : scalar
        | %39 = select %38 %4 %1 : scalar
        | %40 = select %7 %39 %19 : scalar
        | output 0 x = %1
        | output 1 y = %4
        | output 2 it = %20
        | output 3 it = %26
        | output 4 it = %33
        | output 5 it = %37
        | output 6 it = %40
    report(%9 it, %10 it, %11 it, %12 it, %13 it) {both: %9 it, one: %10 it, half: %11 it, pick: %12 it, other: %13 it} by batch, looking
    actor.update(%1 roll) {lr: 1e-05, beta1: 0.9, beta2: 0.999, eps: 1e-08} by batch
        | %0 = input 0 actor.logprob(roll) : tokens of roll
        | %1 = mean %0 : scalar
        | %2 = const 1 : scalar
        | %3 = const 0 : scalar
        | %4 = down %3 : tokens of roll
        | %5 = count %4 : scalar
        | %6 = div %2 %5 : scalar
        | %7 = down %6 : tokens of roll
        | output 0 loss = %1
        | output 1 d actor.logprob(roll) = %7
