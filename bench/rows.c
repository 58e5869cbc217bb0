/* bench rows FILE COLUMN [BYTES]: what a data set takes of which memory keeps
 * so many bytes of texts (0: all of them): processor seconds to open it, bytes
 * of memory a row and the most that the process had, and microseconds to read a
 * row in the order of the file and in another one, of 200,000 each. */
#include "bench/measure.h"
#include "engine/io/records.h"

#include <stdlib.h>
#include <string.h>

enum { TIMES = 200000 };

static bool
ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* MB that this process has had at most. */
static double
most_resident(void)
{
    char line[256];
    double kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        sscanf(line, "VmHWM: %lf kB", &kilobytes);
    if (file)
        fclose(file);
    return kilobytes / 1e3;
}

/* Seconds a row, every `stride` rows on. */
static double
read_rows(const rlf_records *rows, size_t stride)
{
    rlf_arena *pool = rlf_arena_new();
    rlf_err err = RLF_ERR_NONE;
    size_t row = 0;
    double begin = now();
    for (int i = 0; i < TIMES; i++) {
        const rlf_record_value *value;
        check(rlf_records_row(rows, row, pool, &err, &value), &err);
        row = (row + stride) % rows->count;
        rlf_arena_reset(pool);
    }
    double all = now() - begin;
    rlf_arena_free(pool);
    return all / TIMES;
}

int
main(int argc, char **argv)
{
    clock_used = CLOCK_PROCESS_CPUTIME_ID;
    if (argc < 3) {
        fprintf(stderr, "usage: rows FILE COLUMN [BYTES]\n");
        return 2;
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_record_field column = {.label = "x", .field = argv[2]};
    size_t bytes = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    rlf_records_spec spec = {.path = argv[1],
                             .columns = &column,
                             .n_columns = 1,
                             .csv = ends_in(argv[1], ".csv"),
                             .parquet = ends_in(argv[1], ".parquet"),
                             .in_memory = bytes ? bytes : SIZE_MAX,
                             .most = SIZE_MAX};
    rlf_records rows;
    rlf_arena *arena = rlf_arena_new();
    double begin = now();
    check(rlf_records_read(&spec, arena, &err, &rows), &err);
    double opened = now() - begin;
    double memory = (double)rlf_arena_used(arena) +
                    (double)rlf_records_size(&rows).memory +
                    (double)rlf_records_size(&rows).index;
    double next = read_rows(&rows, 1), other = read_rows(&rows, 1000003);
    printf("%zu rows: %.2f s, %.1f bytes a row, %.1f MB at most, %.2f us a "
           "row, %.2f us in another order\n",
           rows.count, opened, memory / (double)rows.count, most_resident(),
           1e6 * next, 1e6 * other);
    rlf_arena_free(arena);
    return 0;
}
