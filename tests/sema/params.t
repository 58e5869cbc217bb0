Parameters: defaults, settings, types, ranges.
=== defaults
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
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
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
--- params
a int = 3 (8) in 2..64: how many, given
b float = 0.1 (0.5) in 0..1: -, given
c text = sgd (adam) in [adam, sgd]: -, given
d bool = false (true) in : -, given
e path = x/y (x/y) in : -
f path = here (-) in : Documented before., given
g float = 0.2 (0.2) in : -
=== what must be given
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
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
=== of the wrong type
#set a=3.5
#set b=x
#set d=yes
#set f=here
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
--- errors
test.rlf:5:7: error: parameter 'a' is a whole number, and '3.5' was given
    5 | param a : int = 8 in 2..64 "how many"
      |       ^
test.rlf:6:7: error: parameter 'b' is a number, and 'x' was given
    6 | param b : float = 0.5 in 0..1
      |       ^
test.rlf:8:7: error: parameter 'd' is true or false, and 'yes' was given
    8 | param d : bool = true
      |       ^
=== out of range
#set a=1
#set b=1.5
#set c=lion
#set f=here
param a : int = 8 in 2..64 "how many"
param b : float = 0.5 in 0..1
param c : text = "adam" in ["adam", "sgd"]
param d : bool = true
param e : path = "x/y"
## Documented before.
param f : path
param g : float = b * 2
flow z() { }
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
hint: it is int, float, bool, text or path
test.rlf:2:17: error: the default of a parameter of type int cannot be this
    2 | param b : int = 3.5
      |                 ^~~
test.rlf:3:19: error: the default of a parameter of type float cannot be this
    3 | param c : float = "x"
      |                   ^~~
test.rlf:4:18: error: the default of a parameter of type text cannot be this
    4 | param d : text = 3
      |                  ^
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
