What is wrong with a cluster file, at its place.
=== numbers that no device has: zero, negative, a thousand times too small, not finite
device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
cluster c = net(a100_box)
--- errors
test.rlf:1:22: error: 'bf16:' of 'gpu' is 312, and must be from 1000000 to 1e+18
    1 | device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
      |                      ^~~
hint: floating-point operations a second in bf16, as in 312e12
test.rlf:1:32: error: 'f32:' of 'gpu' is 0, and must be from 1000000 to 1e+18
    1 | device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
      |                                ^
hint: floating-point operations a second in f32, as in 19.5e12
test.rlf:1:43: error: 'memory:' of 'gpu' is -80000000000, and must be from 1000000 to 1e+16
    1 | device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
      |                                           ^~~~~
hint: bytes, as in 80e9
test.rlf:1:67: error: 1e+300 * 1e+300 is infinite
    1 | device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
      |                                                             ~~~~~ ^ ~~~~~
hint: numbers go up to 1.8e308: write a smaller one; where no limit is meant, leave the limit out
test.rlf:1:86: error: 1 / 0 is infinite
    1 | device a = gpu(bf16: 312, f32: 0, memory: -80e9, bandwidth: 1e300 * 1e300, launch: 1 / 0)
      |                                                                                    ~ ^ ~
hint: where the divisor may be 0 choose another value: d > 0 ? x / d : 0
=== a number that is too large to be one
device a = cpu(f32: 1e999, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
cluster c = net(a100_box)
--- errors
test.rlf:1:21: error: this number is too large
    1 | device a = cpu(f32: 1e999, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                     ^~~~~
=== a unit of another kind
device a = gpu(bf16: 312GB, f32: 19.5e12, memory: 80s, bandwidth: 2.04e12, launch: 6MB)
cluster c = net(a100_box)
--- errors
test.rlf:1:22: error: 'bf16:' of 'gpu' is a number, not a number of bytes
    1 | device a = gpu(bf16: 312GB, f32: 19.5e12, memory: 80s, bandwidth: 2.04e12, launch: 6MB)
      |                      ^~~~~
hint: write it without the unit
test.rlf:1:51: error: 'memory:' of 'gpu' is a number of bytes, not a time
    1 | device a = gpu(bf16: 312GB, f32: 19.5e12, memory: 80s, bandwidth: 2.04e12, launch: 6MB)
      |                                                   ^~~
hint: units of bytes are KB MB GB
test.rlf:1:84: error: 'launch:' of 'gpu' is a time, not a number of bytes
    1 | device a = gpu(bf16: 312GB, f32: 19.5e12, memory: 80s, bandwidth: 2.04e12, launch: 6MB)
      |                                                                                    ^~~
hint: units of time are ms s min h
=== what lacks, and what is misspelled
device a = gpu(bf16: 312e12, memory: 80e9, bandwith: 2e12, launch: 6e-6, cores: 3)
cluster c = net(a100_box)
--- errors
test.rlf:1:44: error: 'gpu' has no argument 'bandwith:'
    1 | device a = gpu(bf16: 312e12, memory: 80e9, bandwith: 2e12, launch: 6e-6, cores: 3)
      |                                            ^~~~~~~~
hint: did you mean 'bandwidth:'?
test.rlf:1:74: error: 'gpu' has no argument 'cores:'
    1 | device a = gpu(bf16: 312e12, memory: 80e9, bandwith: 2e12, launch: 6e-6, cores: 3)
      |                                                                          ^~~~~
hint: it has bf16:, f32:, memory:, bandwidth:, launch:, profile:
=== an argument that is no number
device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
cluster c = net(a100_box)
--- errors
test.rlf:1:22: error: 'bf16:' of 'gpu' is a number, and this is a text
    1 | device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
      |                      ^~~~~~
test.rlf:1:35: error: there is nothing named 'h100'
    1 | device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
      |                                   ^~~~
test.rlf:1:49: error: a number is wanted, and this is a list
    1 | device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
      |                                                 ^~~
test.rlf:1:65: error: 'sqrt' is a function: it is used as sqrt(...)
    1 | device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
      |                                                                 ^~~~
test.rlf:1:79: error: there is nothing named 'x'
    1 | device a = gpu(bf16: "fast", f32: h100, memory: [1], bandwidth: sqrt, launch: x.y)
      |                                                                               ^
=== what has no value before a run, or means nothing here
device a = cpu(f32: step, memory: mean(3 over batch), bandwidth: a.b(3), launch: max(1, 2))
cluster c = net(a100_box)
--- errors
test.rlf:1:21: error: there is nothing named 'step'
    1 | device a = cpu(f32: step, memory: mean(3 over batch), bandwidth: a.b(3), launch: max(1, 2))
      |                     ^~~~
test.rlf:1:47: error: 'over batch' takes one per prompt, sample or token, and this is a scalar
    1 | device a = cpu(f32: step, memory: mean(3 over batch), bandwidth: a.b(3), launch: max(1, 2))
      |                                        ~      ^~~~~
hint: it is one number already
test.rlf:1:66: error: there is nothing named 'a'
    1 | device a = cpu(f32: step, memory: mean(3 over batch), bandwidth: a.b(3), launch: max(1, 2))
      |                                                                  ^
test.rlf:1:82: error: 'launch:' of 'cpu' is 2, and must be from 0 to 0.1
    1 | device a = cpu(f32: step, memory: mean(3 over batch), bandwidth: a.b(3), launch: max(1, 2))
      |                                                                                  ^~~~~~~~~
hint: seconds to start an operation, as in 6e-6
=== an argument twice, an argument without a name, a reduction
device a = cpu(f32: 1e12, f32: 2e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
device b = cpu(1e12, f32: 2e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
machine m = node(b over batch, count: 8)
--- errors
test.rlf:1:27: error: 'cpu' already has 'f32'
    1 | device a = cpu(f32: 1e12, f32: 2e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                           ^~~~~~~~~
test.rlf:2:16: error: 'cpu' takes no argument without a name
    2 | device b = cpu(1e12, f32: 2e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                ^~~~
test.rlf:3:13: error: 'node' lacks 'cores:'
    3 | machine m = node(b over batch, count: 8)
      |             ^~~~
hint: cores of the machine, as in 96
test.rlf:3:18: error: 'node' takes the name of a device here
    3 | machine m = node(b over batch, count: 8)
      |                  ^~~~~~~~~~~~
=== f32 and bf16 exchanged
device a = gpu(bf16: 19.5e12, f32: 312e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
cluster c = net(a100_box)
--- errors
test.rlf:1:36: error: f32 is faster than bf16 here
    1 | device a = gpu(bf16: 19.5e12, f32: 312e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                                    ^~~~~~
hint: no device is: were the two exchanged?
=== a CPU has no half
device a = cpu(half: 19.5e12, f32: 3e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
cluster c = net(a100_box)
--- errors
test.rlf:1:16: error: 'cpu' has no argument 'half:'
    1 | device a = cpu(half: 19.5e12, f32: 3e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                ^~~~
hint: it has bf16:, f32:, memory:, bandwidth:, launch:, profile:
=== links that are faster than the memory at their ends
machine m = node(a100, count: 8, link: 3e12, start: 0, host: 1e12, copy: 2e10, cores: 4)
machine n = node(a100, host: 1e12, copy: 3e12, cores: 4)
cluster c = net(m)
--- errors
test.rlf:1:40: error: this is faster than the memory of its devices
    1 | machine m = node(a100, count: 8, link: 3e12, start: 0, host: 1e12, copy: 2e10, cores: 4)
      |                                        ^~~~
hint: bytes pass through that memory: its bandwidth: is the most
test.rlf:2:42: error: this is faster than the memory of its devices
    2 | machine n = node(a100, host: 1e12, copy: 3e12, cores: 4)
      |                                          ^~~~
hint: bytes pass through that memory: its bandwidth: is the most
=== links between machines that are faster than the memory of all their devices
device d = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
machine one = node(d, host: 1e12, copy: 2e10, cores: 4)
machine two = node(d, count: 2, link: 3e11, start: 8e-6, host: 1e12, copy: 2e10, cores: 4)
cluster a = net(one, count: 2, link: 2.1e12, start: 2e-5)
cluster b = net(one, two, link: 4e12, start: 2e-5)
cluster c = net(two, one, link: [25e9, 1e17], start: 2e-5)
cluster e = net(one, count: 2, link: 2e12, start: 2e-5)
--- errors
test.rlf:4:38: error: this is faster than the memory of all devices of a machine 'one' (2e+12)
    4 | cluster a = net(one, count: 2, link: 2.1e12, start: 2e-5)
      |                                      ^~~~~~
hint: bytes pass through that memory: the sum of bandwidth: is the most
test.rlf:5:33: error: this is faster than the memory of all devices of a machine 'one' (2e+12)
    5 | cluster b = net(one, two, link: 4e12, start: 2e-5)
      |                                 ^~~~
hint: bytes pass through that memory: the sum of bandwidth: is the most
test.rlf:5:33: warning: machines are linked faster than all devices in one, which have 6e+11 together
    5 | cluster b = net(one, two, link: 4e12, start: 2e-5)
      |                                 ^~~~
hint: were 'link:' of node and of net exchanged?
test.rlf:6:40: error: this is faster than the memory of all devices of a machine 'one' (2e+12)
    6 | cluster c = net(two, one, link: [25e9, 1e17], start: 2e-5)
      |                                        ^~~~
hint: bytes pass through that memory: the sum of bandwidth: is the most
=== devices that are not there
machine m = node(a10, host: 1e12, copy: 2e10, cores: 4)
machine n = node(zebra, host: 1e12, copy: 2e10, cores: 4)
machine o = node("a100", host: 1e12, copy: 2e10, cores: 4)
machine p = node(8, host: 1e12, copy: 2e10, cores: 4)
machine q = node(m, host: 1e12, copy: 2e10, cores: 4)
cluster c = net(m)
--- errors
test.rlf:1:18: error: there is no device named 'a10'
    1 | machine m = node(a10, host: 1e12, copy: 2e10, cores: 4)
      |                  ^~~
hint: did you mean 'a100'?
test.rlf:2:18: error: there is no device named 'zebra'
    2 | machine n = node(zebra, host: 1e12, copy: 2e10, cores: 4)
      |                  ^~~~~
hint: declare it: device zebra = gpu(...)
test.rlf:3:18: error: 'node' takes the name of a device here
    3 | machine o = node("a100", host: 1e12, copy: 2e10, cores: 4)
      |                  ^~~~~~
hint: write it without quotes
test.rlf:4:18: error: 'node' takes the name of a device here
    4 | machine p = node(8, host: 1e12, copy: 2e10, cores: 4)
      |                  ^
hint: a number has a name before it, as in count: 8
test.rlf:5:18: error: 'node' takes a device, and 'm' is a machine
    5 | machine q = node(m, host: 1e12, copy: 2e10, cores: 4)
      |                  ^
test.rlf:1:9: note: it is declared here
    1 | machine m = node(a10, host: 1e12, copy: 2e10, cores: 4)
      |         ^
=== a machine without devices, or with two kinds
machine m = node(count: 8, host: 1e12, copy: 2e10, cores: 4)
machine n = node()
machine o = node(a100, h100, host: 1e12, copy: 2e10, cores: 4)
machine p = node(a100, 8, host: 1e12, copy: 2e10, cores: 4)
cluster c = net(m)
--- errors
test.rlf:1:13: error: a machine without devices
    1 | machine m = node(count: 8, host: 1e12, copy: 2e10, cores: 4)
      |             ^~~~
hint: name their kind first: node(a100, count: 8, ...)
test.rlf:2:13: error: 'node' lacks 'cores:'
    2 | machine n = node()
      |             ^~~~
hint: cores of the machine, as in 96
test.rlf:3:24: error: the devices of a machine are of one kind, which is named already
    3 | machine o = node(a100, h100, host: 1e12, copy: 2e10, cores: 4)
      |                        ^~~~
hint: devices of another kind are in machines of their own
test.rlf:4:24: error: the devices of a machine are of one kind, which is named already
    4 | machine p = node(a100, 8, host: 1e12, copy: 2e10, cores: 4)
      |                        ^
hint: how many there are has a name before it, as in count: 8
=== links that lack, links of one device, half a device
machine m = node(a100, count: 8, host: 1e12, copy: 2e10, cores: 4)
machine n = node(a100, count: 8, link: 1e9, host: 1e12, copy: 2e10, cores: 4)
machine o = node(a100, link: 1e9, start: 0, host: 1e12, copy: 2e10, cores: 4)
machine p = node(a100, count: 2.5, link: 1e9, start: 0, host: 1e12, copy: 2e10, cores: 0)
cluster c = net(m)
--- errors
test.rlf:1:13: error: 'node' of several devices lacks 'link:'
    1 | machine m = node(a100, count: 8, host: 1e12, copy: 2e10, cores: 4)
      |             ^~~~
hint: bytes a second from a device to others of the machine, as in 300e9
test.rlf:2:13: error: 'node' of several devices lacks 'start:'
    2 | machine n = node(a100, count: 8, link: 1e9, host: 1e12, copy: 2e10, cores: 4)
      |             ^~~~
hint: seconds that a message inside the machine takes at least, as in 8e-6
test.rlf:3:30: error: a single device has no 'link:' to others
    3 | machine o = node(a100, link: 1e9, start: 0, host: 1e12, copy: 2e10, cores: 4)
      |                              ^~~
hint: say how many there are: count: 8
test.rlf:4:31: error: 'count:' of 'node' is a whole number, not 2.5
    4 | machine p = node(a100, count: 2.5, link: 1e9, start: 0, host: 1e12, copy: 2e10, cores: 0)
      |                               ^~~
hint: devices of the machine, as in 8
test.rlf:4:88: error: 'cores:' of 'node' is 0, and must be from 1 to 1048576
    4 | machine p = node(a100, count: 2.5, link: 1e9, start: 0, host: 1e12, copy: 2e10, cores: 0)
      |                                                                                        ^
hint: cores of the machine, as in 96
=== memory beside GPUs, not beside CPUs
device c = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine m = node(c, host: 1e12, cores: 4)
machine n = node(c, copy: 1e10, cores: 4)
machine o = node(a100, host: 1e12, cores: 4)
machine p = node(a100, copy: 1e10, cores: 4)
cluster d = net(m)
--- errors
test.rlf:2:27: error: a machine of CPUs has no 'host:'
    2 | machine m = node(c, host: 1e12, cores: 4)
      |                           ^~~~
hint: its memory is that of its devices: leave it out
test.rlf:3:27: error: a machine of CPUs has no 'copy:'
    3 | machine n = node(c, copy: 1e10, cores: 4)
      |                           ^~~~
hint: its memory is that of its devices: leave it out
test.rlf:4:13: error: 'node' of GPUs lacks 'copy:'
    4 | machine o = node(a100, host: 1e12, cores: 4)
      |             ^~~~
hint: bytes a second between the machine's memory and a device, as in 20e9
test.rlf:5:13: error: 'node' of GPUs lacks 'host:'
    5 | machine p = node(a100, copy: 1e10, cores: 4)
      |             ^~~~
hint: bytes of the machine's own memory, as in 1e12
=== a net without machines, with unknown ones, with one twice
cluster a = net()
cluster b = net(count: 3)
cluster c = net(a100_boy)
cluster d = net(a100)
cluster e = net(a100_box, h100_box, a100_box, link: 25e9, start: 0)
cluster f = net(a100, h100_box, link: 25e9, start: 0)
--- errors
test.rlf:1:13: error: a net without machines
    1 | cluster a = net()
      |             ^~~
hint: name them first: net(box, count: 16, ...)
test.rlf:2:13: error: a net without machines
    2 | cluster b = net(count: 3)
      |             ^~~
hint: name them first: net(box, count: 16, ...)
test.rlf:3:17: error: there is no machine named 'a100_boy'
    3 | cluster c = net(a100_boy)
      |                 ^~~~~~~~
hint: did you mean 'a100_box'?
test.rlf:4:17: error: this takes a machine, and 'a100' is a device
    4 | cluster d = net(a100)
      |                 ^~~~
test.rlf:5:37: error: 'a100_box' is named twice
    5 | cluster e = net(a100_box, h100_box, a100_box, link: 25e9, start: 0)
      |                                     ^~~~~~~~
test.rlf:5:17: note: first here
    5 | cluster e = net(a100_box, h100_box, a100_box, link: 25e9, start: 0)
      |                 ^~~~~~~~
hint: 'count:' says how many there are of it
test.rlf:6:17: error: this takes a machine, and 'a100' is a device
    6 | cluster f = net(a100, h100_box, link: 25e9, start: 0)
      |                 ^~~~
=== numbers of machines, and lists of them
cluster a = net(a100_box, count: 0)
cluster b = net(a100_box, count: 16)
cluster c = net(a100_box, count: [16, 2], link: 25e9, start: 0)
cluster d = net(a100_box, h100_box, count: [16], link: 25e9, start: 0)
cluster e = net(a100_box, h100_box, count: [16, 0], link: 25e9, start: 0)
cluster f = net(a100_box, h100_box, count: [16, 2], link: [25e9, 1], start: 0)
cluster g = net(a100_box, h100_box, count: [16, 2s], link: 25e9, start: 0)
cluster h = net(a100_box, h100_box, link: 25e9)
cluster i = net(a100_box, link: 25e9, start: 0)
--- errors
test.rlf:1:34: error: 'count:' of 'net' is 0, and must be from 1 to 65536
    1 | cluster a = net(a100_box, count: 0)
      |                                  ^
hint: machines, as in 16; of several kinds a list, as in [16, 4]
test.rlf:2:13: error: 'net' of several machines lacks 'link:'
    2 | cluster b = net(a100_box, count: 16)
      |             ^~~
hint: bytes a second from a machine to the others, as in 25e9; where kinds differ a list
test.rlf:3:34: error: 'count:' has 2 numbers for 1 kind of machines
    3 | cluster c = net(a100_box, count: [16, 2], link: 25e9, start: 0)
      |                                  ^~~~~~~
test.rlf:4:44: error: 'count:' has 1 number for 2 kinds of machines
    4 | cluster d = net(a100_box, h100_box, count: [16], link: 25e9, start: 0)
      |                                            ^~~~
test.rlf:5:49: error: 'count:' of 'net' is 0, and must be from 1 to 65536
    5 | cluster e = net(a100_box, h100_box, count: [16, 0], link: 25e9, start: 0)
      |                                                 ^
hint: machines, as in 16; of several kinds a list, as in [16, 4]
test.rlf:6:66: error: 'link:' of 'net' is 1, and must be from 1000000 to 1e+18
    6 | cluster f = net(a100_box, h100_box, count: [16, 2], link: [25e9, 1], start: 0)
      |                                                                  ^
hint: bytes a second from a machine to the others, as in 25e9; where kinds differ a list
test.rlf:7:49: error: a number is wanted, and this is a time
    7 | cluster g = net(a100_box, h100_box, count: [16, 2s], link: 25e9, start: 0)
      |                                                 ^~
hint: write it without the unit
test.rlf:8:13: error: 'net' of several machines lacks 'start:'
    8 | cluster h = net(a100_box, h100_box, link: 25e9)
      |             ^~~
hint: seconds that a message between machines takes at least, as in 2e-5
test.rlf:9:33: error: a single machine has no 'link:' to others
    9 | cluster i = net(a100_box, link: 25e9, start: 0)
      |                                 ^~~~
hint: say how many there are: count: 8
=== GPUs and CPUs
device c = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine m = node(c, cores: 4)
cluster a = net(a100_box, m, link: 25e9, start: 0)
cluster b = net(m, a100_box, link: 25e9, start: 0)
--- errors
test.rlf:3:27: error: 'm' has CPUs, and 'a100_box' has GPUs
    3 | cluster a = net(a100_box, m, link: 25e9, start: 0)
      |                           ^
hint: a run computes on GPUs or on CPUs: declare two clusters
test.rlf:4:20: error: 'a100_box' has GPUs, and 'm' has CPUs
    4 | cluster b = net(m, a100_box, link: 25e9, start: 0)
      |                    ^~~~~~~~
hint: a run computes on GPUs or on CPUs: declare two clusters
=== more devices than a cluster can have
cluster a = net(a100_box, count: 8192, link: 25e9, start: 0)
cluster b = net(a100_box, count: 8193, link: 25e9, start: 0)
--- errors
test.rlf:2:13: error: 'b' has more than 65536 devices, the most that a cluster can have
    2 | cluster b = net(a100_box, count: 8193, link: 25e9, start: 0)
      |             ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
=== a name declared twice, of any kind
device x = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine x = node(a100, host: 1e12, copy: 2e10, cores: 4)
cluster c = net(a100_box)
cluster c = net(a100_box)
--- errors
test.rlf:2:9: error: 'x' is declared twice
    2 | machine x = node(a100, host: 1e12, copy: 2e10, cores: 4)
      |         ^
test.rlf:1:8: note: first here
    1 | device x = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
      |        ^
test.rlf:4:9: error: 'c' is declared twice
    4 | cluster c = net(a100_box)
      |         ^
test.rlf:3:9: note: first here
    3 | cluster c = net(a100_box)
      |         ^
=== made by another word
device a = cuda(f32: 1e12)
device b = gpus(f32: 1e12)
device c = 5
device d = a.gpu()
machine m = net(a100)
cluster n = node(a100)
--- errors
test.rlf:1:12: error: nothing named 'cuda(...)' makes a device
    1 | device a = cuda(f32: 1e12)
      |            ^~~~
hint: it is made by gpu(...) or cpu(...)
test.rlf:2:12: error: nothing named 'gpus(...)' makes a device
    2 | device b = gpus(f32: 1e12)
      |            ^~~~
hint: did you mean 'gpu'?
test.rlf:3:12: error: this does not make a device
    3 | device c = 5
      |            ^
hint: it is made by gpu(...) or cpu(...)
test.rlf:4:12: error: this does not make a device
    4 | device d = a.gpu()
      |            ^~~~~~~
hint: it is made by gpu(...) or cpu(...)
test.rlf:5:13: error: nothing named 'net(...)' makes a machine
    5 | machine m = net(a100)
      |             ^~~
hint: it is made by node(...)
test.rlf:6:13: error: nothing named 'node(...)' makes a cluster
    6 | cluster n = node(a100)
      |             ^~~~
hint: it is made by net(...)
=== what is wrong with a device is said once
device d = gpu(bf16: 0, f32: 1e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
machine m = node(d, count: 8, link: 1e11, start: 0, host: 1e12, copy: 2e10, cores: 4)
cluster c = net(m)
--- errors
test.rlf:1:22: error: 'bf16:' of 'gpu' is 0, and must be from 1000000 to 1e+18
    1 | device d = gpu(bf16: 0, f32: 1e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
      |                      ^
hint: floating-point operations a second in bf16, as in 312e12
=== parts of a program
import "std/loss"
param x: int = 3
cluster c = net(a100_box)
place flatten
--- errors
test.rlf:1:1: error: a cluster file has no import
    1 | import "std/loss"
      | ^~~~~~~~~~~~~~~~~
hint: it declares device, machine and cluster, and nothing else
test.rlf:2:1: error: a cluster file has no param
    2 | param x: int = 3
      | ^~~~~~~~~~~~~~~~
hint: it declares device, machine and cluster, and nothing else
test.rlf:4:1: error: a cluster file has no place
    4 | place flatten
      | ^~~~~~~~~~~~~
hint: it declares device, machine and cluster, and nothing else
=== no cluster
device d = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine m = node(d, cores: 3)
--- errors
error: test.rlf: there is no 'cluster' in this file
hint: add one: cluster NAME = net(MACHINE, count: 1)
=== no cluster file at all
param x: int = 3
--- errors
test.rlf:1:1: error: a cluster file has no param
    1 | param x: int = 3
      | ^~~~~~~~~~~~~~~~
hint: it declares device, machine and cluster, and nothing else
=== an empty file
--- errors
error: test.rlf: there is no 'cluster' in this file
hint: add one: cluster NAME = net(MACHINE, count: 1)
=== a misspelled word
cluser c = net(a100_box)
cluster d = net(a100_boxx)
--- errors
test.rlf:1:1: error: unexpected name 'cluser', expected a declaration
    1 | cluser c = net(a100_box)
      | ^~~~~~
hint: did you mean 'cluster'?
=== a statement of a flow
device = gpu(bf16: 312e12)
a = 3
cluster d = net(a100_boxx)
--- errors
test.rlf:1:8: error: unexpected '=', expected a name
    1 | device = gpu(bf16: 312e12)
      |        ^
hint: what is declared has a name: device NAME = ...
=== syntax: each mistake by itself, and what is right between them
device a = gpu(bf16: 312e12 f32: 19.5e12)
machine m = node(a100, host: 1e12, copy: 2e10, cores: 4) trailing
device = gpu(bf16: 312e12)
machine 5 = node(a100)
cluster d = net(m
--- errors
test.rlf:1:29: error: unexpected name 'f32', expected ')' or ','
    1 | device a = gpu(bf16: 312e12 f32: 19.5e12)
      |                             ^~~
test.rlf:2:58: error: unexpected name 'trailing', expected the end of the line
    2 | machine m = node(a100, host: 1e12, copy: 2e10, cores: 4) trailing
      |                                                          ^~~~~~~~
test.rlf:3:8: error: unexpected '=', expected a name
    3 | device = gpu(bf16: 312e12)
      |        ^
hint: what is declared has a name: device NAME = ...
test.rlf:4:9: error: unexpected number 5, expected a name
    4 | machine 5 = node(a100)
      |         ^
test.rlf:6:1: error: unexpected end of the file, expected ':', ')' or ','
    6 | 
      | ^
test.rlf:5:16: note: this '(' is not closed
    5 | cluster d = net(m
      |                ^
=== numbers that lack their unit: 80 for GB, seconds for microseconds, GB a second
device a = gpu(bf16: 312e12, f32: 19e12, memory: 80, bandwidth: 2e12, launch: 6)
machine m = node(a100, count: 8, link: 300e9, start: 8, host: 2000, copy: 2e4, cores: 4)
cluster c = net(a100_box, count: 2, link: 1e3, start: 20)
--- errors
test.rlf:1:50: error: 'memory:' of 'gpu' is 80, and must be from 1000000 to 1e+16
    1 | device a = gpu(bf16: 312e12, f32: 19e12, memory: 80, bandwidth: 2e12, launch: 6)
      |                                                  ^~
hint: write its unit: 80GB (bytes, as in 80e9)
test.rlf:1:79: error: 'launch:' of 'gpu' is 6, and must be from 0 to 0.1
    1 | device a = gpu(bf16: 312e12, f32: 19e12, memory: 80, bandwidth: 2e12, launch: 6)
      |                                                                               ^
hint: seconds to start an operation, as in 6e-6
test.rlf:2:54: error: 'start:' of 'node' is 8, and must be from 0 to 0.1
    2 | machine m = node(a100, count: 8, link: 300e9, start: 8, host: 2000, copy: 2e4, cores: 4)
      |                                                      ^
hint: seconds that a message inside the machine takes at least, as in 8e-6
test.rlf:2:63: error: 'host:' of 'node' is 2000, and must be from 1000000 to 1e+16
    2 | machine m = node(a100, count: 8, link: 300e9, start: 8, host: 2000, copy: 2e4, cores: 4)
      |                                                               ^~~~
hint: write its unit: 2000GB (bytes of the machine's own memory, as in 1e12)
test.rlf:2:75: error: 'copy:' of 'node' is 20000, and must be from 1000000 to 1e+18
    2 | machine m = node(a100, count: 8, link: 300e9, start: 8, host: 2000, copy: 2e4, cores: 4)
      |                                                                           ^~~
hint: bytes a second between the machine's memory and a device, as in 20e9
test.rlf:3:43: error: 'link:' of 'net' is 1000, and must be from 1000000 to 1e+18
    3 | cluster c = net(a100_box, count: 2, link: 1e3, start: 20)
      |                                           ^~~
hint: bytes a second from a machine to the others, as in 25e9; where kinds differ a list
test.rlf:3:55: error: 'start:' of 'net' is 20, and must be from 0 to 1
    3 | cluster c = net(a100_box, count: 2, link: 1e3, start: 20)
      |                                                       ^~
hint: seconds that a message between machines takes at least, as in 2e-5
