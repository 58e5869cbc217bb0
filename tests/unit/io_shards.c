/* Data of several files: which ones a pattern or a folder names, and that their
 * rows are those of one file. */
#include "engine/io/file.h"
#include "engine/io/records.h"
#include "engine/io/shards.h"
#include "tests/put.h"

#include <zlib.h>

static rlf_arena *arena;

static void
make_dir(const char *name)
{
    rlf_err err = RLF_ERR_NONE;
    if (rlf_dir_make(in_root(arena, name), &err) < 0)
        bail("%s", err.sentence);
}

/* The names that are found, or the sentence and hint. */
static const char *
found(const char *path, rlf_shard_format format, const char *split)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_shard_files files;
    const char *text = "";
    if (rlf_shard_files_list(in_root(arena, path), format, split, arena, &err,
                             &files) < 0)
        return rlf_arena_printf(arena, "%s (%s)", err.sentence, err.hint);
    for (size_t i = 0; i < files.count; i++)
        text = rlf_arena_printf(arena, "%s%s%s", text, i ? " " : "",
                                files.names[i]);
    return text;
}

static void
says(const char *text, const char *part)
{
    ok(strstr(text, part) != NULL, "says \"%s\": %s", part, text);
}

static void
test_patterns(void)
{
    static const char *const names[] = {
        "p/b.jsonl",   "p/a.jsonl",   "p/B.jsonl",  "p/a10.jsonl",
        "p/a2.jsonl",  "p/.h.jsonl",  "p/x*.jsonl", "p/xy.jsonl",
        "p/q/a.jsonl", "[p]/a.jsonl", "p/r/a.jsonl"};
    make_dir("p/q");
    make_dir("p/r");
    make_dir("p/d.jsonl");
    make_dir("[p]");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(arena, names[i], "{}\n");
    is_str(found("p/*.jsonl", RLF_SHARD_JSON, NULL),
           "B.jsonl a.jsonl a10.jsonl a2.jsonl b.jsonl x*.jsonl xy.jsonl",
           "a pattern: in byte order, no folder, no hidden file");
    is_str(found("p/a?.jsonl", RLF_SHARD_JSON, NULL), "a2.jsonl",
           "? is one character");
    is_str(found("p/[ab].jsonl", RLF_SHARD_JSON, NULL), "a.jsonl b.jsonl",
           "[...] is one of those");
    is_str(found("p/x*.jsonl", RLF_SHARD_JSON, NULL), "x*.jsonl",
           "what is called so is meant");
    is_str(found("p/*/a.jsonl", RLF_SHARD_JSON, NULL), "q/a.jsonl r/a.jsonl",
           "a pattern of folders");
    is_str(found("[p]/*.jsonl", RLF_SHARD_JSON, NULL), "a.jsonl",
           "a folder that has brackets in its name");
    says(found("p/z*.jsonl", RLF_SHARD_JSON, NULL), "no file is called as");
    is_str(found("p/none.jsonl", RLF_SHARD_JSON, NULL), "none.jsonl",
           "one file is not looked for");
    says(found("p/a.jsonl", RLF_SHARD_JSON, "train"), "is no folder");
}

static void
test_folders(void)
{
    static const char *const names[] = {
        "hub/data/train-00001-of-00002.parquet",
        "hub/data/train-00000-of-00002.parquet",
        "hub/data/test_sft-00000-of-00001.parquet",
        "hub/README.md",
        "hub/dataset_infos.json",
        "plain/x.jsonl",
        "plain/y.jsonl.gz",
        "plain/z.ndjson",
        "plain/w.json.zst",
        "plain/_y.jsonl",
        "plain/README.md",
        "plain/t.csv",
        "two/main/train-00000-of-00001.parquet",
        "two/socratic/train-00000-of-00001.parquet",
        "own/test/0000.parquet",
        "own/train/0000.parquet",
        "own/train/0001.parquet",
        "named/train.jsonl",
        "named/test.jsonl",
        "mixed/train-1.jsonl",
        "mixed/train.jsonl",
        "mixed/train2.jsonl",
        "mixed/train_2.jsonl",
        "saved/dataset_dict.json",
        "saved/train/data-00000-of-00001.arrow",
        "saved/train/cache-0123456789abcdef.arrow",
        "saved/train/state.json"};
    make_dir("hub/data");
    make_dir("plain");
    make_dir("two/main");
    make_dir("two/socratic");
    make_dir("own/test");
    make_dir("own/train");
    make_dir("named");
    make_dir("mixed");
    make_dir("saved/train");
    make_dir("empty");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        put(arena, names[i], "");
    is_str(found("plain/", RLF_SHARD_JSON, NULL),
           "w.json.zst x.jsonl y.jsonl.gz z.ndjson",
           "a folder: its files of the format");
    is_str(found("plain", RLF_SHARD_CSV, NULL), "t.csv", "... of another");
    is_str(found("hub", RLF_SHARD_PARQUET, "train"),
           "train-00000-of-00002.parquet train-00001-of-00002.parquet",
           "a split of the folder data");
    is_str(found("hub", RLF_SHARD_PARQUET, "test_sft"),
           "test_sft-00000-of-00001.parquet", "a split of any name");
    says(found("hub", RLF_SHARD_PARQUET, NULL),
         "has several splits: test_sft, train (say which: split: "
         "\"test_sft\")");
    says(found("hub", RLF_SHARD_PARQUET, "test"),
         "no files of the split \"test\" (it has test_sft, train)");
    is_str(found("named", RLF_SHARD_JSON, "test"), "test.jsonl",
           "a split that is a file");
    says(found("named", RLF_SHARD_JSON, NULL), "several splits: test, train");
    says(found("mixed", RLF_SHARD_JSON, NULL),
         "has several splits: train, train2 (say");
    is_str(found("mixed", RLF_SHARD_JSON, "train"),
           "train-1.jsonl train.jsonl train_2.jsonl",
           "a split in files that do not stand together");
    rlf_err err = RLF_ERR_NONE;
    rlf_shard_format format;
    rlf_shard_files files;
    rlf_shard_files_find(in_root(arena, "two"), NULL, arena, &err, &format,
                         &files);
    says(err.sentence, "ends in .jsonl, .json, .csv, .tsv, .parquet or .arrow");
    rlf_err_clear(&err);
    is_int(rlf_shard_files_find(in_root(arena, "named"), "test", arena, &err,
                                &format, &files),
           RLF_OK, "a folder of some format");
    is_int(format, RLF_SHARD_JSON, "... which is told");
    is_str(found("own", RLF_SHARD_PARQUET, "train"),
           "0000.parquet 0001.parquet", "a split that is a folder");
    says(found("own", RLF_SHARD_PARQUET, NULL),
         "(the folders in it are test, train: name one)");
    says(found("two", RLF_SHARD_PARQUET, "train"),
         "(the folders in it are main, socratic: name one)");
    is_str(found("two/main", RLF_SHARD_PARQUET, "train"),
           "train-00000-of-00001.parquet", "one of them is named");
    is_str(found("saved", RLF_SHARD_PARQUET, "train"),
           "data-00000-of-00001.arrow", "what datasets saved, a split of it");
    is_str(found("saved/train", RLF_SHARD_PARQUET, NULL),
           "data-00000-of-00001.arrow", "... and by its own folder");
    says(found("saved", RLF_SHARD_PARQUET, NULL), "folders in it are train");
    says(found("empty", RLF_SHARD_CSV, NULL),
         "has no file that ends in .csv or .tsv");
}

static void
put_gzip(const char *name, const char *text)
{
    gzFile file = gzopen(in_root(arena, name), "wb");
    if (!file || gzputs(file, text) < 0 || gzclose(file) != Z_OK)
        bail("cannot write %s", name);
}

static size_t large; /* 1: rows are read from their files again */

/* Column a of these shards. */
static rlf_status
read_all(const char *path, rlf_shard_format format, uint64_t skip,
         uint64_t first, bool drop, rlf_err *err, rlf_records *rows)
{
    rlf_record_field column = {.label = "a", .field = "a"};
    rlf_shard_files files;
    rlf_err_clear(err);
    if (rlf_shard_files_list(in_root(arena, path), format, NULL, arena, err,
                             &files) < 0)
        bail("%s", err->sentence);
    rlf_records_spec spec = {.path = in_root(arena, path),
                             .paths = files.paths,
                             .n_paths = files.count,
                             .columns = &column,
                             .n_columns = 1,
                             .csv = format == RLF_SHARD_CSV,
                             .skip = skip,
                             .first = first,
                             .drop = drop};
    spec.in_memory = large;
    return rlf_records_read(&spec, arena, err, rows);
}

static void
test_rows(void)
{
    rlf_err err = RLF_ERR_NONE;
    rlf_records one, many, some;
    make_dir("s");
    make_dir("whole");
    put(arena, "s/1.jsonl", "{\"a\": 1}\n\n{\"a\": 2}\n");
    put_gzip("s/2.jsonl.gz", "{\"a\": 3}\n");
    put(arena, "s/3.json", "[{\"a\": 4}, {\"a\": 5}]");
    put(arena, "s/4.jsonl", "");
    put(arena, "s/5.jsonl", "{\"a\": 6}");
    put(arena, "whole/x.jsonl",
        "{\"a\": 1}\n{\"a\": 2}\n{\"a\": 3}\n{\"a\": 4}\n{\"a\": 5}\n"
        "{\"a\": 6}\n");
    is_int(read_all("whole", RLF_SHARD_JSON, 0, 0, false, &err, &one), RLF_OK,
           "one file");
    is_int(read_all("s", RLF_SHARD_JSON, 0, 0, false, &err, &many), RLF_OK,
           "several, each in its own way");
    is_bits(many.columns[0].numbers, one.columns[0].numbers, 6, sizeof(double),
            "have the rows of the one");
    ok(rlf_digest_equal(many.digest, one.digest), "and their digest");
    says(rlf_records_place(&many, 1, arena), "s/1.jsonl:3");
    says(rlf_records_place(&many, 2, arena), "s/2.jsonl.gz:1");
    says(rlf_records_place(&many, 4, arena), "s/3.json row 2");
    says(rlf_records_place(&many, 5, arena), "s/5.jsonl:1");
    large = 1;
    is_int(read_all("s", RLF_SHARD_JSON, 0, 0, false, &err, &some), RLF_OK,
           "the same where memory is not to hold them");
    ok(rlf_digest_equal(some.digest, one.digest), "they are the same rows");
    says(rlf_records_place(&some, 2, arena), "s/2.jsonl.gz:1");
    says(rlf_records_place(&some, 4, arena), "s/3.json row 2");
    large = 0;
    read_all("s", RLF_SHARD_JSON, 1, 3, false, &err, &some);
    is_bits(some.columns[0].numbers, one.columns[0].numbers + 1, 3,
            sizeof(double), "skip and first count the rows of all");
    is_int((int64_t)some.count, 3, "... as many");

    put(arena, "s/5.jsonl", "{\"a\": \"six\"}");
    is_int(read_all("s", RLF_SHARD_JSON, 0, 0, false, &err, &some), RLF_USER,
           "another type in one");
    says(err.sentence, "s/5.jsonl:1: \"a\" is a text, in the first row of ");
    says(err.sentence, "s/1.jsonl a number");
    put(arena, "s/5.jsonl", "{\"b\": 6}");
    is_int(read_all("s", RLF_SHARD_JSON, 0, 0, false, &err, &some), RLF_USER,
           "another column in one");
    says(err.sentence, "s/5.jsonl:1: the row has no \"a\"");
    is_int(read_all("s", RLF_SHARD_JSON, 0, 0, true, &err, &some), RLF_OK,
           "rows of it are dropped");
    ok(some.count == 5 && some.dropped == 1, "... and counted");
    says(some.why, "s/5.jsonl:1");

    make_dir("c");
    put(arena, "c/1.csv", "a,b\n1,2\n3,4\n5,6\n");
    put(arena, "c/2.tsv", "b\ta\n7\t8\n");
    is_int(read_all("c", RLF_SHARD_CSV, 0, 0, false, &err, &some), RLF_OK,
           "csv and tsv, columns in another order");
    ok(some.count == 4 && some.columns[0].kind == RLF_RECORD_NUMBER &&
           some.columns[0].numbers[3] == 8,
       "all cells are numbers");
    put(arena, "c/2.tsv", "b\ta\n7\tx\n");
    read_all("c", RLF_SHARD_CSV, 0, 0, false, &err, &some);
    ok(some.columns[0].kind == RLF_RECORD_TEXT, "one that is none, in another");
    says(some.columns[0].odd, "c/2.tsv:2: \"x\"");
    put(arena, "c/2.tsv", "b\tc\n7\tx\n");
    is_int(read_all("c", RLF_SHARD_CSV, 0, 0, false, &err, &some), RLF_USER,
           "a first line without the field");
    says(err.sentence, "c/2.tsv: the first line has no field \"a\"");
}

int
main(void)
{
    arena = rlf_arena_new();
    make_root();
    test_patterns();
    test_folders();
    test_rows();
    rlf_arena_free(arena);
    return done();
}
