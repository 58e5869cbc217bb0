Errors of syntax: their text, their carets, their hints.
=== one slip, one error: twenty of them
data x = = 3
param data : int = 3
flow f(batch prompts) {
   x = 1
   update a {
     y = 2
   }
}
flow g(batch: p[64]) {
    a = b && c
    for mini roll.split(3) {
        update m minimize 3
        z = 3
    }
    if a = b { checkpoint }
    roll = f(a
    x = 3
    y = (1 + 2
    for a in b { c = 5. }
    q = a < b < c
    s = 'abc'
    elif x { y = 3 }
    t = "abc
    n = 3x
    let k = 5
    while x { y = 3 }
    every 20 step { checkpoint }
    r = .5
    data = 3
    u = "a\qb"
def f(x) = 3
--- errors
test.rlf:1:10: error: unexpected '=', expected an expression
    1 | data x = = 3
      |          ^
test.rlf:2:7: error: unexpected 'data', expected a name
    2 | param data : int = 3
      |       ^~~~
hint: 'data' is a reserved word, choose another name
test.rlf:3:14: error: unexpected name 'prompts', expected ':'
    3 | flow f(batch prompts) {
      |              ^~~~~~~
test.rlf:10:11: error: unexpected '&&', expected the end of the line
   10 |     a = b && c
      |           ^~
hint: write 'and'
test.rlf:11:14: error: unexpected name 'roll', expected 'in'
   11 |     for mini roll.split(3) {
      |              ^~~~
test.rlf:15:10: error: unexpected '=', expected '{'
   15 |     if a = b { checkpoint }
      |          ^
hint: '==' compares, '=' only gives a name
test.rlf:17:5: error: unexpected name 'x', expected ':', ')' or ','
   17 |     x = 3
      |     ^
test.rlf:16:13: note: this '(' is not closed
   16 |     roll = f(a
      |             ^
test.rlf:19:5: error: unexpected 'for', expected ')'
   19 |     for a in b { c = 5. }
      |     ^~~
test.rlf:18:9: note: this '(' is not closed
   18 |     y = (1 + 2
      |         ^
test.rlf:20:15: error: unexpected '<', expected the end of the line
   20 |     q = a < b < c
      |               ^
hint: comparisons do not chain: write 'a < b and b < c'
test.rlf:21:9: error: unexpected text 'abc', expected an expression
   21 |     s = 'abc'
      |         ^~~~~
hint: strings stand in double quotes: "..."
test.rlf:22:10: error: unexpected name 'x', expected ':=' or '='
   22 |     elif x { y = 3 }
      |          ^
hint: write 'else if'
test.rlf:23:9: error: unexpected '"abc', expected an expression
   23 |     t = "abc
      |         ^~~~
hint: the string is not closed before the end of the line
test.rlf:24:9: error: unexpected '3x', expected an expression
   24 |     n = 3x
      |         ^~
hint: units of numbers are ms s min h, K M, KB MB GB
test.rlf:25:9: error: unexpected name 'k', expected ':=' or '='
   25 |     let k = 5
      |         ^
hint: a name is given by 'name = value' alone
test.rlf:26:11: error: unexpected name 'x', expected ':=' or '='
   26 |     while x { y = 3 }
      |           ^
hint: there is no 'while': use 'for' over s.split(...) and 'break if'
test.rlf:27:14: error: unexpected name 'step', expected 'steps'
   27 |     every 20 step { checkpoint }
      |              ^~~~
hint: write 'every 20 steps { ... }'
test.rlf:28:9: error: unexpected '.', expected an expression
   28 |     r = .5
      |         ^
hint: a number has digits on both sides of its point
test.rlf:29:5: error: unexpected 'data', expected a statement
   29 |     data = 3
      |     ^~~~
hint: 'data' is a reserved word, choose another name
test.rlf:30:11: error: unknown escape in a string
   30 |     u = "a\qb"
      |           ^~
hint: there are \n \t \r \" \\ and \u{1F600}
test.rlf:31:1: error: unexpected 'def', expected a statement
   31 | def f(x) = 3
      | ^~~
test.rlf:9:22: note: this '{' is not closed
    9 | flow g(batch: p[64]) {
      |                      ^
hint: declarations stand outside of flows: is a '}' missing?
=== more than twenty
flow f() {
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
x y
}
--- errors
test.rlf:2:3: error: unexpected name 'y', expected ':=' or '='
    2 | x y
      |   ^
test.rlf:3:3: error: unexpected name 'y', expected ':=' or '='
    3 | x y
      |   ^
test.rlf:4:3: error: unexpected name 'y', expected ':=' or '='
    4 | x y
      |   ^
test.rlf:5:3: error: unexpected name 'y', expected ':=' or '='
    5 | x y
      |   ^
test.rlf:6:3: error: unexpected name 'y', expected ':=' or '='
    6 | x y
      |   ^
test.rlf:7:3: error: unexpected name 'y', expected ':=' or '='
    7 | x y
      |   ^
test.rlf:8:3: error: unexpected name 'y', expected ':=' or '='
    8 | x y
      |   ^
test.rlf:9:3: error: unexpected name 'y', expected ':=' or '='
    9 | x y
      |   ^
test.rlf:10:3: error: unexpected name 'y', expected ':=' or '='
   10 | x y
      |   ^
test.rlf:11:3: error: unexpected name 'y', expected ':=' or '='
   11 | x y
      |   ^
test.rlf:12:3: error: unexpected name 'y', expected ':=' or '='
   12 | x y
      |   ^
test.rlf:13:3: error: unexpected name 'y', expected ':=' or '='
   13 | x y
      |   ^
test.rlf:14:3: error: unexpected name 'y', expected ':=' or '='
   14 | x y
      |   ^
test.rlf:15:3: error: unexpected name 'y', expected ':=' or '='
   15 | x y
      |   ^
test.rlf:16:3: error: unexpected name 'y', expected ':=' or '='
   16 | x y
      |   ^
test.rlf:17:3: error: unexpected name 'y', expected ':=' or '='
   17 | x y
      |   ^
test.rlf:18:3: error: unexpected name 'y', expected ':=' or '='
   18 | x y
      |   ^
test.rlf:19:3: error: unexpected name 'y', expected ':=' or '='
   19 | x y
      |   ^
test.rlf:20:3: error: unexpected name 'y', expected ':=' or '='
   20 | x y
      |   ^
test.rlf:21:3: error: unexpected name 'y', expected ':=' or '='
   21 | x y
      |   ^
5 more errors
=== a body without braces

def f(x)
    y = x
    return y
data d = 3 3
flow g() {
    if x
        y = 3
    for i in 3 { z = 4 }
    w = = 4
}
--- errors
test.rlf:2:9: error: unexpected end of the line, expected '=' or '{'
    2 | def f(x)
      |         ^
hint: write def f(x) = ...
test.rlf:5:12: error: unexpected number 3, expected the end of the line
    5 | data d = 3 3
      |            ^
test.rlf:7:9: error: unexpected end of the line, expected '{'
    7 |     if x
      |         ^
hint: a body stands in braces: { ... }
test.rlf:10:9: error: unexpected '=', expected an expression
   10 |     w = = 4
      |         ^
=== brackets that are not closed

flow g() {
    a = f((1, 2
    b = 3
    c = [1, 2
}
flow h() {
--- errors
test.rlf:3:13: error: unexpected ',', expected ')'
    3 |     a = f((1, 2
      |             ^
hint: a list stands in brackets: [1, 2]
test.rlf:6:1: error: unexpected '}', expected ',' or ']'
    6 | }
      | ^
test.rlf:8:1: error: unexpected end of the file, expected a statement
    8 | 
      | ^
test.rlf:7:10: note: this '{' is not closed
    7 | flow h() {
      |          ^
=== brackets that close nothing

flow g() {
    a = f(1))
    b = 3]
}
}
data x = 3 )
--- errors
test.rlf:3:13: error: unexpected ')', expected the end of the line
    3 |     a = f(1))
      |             ^
test.rlf:4:10: error: unexpected ']', expected the end of the line
    4 |     b = 3]
      |          ^
test.rlf:6:1: error: this '}' closes nothing
    6 | }
      | ^
test.rlf:7:12: error: unexpected ')', expected the end of the line
    7 | data x = 3 )
      |            ^
=== numbers

data a = 1.
data b = .5
data c = 1__0
data d = 10X
data e = 1e999
data f = 0x10
--- errors
test.rlf:2:10: error: unexpected '1.', expected an expression
    2 | data a = 1.
      |          ^~
hint: a number has digits on both sides of its point
test.rlf:3:10: error: unexpected '.', expected an expression
    3 | data b = .5
      |          ^
hint: a number has digits on both sides of its point
test.rlf:4:10: error: unexpected '1__0', expected an expression
    4 | data c = 1__0
      |          ^~~~
hint: units of numbers are ms s min h, K M, KB MB GB
test.rlf:5:10: error: unexpected '10X', expected an expression
    5 | data d = 10X
      |          ^~~
hint: units of numbers are ms s min h, K M, KB MB GB
test.rlf:6:10: error: this number is too large
    6 | data e = 1e999
      |          ^~~~~
test.rlf:7:10: error: unexpected '0x10', expected an expression
    7 | data f = 0x10
      |          ^~~~
hint: units of numbers are ms s min h, K M, KB MB GB
=== strings

data a = "abc
data b = 'abc'
data c = "a\zb"
data d = "\u{d800} \u{110000} \u{41}"
data e = “abc”
--- errors
test.rlf:2:10: error: unexpected '"abc', expected an expression
    2 | data a = "abc
      |          ^~~~
hint: the string is not closed before the end of the line
test.rlf:3:10: error: unexpected text 'abc', expected an expression
    3 | data b = 'abc'
      |          ^~~~~
hint: strings stand in double quotes: "..."
test.rlf:4:12: error: unknown escape in a string
    4 | data c = "a\zb"
      |            ^~
hint: there are \n \t \r \" \\ and \u{1F600}
test.rlf:5:11: error: unknown escape in a string
    5 | data d = "\u{d800} \u{110000} \u{41}"
      |           ^~
hint: there are \n \t \r \" \\ and \u{1F600}
test.rlf:5:20: error: unknown escape in a string
    5 | data d = "\u{d800} \u{110000} \u{41}"
      |                    ^~
hint: there are \n \t \r \" \\ and \u{1F600}
test.rlf:6:10: error: unexpected '“', expected an expression
    6 | data e = “abc”
      |          ^
hint: strings stand in double quotes: "..."
=== words of other languages

flow g() {
    a = b && c
    a = b || c
    a = !b
    a = b ** c
    a = b // c
    a += 1
    a <- 3
    if a then { b = 1 }
    if a { b = 1 } elif c { d = 1 }
    while a { b = 1 }
    let a = 3
    local a = 3
    if a: b = 1
    function f(x) { return x }
    x = a ? b
    import "x"
}
fn f(x) = x
--- errors
test.rlf:3:11: error: unexpected '&&', expected the end of the line
    3 |     a = b && c
      |           ^~
hint: write 'and'
test.rlf:4:11: error: unexpected '||', expected the end of the line
    4 |     a = b || c
      |           ^~
hint: write 'or'
test.rlf:5:9: error: unexpected '!', expected an expression
    5 |     a = !b
      |         ^
hint: write 'not', or '!=' to compare
test.rlf:6:11: error: unexpected '**', expected the end of the line
    6 |     a = b ** c
      |           ^~
hint: a power is written '^'
test.rlf:7:11: error: unexpected '//', expected the end of the line
    7 |     a = b // c
      |           ^~
hint: a comment starts with '#'; a division is one '/'
test.rlf:8:7: error: unexpected '+=', expected ':=' or '='
    8 |     a += 1
      |       ^~
hint: names are given once; a state changes with 's := s + 1'
test.rlf:9:7: error: unexpected '<-', expected ':=' or '='
    9 |     a <- 3
      |       ^~
hint: write '=' to give a name, ':=' to change a state
test.rlf:10:10: error: unexpected name 'then', expected '{'
   10 |     if a then { b = 1 }
      |          ^~~~
hint: a body stands in braces: if c { ... }
test.rlf:11:20: error: unexpected name 'elif', expected the end of the line or 'else'
   11 |     if a { b = 1 } elif c { d = 1 }
      |                    ^~~~
hint: write 'else if'
test.rlf:12:11: error: unexpected name 'a', expected ':=' or '='
   12 |     while a { b = 1 }
      |           ^
hint: there is no 'while': use 'for' over s.split(...) and 'break if'
test.rlf:13:9: error: unexpected name 'a', expected ':=' or '='
   13 |     let a = 3
      |         ^
hint: a name is given by 'name = value' alone
test.rlf:14:11: error: unexpected name 'a', expected ':=' or '='
   14 |     local a = 3
      |           ^
hint: a name is given by 'name = value' alone
test.rlf:15:9: error: unexpected ':', expected '{'
   15 |     if a: b = 1
      |         ^
hint: a body stands in braces, and ':' does not begin one: if c { ... } else { ... }
test.rlf:16:14: error: unexpected name 'f', expected ':=' or '='
   16 |     function f(x) { return x }
      |              ^
hint: write 'def f(x) = ...'
test.rlf:17:14: error: unexpected end of the line, expected ':'
   17 |     x = a ? b
      |              ^
test.rlf:18:5: error: unexpected 'import', expected a statement
   18 |     import "x"
      |     ^~~~~~
hint: declarations stand outside of flows
test.rlf:20:1: error: unexpected name 'fn', expected a declaration
   20 | fn f(x) = x
      | ^~
hint: write 'def f(x) = ...'
=== reserved words

flow g() {
    data = 3
    x = step + update
    for in in x { }
    y.import = 3
    z = y.import
    over = z
}
def update(x) = 3
param flow : int
--- errors
test.rlf:3:5: error: unexpected 'data', expected a statement
    3 |     data = 3
      |     ^~~~
hint: 'data' is a reserved word, choose another name
test.rlf:4:16: error: unexpected 'update', expected an expression
    4 |     x = step + update
      |                ^~~~~~
test.rlf:5:9: error: unexpected 'in', expected a name
    5 |     for in in x { }
      |         ^~
hint: 'in' is a reserved word, choose another name
test.rlf:6:6: error: unexpected '.', expected ':=' or '='
    6 |     y.import = 3
      |      ^
test.rlf:8:5: error: unexpected 'over', expected the end of the line
    8 |     over = z
      |     ^~~~
hint: 'over' is a reserved word, choose another name
test.rlf:10:5: error: unexpected 'update', expected a name
   10 | def update(x) = 3
      |     ^~~~~~
hint: 'update' is a reserved word, choose another name
test.rlf:11:7: error: unexpected 'flow', expected a name
   11 | param flow : int
      |       ^~~~
hint: 'flow' is a reserved word, choose another name
=== statements outside, declarations inside

x = 3
update m minimize 3
flow f() {
    model m = lm("x")
}
--- errors
test.rlf:2:1: error: unexpected name 'x', expected a declaration
    2 | x = 3
      | ^
hint: a constant of the program is a parameter: param x: int = 3
test.rlf:5:5: error: unexpected 'model', expected a statement
    5 |     model m = lm("x")
      |     ^~~~~
hint: declarations stand outside of flows
=== comparisons do not chain, and = is not ==

flow g() {
    a = 1 < b < 3
    if a = 3 { b = 1 }
    minimize a = b
}
flow h() {
    if 1 < step < 3 { b = 1 }
    if 1 == step == 3 { b = 1 }
}
--- errors
test.rlf:3:15: error: unexpected '<', expected the end of the line
    3 |     a = 1 < b < 3
      |               ^
hint: comparisons do not chain: write 'a < b and b < c'
test.rlf:4:10: error: unexpected '=', expected '{'
    4 |     if a = 3 { b = 1 }
      |          ^
hint: '==' compares, '=' only gives a name
test.rlf:5:16: error: unexpected '=', expected the end of the line
    5 |     minimize a = b
      |                ^
hint: '==' compares, '=' only gives a name
test.rlf:8:17: error: unexpected '<', expected '{'
    8 |     if 1 < step < 3 { b = 1 }
      |                 ^
hint: comparisons do not chain: write 'a < b and b < c'
test.rlf:9:18: error: unexpected '==', expected '{'
    9 |     if 1 == step == 3 { b = 1 }
      |                  ^~
hint: comparisons do not chain: write 'a < b and b < c'
=== every counts steps

flow g() {
    every 3 step { checkpoint }
    every 3 { checkpoint }
}
--- errors
test.rlf:3:13: error: unexpected name 'step', expected 'steps'
    3 |     every 3 step { checkpoint }
      |             ^~~~
hint: write 'every 3 steps { ... }'
test.rlf:4:13: error: unexpected '{', expected a name
    4 |     every 3 { checkpoint }
      |             ^
hint: write 'every 3 steps { ... }'
=== place rows

place {
    actor on
    ref on 1..
    x.y on 1, 2 (tp: 3)
    z 3
}
--- errors
test.rlf:3:13: error: unexpected end of the line, expected a number
    3 |     actor on
      |             ^
test.rlf:6:7: error: unexpected number 3, expected 'on', '(' or '.'
    6 |     z 3
      |       ^
=== bytes that are nothing
data a = 3 @ 4
data b = 
data c = 3 $ 4
data d = é
--- errors
test.rlf:1:12: error: unexpected '@', expected the end of the line
    1 | data a = 3 @ 4
      |            ^
hint: values are multiplied by '*'; matrices are inside models alone
test.rlf:2:10: error: unexpected control character, expected an expression
    2 | data b = ?
      |          ^
test.rlf:3:12: error: unexpected '$', expected the end of the line
    3 | data c = 3 $ 4
      |            ^
test.rlf:4:10: error: unexpected 'é', expected an expression
    4 | data d = é
      |          ^
=== nested too deeply: brackets
data a = (((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1)))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))
--- errors
test.rlf:1:210: error: brackets stand more than 200 deep in one another at '('
    1 | ...(((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((1))))))))))))))))))))))))))))))))))))))...
      |                                                                ^
=== nested too deeply: operators
data a = 1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1
--- errors
test.rlf:1:809: error: this expression has more than 400 levels
    1 | ...+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1+1...
      |                                                                ^
hint: give parts of it names of their own
=== nothing

--- errors
=== only a comment
# x
--- errors
=== the file ends inside a block that is dropped
flow f() {
    for mini roll { x = 1
--- errors
test.rlf:2:14: error: unexpected name 'roll', expected 'in'
    2 |     for mini roll { x = 1
      |              ^~~~
=== words that are nearly reserved, or reserved
flow f(batch: prompts[8]) {
    keep = 3
    report = 4
    updat actor minimize x
    updat actor { minimize x }
    update actor maximize x
    update actor { maximize x }
    update actor minimze x
    checkpont
    fro mini in roll.split(parts: 2) { a = 1 }
    maximize mean(x over batch)
    break
    report a = 1
    for m in roll.split(parts: 2) { break }
}
modle m = lm("x")
--- errors
test.rlf:2:10: error: unexpected '=', expected an expression
    2 |     keep = 3
      |          ^
hint: 'keep' is a reserved word, choose another name
test.rlf:3:12: error: unexpected '=', expected a name
    3 |     report = 4
      |            ^
hint: 'report' is a reserved word, choose another name
test.rlf:4:11: error: unexpected name 'actor', expected ':=' or '='
    4 |     updat actor minimize x
      |           ^~~~~
hint: did you mean 'update' by 'updat'?
test.rlf:5:11: error: unexpected name 'actor', expected ':=' or '='
    5 |     updat actor { minimize x }
      |           ^~~~~
hint: did you mean 'update' by 'updat'?
test.rlf:6:18: error: unexpected name 'maximize', expected 'minimize', '(' or '{'
    6 |     update actor maximize x
      |                  ^~~~~~~~
hint: write 'minimize -(...)'
test.rlf:7:29: error: unexpected name 'x', expected ':=' or '='
    7 |     update actor { maximize x }
      |                             ^
hint: write 'minimize -(...)'
test.rlf:8:18: error: unexpected name 'minimze', expected 'minimize', '(' or '{'
    8 |     update actor minimze x
      |                  ^~~~~~~
hint: did you mean 'minimize'?
test.rlf:9:14: error: unexpected end of the line, expected ':=' or '='
    9 |     checkpont
      |              ^
hint: did you mean 'checkpoint' by 'checkpont'?
test.rlf:10:9: error: unexpected name 'mini', expected ':=' or '='
   10 |     fro mini in roll.split(parts: 2) { a = 1 }
      |         ^~~~
hint: did you mean 'for' by 'fro'?
test.rlf:11:14: error: unexpected name 'mean', expected ':=' or '='
   11 |     maximize mean(x over batch)
      |              ^~~~
hint: write 'minimize -(...)'
test.rlf:12:10: error: unexpected end of the line, expected 'if'
   12 |     break
      |          ^
hint: write 'break if c'; 'break if true' leaves in any case
test.rlf:14:43: error: unexpected '}', expected 'if'
   14 |     for m in roll.split(parts: 2) { break }
      |                                           ^
hint: write 'break if c'; 'break if true' leaves in any case
test.rlf:16:1: error: unexpected name 'modle', expected a declaration
   16 | modle m = lm("x")
      | ^~~~~
hint: did you mean 'model'?
=== habits of other languages
import std/loss
flow mine(batch = prompts[8]) { report x = 1 }
flow f(batch: prompts[8]) {
    report reward: x
    every 5 { report x = 1 }
    checkpoint every 5
    checkpoint if c
    a = 0.02 k3(x)
    c = 0,02 * x
    d = x if c else y
    e = if c then a else b
    g = a & b
    update actor
    h = adamw(lr = lr)
    base = ref.logprob(roll) +
    other = 3
}
--- errors
test.rlf:1:8: error: unexpected name 'std', expected a string
    1 | import std/loss
      |        ^~~
hint: a file is named by a text: import "std/loss"
test.rlf:2:17: error: unexpected '=', expected ':'
    2 | flow mine(batch = prompts[8]) { report x = 1 }
      |                 ^
hint: a set of the flow is given by ':': batch: prompts[8]
test.rlf:4:18: error: unexpected ':', expected '='
    4 |     report reward: x
      |                  ^
hint: a metric is given by '=': report name = value
test.rlf:5:13: error: unexpected '{', expected a name
    5 |     every 5 { report x = 1 }
      |             ^
hint: write 'every 5 steps { ... }'
test.rlf:6:16: error: unexpected 'every', expected the end of the line
    6 |     checkpoint every 5
      |                ^~~~~
hint: write 'every 5 steps { checkpoint }'
test.rlf:7:16: error: unexpected 'if', expected the end of the line
    7 |     checkpoint if c
      |                ^~
hint: write 'if c { checkpoint }'
test.rlf:8:14: error: unexpected name 'k3', expected the end of the line
    8 |     a = 0.02 k3(x)
      |              ^~
hint: a product is written with '*'
test.rlf:9:10: error: unexpected ',', expected the end of the line
    9 |     c = 0,02 * x
      |          ^
hint: the point of a decimal number is '.', as in 0.02
test.rlf:10:11: error: unexpected 'if', expected the end of the line
   10 |     d = x if c else y
      |           ^~
hint: a choice between values is written 'c ? a : b'
test.rlf:11:9: error: unexpected 'if', expected an expression
   11 |     e = if c then a else b
      |         ^~
hint: a choice between values is written 'c ? a : b'
test.rlf:12:11: error: unexpected '&', expected the end of the line
   12 |     g = a & b
      |           ^
hint: write 'and'
test.rlf:13:17: error: unexpected end of the line, expected 'minimize', '(' or '{'
   13 |     update actor
      |                 ^
hint: write 'update m minimize LOSS', or 'update m { ... }' with a minimize in it
test.rlf:14:18: error: unexpected '=', expected ':', ')' or ','
   14 |     h = adamw(lr = lr)
      |                  ^
hint: the name of an argument ends with ':', as in lr: lr; '==' compares
test.rlf:16:11: error: unexpected '=', expected the end of the line
   16 |     other = 3
      |           ^
hint: line 15 ends with '+', so it goes on here: is its rest missing?
=== a comment of another language
flow f(batch: prompts[8]) {
    a = 1
    -- a comment
    report x = a
}
--- errors
test.rlf:3:10: error: unexpected name 'comment', expected the end of the line
    3 |     -- a comment
      |          ^~~~~~~
hint: a comment starts with '#'
=== bodies of other languages
flow f(batch: p[4]) {
    if step > 1 then
    if a then b = 2
    for mini in roll.split(parts: 2) do
    if (step > 1) report b = 1
    x = if step > 1 then 1 else 2
}
--- errors
test.rlf:2:17: error: unexpected name 'then', expected '{'
    2 |     if step > 1 then
      |                 ^~~~
hint: a body stands in braces: if c { ... }
test.rlf:3:10: error: unexpected name 'then', expected '{'
    3 |     if a then b = 2
      |          ^~~~
hint: a body stands in braces: if c { ... }
test.rlf:4:38: error: unexpected name 'do', expected '{' or ','
    4 |     for mini in roll.split(parts: 2) do
      |                                      ^~
hint: a body stands in braces: for a in s.split(...) { ... }
test.rlf:5:19: error: unexpected 'report', expected '{'
    5 |     if (step > 1) report b = 1
      |                   ^~~~~~
hint: a body stands in braces: { ... }
test.rlf:6:9: error: unexpected 'if', expected an expression
    6 |     x = if step > 1 then 1 else 2
      |         ^~
hint: a choice between values is written 'c ? a : b'
=== a byte order mark is in no column
﻿data x = = 3
data y = = 3
--- errors
test.rlf:1:10: error: unexpected '=', expected an expression
    1 | data x = = 3
      |          ^
test.rlf:2:10: error: unexpected '=', expected an expression
    2 | data y = = 3
      |          ^
=== an axis, and arguments by '='
flow f(b: d[2]) {
    x = mean(m.logprob(page, 2), dim=-1)
    report y = 2 * sum(page.length, axis=0, keepdim=true)
    u = m.generate(b, n=4, max_new=8)
    v = m.generate(b, dim=4)
    w = m.generate(b, n=
}
--- errors
test.rlf:2:37: error: unexpected '=', expected ':', ')' or ','
    2 |     x = mean(m.logprob(page, 2), dim=-1)
      |                                     ^
hint: write mean(m.logprob(page, 2) over tokens), or over group, or over batch
test.rlf:3:41: error: unexpected '=', expected ':', ')' or ','
    3 |     report y = 2 * sum(page.length, axis=0, keepdim=true)
      |                                         ^
hint: write sum(page.length over tokens), or over group, or over batch
test.rlf:4:24: error: unexpected '=', expected ':', ')' or ','
    4 |     u = m.generate(b, n=4, max_new=8)
      |                        ^
hint: the name of an argument ends with ':', as in n: 4; '==' compares
test.rlf:5:26: error: unexpected '=', expected ':', ')' or ','
    5 |     v = m.generate(b, dim=4)
      |                          ^
hint: the name of an argument ends with ':', as in dim: 4; '==' compares
test.rlf:6:24: error: unexpected '=', expected ':', ')' or ','
    6 |     w = m.generate(b, n=
      |                        ^
hint: the name of an argument ends with ':', as in n: ...; '==' compares
=== sets walked side by side
flow f() {
    for w, l in win.split(parts: 3), lose.split(parts: 3) {
    }
}
--- errors
test.rlf:2:10: error: unexpected ',', expected 'in'
    2 |     for w, l in win.split(parts: 3), lose.split(parts: 3) {
      |          ^
hint: sets walked side by side each have their 'in': for a in x.split(parts: 2), b in y.split(parts: 2)
=== a comma before what a parameter is for
param path : path = "models/arith", "the policy to start from"
--- errors
test.rlf:1:35: error: unexpected ',', expected the end of the line, a string or 'in'
    1 | param path : path = "models/arith", "the policy to start from"
      |                                   ^
hint: what a parameter is for stands behind its value without a comma: param n = 8 "prompts of a step"
=== bytes that are not UTF-8, in a comment
def f(x) = 3
# caf�
--- errors
test.rlf:2:6: error: the byte 0xe9 does not belong to UTF-8
    2 | # caf?
      |      ^
hint: the text of a program is UTF-8: save the file so
=== bytes that are not UTF-8, in a string: a surrogate
def f(x) = "���"
--- errors
test.rlf:1:13: error: the byte 0xed does not belong to UTF-8
    1 | def f(x) = "???"
      |             ^
hint: the text of a program is UTF-8: save the file so
=== a byte order mark at the beginning is in no column
﻿def f(x) = �
--- errors
test.rlf:1:12: error: the byte 0xff does not belong to UTF-8
    1 | def f(x) = ?
      |            ^
hint: the text of a program is UTF-8: save the file so
=== lines that end with a carriage return alone
# a commentdef f(x) = 3def g(x) = 4
--- errors
test.rlf:1:12: error: a carriage return (CR) without a line feed (LF)
    1 | # a comment
      |            ^
hint: lines end with LF, or with CR LF
=== lines that end with CR LF
def f(x) = 3
def g(x) = = 4
--- errors
test.rlf:2:12: error: unexpected '=', expected an expression
    2 | def g(x) = = 4
      |            ^
hint: the arguments stand in parentheses: def g(x) = ...
=== a value outside of everything is a parameter
n = 4
import "a"
m: int = 4
import "b"
rate = 1e-4
import "c"
name = "x"
import "d"
prompts = jsonl("p.jsonl", prompt: "question", answer: "answer", grade: "the grade of it")
--- errors
test.rlf:1:1: error: unexpected name 'n', expected a declaration
    1 | n = 4
      | ^
hint: a constant of the program is a parameter: param n: int = 4
test.rlf:3:1: error: unexpected name 'm', expected a declaration
    3 | m: int = 4
      | ^
hint: a constant of the program is a parameter: param m: int = 4
test.rlf:5:1: error: unexpected name 'rate', expected a declaration
    5 | rate = 1e-4
      | ^~~~
hint: a constant of the program is a parameter: param rate: float = 1e-4
test.rlf:7:1: error: unexpected name 'name', expected a declaration
    7 | name = "x"
      | ^~~~
hint: a constant of the program is a parameter: param name: text = "x"
test.rlf:9:1: error: unexpected name 'prompts', expected a declaration
    9 | prompts = jsonl("p.jsonl", prompt: "question", answer: "answer", grade: "the grade of it")
      | ^~~~~~~
hint: a declaration begins with its kind: data, model, hook, state, param or def prompts
=== an interval in parentheses
param n : int = 4 in (2, 64)
--- errors
test.rlf:1:24: error: unexpected ',', expected ')'
    1 | param n : int = 4 in (2, 64)
      |                        ^
hint: a range is written 2..64, a list of values [a, b]
=== statements of other libraries
flow f(batch: prompts[8]) {
    r: judge(roll)
    s: float = mean(r over batch)
    save
    log({"reward": mean(r over batch)})
    optimizer.step()
    loss.backward()
    wandb.log(r)
    checkpoint()
    rate[batch] := mean(r over group)
}
--- errors
test.rlf:2:6: error: unexpected ':', expected ':=' or '='
    2 |     r: judge(roll)
      |      ^
hint: a name is given by '=', without a type: r = judge(roll)
test.rlf:3:6: error: unexpected ':', expected ':=' or '='
    3 |     s: float = mean(r over batch)
      |      ^
hint: a name is given by '=', without a type: s = mean(r over batch)
test.rlf:4:9: error: unexpected end of the line, expected ':=' or '='
    4 |     save
      |         ^
hint: write checkpoint, as in: every 5 steps { checkpoint }
test.rlf:5:8: error: unexpected '(', expected ':=' or '='
    5 |     log({"reward": mean(r over batch)})
      |        ^
hint: write report name = value
test.rlf:6:14: error: unexpected '.', expected ':=' or '='
    6 |     optimizer.step()
      |              ^
hint: an update steps its optimizer: update m { minimize LOSS }
test.rlf:7:9: error: unexpected '.', expected ':=' or '='
    7 |     loss.backward()
      |         ^
hint: an update computes gradients: update m { minimize LOSS }
test.rlf:8:10: error: unexpected '.', expected ':=' or '='
    8 |     wandb.log(r)
      |          ^
hint: write report name = value
test.rlf:9:15: error: unexpected '(', expected the end of the line
    9 |     checkpoint()
      |               ^
hint: checkpoint has no parentheses
test.rlf:10:9: error: unexpected '[', expected ':=' or '='
   10 |     rate[batch] := mean(r over group)
      |         ^
hint: a state of rows changes for those of the step, without an index: rate := mean(r over group)
=== metrics that are no names
flow f(batch: prompts[8]) {
    report train/reward = 1
    report "x"
    report(mean(r over batch))
}
--- errors
test.rlf:2:17: error: unexpected '/', expected '='
    2 |     report train/reward = 1
      |                 ^
hint: a metric is one name: report train_reward = ...
test.rlf:3:12: error: unexpected string, expected a name
    3 |     report "x"
      |            ^~~
hint: the name of a metric has no quotes: report name = value
test.rlf:4:11: error: unexpected '(', expected a name
    4 |     report(mean(r over batch))
      |           ^
hint: report has no parentheses: report name = mean(r over batch)
=== texts of other languages
"""A program."""
flow f(batch: prompts[8]) {
    """Its flow."""
    a = b
    c = d – e
}
--- errors
test.rlf:1:1: error: unexpected string, expected a declaration
    1 | """A program."""
      | ^~
hint: a comment starts with '#'
test.rlf:3:5: error: unexpected string, expected a statement
    3 |     """Its flow."""
      |     ^~
hint: a comment starts with '#'
test.rlf:4:8: error: unexpected ' ', expected an expression
    4 |     a = b
      |        ^
hint: this is no plain blank, as copied texts have it: write one
test.rlf:5:11: error: unexpected '–', expected the end of the line
    5 |     c = d – e
      |           ^
hint: write a plain '-'
=== two on one line
flow f(batch: prompts[8]) {
    r = judge(roll) s = r + 1
    report r = 1 report s = 2
}
place { actor on 0 ref on 0 }
place { actor on gpu[0] }
place { actor.update on 0 (schedule: 1f1b) }
--- errors
test.rlf:2:21: error: unexpected name 's', expected the end of the line
    2 |     r = judge(roll) s = r + 1
      |                     ^
hint: a ';' or a new line stands before 's'
test.rlf:3:18: error: unexpected 'report', expected the end of the line or ','
    3 |     report r = 1 report s = 2
      |                  ^~~~~~
hint: a ';' or a new line stands before 'report'
test.rlf:5:20: error: unexpected name 'ref', expected the end of the line, '..', '(' or ','
    5 | place { actor on 0 ref on 0 }
      |                    ^~~
hint: a ';' or a new line stands before 'ref'
test.rlf:6:18: error: unexpected name 'gpu', expected a number
    6 | place { actor on gpu[0] }
      |                  ^~~
hint: ranks are numbers from 0 on: on 0, or on 0..3
test.rlf:7:38: error: unexpected '1f1b', expected an expression
    7 | place { actor.update on 0 (schedule: 1f1b) }
      |                                      ^~~~
hint: a text stands in quotes: "1f1b"
=== a body that begins with ':' is one error
flow f(batch: prompts[8]) {
    for mini in range(2):
        a = 1
    }
    report b = 2
}
--- errors
test.rlf:2:25: error: unexpected ':', expected '{' or ','
    2 |     for mini in range(2):
      |                         ^
hint: a body stands in braces, and ':' does not begin one: for mini in s.split(parts: 4) { ... }
=== a declaration among statements
flow f(batch: prompts[8]) {
    data = r
    def g(x) = x
}
--- errors
test.rlf:2:5: error: unexpected 'data', expected a statement
    2 |     data = r
      |     ^~~~
hint: 'data' is a reserved word, choose another name
test.rlf:3:5: error: unexpected 'def', expected a statement
    3 |     def g(x) = x
      |     ^~~
hint: declarations stand outside of flows
