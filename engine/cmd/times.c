/* Times of ranks, from ranks.jsonl: see times.h. */
#include "engine/cmd/times.h"

#include "engine/cmd/cmd.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const rlf_time_part rlf_time_parts[RLF_TIME_PARTS] = {
    {"generate", 'g', "44"}, {"read", 'r', "42"}, {"train", 't', "45"},
    {"lua", 'l', "43"},      {"move", 'm', "41"}, {"rest", '-', "47"},
    {"wait", '.', "100"}};

/* The columns of the parts; false: one is missing. */
static bool
find_columns(rlf_record *record, rlf_recorded_rank_column *out)
{
    const rlf_recorded_rank_column *c;
    int found = 0;
    for (size_t i = 0; (c = rlf_record_rank_column(record, i)); i++)
        for (int k = 0; k < RLF_TIME_PARTS; k++)
            if (strncmp(c->name, "seconds.", 8) == 0 &&
                strcmp(c->name + 8, rlf_time_parts[k].name) == 0) {
                out[k] = *c;
                found |= 1 << k;
            }
    return found == (1 << RLF_TIME_PARTS) - 1;
}

/* The first row of the step that the row before `end` is of. */
static size_t
step_begins(const rlf_recorded_rank_column *c, size_t end)
{
    size_t at = end - 1;
    while (at > 0 && c->step[at - 1] == c->step[end - 1])
        at--;
    return at;
}

/* The first row of the last `steps` steps, as far as they have as many ranks as
 * the last one: a run may be resumed on others. */
static size_t
first_row(const rlf_recorded_rank_column *c, uint64_t steps)
{
    size_t at = c->n, ranks = c->n ? c->n - step_begins(c, c->n) : 0;
    for (uint64_t seen = 0; at > 0 && seen < steps; seen++) {
        size_t begins = step_begins(c, at);
        if (at - begins != ranks)
            break;
        at = begins;
    }
    return at;
}

static int
busiest_first(const void *a, const void *b)
{
    const rlf_rank_seconds *x = a, *y = b;
    if (x->busy != y->busy)
        return x->busy < y->busy ? 1 : -1;
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static void
add_up(rlf_rank_seconds *time)
{
    time->all = 0;
    for (int k = 0; k < RLF_TIME_PARTS; k++)
        time->all += time->seconds[k];
    time->busy = time->all - time->seconds[RLF_TIME_PARTS - 1];
}

rlf_rank_seconds *
rlf_rank_times_read(rlf_record *record, uint64_t steps, size_t *n)
{
    rlf_recorded_rank_column columns[RLF_TIME_PARTS];
    uint64_t most = 0;
    *n = 0;
    if (!find_columns(record, columns) || !columns[0].n)
        return NULL;
    size_t from = first_row(&columns[0], steps), rows = columns[0].n;
    for (size_t i = from; i < rows; i++)
        most = columns[0].rank[i] > most ? columns[0].rank[i] : most;
    rlf_rank_seconds *out = rlf_calloc((size_t)most + 1, sizeof *out);
    uint64_t *count = rlf_calloc((size_t)most + 1, sizeof *count);
    for (size_t i = from; i < rows; i++) {
        uint64_t rank = columns[0].rank[i];
        count[rank]++;
        for (int k = 0; k < RLF_TIME_PARTS; k++)
            if (isfinite(columns[k].value[i]))
                out[rank].seconds[k] += columns[k].value[i];
    }
    for (uint64_t rank = 0; rank <= most; rank++) {
        if (!count[rank])
            continue;
        rlf_rank_seconds time = {.rank = rank};
        for (int k = 0; k < RLF_TIME_PARTS; k++)
            time.seconds[k] = out[rank].seconds[k] / (double)count[rank];
        add_up(&time);
        out[(*n)++] = time;
    }
    free(count);
    qsort(out, *n, sizeof *out, busiest_first);
    return out;
}

rlf_rank_seconds
rlf_rank_times_mean(const rlf_rank_seconds *times, size_t n)
{
    rlf_rank_seconds mean = {0};
    for (size_t i = 0; i < n; i++)
        for (int k = 0; k < RLF_TIME_PARTS; k++)
            mean.seconds[k] += times[i].seconds[k] / (double)n;
    add_up(&mean);
    return mean;
}
