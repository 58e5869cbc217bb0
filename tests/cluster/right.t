Clusters that are right: mode `print` shows what they become, which is read again.
=== the syntax of the language, with arithmetic and units
## The testbed of a paper.
device  a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.04e12, launch: 6e-6)
machine box  = node(a100, count: 8, link: 600e9 / 2, start: 0.008ms, host: 1024GB, copy: 20e9, cores: 96)
cluster hf   = net(box, count: 16, link: 200e9 / 8, start: 2e-5)   # 200 Gb/s
--- print
# ranks 0..127: 16 machines 'box' of 8 a100
# in all 16 machines, 128 devices with 10240 GB of memory, and 17592 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.04e12, launch: 6e-6)
machine box = node(a100, count: 8, link: 300e9, start: 8e-6, host: 1099511627776, copy: 20e9, cores: 96)
cluster hf = net(box, count: 16, link: 25e9, start: 2e-5)
=== in any order, over lines, the device of a preset
cluster c = net(
    m,
    start: 0, link: 1e9,
    count: 2
)
machine m = node(a100, host: 1e12, copy: 2e10, cores: 4)
--- print
# ranks 0..1: 2 machines 'm' of 1 a100
# in all 2 machines, 2 devices with 160 GB of memory, and 2000 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine m = node(a100, count: 1, host: 1e12, copy: 20e9, cores: 4)
cluster c = net(m, count: 2, link: 1e9, start: 0)
=== several kinds of machines: ranks count through them in order
machine old = node(a100, count: 4, link: 3e11, start: 8e-6, host: 1e12, copy: 2e10, cores: 64)
cluster mixed = net(h100_box, old, count: [2, 3], link: [400e9, 25e9], start: 2e-5)
--- print
# ranks 0..15: 2 machines 'h100_box' of 8 h100
# ranks 16..27: 3 machines 'old' of 4 a100
# in all 5 machines, 28 devices with 2240 GB of memory, and 7000 GB in the machines
device h100 = gpu(bf16: 989.4e12, f32: 66.9e12, memory: 80e9, bandwidth: 3.35e12, launch: 5e-6)
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine h100_box = node(h100, count: 8, link: 450e9, start: 8e-6, host: 2e12, copy: 64e9, cores: 112)
machine old = node(a100, count: 4, link: 300e9, start: 8e-6, host: 1e12, copy: 20e9, cores: 64)
cluster mixed = net(h100_box, old, count: [2, 3], link: [400e9, 25e9], start: 2e-5)
=== one number for all kinds
cluster both = net(h100_box, a100_box, count: 2, link: 25e9, start: 2e-5)
--- print
# ranks 0..15: 2 machines 'h100_box' of 8 h100
# ranks 16..31: 2 machines 'a100_box' of 8 a100
# in all 4 machines, 32 devices with 2560 GB of memory, and 8000 GB in the machines
device h100 = gpu(bf16: 989.4e12, f32: 66.9e12, memory: 80e9, bandwidth: 3.35e12, launch: 5e-6)
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine h100_box = node(h100, count: 8, link: 450e9, start: 8e-6, host: 2e12, copy: 64e9, cores: 112)
machine a100_box = node(a100, count: 8, link: 300e9, start: 8e-6, host: 2e12, copy: 32e9, cores: 128)
cluster both = net(h100_box, a100_box, count: [2, 2], link: [25e9, 25e9], start: 2e-5)
=== machines of CPUs
device c = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine m = node(c, count: 2, link: 5e10, start: 1e-6, cores: 64)
cluster n = net(m)
--- print
# ranks 0..1: 1 machine 'm' of 2 c
# in all 1 machine, 2 devices with 137.44 GB of memory
device c = cpu(f32: 1e12, memory: 68.719476736e9, bandwidth: 200e9, launch: 0)
machine m = node(c, count: 2, link: 50e9, start: 1e-6, cores: 64)
cluster n = net(m, count: 1)
=== CPUs that compute in bf16
device c = cpu(bf16: 2e12, f32: 1e12, memory: 64e9, bandwidth: 2e11, launch: 0)
machine m = node(c, count: 2, link: 5e10, start: 1e-6, cores: 64)
cluster n = net(m)
--- print
# ranks 0..1: 1 machine 'm' of 2 c
# in all 1 machine, 2 devices with 128 GB of memory
device c = cpu(bf16: 2e12, f32: 1e12, memory: 64e9, bandwidth: 200e9, launch: 0)
machine m = node(c, count: 2, link: 50e9, start: 1e-6, cores: 64)
cluster n = net(m, count: 1)
=== a machine by itself may say what others would have
device c = cpu(f32: 1e12, memory: 64GB, bandwidth: 2e11, launch: 0)
machine m = node(c, count: 1, link: 5e10, start: 1e-6, cores: 64)
cluster n = net(m, count: 1, link: 1e9, start: 0)
--- print
# rank 0: 1 machine 'm' of 1 c
# in all 1 machine, 1 device with 68.719 GB of memory
device c = cpu(f32: 1e12, memory: 68.719476736e9, bandwidth: 200e9, launch: 0)
machine m = node(c, count: 1, cores: 64)
cluster n = net(m, count: 1)
=== several clusters of a file
cluster small = net(a100_box)
cluster large = net(a100_box, count: 4, link: 25e9, start: 2e-5)
--- print
# ranks 0..7: 1 machine 'a100_box' of 8 a100
# in all 1 machine, 8 devices with 640 GB of memory, and 2000 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine a100_box = node(a100, count: 8, link: 300e9, start: 8e-6, host: 2e12, copy: 32e9, cores: 128)
cluster small = net(a100_box, count: 1)
# ranks 0..31: 4 machines 'a100_box' of 8 a100
# in all 4 machines, 32 devices with 2560 GB of memory, and 8000 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine a100_box = node(a100, count: 8, link: 300e9, start: 8e-6, host: 2e12, copy: 32e9, cores: 128)
cluster large = net(a100_box, count: 4, link: 25e9, start: 2e-5)
=== names of the file come before those of presets
device h100 = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
machine a100_box = node(h100, count: 2, link: 1e11, start: 8e-6, host: 1e12, copy: 2e10, cores: 4)
cluster this = net(a100_box)
--- print
# ranks 0..1: 1 machine 'a100_box' of 2 h100
# in all 1 machine, 2 devices with 128 GB of memory, and 1000 GB in the machines
device h100 = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
machine a100_box = node(h100, count: 2, link: 100e9, start: 8e-6, host: 1e12, copy: 20e9, cores: 4)
cluster this = net(a100_box, count: 1)
=== names that others have
device a100 = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
machine h100 = node(a100, host: 1e12, copy: 2e10, cores: 4)
cluster a100_2 = net(h100, a100_box, h100_box, link: 25e9, start: 0)
--- print
# rank 0: 1 machine 'h100' of 1 a100
# ranks 1..8: 1 machine 'a100_box' of 8 a100_3
# ranks 9..16: 1 machine 'h100_box' of 8 h100_2
# in all 3 machines, 17 devices with 1344 GB of memory, and 5000 GB in the machines
device a100 = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
device a100_3 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
device h100_2 = gpu(bf16: 989.4e12, f32: 66.9e12, memory: 80e9, bandwidth: 3.35e12, launch: 5e-6)
machine h100 = node(a100, count: 1, host: 1e12, copy: 20e9, cores: 4)
machine a100_box = node(a100_3, count: 8, link: 300e9, start: 8e-6, host: 2e12, copy: 32e9, cores: 128)
machine h100_box = node(h100_2, count: 8, link: 450e9, start: 8e-6, host: 2e12, copy: 64e9, cores: 112)
cluster a100_2 = net(h100, a100_box, h100_box, count: [1, 1, 1], link: [25e9, 25e9, 25e9], start: 0)
=== numbers that are plausible alone, and not together, are warned of
device d = gpu(bf16: 312e15, f32: 19.5e12, memory: 80e12, bandwidth: 2e12, launch: 6e-6)
device s = gpu(bf16: 312e9, f32: 19.5e9, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
device p = cpu(f32: 1e12, memory: 64e12, bandwidth: 2e11, launch: 0)
device q = cpu(f32: 1e12, memory: 2e12, bandwidth: 1e11, launch: 0)
machine m = node(d, host: 1e12, copy: 2e10, cores: 4)
machine n = node(s, host: 1e12, copy: 2e10, cores: 4)
machine o = node(p, cores: 4)
machine r = node(q, cores: 4)
cluster c = net(m, n, link: 25e9, start: 2e-5)
cluster e = net(o, r, link: 1e9, start: 2e-5)
--- print
test.rlf:1:22: warning: these are 1.56e+05 operations in the time in which its memory gives one byte
    1 | device d = gpu(bf16: 312e15, f32: 19.5e12, memory: 80e12, bandwidth: 2e12, launch: 6e-6)
      |                      ^~~~~~
hint: if that is not meant, one of these numbers is wrong by a factor of a thousand
test.rlf:1:52: warning: this memory takes 40 s to be read once, at its bandwidth
    1 | device d = gpu(bf16: 312e15, f32: 19.5e12, memory: 80e12, bandwidth: 2e12, launch: 6e-6)
      |                                                    ^~~~~
hint: if that is not meant, one of these numbers is wrong by a factor of a thousand
test.rlf:2:22: warning: these are 0.156 operations in the time in which its memory gives one byte
    2 | device s = gpu(bf16: 312e9, f32: 19.5e9, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
      |                      ^~~~~
hint: if that is not meant, one of these numbers is wrong by a factor of a thousand
test.rlf:3:35: warning: this memory takes 320 s to be read once, at its bandwidth
    3 | device p = cpu(f32: 1e12, memory: 64e12, bandwidth: 2e11, launch: 0)
      |                                   ^~~~~
hint: if that is not meant, one of these numbers is wrong by a factor of a thousand
# rank 0: 1 machine 'm' of 1 d
# rank 1: 1 machine 'n' of 1 s
# in all 2 machines, 2 devices with 80080 GB of memory, and 2000 GB in the machines
device d = gpu(bf16: 312e15, f32: 19.5e12, memory: 80e12, bandwidth: 2e12, launch: 6e-6)
device s = gpu(bf16: 312e9, f32: 19.5e9, memory: 80e9, bandwidth: 2e12, launch: 6e-6)
machine m = node(d, count: 1, host: 1e12, copy: 20e9, cores: 4)
machine n = node(s, count: 1, host: 1e12, copy: 20e9, cores: 4)
cluster c = net(m, n, count: [1, 1], link: [25e9, 25e9], start: 2e-5)
# rank 0: 1 machine 'o' of 1 p
# rank 1: 1 machine 'r' of 1 q
# in all 2 machines, 2 devices with 66000 GB of memory
device p = cpu(f32: 1e12, memory: 64e12, bandwidth: 200e9, launch: 0)
device q = cpu(f32: 1e12, memory: 2e12, bandwidth: 100e9, launch: 0)
machine o = node(p, count: 1, cores: 4)
machine r = node(q, count: 1, cores: 4)
cluster e = net(o, r, count: [1, 1], link: [1e9, 1e9], start: 2e-5)
=== links and starts of node and net that seem to be exchanged
machine box = node(a100, count: 4, link: 1e9, start: 2e-5, host: 1e12, copy: 2e10, cores: 96)
cluster a = net(box, count: 2, link: 3e11, start: 8e-6)
cluster b = net(h100_box, box, link: [25e9, 5e9], start: 2e-5)
cluster c = net(box, count: 2, link: 4e9, start: 0)
--- print
test.rlf:2:38: warning: machines are linked faster than all devices in one, which have 4e+09 together
    2 | cluster a = net(box, count: 2, link: 3e11, start: 8e-6)
      |                                      ^~~~
hint: were 'link:' of node and of net exchanged?
test.rlf:2:51: warning: a message between machines is faster than one inside, which takes 2e-05 s
    2 | cluster a = net(box, count: 2, link: 3e11, start: 8e-6)
      |                                                   ^~~~
hint: were 'start:' of node and of net exchanged?
test.rlf:3:45: warning: machines are linked faster than all devices in one, which have 4e+09 together
    3 | cluster b = net(h100_box, box, link: [25e9, 5e9], start: 2e-5)
      |                                             ^~~
hint: were 'link:' of node and of net exchanged?
# ranks 0..7: 2 machines 'box' of 4 a100
# in all 2 machines, 8 devices with 640 GB of memory, and 2000 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine box = node(a100, count: 4, link: 1e9, start: 2e-5, host: 1e12, copy: 20e9, cores: 96)
cluster a = net(box, count: 2, link: 300e9, start: 8e-6)
# ranks 0..7: 1 machine 'h100_box' of 8 h100
# ranks 8..11: 1 machine 'box' of 4 a100
# in all 2 machines, 12 devices with 960 GB of memory, and 3000 GB in the machines
device h100 = gpu(bf16: 989.4e12, f32: 66.9e12, memory: 80e9, bandwidth: 3.35e12, launch: 5e-6)
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine h100_box = node(h100, count: 8, link: 450e9, start: 8e-6, host: 2e12, copy: 64e9, cores: 112)
machine box = node(a100, count: 4, link: 1e9, start: 2e-5, host: 1e12, copy: 20e9, cores: 96)
cluster b = net(h100_box, box, count: [1, 1], link: [25e9, 5e9], start: 2e-5)
# ranks 0..7: 2 machines 'box' of 4 a100
# in all 2 machines, 8 devices with 640 GB of memory, and 2000 GB in the machines
device a100 = gpu(bf16: 312e12, f32: 19.5e12, memory: 80e9, bandwidth: 2.039e12, launch: 6e-6)
machine box = node(a100, count: 4, link: 1e9, start: 2e-5, host: 1e12, copy: 20e9, cores: 96)
cluster c = net(box, count: 2, link: 4e9, start: 0)
=== what is never used is warned of
device d = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
machine m = node(a100, host: 1e12, copy: 2e10, cores: 4)
cluster c = net(h100_box)
--- print
test.rlf:1:8: warning: 'd' is declared and never used
    1 | device d = gpu(bf16: 500e12, f32: 50e12, memory: 64e9, bandwidth: 2e12, launch: 6e-6)
      |        ^
hint: take it out, or use it
test.rlf:2:9: warning: 'm' is declared and never used
    2 | machine m = node(a100, host: 1e12, copy: 2e10, cores: 4)
      |         ^
hint: take it out, or use it
# ranks 0..7: 1 machine 'h100_box' of 8 h100
# in all 1 machine, 8 devices with 640 GB of memory, and 2000 GB in the machines
device h100 = gpu(bf16: 989.4e12, f32: 66.9e12, memory: 80e9, bandwidth: 3.35e12, launch: 5e-6)
machine h100_box = node(h100, count: 8, link: 450e9, start: 8e-6, host: 2e12, copy: 64e9, cores: 112)
cluster c = net(h100_box, count: 1)
