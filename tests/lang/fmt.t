The canonical style.
=== comments stay

# licence
## The file.

## A thing.
data  a=1   # behind
# before
# before, too

# apart


flow f(x:y) {   # behind the brace
    # first
    a=(1+2)*3;b=2 # behind b
    c = f(1,   # inside
          2)

    # last
}
# end
--- fmt
# licence
## The file.

## A thing.
data a = 1   # behind
# before
# before, too

# apart

flow f(x: y) {   # behind the brace
    # first
    a = (1 + 2) * 3
    b = 2  # behind b
    # inside
    c = f(1,
          2)

    # last
}
# end
=== long lines break before operators and after commas

flow f(x:y) {
    update actor minimize mean(clip(exp(actor.logprob(mini) - mini.logprob), adv, low: 0.2, high: 0.28) over batch) - 27.8 * mean(actor.logprob(page) over batch)
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb ? cccccccccccccccccccccccccc : ddddddddddddddddddd
    x = foooooooooooooooooooooooooooo(aaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, label: cccccccccccccccccccccccccc, d)
    report aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = bbbbbbbbbbbbbbbbbbbbbbbbbbbbb, ccccccccccccccccccccccccc = ddddddddddddddddddddddd
}
def gae(r: token, v: token, gamma = 1.0, lambda = 0.95, end: sample = 0) = discount(r + gamma * next(v, end) - v, gamma * lambda)
--- fmt
flow f(x: y) {
    update actor minimize mean(clip(exp(actor.logprob(mini) - mini.logprob), adv, low: 0.2,
                high: 0.28) over batch)
        - 27.8 * mean(actor.logprob(page) over batch)
    aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
        ? cccccccccccccccccccccccccc
        : ddddddddddddddddddd
    x = foooooooooooooooooooooooooooo(aaaaaaaaaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
            label: cccccccccccccccccccccccccc, d)
    report aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa = bbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
        ccccccccccccccccccccccccc = ddddddddddddddddddddddd
}
def gae(r: token, v: token, gamma = 1.0, lambda = 0.95, end: sample = 0) =
    discount(r + gamma * next(v, end) - v, gamma * lambda)
=== one of each

import   "a"   as b
place   flatten
place { a.b   on 1 .. 2 ,3(tp:4) }
place   auto{ a.b(tp:4)
 c on 1
}
hook h=lua( "x" ) -> ( a , b:token )
state  s:d=1
param  p:int=3 in 1 .. 4 "x"
flow f( ) { if a{b=1}else if c{d=1}else{e=1}
 every 3 steps{checkpoint}
 collect b(rounds:3){keep 1}
 for a in b,c in d{break if e}
 x=not a and-b^-c
 s:=[1,2]
}
--- fmt
import "a" as b
place flatten
place {
    a.b on 1..2, 3 (tp: 4)
}
place auto {
    a.b (tp: 4)
    c on 1
}
hook h = lua("x") -> (a, b: token)
state s : d = 1
param p : int = 3 in 1..4 "x"
flow f() {
    if a {
        b = 1
    } else if c {
        d = 1
    } else {
        e = 1
    }
    every 3 steps {
        checkpoint
    }
    collect b (rounds: 3) {
        keep 1
    }
    for a in b, c in d {
        break if e
    }
    x = not a and -b^-c
    s := [1, 2]
}
=== what was lined up by hand stays
param beta      : float = 0.02 in 0..1       "weight"
param lr        : float = 3e-5               "rate"
param model_dir : path  = "m"  "not below another"

data  rows  = jsonl("x")
model actor = lm("m", head: both,
                 optimizer: adamw(lr: lr))
model   b = copy(actor)      # far
flow f(batch: rows[4]) {
    roll  = actor.generate(batch, max_new: 3)
    score   = judge(roll)
    kl    = k1(roll.logprob,
        base)
    report score = mean(score over batch),
           kl = 1,
        other = 2
}
--- fmt
param beta      : float = 0.02 in 0..1       "weight"
param lr        : float = 3e-5               "rate"
param model_dir : path  = "m" "not below another"

data  rows  = jsonl("x")
model actor = lm("m", head: both,
                 optimizer: adamw(lr: lr))
model b = copy(actor)      # far
flow f(batch: rows[4]) {
    roll = actor.generate(batch, max_new: 3)
    score = judge(roll)
    kl = k1(roll.logprob, base)
    report score = mean(score over batch),
           kl = 1, other = 2
}
=== help texts stay below each other where a sign before them moves
param model_dir : path  = "models/arith"     "the model"
param lr: float = 1e-3               
param size      : int   = 32 in 1..8192      "pairs"
param teacher : path  = "t"     "alone"
--- fmt
param model_dir : path = "models/arith"      "the model"
param lr : float = 1e-3
param size      : int = 32 in 1..8192        "pairs"
param teacher : path = "t" "alone"
=== what the arguments of a def take
def f(x:prompt..token,y=1 in 0..10 , z : set,w:scalar in 0 ..)=x+y
--- fmt
def f(x: prompt..token, y = 1 in 0..10, z: set, w: scalar in 0..) = x + y
