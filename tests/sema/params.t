Parameters: defaults, settings, types, ranges.
+++ params
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
=== defaults
+++ params
--- params
a int = 8 (8) in 2..64: how many
b float = 0.5 (0.5) in 0..1: -
c text = adam (adam) in [adam, sgd]: -
d bool = true (true) in : -
e path = x/y (x/y) in : -
f path = - (-) in : Documented before.
g float = 1 (1) in : -
=== settings
#set a=3
#set b=1e-1
#set c=sgd
#set d=false
#set f=here
+++ params
--- params
a int = 3 (8) in 2..64: how many, given
b float = 0.1 (0.5) in 0..1: -, given
c text = sgd (adam) in [adam, sgd]: -, given
d bool = false (true) in : -, given
e path = x/y (x/y) in : -
f path = here (-) in : Documented before., given
g float = 0.2 (0.2) in : -
=== other mistakes beside paths and texts that were not given
param dir : path
param kind : text
param rows : path
data prompts = jsonl(rows, prompt: "q")
model actor = lm(dir)
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_ew: 3, stop: kind)
    report s = mean(roll.length over btch), t = mean(prompts.grade == 2)
}
--- errors
test.rlf:1:7: error: parameter 'dir' must be given: dir=VALUE
    1 | param dir : path
      |       ^~~
test.rlf:2:7: error: parameter 'kind' must be given: kind=VALUE
    2 | param kind : text
      |       ^~~~
test.rlf:3:7: error: parameter 'rows' must be given: rows=VALUE
    3 | param rows : path
      |       ^~~~
test.rlf:7:34: error: 'generate' has no argument 'max_ew:'
    7 |     roll = actor.generate(batch, max_ew: 3, stop: kind)
      |                                  ^~~~~~
hint: did you mean 'max_new:'?
test.rlf:8:38: error: there is no 'over btch'
    8 |     report s = mean(roll.length over btch), t = mean(prompts.grade == 2)
      |                                      ^~~~
hint: it is over tokens, group, batch or vocab
test.rlf:8:49: error: 'mean' does not say over what
    8 |     report s = mean(roll.length over btch), t = mean(prompts.grade == 2)
      |                                                 ^~~~
hint: mean(prompts.grade == 2 over tokens), or over group, or over batch
=== other mistakes beside numbers that were not given
param k : int
param kind : text in ["a", "b"]
param lr : float in 0..1
data prompts = jsonl("p.jsonl", prompt: "q")
model actor = lm("m", optimizer: adamw(lr: lr))
flow f(batch: prompts[k]) {
    roll = actor.generate(batch, max_new: k, n: 2, stop: kind)
    update actor minimize mean(actor.logprob(roll) * k over batch)
    report s = k * 2, t = foo
}
--- errors
test.rlf:1:7: error: parameter 'k' must be given: k=VALUE
    1 | param k : int
      |       ^
test.rlf:2:7: error: parameter 'kind' must be given: kind=VALUE
    2 | param kind : text in ["a", "b"]
      |       ^~~~
test.rlf:3:7: error: parameter 'lr' must be given: lr=VALUE
    3 | param lr : float in 0..1
      |       ^~
test.rlf:9:27: error: there is nothing named 'foo'
    9 |     report s = k * 2, t = foo
      |                           ^~~
=== constants in branches that are never taken
param kl : float = 0
param no : bool = false
data prompts = jsonl("p.jsonl", prompt: "q")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
flow f(batch: prompts[4]) {
    roll = actor.generate(batch, max_new: 2)
    length = mean(roll.length over batch)
    if kl > 0 { report rel = length / kl * (1 / kl) } else { report all = length }
    if no { report a = length * (1 / kl) }
    if kl == 0 { report b = length } else { report c = length * log(0 - kl - 1) }
    update actor {
        if kl > 0 { minimize mean(actor.logprob(roll) over batch) * (1 / kl) } else { minimize mean(actor.logprob(roll) over batch) }
    }
    if kl == 0 { report d = length * (1 / kl) }
    if length > 0 { report e = length * (1 / kl) }
}
--- warnings
test.rlf:14:25: warning: the metric 'd' is never finite: null each time
   14 |     if kl == 0 { report d = length * (1 / kl) }
      |                         ^
test.rlf:14:41: note: 1 / 0 is infinite
   14 |     if kl == 0 { report d = length * (1 / kl) }
      |                                         ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:15:28: warning: the metric 'e' is never finite: null each time
   15 |     if length > 0 { report e = length * (1 / kl) }
      |                            ^
test.rlf:15:44: note: 1 / 0 is infinite
   15 |     if length > 0 { report e = length * (1 / kl) }
      |                                            ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
=== what must be given
+++ params
--- errors
test.rlf:7:7: error: parameter 'f' must be given: f=VALUE
    7 | param f : path
      |       ^
=== unknown
#set aa=3
#set zzzz=1
param aaa : int = 3
flow z() { }
--- errors
error: test.rlf has no parameter 'aa'
hint: did you mean 'aaa'?
error: test.rlf has no parameter 'zzzz'
hint: `rlflow params test.rlf` lists them
=== numbers are written as in a program
#set a=10K
#set b=-1_000.5e-1
#set c=08
param a : float = 1
param b : float = 1
param c : int = 1
flow z() { }
--- params
a float = 10000 (1) in : -, given
b float = -100.05 (1) in : -, given
c int = 8 (1) in : -, given
=== and not otherwise
#set a=0x1p-3
#set b=.5
#set c= 3
#set d=60s
#set e=inf
#set f=+3
#set g=1__0
#set h=1e999
#set i=1e
param a : float = 1
param b : float = 1
param c : float = 1
param d : float = 1
param e : float = 1
param f : float = 1
param g : float = 1
param h : float = 1
param i : float = 1
flow z() { }
--- errors
test.rlf:10:7: error: parameter 'a' is a number, and '0x1p-3' was given
   10 | param a : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:11:7: error: parameter 'b' is a number, and '.5' was given
   11 | param b : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:12:7: error: parameter 'c' is a number, and ' 3' was given
   12 | param c : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:13:7: error: parameter 'd' is a number without a unit, and '60s' was given
   13 | param d : float = 1
      |       ^
hint: K and M multiply by 1,000 and 1,000,000
test.rlf:14:7: error: parameter 'e' is a number, and 'inf' was given
   14 | param e : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:15:7: error: parameter 'f' is a number, and '+3' was given
   15 | param f : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:16:7: error: parameter 'g' is a number, and '1__0' was given
   16 | param g : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:17:7: error: what parameter 'h' was given, '1e999', is too large a number
   17 | param h : float = 1
      |       ^
test.rlf:18:7: error: parameter 'i' is a number, and '1e' was given
   18 | param i : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
=== what is empty
#set a=
#set b=
#set c=
#set d=
#set e=
param a : float = 1
param b : path = "x"
param c : text = "x" in ["x", "y"]
param d : text = "x"
param e : bool = true
flow z() { }
--- errors
test.rlf:6:7: error: parameter 'a' is a number, and what was given is empty
    6 | param a : float = 1
      |       ^
test.rlf:7:7: error: parameter 'b' is a path, and what was given is empty
    7 | param b : path = "x"
      |       ^
test.rlf:8:7: error: parameter 'c' is empty, and must be in [x, y]
    8 | param c : text = "x" in ["x", "y"]
      |       ^
test.rlf:10:7: error: parameter 'e' is true or false, and what was given is empty
   10 | param e : bool = true
      |       ^
=== a path that is empty
data d = jsonl("", prompt: "q")
flow z() { }
--- errors
test.rlf:1:16: error: 'path' of 'jsonl' is an empty path
    1 | data d = jsonl("", prompt: "q")
      |                ^~
=== of the wrong type
#set a=3.5
#set b=x
#set d=yes
#set f=here
+++ params
--- errors
test.rlf:5:7: error: parameter 'a' is a whole number, and '3.5' was given
    5 | param a : int = 8 in 2..64 "how many"
      |       ^
test.rlf:6:7: error: parameter 'b' is a number, and 'x' was given
    6 | param b : float = 0.5 in 0..1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:8:7: error: parameter 'd' is true or false, and 'yes' was given
    8 | param d : bool = true
      |       ^
=== true in another language
#set d=True
#set f=here
+++ params
--- errors
test.rlf:6:7: error: parameter 'd' is true or false, and 'True' was given
    6 | param d : bool = true
      |       ^
hint: write it in small letters
=== out of range
#set a=1
#set b=1.5
#set c=lion
#set f=here
+++ params
--- errors
test.rlf:5:7: error: parameter 'a' is 1, and must be in 2..64
    5 | param a : int = 8 in 2..64 "how many"
      |       ^
test.rlf:6:7: error: parameter 'b' is 1.5, and must be in 0..1
    6 | param b : float = 0.5 in 0..1
      |       ^
test.rlf:7:7: error: parameter 'c' is lion, and must be in [adam, sgd]
    7 | param c : text = "adam" in ["adam", "sgd"]
      |       ^
=== wrong declarations
param a : integer = 3
param b : int = 3.5
param c : float = "x"
param d : text = 3
param e : int = 5 in 6..7
param f : int = 5 in 3
param g : int = step
param h : int = h
param i : int = j
param j : int = i
flow z() { }
--- errors
test.rlf:1:11: error: there is no type 'integer'
    1 | param a : integer = 3
      |           ^~~~~~~
hint: did you mean 'int'?
test.rlf:2:17: error: the default of a parameter of type int cannot be this
    2 | param b : int = 3.5
      |                 ^~~
hint: it is a whole number
test.rlf:3:19: error: the default of a parameter of type float cannot be this
    3 | param c : float = "x"
      |                   ^~~
hint: it is a number
test.rlf:4:18: error: the default of a parameter of type text cannot be this
    4 | param d : text = 3
      |                  ^
hint: it is a text, in quotes
test.rlf:5:7: error: parameter 'e' is 5, and must be in 6..7
    5 | param e : int = 5 in 6..7
      |       ^
test.rlf:6:22: error: a parameter is in a range a..b, or in a list
    6 | param f : int = 5 in 3
      |                      ^
test.rlf:7:17: error: 'step' has no value before the run starts
    7 | param g : int = step
      |                 ^~~~
hint: here only parameters and numbers can stand
test.rlf:8:7: error: 'h' is declared by itself
    8 | param h : int = h
      |       ^
test.rlf:9:7: error: 'i' is declared by itself
    9 | param i : int = j
      |       ^
=== values out of their types
param a : bool = 5
param b : int = 99999999999999999999
param c : int = 9007199254740992
param d : text = "x" in 1..3
param e : int = 2 in ["a", 2.5, 3]
param g : float = 3 in 5..2
param h : bool = 1 == 1
param i : float = 3s
param j : bool = true in 0..1
param k : text = "a" in ["a", 2]
param l : int = 2 in 1..3s
flow f() { report x = 1 }
--- errors
test.rlf:1:18: error: the default of a parameter of type bool cannot be this
    1 | param a : bool = 5
      |                  ^
hint: it is true or false
test.rlf:2:17: error: this number would be 100000000000000000000
    2 | param b : int = 99999999999999999999
      |                 ^~~~~~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
test.rlf:4:25: error: a parameter of type text has no range of numbers
    4 | param d : text = "x" in 1..3
      |                         ^~~~
hint: list what it can be: in [a, b]
test.rlf:5:7: error: parameter 'e' is 2, and must be in [a, 2, 3]
    5 | param e : int = 2 in ["a", 2.5, 3]
      |       ^
test.rlf:5:23: error: a parameter of type int cannot be this
    5 | param e : int = 2 in ["a", 2.5, 3]
      |                       ^~~
test.rlf:5:28: error: a parameter of type int cannot be this
    5 | param e : int = 2 in ["a", 2.5, 3]
      |                            ^~~
test.rlf:6:24: error: there is nothing in this range
    6 | param g : float = 3 in 5..2
      |                        ^~~~
hint: the smaller number comes first
test.rlf:8:19: error: a number is wanted, and this is a time
    8 | param i : float = 3s
      |                   ^~
hint: write it without the unit
test.rlf:9:26: error: a parameter of type bool has no range of numbers
    9 | param j : bool = true in 0..1
      |                          ^~~~
hint: list what it can be: in [a, b]
test.rlf:10:31: error: a parameter of type text cannot be this
   10 | param k : text = "a" in ["a", 2]
      |                               ^
test.rlf:11:25: error: a number is wanted, and this is a time
   11 | param l : int = 2 in 1..3s
      |                         ^~
hint: write it without the unit
=== whole numbers that would be rounded
#set a=9007199254740993
#set b=-9007199254740992
#set c=9007199254740993
#set d=9.007199254740993e15
#set e=9007199254740991K
#set f=9007199254740992.5
#set g=18014398509481984
#set h=1e23
#set i=900719925474099.3e1
param a : int
param b : int
param c : float
param d : int
param e : float
param f : int
param g : float
param h : float
param i : int
param j : int = 9007199254740993
param k : float = 9_007_199_254_740_992 + 0.000_000_000_1
param l : float = 100000000000000000000000.0
param m : float = 9007199254740992000000
param n : int = 9007199254740992
flow z() { }
--- errors
test.rlf:10:7: error: parameter 'a' is a whole number of up to 2^53, and '9007199254740993' was given
   10 | param a : int
      |       ^
test.rlf:12:7: error: what parameter 'c' was given, '9007199254740993', would be 9007199254740992
   12 | param c : float
      |       ^
hint: above 2^53 not all whole numbers are kept: give one that is, or a measure with an exponent, as 1e20
test.rlf:13:7: error: parameter 'd' is a whole number of up to 2^53, and '9.007199254740993e15' was given
   13 | param d : int
      |       ^
test.rlf:14:7: error: what parameter 'e' was given, '9007199254740991K', would be 9007199254740990976
   14 | param e : float
      |       ^
hint: above 2^53 not all whole numbers are kept: give one that is, or a measure with an exponent, as 1e20
test.rlf:15:7: error: parameter 'f' is a whole number of up to 2^53, and '9007199254740992.5' was given
   15 | param f : int
      |       ^
test.rlf:18:7: error: parameter 'i' is a whole number of up to 2^53, and '900719925474099.3e1' was given
   18 | param i : int
      |       ^
test.rlf:19:17: error: this number would be 9007199254740992
   19 | param j : int = 9007199254740993
      |                 ^~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
test.rlf:21:19: error: this number would be 99999999999999991611392
   21 | param l : float = 100000000000000000000000.0
      |                   ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
=== whole numbers in values that would be rounded
#set k=9007199254740992
param k : int
state s = 12345678901234567890
state t = 9007199254740993 > k ? 1 : 0
flow z() { }
--- errors
test.rlf:3:11: error: this number would be 12345678901234567168
    3 | state s = 12345678901234567890
      |           ^~~~~~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
test.rlf:4:11: error: this number would be 9007199254740992
    4 | state t = 9007199254740993 > k ? 1 : 0
      |           ^~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
=== whole numbers in a flow that would be rounded
flow z() { report x = step > 36028797018963969 ? 1 : 2 * 4503599627370497K }
--- errors
test.rlf:1:30: error: this number would be 36028797018963968
    1 | flow z() { report x = step > 36028797018963969 ? 1 : 2 * 4503599627370497K }
      |                              ^~~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
test.rlf:1:58: error: this number would be 4503599627370497024
    1 | flow z() { report x = step > 36028797018963969 ? 1 : 2 * 4503599627370497K }
      |                                                          ^~~~~~~~~~~~~~~~~
hint: above 2^53 not all whole numbers are kept: write one that is, or a measure with an exponent, as 1e20
=== arithmetic on whole numbers that is not exact
#set k=9007199254740992
param k : int
param no : bool = false
state s = k + 1
state t = 3 ^ 40
def twice(x) = x * 3 + 0
flow z() {
    if step > k - 1 + 2 { s := 94906267 * 94906267 }
    t := k * 2 + k * 1024 + 10 ^ 22 + 1e300 * 1e5 + (k - 0.5) + 2 ^ 60
    if no { t := k + 1 }
    report x = twice(k - 1) + t + s, y = 0 - k - 3, z = 1e20 + 1
}
--- warnings
test.rlf:4:13: warning: this is not exact: it is 9007199254740992
    4 | state s = k + 1
      |           ~ ^ ~
hint: above 2^53 not all whole numbers are kept
test.rlf:5:13: warning: this is not exact: it is 12157665459056928768
    5 | state t = 3 ^ 40
      |           ~ ^ ~~
hint: above 2^53 not all whole numbers are kept
test.rlf:6:18: warning: this is not exact: it is 27021597764222972
    6 | def twice(x) = x * 3 + 0
      |                ~ ^ ~
test.rlf:11:16: note: in this use of 'twice'
   11 |     report x = twice(k - 1) + t + s, y = 0 - k - 3, z = 1e20 + 1
      |                ^~~~~
hint: above 2^53 not all whole numbers are kept
test.rlf:8:21: warning: this is not exact: it is 9007199254740992
    8 |     if step > k - 1 + 2 { s := 94906267 * 94906267 }
      |               ~~~~~ ^ ~
hint: above 2^53 not all whole numbers are kept
test.rlf:8:41: warning: this is not exact: it is 9007199515875288
    8 |     if step > k - 1 + 2 { s := 94906267 * 94906267 }
      |                                ~~~~~~~~ ^ ~~~~~~~~
hint: above 2^53 not all whole numbers are kept
test.rlf:11:38: warning: the metric 'y' is -9.00719925474e+15 each time
   11 |     report x = twice(k - 1) + t + s, y = 0 - k - 3, z = 1e20 + 1
      |                                      ^
hint: it is made of numbers and parameters alone
test.rlf:11:48: warning: this is not exact: it is -9007199254740996
   11 |     report x = twice(k - 1) + t + s, y = 0 - k - 3, z = 1e20 + 1
      |                                          ~~~~~ ^ ~
hint: above 2^53 not all whole numbers are kept
test.rlf:11:53: warning: the metric 'z' is 1e+20 each time
   11 |     report x = twice(k - 1) + t + s, y = 0 - k - 3, z = 1e20 + 1
      |                                                     ^
hint: it is made of numbers and parameters alone
=== settings out of their types
#set a=99999999999999999999
#set b=2
#set c=1e999
param a : int
param b : bool
param c : float
flow f() { report x = 1 }
--- errors
test.rlf:4:7: error: parameter 'a' is a whole number of up to 2^53, and '99999999999999999999' was given
    4 | param a : int
      |       ^
test.rlf:5:7: error: parameter 'b' is true or false, and '2' was given
    5 | param b : bool
      |       ^
test.rlf:6:7: error: what parameter 'c' was given, '1e999', is too large a number
    6 | param c : float
      |       ^
=== constants are finite
#set d=0
import "std/advantage"
param a : float = 0/0
param b : int = 5 % 0
param c : float = 1 in 0..1/0
param d : float = 1
param e : float = 1 / d
param g : float = exp(1000) - 1
state h = log(0 - 1)
flow z() { }
--- errors
test.rlf:3:20: error: 0 / 0 is not a number
    3 | param a : float = 0/0
      |                   ~^~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:4:19: error: 5 % 0 is not a number
    4 | param b : int = 5 % 0
      |                 ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:5:28: error: 1 / 0 is infinite
    5 | param c : float = 1 in 0..1/0
      |                           ~^~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:7:21: error: 1 / 0 is infinite
    7 | param e : float = 1 / d
      |                   ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:8:19: error: exp(1000) is infinite
    8 | param g : float = exp(1000) - 1
      |                   ^~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
=== constants are finite: declarations
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5 / 0, clip: 0 - 1 / 0))
hook judge = lua("j.lua", time: 1s / 0)
state h = log(0 - 1)
flow z(batch: prompts[8]) { }
--- errors
test.rlf:2:49: error: 1e-05 / 0 is infinite
    2 | model actor = lm("m", optimizer: adamw(lr: 1e-5 / 0, clip: 0 - 1 / 0))
      |                                            ~~~~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:2:66: error: 1 / 0 is infinite
    2 | model actor = lm("m", optimizer: adamw(lr: 1e-5 / 0, clip: 0 - 1 / 0))
      |                                                                ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:3:36: error: 1 / 0 is infinite
    3 | hook judge = lua("j.lua", time: 1s / 0)
      |                                 ~~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:4:11: error: log(-1) is not a number
    4 | state h = log(0 - 1)
      |           ^~~
hint: write what it is to be instead, or choose: c ? a : b
=== constants are finite: arguments, values
import "std/advantage"
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state h = 1
def k(x, y = 1 / 0) = x * y
flow z(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8, temperature: sqrt(0 - 2))
    score = judge(roll)
    a = k(score)
    b = k(score, 0 / 0)
    c = whiten(score, eps: (0 - 1) ^ 0.5)
    h := mean(a + b + c over batch)
    h := mean(a over batch)
    h := mean(c over batch)
    h := 3 / (1 - 1)
    h := h + 2 / 0
    if 0 / 0 > step { checkpoint }
    if 1 / 0 > step { checkpoint }
}
--- errors
test.rlf:6:16: error: 1 / 0 is infinite
    6 | def k(x, y = 1 / 0) = x * y
      |              ~ ^ ~
test.rlf:10:9: note: in this use of 'k'
   10 |     a = k(score)
      |         ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:8:65: error: sqrt(-2) is not a number
    8 |     roll = actor.generate(batch, n: 4, max_new: 8, temperature: sqrt(0 - 2))
      |                                                                 ^~~~
hint: write what it is to be instead, or choose: c ? a : b
test.rlf:11:20: error: 0 / 0 is not a number
   11 |     b = k(score, 0 / 0)
      |                  ~ ^ ~
test.rlf:13:10: note: it is used here
   13 |     h := mean(a + b + c over batch)
      |          ^~~~~~~~~~~~~~~~~~~~~~~~~~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:12:36: error: -1 ^ 0.5 is not a number
   12 |     c = whiten(score, eps: (0 - 1) ^ 0.5)
      |                            ~~~~~~~ ^ ~~~
test.rlf:15:10: note: it is used here
   15 |     h := mean(c over batch)
      |          ^~~~~~~~~~~~~~~~~~
hint: write what it is to be instead, or choose: c ? a : b
test.rlf:16:12: error: 3 / 0 is infinite
   16 |     h := 3 / (1 - 1)
      |          ~ ^ ~~~~~~~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:17:16: error: 2 / 0 is infinite
   17 |     h := h + 2 / 0
      |              ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:18:10: error: 0 / 0 is not a number
   18 |     if 0 / 0 > step { checkpoint }
      |        ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
=== constants that are not finite, and not used
#set d=0
import "std/advantage"
param d : float = 1
param k : float = 0
param e : float = d > 0 ? 1 / d : 2
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: min(1e-5, 1 / d) * e))
hook judge = lua("j.lua")
state h = min(1, 1 / d)
def inverse(x) = 1 / x
def scaled(x, by, s = inverse(d)) {
    t = s * x
    return by > 0 ? t : x
}
data some = prompts.where(d > 0 ? prompts.grade > 1 / d : prompts.grade < 1 / k)
flow z(batch: some[8]) {
    s = 1 / k
    no = 0 / k
    roll = actor.generate(batch, n: 4, max_new: 8, temperature: min(1, s))
    score = judge(roll, most: s)
    never = score * s
    h := mean(k > 0 ? s * score : score over batch)
    h := mean(scaled(score, d) over batch)
    h := k > 0 ? mean(never over batch) : d > 0 ? inverse(d) : 3
    h := min(step, s) + no ^ 0 + 1 / s + exp(0 - s) + (step > 0 or no > 0) + (step < s)
    h := step > 5 ? s : step > 0 ? 1 : no
    h := max(no > 0 and 0, min(score * 0 over batch))
    if k > 0 { h := s * 2 } else if d == 1 { h := no } else { h := 1 }
    if k > 0 { for mini in roll.split(parts: 1 / k) { h := no } }
    if s { h := 2 }
    none = roll.where(k > 0 ? score * no : score)
    h := mean(none.length over batch)
    update actor {
        logp = actor.logprob(roll)
        worst = logp * no
        if d > 0 { minimize mean(worst over batch) }
        minimize mean(step > 2 and k > 0 ? worst : clamp(logp, -s, s) over batch)
    }
}
--- errors
compiles
=== what is used and never finite
param k : float = 0
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state h = 0
def inverse(x) = 1 / x
flow z(batch: prompts[8]) {
    s = 1 / k
    no = 0 / k
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll, least: 2 * no)
    h := max(step, s)
    h := step > 0 and no > 1
    h := step > 0 ? inverse(0) : 1
    h := no ? 1 : 2
    h := mean(step > 3 ? score + (no + 1) : score / (k - k) over batch)
    every (k / k) steps { checkpoint }
    few = roll.where(score > inverse(k) * k)
    text = log(k - 1) > 0 ? "a" : "b"
    actor := sqrt(k - 2) * actor
    update actor {
        if exp(1000) - exp(1000) > 0 { report a = 1 }
        minimize mean(actor.logprob(roll) over batch) + log(k - 3)
    }
}
--- errors
test.rlf:6:20: error: 1 / 0 is infinite
    6 | def inverse(x) = 1 / x
      |                  ~ ^ ~
test.rlf:14:21: note: in this use of 'inverse'
   14 |     h := step > 0 ? inverse(0) : 1
      |                     ^~~~~~~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:8:11: error: 1 / 0 is infinite
    8 |     s = 1 / k
      |         ~ ^ ~
test.rlf:12:10: note: it is used here
   12 |     h := max(step, s)
      |          ^~~~~~~~~~~~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:9:12: error: 0 / 0 is not a number
    9 |     no = 0 / k
      |          ~ ^ ~
test.rlf:11:32: note: it is used here
   11 |     score = judge(roll, least: 2 * no)
      |                                ^~~~~~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:17:14: error: 0 / 0 is not a number
   17 |     every (k / k) steps { checkpoint }
      |            ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:19:12: error: log(-1) is not a number
   19 |     text = log(k - 1) > 0 ? "a" : "b"
      |            ^~~
hint: write what it is to be instead, or choose: c ? a : b
test.rlf:20:14: error: sqrt(-2) is not a number
   20 |     actor := sqrt(k - 2) * actor
      |              ^~~~
hint: write what it is to be instead, or choose: c ? a : b
test.rlf:22:12: error: exp(1000) is infinite
   22 |         if exp(1000) - exp(1000) > 0 { report a = 1 }
      |            ^~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
test.rlf:23:57: error: log(-3) is not a number
   23 |         minimize mean(actor.logprob(roll) over batch) + log(k - 3)
      |                                                         ^~~
hint: write what it is to be instead, or choose: c ? a : b
=== what may be used and is never finite, metrics that are
param k : float = 0
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
model actor = lm("m", optimizer: adamw(lr: 1e-5))
hook judge = lua("j.lua")
state h = 0
flow z(batch: prompts[8]) {
    roll = actor.generate(batch, n: 4, max_new: 8)
    score = judge(roll)
    if step > 100 { h := 1 / k }
    some = roll.where(score > 0)
    report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
    update actor {
        if step > 100 { minimize mean(actor.logprob(roll) over batch) / k }
        minimize mean(actor.logprob(roll) over batch)
        report e = h + 0 / k
    }
}
--- warnings
test.rlf:9:28: warning: 1 / 0 is infinite, which ends the run if it comes to that
    9 |     if step > 100 { h := 1 / k }
      |                          ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:11:12: warning: the metric 'a' is not a number: null each time
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |            ^
test.rlf:11:18: note: 0 / 0 is not a number
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |                  ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:11:23: warning: the metric 'b' is never finite: null each time
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |                       ^
test.rlf:11:27: note: log(0) is infinite
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |                           ^~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
test.rlf:11:35: warning: the metric 'c' is never finite: null each time
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |                                   ^
test.rlf:11:46: note: 1 / 0 is infinite
   11 |     report a = 0 / k, b = log(k), c = h * (1 / k), d = mean(score[some] / k over batch)
      |                                              ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
test.rlf:15:16: warning: the metric 'e' is not a number: null each time
   15 |         report e = h + 0 / k
      |                ^
test.rlf:15:26: note: 0 / 0 is not a number
   15 |         report e = h + 0 / k
      |                          ^
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
=== parameters that are not finite
#set a=inf
#set b=1e999
param a : float = 1
param b : float = 1
flow z() { }
--- errors
test.rlf:3:7: error: parameter 'a' is a number, and 'inf' was given
    3 | param a : float = 1
      |       ^
hint: numbers are written as in programs: 1e-5, 0.5, 10K
test.rlf:4:7: error: what parameter 'b' was given, '1e999', is too large a number
    4 | param b : float = 1
      |       ^
=== the side of a choice that is not taken may be infinite
#set a=0
param a : float = 1
param b : float = a > 0 ? 1 / a : 3
param c : bool = a > 0 and 1 / a > 2
param d : bool = a == 0 or 1 / a > 2
param e : float = a == 0 ? 2 : log(a)
def k(x) = x > 0 ? log(x) : 0
flow z() {
    report y = k(a) + b + c + d + e + (step > a ? 1 / step : 1 / a)
}
--- errors
compiles
=== numbers of which only 0 would be left
#set lr=1e-400
#set zero=0e-400
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
param lr : float = 0.5
param zero : float = 1
flow f(batch: prompts[8]) { report a = lr + zero }
--- errors
test.rlf:4:7: error: what parameter 'lr' was given, '1e-400', is too small a number
    4 | param lr : float = 0.5
      |       ^~
hint: it would be 0: say 0 if that is meant
=== numbers in the program of which only 0 would be left
data prompts = jsonl("rows.jsonl", prompt: "question", answer: "answer", grade: "grade")
flow f(batch: prompts[8]) { report a = step * 1e-400 + 0.000_1e-400 + 0e-400 + 0.0 + step }
--- errors
test.rlf:2:47: error: this number is too small
    2 | flow f(batch: prompts[8]) { report a = step * 1e-400 + 0.000_1e-400 + 0e-400 + 0.0 + step }
      |                                               ^~~~~~
hint: it would be 0: write 0 if that is meant
test.rlf:2:56: error: this number is too small
    2 | flow f(batch: prompts[8]) { report a = step * 1e-400 + 0.000_1e-400 + 0e-400 + 0.0 + step }
      |                                                        ^~~~~~~~~~~~
hint: it would be 0: write 0 if that is meant
=== settings as other libraries call them
#set learning_rate=1e-5
#set N=4
param lr: float = 1e-4
param n: int = 2
flow f() { report a = lr + n }
--- errors
error: test.rlf has no parameter 'learning_rate'
hint: did you mean 'lr'?
error: test.rlf has no parameter 'N'
hint: did you mean 'n'?
=== a list of two where a range is meant
param n: int = 4 in [2, 64]
flow f() { report a = n }
--- errors
test.rlf:1:7: error: parameter 'n' is 4, and must be in [2, 64]
    1 | param n: int = 4 in [2, 64]
      |       ^
hint: a list has the values that it can be; a range is in 2..64
=== true and false are no numbers
param rate : float = true
param some : int = 3 > 2
param both : float = 1 > 2 ? false : true
param few : float = 1 in [1, true]
param low : int = 1 in false..3
param sure : bool = 1 > 2 in [true, false, 1]
flow f() { report a = rate + some + both + few + low + sure }
--- errors
test.rlf:1:22: error: parameter 'rate' is a number, and this is true
    1 | param rate : float = true
      |                      ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:2:20: error: parameter 'some' is a number, and this is true
    2 | param some : int = 3 > 2
      |                    ^~~~~
hint: write a number, or choose one: c ? a : b
test.rlf:3:38: error: parameter 'both' is a number, and this is true
    3 | param both : float = 1 > 2 ? false : true
      |                                      ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:4:30: error: parameter 'few' is a number, and this is true
    4 | param few : float = 1 in [1, true]
      |                              ^~~~
hint: write a number, or choose one: c ? a : b
test.rlf:5:24: error: the end of a range is a number, and this is false
    5 | param low : int = 1 in false..3
      |                        ^~~~~
hint: write a number, or choose one: c ? a : b
