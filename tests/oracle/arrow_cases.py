"""Writes tests/data/arrow: small files in Arrow's formats, and their rows as
lines of JSON.

    python3 -m venv /tmp/venv
    /tmp/venv/bin/pip install pyarrow==26.0.1 datasets
    /tmp/venv/bin/python tests/oracle/arrow_cases.py tests/data/arrow

saved/ is a DatasetDict as save_to_disk of the library datasets writes it. The
test is tests/unit/io_arrow.c."""

import datetime
import json
import random
import sys

import datasets
import pyarrow as pa
import pyarrow.ipc as ipc

N = 40
TEXTS = ["a", "é", "日本", "x" * 30, "line\nline \"q\" \\ \t", ""]


def rows():
    rng = random.Random(5)
    text = lambda: rng.choice(TEXTS)
    for i in range(N):
        yield {
            "id": i, "i8": i - 20, "u16": 65535 - i, "i32": -i * 50000000,
            "u64": i * 10**17, "f32": i / 8, "f64": rng.random(),
            "b": i % 3 == 0, "q": text(), "opt": None if i % 4 == 0 else text(),
            "optn": None if i % 5 == 0 else i, "nothing": None,
            "large": text(), "bytes": text().encode(),
            "list": [text() for _ in range(rng.randrange(4))],
            "deep": [[j] * j for j in range(rng.randrange(3))],
            "optlist": None if i % 6 == 0 else [None, i],
            "messages": [{"role": r, "content": text()}
                         for r in ("user", "assistant")[:1 + i % 2]],
            "st": {"a": i, "b": {"c": text(), "d": [{"e": i}] * (i % 3)}},
            "optst": None if i % 7 == 0 else {"x": None if i % 2 else i},
            "map": [("k%d" % j, text()) for j in range(i % 3)],
        }


S = pa.string()
SCHEMA = pa.schema({
    "id": pa.int64(), "i8": pa.int8(), "u16": pa.uint16(), "i32": pa.int32(),
    "u64": pa.uint64(), "f32": pa.float32(), "f64": pa.float64(),
    "b": pa.bool_(), "q": S, "opt": S, "optn": pa.int64(),
    "nothing": pa.null(), "large": pa.large_string(), "bytes": pa.binary(),
    "list": pa.list_(S), "deep": pa.large_list(pa.list_(pa.int16())),
    "optlist": pa.list_(pa.int64()),
    "messages": pa.list_(pa.struct({"role": S, "content": S})),
    "st": pa.struct({"a": pa.int64(), "b": pa.struct(
        {"c": S, "d": pa.list_(pa.struct({"e": pa.int32()}))})}),
    "optst": pa.struct({"x": pa.int64()}), "map": pa.map_(S, S)})


def write(path, table, make=ipc.new_stream, size=None, options=None):
    with pa.OSFile(path, "wb") as f, make(f, table.schema, options=options) as w:
        w.write_table(table, max_chunksize=size)


def main(to):
    listed = list(rows())
    table = pa.Table.from_pylist(listed, SCHEMA)
    write(f"{to}/stream.arrow", table)
    write(f"{to}/file.arrow", table, ipc.new_file, 7)
    write(f"{to}/zstd.arrow", table, options=ipc.IpcWriteOptions(
        compression="zstd"))
    odd = pa.table({"q": ["a", "b"], "day": [datetime.date(2024, 1, 1)] * 2,
                    "kind": pa.array(["x", "y"]).dictionary_encode(),
                    "dot": pa.array([float("nan"), 1.0])})
    write(f"{to}/odd.arrow", odd)
    with open(f"{to}/rows.jsonl", "w", encoding="utf-8") as f:
        for row in listed:
            row = dict(row, map=dict(row["map"]), bytes=row["bytes"].decode())
            print(json.dumps(row, ensure_ascii=False), file=f)
    small = [{"question": f"{i} plus 1", "answer": str(i + 1)} for i in range(9)]
    datasets.DatasetDict({
        "train": datasets.Dataset.from_list(small),
        "test": datasets.Dataset.from_list(small[:2]),
    }).save_to_disk(f"{to}/saved")


main(sys.argv[1])
