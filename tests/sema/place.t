Placement: rows and strategies. Mode `place` prints what was understood, twice: it
reads its own print as a plan file.
+++ models
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
model average = copy(actor)
hook judge = lua("j.lua")
param width : int = 4
+++ step
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    kl = roll.logprob - ref.logprob(roll)
    v = critic.value(roll)
    for mini in roll.split(parts: 2) {
        update actor minimize mean(-actor.logprob(mini) * kl over batch)
        update critic minimize mean((critic.value(mini) - v) ^ 2 over batch)
    }
    average := 0.9 * average + 0.1 * actor
}
=== rows, strategies, all arguments
+++ models
place separate
place {
    actor.update   on 0..7  (tp: width, pp: 2, zero: 1, tokens: 4096, schedule: "interleaved", chunks: 2, recompute: true)
    actor.generate on 14, 15, 0..3 (tp: 2, migrate: 12, seats: 8, carry: "pages")
    critic.update on 8..11 (pp: 4, schedule: "tables/fused.json")
    critic on 8..9
    ref on 5 (offload: true, tokens: 512)
    actor on 0..15 (shards: 4, lanes: 8)
    average on 3
}
+++ step
--- place
place separate
place {
    actor.update on 0..7 (tp: 4, pp: 2, dp: 1, zero: 1, tokens: 4096, schedule: "interleaved", chunks: 2, recompute: true)
    actor.generate on 0..3, 14..15 (tp: 2, pp: 1, dp: 3, migrate: 12, seats: 8, carry: "pages")
    critic.update on 8..11 (tp: 1, pp: 4, dp: 1, schedule: "tables/fused.json")
    critic on 8..9 (tp: 1, pp: 1, dp: 2)
    ref on 5 (tp: 1, pp: 1, dp: 1, tokens: 512, offload: true)
    actor on 0..15 (tp: 1, pp: 1, dp: 16, shards: 4, lanes: 8)
    average on 3 (tp: 1, pp: 1, dp: 1)
}
{"strategy":"separate","rows":[
  {"model":"actor","call":"update","ranks":[0,1,2,3,4,5,6,7],"tp":4,"pp":2,"dp":1,"zero":1,"tokens":4096,"migrate":null,"seats":null,"carry":null,"schedule":"interleaved","chunks":2,"recompute":true,"offload":null,"shards":null,"lanes":null},
  {"model":"actor","call":"generate","ranks":[0,1,2,3,14,15],"tp":2,"pp":1,"dp":3,"zero":null,"tokens":null,"migrate":12,"seats":8,"carry":"pages","schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null},
  {"model":"critic","call":"update","ranks":[8,9,10,11],"tp":1,"pp":4,"dp":1,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":"tables/fused.json","chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null},
  {"model":"critic","call":null,"ranks":[8,9],"tp":1,"pp":1,"dp":2,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null},
  {"model":"ref","call":null,"ranks":[5],"tp":1,"pp":1,"dp":1,"zero":null,"tokens":512,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":true,"shards":null,"lanes":null},
  {"model":"actor","call":null,"ranks":[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15],"tp":1,"pp":1,"dp":16,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":4,"lanes":8},
  {"model":"average","call":null,"ranks":[3],"tp":1,"pp":1,"dp":1,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null}]}
as a plan file: the same
=== rows beside auto: what is written in them
+++ models
place auto {
    actor.update   on 0..7  (tp: width, zero: 1)
    actor.generate (dp: 2, migrate: 12)
    ref            (offload: true)
}
place {
    critic on 8
}
+++ step
--- place
place auto
place {
    actor.update on 0..7 (tp: 4, zero: 1)
    actor.generate (dp: 2, migrate: 12)
    ref (offload: true)
    critic on 8
}
{"strategy":"auto","rows":[
  {"model":"actor","call":"update","ranks":[0,1,2,3,4,5,6,7],"tp":4,"pp":null,"dp":null,"zero":1,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null},
  {"model":"actor","call":"generate","ranks":[],"tp":null,"pp":null,"dp":2,"zero":null,"tokens":null,"migrate":12,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null},
  {"model":"ref","call":null,"ranks":[],"tp":null,"pp":null,"dp":null,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":true,"shards":null,"lanes":null},
  {"model":"critic","call":null,"ranks":[8],"tp":null,"pp":null,"dp":null,"zero":null,"tokens":null,"migrate":null,"seats":null,"carry":null,"schedule":null,"chunks":null,"recompute":null,"offload":null,"shards":null,"lanes":null}]}
as a plan file: the same
=== rows that auto cannot keep
+++ models
place {
    actor (tp: 2)
    critic.update on 0..3 (tp: 2, pp: 4)
    critic.value on 0..3 (dp: 3)
    actor.generate on 2 (seats: 3)
    ref on 0, 0
    rf (tp: 2)
}
place auto
+++ step
--- errors
test.rlf:10:39: error: pp: 4 does not divide the 2 ranks that tp: 2 leaves of 'critic.update'
   10 |     critic.update on 0..3 (tp: 2, pp: 4)
      |                                       ^
hint: write 1 or 2
test.rlf:11:31: error: dp: 3 does not divide the 4 ranks of 'critic.value'
   11 |     critic.value on 0..3 (dp: 3)
      |                               ^
hint: write 1, 2 or 4
test.rlf:12:33: error: 'actor.generate' has one replica here, which cannot hand samples over ('seats:')
   12 |     actor.generate on 2 (seats: 3)
      |                                 ^
test.rlf:13:15: error: rank 0 is named twice
   13 |     ref on 0, 0
      |               ^
test.rlf:14:5: error: there is no model 'rf'
   14 |     rf (tp: 2)
      |     ^~
hint: did you mean 'ref'?
=== rows that change nothing where they are
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
place {
    actor.update on 0..3 (tp: 2, pp: 2, zero: 1)
    critic.update on 0..1 (zero: 1)
    critic on 0 (zero: 0, lanes: 4)
    actor.generate on 0..3 (migrate: 0, seats: 3, carry: "tokens")
    ref on 0 (shards: 2, lanes: 2)
    actor on 0 (zero: 1)
}
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    kl = roll.logprob - ref.logprob(roll)
    v = critic.value(roll)
    update actor minimize mean(-actor.logprob(roll) * kl over batch)
    update critic minimize mean((critic.value(roll) - v) ^ 2 over batch)
}
--- warnings
test.rlf:6:47: warning: 'zero:' changes nothing: 'actor.update' has one replica here, which has all of the optimizer's state
    6 |     actor.update on 0..3 (tp: 2, pp: 2, zero: 1)
      |                                               ^
hint: leave it out
test.rlf:9:48: warning: 'seats:' changes nothing: 'actor.generate' hands no samples over (migrate: 0)
    9 |     actor.generate on 0..3 (migrate: 0, seats: 3, carry: "tokens")
      |                                                ^
hint: leave it out
test.rlf:9:58: warning: 'carry:' changes nothing: 'actor.generate' hands no samples over (migrate: 0)
    9 |     actor.generate on 0..3 (migrate: 0, seats: 3, carry: "tokens")
      |                                                          ^~~~~~~~
hint: leave it out
test.rlf:10:33: warning: 'lanes:' changes nothing: 'ref' is never updated, and lanes are sums of gradients
   10 |     ref on 0 (shards: 2, lanes: 2)
      |                                 ^
hint: leave it out
test.rlf:11:23: warning: 'zero:' changes nothing: 'actor' has one replica here, which has all of the optimizer's state
   11 |     actor on 0 (zero: 1)
      |                       ^
hint: leave it out
=== rows without ranks
+++ models
place {
    actor (tp: 2)
}
+++ step
--- errors
test.rlf:9:5: error: this row does not say on which ranks 'actor' is
    9 |     actor (tp: 2)
      |     ^~~~~~~~~~~~~
hint: write 'actor on 0..3', or 'place auto', which finds ranks
=== a strategy alone
+++ models
place interleave
+++ step
--- place
place interleave
{"strategy":"interleave","rows":[]}
as a plan file: the same
=== an empty block
+++ models
place { }
+++ step
--- place
{"strategy":null,"rows":[]}
error: plan.rlf: there is no 'place' in this plan
hint: 'rlflow check' prints one that can be changed
=== names
+++ models
place {
    aktor.update on 0
    judge on 0
    prompts on 0
    nobody on 0
    actor.updat on 0
    ref.update on 0
    actor.logprob on 0
    ref.generate on 0
    average.generate on 0
    ref.reward on 0
}
+++ step
--- errors
test.rlf:9:5: error: there is no model 'aktor'
    9 |     aktor.update on 0
      |     ^~~~~
hint: did you mean 'actor'?
test.rlf:10:5: error: 'judge' is not a model, and only models are placed
   10 |     judge on 0
      |     ^~~~~
test.rlf:11:5: error: 'prompts' is not a model, and only models are placed
   11 |     prompts on 0
      |     ^~~~~~~
test.rlf:12:5: error: there is no model 'nobody'
   12 |     nobody on 0
      |     ^~~~~~
test.rlf:13:11: error: the program never calls actor.updat
   13 |     actor.updat on 0
      |           ^~~~~
hint: did you mean 'update'?
test.rlf:14:9: error: the program never calls ref.update
   14 |     ref.update on 0
      |         ^~~~~~
hint: of 'ref' it calls logprob
test.rlf:15:11: error: the program never calls actor.logprob
   15 |     actor.logprob on 0
      |           ^~~~~~~
hint: it is called in an update only, whose part it is: place actor.update
test.rlf:16:9: error: the program never calls ref.generate
   16 |     ref.generate on 0
      |         ^~~~~~~~
hint: of 'ref' it calls logprob
test.rlf:17:13: error: the program never calls average.generate
   17 |     average.generate on 0
      |             ^~~~~~~~
hint: it calls nothing of 'average': place the whole model
test.rlf:18:9: error: the program never calls ref.reward
   18 |     ref.reward on 0
      |         ^~~~~~
hint: of 'ref' it calls logprob
=== strategies
+++ models
place flaten
place sideways
place flatten
place separate
+++ step
--- errors
test.rlf:8:7: error: there is no strategy 'flaten'
    8 | place flaten
      |       ^~~~~~
hint: did you mean 'flatten'?
test.rlf:9:7: error: there is no strategy 'sideways'
    9 | place sideways
      |       ^~~~~~~~
hint: it is flatten, interleave, separate or auto; rows stand in braces
test.rlf:11:1: error: there is a strategy already
   11 | place separate
      | ^~~~~~~~~~~~~~
test.rlf:10:1: note: here
   10 | place flatten
      | ^~~~~~~~~~~~~
=== ranks
+++ models
place {
    actor.update on 8..3
    actor.generate on 0, 1, 1
    critic.update on 0..3, 2
    critic.value on 1.5
    ref on 70000
    average on 3s
}
+++ step
--- errors
test.rlf:9:21: error: a range of ranks goes up
    9 |     actor.update on 8..3
      |                     ^~~~
hint: write 3..8
test.rlf:10:29: error: rank 1 is named twice
   10 |     actor.generate on 0, 1, 1
      |                             ^
test.rlf:11:28: error: rank 2 is named twice
   11 |     critic.update on 0..3, 2
      |                            ^
test.rlf:12:21: error: a rank is a whole number from 0 to 65535
   12 |     critic.value on 1.5
      |                     ^~~
test.rlf:13:12: error: a rank is a whole number from 0 to 65535
   13 |     ref on 70000
      |            ^~~~~
test.rlf:14:16: error: a rank is a whole number from 0 to 65535
   14 |     average on 3s
      |                ^~
=== divisors
+++ models
place {
    actor.update on 0..7 (tp: 3)
    actor.generate on 0..7 (tp: 2, pp: 3)
    critic.update on 0..1 (tp: 2, pp: 5)
    critic.value on 0..7 (tp: 2, pp: 2, dp: 4)
    ref on 0 (tp: 2)
    average on 0..20 (tp: 4)
}
+++ step
--- errors
test.rlf:9:31: error: tp: 3 does not divide the 8 ranks of 'actor.update'
    9 |     actor.update on 0..7 (tp: 3)
      |                               ^
hint: write 1, 2, 4 or 8
test.rlf:10:40: error: pp: 3 does not divide the 4 ranks that tp: 2 leaves of 'actor.generate'
   10 |     actor.generate on 0..7 (tp: 2, pp: 3)
      |                                        ^
hint: write 1, 2 or 4
test.rlf:11:39: error: pp: 5 does not divide the 1 rank that tp: 2 leaves of 'critic.update'
   11 |     critic.update on 0..1 (tp: 2, pp: 5)
      |                                       ^
hint: write 1, or name more ranks
test.rlf:12:45: error: tp 2 x pp 2 x dp 4 is not the 8 ranks of 'critic.value'
   12 |     critic.value on 0..7 (tp: 2, pp: 2, dp: 4)
      |                                             ^
hint: write dp: 2, or leave it out
test.rlf:13:19: error: tp: 2 does not divide the 1 rank of 'ref'
   13 |     ref on 0 (tp: 2)
      |                   ^
hint: write 1, or name more ranks
test.rlf:14:27: error: tp: 4 does not divide the 21 ranks of 'average'
   14 |     average on 0..20 (tp: 4)
      |                           ^
hint: write 1: tp is a power of two, as shards are
=== arguments
+++ models
place {
    actor.update on 0 (tp: 0)
    actor.generate on 0 (tq: 1)
    critic.update on 0 (zero: 3)
    critic.value on 0 (2)
    ref on 0 (tp: 1.5)
    average on 0 (shards: 6)
}
place {
    actor on 0 (lanes: 0, shards: 4)
}
+++ step
--- errors
test.rlf:9:28: error: 'tp:' of 'actor.update' is 0, and must be from 1 to 65536
    9 |     actor.update on 0 (tp: 0)
      |                            ^
hint: tensor parallel ranks
test.rlf:10:26: error: 'actor.generate' has no argument 'tq:'
   10 |     actor.generate on 0 (tq: 1)
      |                          ^~
hint: did you mean 'tp:'?
test.rlf:11:31: error: 'zero:' of 'critic.update' is 3, and must be from 0 to 1
   11 |     critic.update on 0 (zero: 3)
      |                               ^
hint: 1: each replica holds its part of the optimizer
test.rlf:12:24: error: 'critic.value' takes no further argument without a name
   12 |     critic.value on 0 (2)
      |                        ^
hint: write its name before it: tp: 2
test.rlf:13:19: error: 'tp:' of 'ref' is a whole number, not 1.5
   13 |     ref on 0 (tp: 1.5)
      |                   ^~~
hint: tensor parallel ranks
test.rlf:14:27: error: 'shards:' is a power of two, and 6 is none
   14 |     average on 0 (shards: 6)
      |                           ^
hint: without it shards are as many as the largest tp of all rows
test.rlf:17:24: error: 'lanes:' of 'actor' is 0, and must be from 1 to 65536
   17 |     actor on 0 (lanes: 0, shards: 4)
      |                        ^
hint: partial sums of gradients over samples
=== arguments that mean nothing there
+++ models
place {
    actor.update on 0 (shards: 4)
    actor.generate on 0 (tokens: 512)
    critic.update on 0 (schedule: "1f2b")
    critic.value on 0 (zero: 1)
    ref on 0 (recompute: true)
    average on 0 (tokens: -1)
    actor on 0 (offload: true)
    critic on 0..3 (chunks: 4)
}
+++ step
--- errors
test.rlf:9:32: error: 'shards:' is an argument of whole models, not of one call
    9 |     actor.update on 0 (shards: 4)
      |                                ^
hint: give 'actor' a row of its own
test.rlf:10:34: error: 'actor.generate' works token by token and has no micro-batches
   10 |     actor.generate on 0 (tokens: 512)
      |                                  ^~~
test.rlf:11:35: error: there is no schedule "1f2b"
   11 |     critic.update on 0 (schedule: "1f2b")
      |                                   ^~~~~~
hint: did you mean "1f1b"?
test.rlf:12:30: error: 'zero:' is an argument of updates, and this row places 'critic.value'
   12 |     critic.value on 0 (zero: 1)
      |                              ^
hint: write it in the row of critic.update
test.rlf:13:26: error: 'recompute:' is an argument of updates, and 'ref' is never updated
   13 |     ref on 0 (recompute: true)
      |                          ^~~~
test.rlf:14:27: error: 'tokens:' of 'average' is -1, and must be from 1 to 1073741824
   14 |     average on 0 (tokens: -1)
      |                           ^~
hint: of a micro-batch at most
test.rlf:15:26: error: 'actor' is trained, and its weights stay where they are
   15 |     actor on 0 (offload: true)
      |                          ^~~~
hint: models that are never updated can be offloaded
test.rlf:16:29: error: 'chunks:' is of the interleaved schedule
   16 |     critic on 0..3 (chunks: 4)
      |                             ^
hint: add schedule: "interleaved", or leave it out
=== more arguments that mean nothing there
+++ models
place {
    actor.update on 0 (schedule: "zigzag")
    ref.logprob on 0 (offload: true)
    critic.update on 0 (schedule: 3)
    critic.value on 0 (tp: prompts)
    actor.generate on 0 (tp: 1, tp: 1)
}
+++ step
--- errors
test.rlf:9:34: error: there is no schedule "zigzag"
    9 |     actor.update on 0 (schedule: "zigzag")
      |                                  ^~~~~~~~
hint: it is "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v", a table, or the file of one
test.rlf:10:32: error: 'offload:' is an argument of whole models, not of one call
   10 |     ref.logprob on 0 (offload: true)
      |                                ^~~~
hint: give 'ref' a row of its own
test.rlf:11:35: error: 'schedule:' of 'critic.update' is a text, and this is a number
   11 |     critic.update on 0 (schedule: 3)
      |                                   ^
test.rlf:12:28: error: a number is wanted, and this is a data set
   12 |     critic.value on 0 (tp: prompts)
      |                            ^~~~~~~
test.rlf:13:33: error: 'actor.generate' already has 'tp'
   13 |     actor.generate on 0 (tp: 1, tp: 1)
      |                                 ^~~~~
=== handing samples over
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
model critic = lm("m", head: scalar, optimizer: adamw(lr: 1e-5))
model ref = copy(actor)
model average = copy(actor)
place {
    actor.update on 0..3 (migrate: 8)
    actor.generate on 0..3 (migrate: 8, carry: "post")
    ref on 0..1 (seats: 2)
    ref.generate on 0..1 (tp: 2, migrate: 4)
    critic on 0..1 (migrate: -1)
    average.generate on 0..1 (seats: 300)
}
flow f(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    other = ref.generate(batch, max_new: 4)
    more = average.generate(batch, max_new: 4)
    kl = roll.logprob - ref.logprob(roll)
    v = critic.value(roll)
    update actor minimize mean(-actor.logprob(roll) * kl over batch) + 0 * mean(other.length over batch)
    update critic minimize mean((critic.value(roll) - v) ^ 2 over batch)
}
--- errors
test.rlf:7:36: error: 'migrate:' is an argument of generate, and this row places 'actor.update'
    7 |     actor.update on 0..3 (migrate: 8)
      |                                    ^
hint: write it in the row of actor.generate
test.rlf:8:48: error: samples cannot be handed over as "post"
    8 |     actor.generate on 0..3 (migrate: 8, carry: "post")
      |                                                ^~~~~~
hint: it is "pages" or "tokens"; leave it out to take the one that costs less
test.rlf:9:25: error: 'seats:' is an argument of generate, and this row places 'ref'
    9 |     ref on 0..1 (seats: 2)
      |                         ^
hint: write it in the row of ref.generate
test.rlf:10:43: error: 'ref.generate' has one replica here, which cannot hand samples over ('migrate:')
   10 |     ref.generate on 0..1 (tp: 2, migrate: 4)
      |                                           ^
test.rlf:11:30: error: 'migrate:' of 'critic' is -1, and must be from 0 to 1073741824
   11 |     critic on 0..1 (migrate: -1)
      |                              ^~
hint: samples left, with fewer of which replicas hand over theirs; 0: never
test.rlf:12:38: error: 'seats:' of 'average.generate' is 300, and must be from 1 to 256
   12 |     average.generate on 0..1 (seats: 300)
      |                                      ^~~
hint: samples that a replica takes over at most
=== placed twice
+++ models
place {
    actor.update on 0
    actor.update on 1
    ref on 0
    critic on 0
}
place { ref on 1 }
+++ step
--- errors
test.rlf:10:5: error: 'actor.update' is placed twice
   10 |     actor.update on 1
      |     ^~~~~~~~~~~~~~~~~
test.rlf:9:5: note: first here
    9 |     actor.update on 0
      |     ^~~~~~~~~~~~~~~~~
test.rlf:14:9: error: 'ref' is placed twice
   14 | place { ref on 1 }
      |         ^~~~~~~~
test.rlf:11:5: note: first here
   11 |     ref on 0
      |     ^~~~~~~~
