Cluster files: declarations with words that are names elsewhere.
=== the tree
## A box.
device a100 = gpu(bf16: 312e12)
machine box = node(a100, count: 8)
cluster c = net(box, count: [2, 3])
--- ast
## "A box."
(device a100 (call gpu bf16: 312000000000000))
(machine box (call node a100 count: 8))
(cluster c (call net box count: (list 2 3)))
=== the standard form
device   a100=gpu(bf16:312e12)  # one
machine  box =node( a100 ,count:8)
  cluster c = net(box,
    count:16)
--- fmt
device a100 = gpu(bf16: 312e12)  # one
machine box = node(a100, count: 8)
cluster c = net(box, count: 16)
=== the words are names in a program
param device: int = 3
model machine = lm("m", cluster: 4)
data cluster = jsonl("f", machine: "m")
flow f(device: cluster[8]) {
    machine = device.machine
    cluster = machine + device
    device := cluster
    report device = machine, cluster = cluster
}
--- ast
(param device : int 3)
(model machine (call lm "m" cluster: 4))
(data cluster (call jsonl "f" machine: "m"))
(flow f (device (at cluster 8))
  (do
    (let machine (. device machine))
    (let cluster (+ machine device))
    (set device cluster)
    (report (device machine) (cluster cluster))))
=== a broken flow with statements on them is one mistake
flow f(batch: prompts[8] {
    device = 3
    machine = 4
    cluster.generate(device)
}
model m = lm("m")
--- errors
test.rlf:1:26: error: unexpected '{', expected ')' or ','
    1 | flow f(batch: prompts[8] {
      |                          ^
=== what is declared has a name
device = gpu(bf16: 312e12)
machine
cluster c d
--- errors
test.rlf:1:8: error: unexpected '=', expected a name
    1 | device = gpu(bf16: 312e12)
      |        ^
hint: what is declared has a name: device NAME = ...
test.rlf:3:9: error: unexpected name 'c', expected '='
    3 | cluster c d
      |         ^
=== in a block they begin nothing
flow f(batch: prompts[8]) {
    device a = gpu(f32: 3)
}
--- errors
test.rlf:2:12: error: unexpected name 'a', expected ':=' or '='
    2 |     device a = gpu(f32: 3)
      |            ^
