/* Expected lengths: see workload.h. */
#include "engine/timing/workload.h"

#include <math.h>

int
rlf_workload_root(const rlf_graph *graph, int set)
{
    const rlf_set *s = &graph->sets.data[set];
    while (s->origin >= 0 || s->from >= 0) {
        set = s->origin >= 0 ? s->origin : s->from;
        s = &graph->sets.data[set];
    }
    return set;
}

/* The set that it is a part of. */
static int
whole_of(const rlf_graph *graph, int set)
{
    while (graph->sets.data[set].origin >= 0)
        set = graph->sets.data[set].origin;
    return set;
}

const rlf_length_distribution *
rlf_workload_prompts(const rlf_workload *w, const rlf_graph *graph, int set)
{
    const rlf_set *root = &graph->sets.data[rlf_workload_root(graph, set)];
    const rlf_length_distribution *d = NULL;
    if (!w)
        return NULL;
    if (root->kind != RLF_SET_DATA)
        d = w->asked;
    else if (w->prompts && root->data >= 0)
        d = w->prompts[root->data];
    return d || !w->answered ? d : w->answered[whole_of(graph, set)];
}

const rlf_length_distribution *
rlf_workload_responses(const rlf_workload *w, const rlf_graph *graph, int set)
{
    const rlf_length_distribution *d = NULL;
    if (!w || graph->sets.data[set].tokens < 0)
        return NULL;
    if (w->generated)
        d = w->generated[whole_of(graph, set)];
    return d ? d : w->responses;
}

static double
mean_of(const rlf_length_distribution *d, double most)
{
    return d ? fmax(rlf_lengths_mean(d, most), 1) : most;
}

rlf_workload_most
rlf_workload_bound(const rlf_workload *w, const rlf_graph *graph,
                   const rlf_sizes *sizes, int set)
{
    const rlf_set_size *size = &sizes->set[set];
    const rlf_length_distribution *prompts =
        rlf_workload_prompts(w, graph, set);
    const rlf_length_distribution *responses =
        rlf_workload_responses(w, graph, set);
    rlf_workload_most most = {size->prompt, size->response};
    double prompt = mean_of(prompts, most.prompt);
    double response = mean_of(responses, most.response);
    if (prompt + response <= size->sequence)
        return most;
    bool bounded = prompts || size->prompt < size->sequence;
    if (bounded && !responses)
        most.response = size->sequence - prompt;
    else if (!prompts)
        most.prompt = size->sequence - response;
    return most;
}

/* The lengths of N rows whose shares are even, mixed up: those of `purpose` in
 * another order than others. NULL: all have `most`. */
static void
add_typical(const rlf_length_distribution *d, double most, int each,
            uint32_t purpose, double *to)
{
    enum { N = RLF_EXPECTED_ROWS };
    uint32_t order[N], n = (uint32_t)(N / each);
    const rlf_random_key key = {.purpose = RLF_PURPOSE_LENGTH, .site = purpose};
    n += n == 0;
    rlf_draw_shuffle(&key, n, order);
    for (uint32_t i = 0; i < N; i++) {
        double q = (order[i / (uint32_t)each % n] + 0.5) / n;
        double x = d ? rlf_lengths_quantile(d, q) : most;
        to[i] += fmin(fmax(floor(x + 0.5), 1), most);
    }
}

rlf_expected_set *
rlf_workload_expect(const rlf_workload *w, const rlf_graph *graph,
                    const rlf_sizes *sizes, rlf_arena *arena)
{
    size_t n = graph->sets.count;
    rlf_expected_set *out = RLF_NEW_ARRAY(arena, rlf_expected_set, n + 1);
    for (size_t i = 0; i < n; i++) {
        const rlf_set_size *size = &sizes->set[i];
        const rlf_length_distribution *prompts =
            rlf_workload_prompts(w, graph, (int)i);
        bool tokens = graph->sets.data[i].tokens >= 0;
        const rlf_length_distribution *responses =
            rlf_workload_responses(w, graph, (int)i);
        double each = size->samples / fmax(1, size->prompts);
        const rlf_workload_most most =
            rlf_workload_bound(w, graph, sizes, (int)i);
        rlf_expected_set *e = &out[i];
        e->prompt = mean_of(prompts, most.prompt);
        e->response = mean_of(responses, most.response);
        e->most = most.response;
        e->each = fmax(1, each);
        if (responses && !rlf_lengths_alike(responses, most.response))
            e->responses = responses;
        bool alike = !prompts || rlf_lengths_alike(prompts, most.prompt);
        if (!e->responses && alike)
            continue;
        double *rows = RLF_NEW_ARRAY(arena, double, RLF_EXPECTED_ROWS);
        each = fmin(fmax(each, 1), RLF_EXPECTED_ROWS);
        add_typical(prompts, most.prompt, (int)each, 0, rows);
        if (tokens)
            add_typical(responses, most.response, 1, 1, rows);
        e->rows = rows;
    }
    return out;
}

rlf_sharing
rlf_sharing_of(double each)
{
    double low = floor(fmax(1, each)), high = low + 1;
    double part = (1 / fmax(1, each) - 1 / high) / (1 / low - 1 / high);
    return (rlf_sharing){.each = {(uint32_t)low, (uint32_t)high},
                         .part = {part, each > low ? 1 - part : 0}};
}

double
rlf_sharing_in(double each, double part)
{
    if (each <= 1 || part >= 1)
        return fmax(1, each);
    return fmax(1, each * part / (1 - pow(1 - part, each)));
}

/* Micro-batches of n rows from the row `first` on, behind the last of which
 * comes the first. All rows of a prompt
 * are in one, if they fit. */
static int
cut(const rlf_expected_set *set, int first, int n, double room, double together)
{
    int micros = 0, begin = first, prompt = first;
    double filled = INFINITY;
    for (int i = first; i < first + n; i++) {
        double whole = set->rows[i % RLF_EXPECTED_ROWS];
        bool begins = together <= 1 || fmod(i, together) < 1 || i == first;
        double tokens = begins ? whole : fmax(1, whole - set->prompt);
        prompt = begins ? i : prompt;
        if (filled + tokens > room) {
            micros++;
            i = prompt > begin ? prompt : i;
            begin = i;
            filled = 0;
            tokens = set->rows[i % RLF_EXPECTED_ROWS];
        }
        filled += tokens;
    }
    return micros;
}

double
rlf_expected_micros(const rlf_expected_set *set, double n, double room,
                    double together)
{
    enum { N = RLF_EXPECTED_ROWS };
    if (n < 1)
        return 1;
    if (!set->rows) {
        double tokens = set->prompt + together * set->response;
        double fit = floor(room / tokens) * together; /* whole prompts */
        if (fit >= 1)
            return fmax(1, ceil(n / fit));
        fit = fmax(1, floor((room - set->prompt) / set->response));
        return fmax(1, ceil(n / together) * ceil(together / fit));
    }
    if (n >= N)
        return cut(set, 0, N, room, together) * n / N;
    int whole = (int)n, times = (N + whole - 1) / whole;
    double sum = 0;
    for (int i = 0; i < times; i++)
        sum += cut(set, i * N / times, whole, room, together);
    return fmax(1, sum / times);
}
