Forms of other languages: how it is written here, in the program's own words.
=== defs
def a(x) { -x }
def b(x) { x }
def c(x) { y = x; exp(y) }
def d(x) {
    2 * x + 1  # twice
}
def e(x): -x
def f(x) -> -x
def g(x): return exp(-x)
def h(x) := -x
def i x = -x
def j = 3
def k(float x) = -x
def l(x) -x
m(x) = x + 1
--- errors
test.rlf:1:12: error: unexpected '-', expected a statement
    1 | def a(x) { -x }
      |            ^
hint: write 'return -x'; or, without braces, def a(x) = -x
test.rlf:2:14: error: unexpected '}', expected ':=' or '='
    2 | def b(x) { x }
      |              ^
hint: write 'return x'; or, without braces, def b(x) = x
test.rlf:3:22: error: unexpected '(', expected ':=' or '='
    3 | def c(x) { y = x; exp(y) }
      |                      ^
hint: write 'return exp(y)'
test.rlf:5:5: error: unexpected number 2, expected a statement
    5 |     2 * x + 1  # twice
      |     ^
hint: write 'return 2 * x + 1'; or, without braces, def d(x) = 2 * x + 1
test.rlf:7:9: error: unexpected ':', expected '=' or '{'
    7 | def e(x): -x
      |         ^
hint: write def e(x) = -x
test.rlf:8:10: error: unexpected '->', expected '=' or '{'
    8 | def f(x) -> -x
      |          ^~
hint: write def f(x) = -x
test.rlf:9:9: error: unexpected ':', expected '=' or '{'
    9 | def g(x): return exp(-x)
      |         ^
hint: write def g(x) = exp(-x)
test.rlf:10:10: error: unexpected ':=', expected '=' or '{'
   10 | def h(x) := -x
      |          ^~
hint: write def h(x) = -x
test.rlf:11:7: error: unexpected name 'x', expected '('
   11 | def i x = -x
      |       ^
hint: the arguments stand in parentheses: def i(x) = ...
test.rlf:12:7: error: unexpected '=', expected '('
   12 | def j = 3
      |       ^
hint: the arguments stand in parentheses: def j(x) = ...
test.rlf:13:13: error: unexpected name 'x', expected 'in', ':', '=', ')' or ','
   13 | def k(float x) = -x
      |             ^
hint: an argument is its name, def k(x) = ...; a level may follow, x: token
test.rlf:14:10: error: unexpected '-', expected '=' or '{'
   14 | def l(x) -x
      |          ^
hint: write def l(x) = -x
=== values that stand alone
flow f(batch: prompts[8]) {
    score
    judge(roll)
    roll.length
    (1 + 2)
    x.y = 3
}
--- errors
test.rlf:2:10: error: unexpected end of the line, expected ':=' or '='
    2 |     score
      |          ^
hint: a value alone does nothing: give it a name, y = score, or report it, report y = score
test.rlf:3:10: error: unexpected '(', expected ':=' or '='
    3 |     judge(roll)
      |          ^
hint: a value alone does nothing: give it a name, y = judge(roll), or report it, report y = judge(roll)
test.rlf:4:9: error: unexpected '.', expected ':=' or '='
    4 |     roll.length
      |         ^
hint: a value alone does nothing: give it a name, y = roll.length, or report it, report y = roll.length
test.rlf:6:6: error: unexpected '.', expected ':=' or '='
    6 |     x.y = 3
      |      ^
=== lists
model a = lm("m", optimizer: adamw(lr: 1, betas: (0.9, 0.95)))
data b = mix(c, d, weights: (3, 1))
flow f(batch: prompts[8]) {
    x = (1, 2, 3)
}
--- errors
test.rlf:1:54: error: unexpected ',', expected ')'
    1 | model a = lm("m", optimizer: adamw(lr: 1, betas: (0.9, 0.95)))
      |                                                      ^
hint: write beta1: 0.9, beta2: 0.95
test.rlf:2:31: error: unexpected ',', expected ')'
    2 | data b = mix(c, d, weights: (3, 1))
      |                               ^
hint: a list stands in brackets: [3, 1]
test.rlf:4:11: error: unexpected ',', expected ')'
    4 |     x = (1, 2, 3)
      |           ^
hint: a list stands in brackets: [1, 2, 3]
=== every
flow f(batch: prompts[8]) {
    every 5 step { checkpoint }
    every 1_000 step { checkpoint }
    every n step { checkpoint }
    every 5 { checkpoint }
    every 5min { checkpoint }
    every 5 minutes { checkpoint }
    every 3 epochs { checkpoint }
    every step { checkpoint }
    for i in 0..3 { checkpoint }
}
--- errors
test.rlf:2:13: error: unexpected name 'step', expected 'steps'
    2 |     every 5 step { checkpoint }
      |             ^~~~
hint: write 'every 5 steps { ... }'
test.rlf:3:17: error: unexpected name 'step', expected 'steps'
    3 |     every 1_000 step { checkpoint }
      |                 ^~~~
hint: write 'every 1_000 steps { ... }'
test.rlf:4:13: error: unexpected name 'step', expected 'steps'
    4 |     every n step { checkpoint }
      |             ^~~~
hint: write 'every n steps { ... }'
test.rlf:5:13: error: unexpected '{', expected a name
    5 |     every 5 { checkpoint }
      |             ^
hint: write 'every 5 steps { ... }'
test.rlf:6:16: error: unexpected '{', expected a name
    6 |     every 5min { checkpoint }
      |                ^
hint: 'every' counts steps: every 5 steps { ... }; checkpoints by time: rlflow run --save-every 5min
test.rlf:7:13: error: unexpected name 'minutes', expected 'steps'
    7 |     every 5 minutes { checkpoint }
      |             ^~~~~~~
hint: 'every' counts steps: every 5 steps { ... }; checkpoints by time: rlflow run --save-every 5min
test.rlf:8:13: error: unexpected name 'epochs', expected 'steps'
    8 |     every 3 epochs { checkpoint }
      |             ^~~~~~
hint: write 'every 3 steps { ... }'
test.rlf:9:16: error: unexpected '{', expected a name
    9 |     every step { checkpoint }
      |                ^
hint: write 'every 5 steps { ... }'
test.rlf:10:15: error: unexpected '..', expected '{' or ','
   10 |     for i in 0..3 { checkpoint }
      |               ^~
hint: a loop walks the pieces of a set: for mini in s.split(parts: 4) { ... }
=== states, parameters, units
state a: data
state b
state c : prompts
state d : float
state e := 1
param f = 3
param g = 0.5
param h = "x"
param i = true
hook j = lua("j.lua", memory: 64MiB)
hook k = lua("j.lua", memory: 64 MB)
hook l = lua("j.lua", time: 60sec)
hook m = lua("j.lua", time: 5 minutes)
hook n = lua("j.lua", time: 5x)
--- errors
test.rlf:1:10: error: unexpected 'data', expected a name
    1 | state a: data
      |          ^~~~
hint: one number is state a = 0; one per row of a data set names that: state a : NAME = 0
test.rlf:2:8: error: unexpected end of the line, expected ':' or '='
    2 | state b
      |        ^
hint: it has a value to begin with: state b = 0
test.rlf:3:18: error: unexpected end of the line, expected '='
    3 | state c : prompts
      |                  ^
hint: it has a value to begin with: state c : prompts = 0
test.rlf:4:16: error: unexpected end of the line, expected '='
    4 | state d : float
      |                ^
hint: a state has no type: state d = 0
test.rlf:5:9: error: unexpected ':=', expected ':' or '='
    5 | state e := 1
      |         ^~
hint: it begins with '=': state e = 1
test.rlf:6:9: error: unexpected '=', expected ':'
    6 | param f = 3
      |         ^
hint: a parameter has a type: param f : int = 3
test.rlf:7:9: error: unexpected '=', expected ':'
    7 | param g = 0.5
      |         ^
hint: a parameter has a type: param g : float = 0.5
test.rlf:8:9: error: unexpected '=', expected ':'
    8 | param h = "x"
      |         ^
hint: a parameter has a type: param h : text = "x"
test.rlf:9:9: error: unexpected '=', expected ':'
    9 | param i = true
      |         ^
hint: a parameter has a type: param i : bool = true
test.rlf:10:31: error: unexpected '64MiB', expected an expression
   10 | hook j = lua("j.lua", memory: 64MiB)
      |                               ^~~~~
hint: write 64MB: units of numbers are ms s min h, K M, KB MB GB
test.rlf:11:34: error: unexpected name 'MB', expected ')' or ','
   11 | hook k = lua("j.lua", memory: 64 MB)
      |                                  ^~
hint: a unit stands at its number: 64MB
test.rlf:12:29: error: unexpected '60sec', expected an expression
   12 | hook l = lua("j.lua", time: 60sec)
      |                             ^~~~~
hint: write 60s: units of numbers are ms s min h, K M, KB MB GB
test.rlf:13:31: error: unexpected name 'minutes', expected ')' or ','
   13 | hook m = lua("j.lua", time: 5 minutes)
      |                               ^~~~~~~
hint: a unit stands at its number: 5min
test.rlf:14:29: error: unexpected '5x', expected an expression
   14 | hook n = lua("j.lua", time: 5x)
      |                             ^~
hint: units of numbers are ms s min h, K M, KB MB GB
=== bodies by indentation are one mistake
flow f(batch: d[8]) {
    if step > 3:
        checkpoint
    elif step > 5:
        if a:
            checkpoint
        else:
            b := 1

    else:
        beta := 0.2
    c = )
    for mini in roll.split(parts: 2):
        report a = b
    while step < 3:
        checkpoint
    try:
        checkpoint
    except Error:
        pass
    if step > 3: checkpoint
    else: beta := 1
    if step > 3 {
        checkpoint
    } else:
        beta := 0.2
}
flow g(batch: d[8]) {
    d = )
}
--- errors
test.rlf:2:16: error: unexpected ':', expected '{'
    2 |     if step > 3:
      |                ^
hint: a body stands in braces, and ':' does not begin one: if c { ... } else { ... }
test.rlf:12:9: error: unexpected ')', expected an expression
   12 |     c = )
      |         ^
test.rlf:13:37: error: unexpected ':', expected '{' or ','
   13 |     for mini in roll.split(parts: 2):
      |                                     ^
hint: a body stands in braces, and ':' does not begin one: for mini in s.split(parts: 4) { ... }
test.rlf:15:11: error: unexpected name 'step', expected ':=' or '='
   15 |     while step < 3:
      |           ^~~~
hint: there is no 'while': use 'for' over s.split(...) and 'break if'
test.rlf:17:8: error: unexpected ':', expected ':=' or '='
   17 |     try:
      |        ^
hint: leave it out: an error ends the run, and says where
test.rlf:21:16: error: unexpected ':', expected '{'
   21 |     if step > 3: checkpoint
      |                ^
hint: a body stands in braces, and ':' does not begin one: if c { ... } else { ... }
test.rlf:25:11: error: unexpected ':', expected 'if' or '{'
   25 |     } else:
      |           ^
hint: a body stands in braces, and ':' does not begin one: if c { ... } else { ... }
test.rlf:29:9: error: unexpected ')', expected an expression
   29 |     d = )
      |         ^
=== words of Python
flow f(batch: d[8]) {
    a = score is None
    b = [s for s in score]
    c = lambda s: s
    assert score > 0
    del beta
    global beta
    with x as y { checkpoint }
    x, y = score, score
    if step in [1, 2, 3] { checkpoint }
    e = g(greedy=True)
}
--- errors
test.rlf:2:15: error: unexpected name 'is', expected the end of the line
    2 |     a = score is None
      |               ^~
hint: write '=='; there is no None: every value is there
test.rlf:3:12: error: unexpected 'for', expected ':', ',' or ']'
    3 |     b = [s for s in score]
      |            ^~~
hint: nothing is looped over: what is written of a set is computed for each of its samples
test.rlf:4:16: error: unexpected name 's', expected the end of the line
    4 |     c = lambda s: s
      |                ^
hint: a function is declared outside of the flow: def f(x) = ...
test.rlf:5:12: error: unexpected name 'score', expected ':=' or '='
    5 |     assert score > 0
      |            ^~~~~
hint: 'break if c' ends a run, 'report name = c' writes it down
test.rlf:6:9: error: unexpected name 'beta', expected ':=' or '='
    6 |     del beta
      |         ^~~~
hint: leave it out: a name holds for its block
test.rlf:7:12: error: unexpected name 'beta', expected ':=' or '='
    7 |     global beta
      |            ^~~~
hint: leave it out: a state is known everywhere
test.rlf:8:10: error: unexpected name 'x', expected ':=' or '='
    8 |     with x as y { checkpoint }
      |          ^
hint: leave it out: 'sg(x)' takes no derivative of x
test.rlf:9:6: error: unexpected ',', expected ':=' or '='
    9 |     x, y = score, score
      |      ^
hint: a statement gives one name: x = ...
test.rlf:10:13: error: unexpected 'in', expected '{'
   10 |     if step in [1, 2, 3] { checkpoint }
      |             ^~
hint: compare with each: x == 1 or x == 2
test.rlf:11:17: error: unexpected '=', expected ':', ')' or ','
   11 |     e = g(greedy=True)
      |                 ^
hint: the name of an argument ends with ':', as in greedy: true; '==' compares
