"""Parquet files by pyarrow, and their rows as lines of JSON.

    python -m venv /tmp/v && /tmp/v/bin/pip install pyarrow==26.0.1
    /tmp/v/bin/python tests/oracle/parquet_cases.py tests/data/parquet

The rows of all-*.parquet are in all.jsonl, those of the others in numbers.jsonl,
as they are to be read: times and decimals are texts. Pages and groups of rows are
small, so that there are many.
"""
import datetime
import decimal
import json
import random
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

out = Path(sys.argv[1])
out.mkdir(parents=True, exist_ok=True)
random.seed(1)


def plain(x):
    """As JSON has it."""
    if isinstance(x, dict):
        return {k: plain(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return [plain(v) for v in x]
    if isinstance(x, decimal.Decimal):
        return format(x, "f")
    if isinstance(x, datetime.datetime):
        digits = "microseconds" if x.microsecond % 1000 else "milliseconds"
        text = x.replace(tzinfo=None).isoformat(timespec=digits)
        return text + ("Z" if x.tzinfo else "")
    if isinstance(x, (datetime.date, datetime.time)):
        return x.isoformat()
    return x


def write(name, table, **options):
    pq.write_table(table, out / f"{name}.parquet", **options)


def expect(name, rows):
    with open(out / f"{name}.jsonl", "w") as file:
        for row in rows:
            file.write(json.dumps(plain(row), ensure_ascii=False) + "\n")


words = ["", "one", "two words", "héllo", "日本語", "a" * 60, "\0 and \n", "🙂"]


def text(i):
    return random.choice(words) + str(i % 7)


def maybe(x):
    return None if random.random() < 0.2 else x


def message(i):
    return {"role": random.choice(["user", "assistant"]), "content": text(i)}


n = 60
schema = pa.schema([
    pa.field("id", pa.int64(), nullable=False),
    ("small", pa.int8()), ("count", pa.uint32()), ("right", pa.bool_()),
    ("score", pa.float64()), ("single", pa.float32()), ("half", pa.float16()),
    ("prompt", pa.string()), ("sort", pa.dictionary(pa.int32(), pa.string())),
    ("price", pa.decimal128(12, 2)), ("day", pa.date32()),
    ("at", pa.timestamp("us", tz="UTC")), ("since", pa.timestamp("ms")),
    ("messages", pa.list_(pa.struct([("role", pa.string()),
                                     ("content", pa.string())]))),
    ("deep", pa.list_(pa.list_(pa.int32()))),
    ("extra", pa.struct([("index", pa.int64()),
                         ("inner", pa.struct([("split", pa.string())])),
                         ("tags", pa.list_(pa.string()))])),
    ("map", pa.map_(pa.string(), pa.int32())),
])
rows = []
for i in range(n):
    rows.append({
        "id": i - 5,
        "small": maybe(random.randrange(-128, 128)),
        "count": maybe(random.randrange(1 << 32)),
        "right": maybe(random.random() < 0.5),
        "score": maybe(random.gauss(0, 1)),
        "single": maybe(random.randrange(-64, 64) / 8),
        "half": maybe(random.randrange(-64, 64) / 8),
        "prompt": maybe(text(i)),
        "sort": maybe(random.choice("abc")),
        "price": maybe(decimal.Decimal(random.randrange(-10**6, 10**6)).scaleb(-2)),
        "day": maybe(datetime.date(1900, 1, 1)
                     + datetime.timedelta(random.randrange(80000))),
        "at": maybe(datetime.datetime(1969, 12, 31, 23, 59, 59, 1,
                                      tzinfo=datetime.timezone.utc)
                    + datetime.timedelta(microseconds=random.randrange(10**15) | 1)),
        "since": maybe(datetime.datetime(2024, 2, 29, 1, 2, 3)
                       + datetime.timedelta(milliseconds=random.randrange(10**11))),
        "messages": maybe([message(k) for k in range(random.randrange(5))]),
        "deep": maybe([maybe([maybe(random.randrange(-9, 9))
                              for _ in range(random.randrange(4))])
                       for _ in range(random.randrange(4))]),
        "extra": maybe({"index": maybe(i), "inner": maybe({"split": maybe("train")}),
                        "tags": maybe([maybe(text(i))
                                       for _ in range(random.randrange(3))])}),
        "map": maybe([(k, maybe(i)) for k in "xyz"[:random.randrange(4)]]),
    })
table = pa.Table.from_pylist(rows, schema=schema)
for row in rows:
    if row["map"] is not None:
        row["map"] = dict(row["map"])
    if row["at"] is not None and row["at"].microsecond % 1000 == 0:
        sys.exit("microseconds are wanted")
for codec in ("none", "snappy", "gzip", "zstd"):
    for version in ("1.0", "2.0"):
        write(f"all-{codec}-{version[0]}", table, compression=codec,
              data_page_version=version, data_page_size=256, row_group_size=25,
              write_page_checksum=codec == "zstd")

expect("all", rows)

numbers = pa.table({
    "i": pa.array([random.randrange(-2**31, 2**31) for _ in range(150)], pa.int32()),
    "l": pa.array([random.randrange(-2**52, 2**52) for _ in range(150)]),
    "up": pa.array(range(1000, 1150)),
    "f": pa.array([random.gauss(0, 1) for _ in range(150)]),
    "s": pa.array([text(i) for i in range(150)]),
    "p": pa.array(sorted(f"prefix {i // 10} {text(i)}" for i in range(150))),
    "b": pa.array([i % 3 == 0 for i in range(150)]),
})
expect("numbers", numbers.to_pylist())
write("encodings", numbers, compression="snappy", use_dictionary=False,
      data_page_version="2.0", data_page_size=1024,
      column_encoding={"i": "DELTA_BINARY_PACKED", "l": "DELTA_BINARY_PACKED",
                       "up": "DELTA_BINARY_PACKED", "f": "BYTE_STREAM_SPLIT",
                       "s": "DELTA_LENGTH_BYTE_ARRAY", "p": "DELTA_BYTE_ARRAY",
                       "b": "RLE"})
write("plain", numbers, compression="none", use_dictionary=False,
      column_encoding={c: "PLAIN" for c in numbers.column_names})
write("empty", numbers.slice(0, 0))
pq.write_table(pa.table({"x": [1]}), out / "brotli.parquet", compression="brotli")
