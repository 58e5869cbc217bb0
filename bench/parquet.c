/* bench parquet FILE COLUMN: how long a column of texts takes to be read, in
 * processor time of one thread, the least of a few times: as records of a data
 * set, which is what a program does, and row by row. */
#include "bench/measure.h"
#include "engine/io/parquet.h"
#include "engine/io/records.h"

#include <stdlib.h>

enum { TIMES = 5 };

int
main(int argc, char **argv)
{
    clock_used = CLOCK_PROCESS_CPUTIME_ID;
    if (argc != 3) {
        fprintf(stderr, "usage: parquet FILE COLUMN\n");
        return 2;
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_record_field column = {.label = "x", .field = argv[2]};
    rlf_records_spec spec = {
        .path = argv[1], .columns = &column, .n_columns = 1, .parquet = true};
    double records = 1e9, rows = 1e9;
    size_t bytes = 0;
    for (int k = 0; k < TIMES; k++) {
        rlf_records out;
        rlf_arena *arena = rlf_arena_new();
        double begin = now(), end;
        check(rlf_records_read(&spec, arena, &err, &out), &err);
        end = now();
        records = end - begin < records ? end - begin : records;
        bytes = 0;
        for (size_t i = 0; !out.columns[0].numbers && i < out.count; i++) {
            const rlf_record_value *value;
            check(rlf_records_row(&out, i, arena, &err, &value), &err);
            bytes += value->text.n;
        }
        rlf_arena_free(arena);

        rlf_parquet *file;
        json_t *row = NULL;
        const char *why;
        const char *field = argv[2];
        begin = now();
        check(rlf_parquet_open(argv[1], &field, 1, &err, &file), &err);
        do {
            json_decref(row);
            check(rlf_parquet_next(file, &err, &row, &why), &err);
        } while (row);
        rlf_parquet_close(file);
        end = now();
        rows = end - begin < rows ? end - begin : rows;
    }
    printf("%zu %.4f %.4f\n", bytes, records, rows);
    return 0;
}
