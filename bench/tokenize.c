/* bench tokenize [--threads N] TOKENIZER TEXTS: how long the texts of a JSON
 * list take to be tokenized, in processor time of one thread, the least of a
 * few times, behind the bytes, the ids and the time that opening the tokenizer
 * takes. With
 * --threads in front, the time of the wall on 1, 2, 4 ... N threads. With
 * --sums in front, checksums of each text's ids and, of each eighth, of what
 * they decode to, with which tests/oracle/text_made.py compares them; of a text
 * that has what the vocabulary cannot express, that it is refused. */
#include "bench/measure.h"
#include "engine/base/clock.h"
#include "engine/dev/team.h"
#include "engine/io/checksum.h"
#include "engine/io/json.h"
#include "engine/text/detokenizer.h"

#include <string.h>

enum { TIMES = 5 };

static void
show_sums(const rlf_tokenizer *t, const json_t *texts)
{
    enum { DECODED = 8 };
    rlf_err err = RLF_ERR_NONE;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        rlf_ids ids = {0};
        rlf_buf whole = {0}, plain = {0};
        if (rlf_tokenizer_encode(t, json_string_value(text),
                                 json_string_length(text), RLF_ENCODE_SPECIAL,
                                 &err, &ids) < 0) {
            puts("refused");
            rlf_err_clear(&err);
            RLF_VEC_FREE(&ids);
            continue;
        }
        if (i % DECODED == 0) {
            rlf_tokenizer_decode(t, ids.data, ids.count, 0, &whole);
            rlf_tokenizer_decode(t, ids.data, ids.count,
                                 RLF_DECODE_SKIP_SPECIAL, &plain);
        }
        printf("%u %u %u\n",
               rlf_checksum(0, ids.data, ids.count * sizeof *ids.data),
               rlf_checksum(0, whole.p, whole.n),
               rlf_checksum(0, plain.p, plain.n));
        RLF_VEC_FREE(&ids);
        rlf_buf_free(&whole);
        rlf_buf_free(&plain);
    }
}

static void
show_times(const rlf_tokenizer *t, const json_t *texts, double opening)
{
    rlf_err err = RLF_ERR_NONE;
    double least = 1e9;
    size_t bytes = 0, count = 0;
    for (int k = 0; k < TIMES; k++) {
        double begin = now(), end;
        bytes = count = 0;
        for (size_t i = 0; i < json_array_size(texts); i++) {
            const json_t *text = json_array_get(texts, i);
            rlf_ids ids = {0};
            check(rlf_tokenizer_encode(t, json_string_value(text),
                                       json_string_length(text), 0, &err, &ids),
                  &err);
            bytes += json_string_length(text);
            count += ids.count;
            RLF_VEC_FREE(&ids);
        }
        end = now();
        least = end - begin < least ? end - begin : least;
    }
    printf("%zu %zu %.4f %.4f\n", bytes, count, opening, least);
}

/* ---- threads ---- */

typedef struct shared {
    const rlf_tokenizer *tokenizer;
    const json_t *texts;
    rlf_claim claim;
} shared;

static void
encode_some(void *arg, int thread, int n_threads)
{
    shared *s = arg;
    int64_t first, last;
    (void)thread, (void)n_threads;
    while (rlf_claim_take(&s->claim, 16, &first, &last))
        for (size_t i = (size_t)first; i < (size_t)last; i++) {
            const json_t *text = json_array_get(s->texts, i);
            rlf_err err = RLF_ERR_NONE;
            rlf_ids ids = {0};
            check(rlf_tokenizer_encode(s->tokenizer, json_string_value(text),
                                       json_string_length(text), 0, &err, &ids),
                  &err);
            RLF_VEC_FREE(&ids);
        }
}

/* Time of the wall, the least of a few times, on 1, 2, 4 ... threads, and the
 * processor time of all: where cores are free, n threads are n times as fast if
 * that does not grow. */
static void
show_threads(const rlf_tokenizer *t, const json_t *texts, int most)
{
    double first = 0;
    for (int n = 1; n <= most; n *= 2) {
        rlf_err err = RLF_ERR_NONE;
        rlf_team *team;
        double least = 1e9, busy = 1e9;
        check(rlf_team_new(n, n, &team, &err), &err);
        for (int k = 0; k < TIMES; k++) {
            shared s = {t, texts,
                        rlf_claim_of((int64_t)json_array_size(texts))};
            uint64_t begin = rlf_clock_now(), spent = rlf_clock_process();
            rlf_team_run(team, encode_some, &s);
            double took = rlf_clock_since(begin);
            least = took < least ? took : least;
            took = 1e-9 * (double)(rlf_clock_process() - spent);
            busy = took < busy ? took : busy;
        }
        rlf_team_free(team);
        first = n == 1 ? least : first;
        printf("%d threads: %.4f s, %.2f times one; %.4f s of processor time\n",
               n, least, first / least, busy);
    }
}

int
main(int argc, char **argv)
{
    clock_used = CLOCK_PROCESS_CPUTIME_ID;
    bool sums = argc == 4 && strcmp(argv[1], "--sums") == 0;
    bool threads = argc == 5 && strcmp(argv[1], "--threads") == 0;
    if (argc != 3 && !sums && !threads) {
        fprintf(stderr,
                "usage: tokenize [--sums | --threads N] TOKENIZER TEXTS\n");
        return 2;
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    json_t *texts = NULL;
    double begin = now();
    check(rlf_tokenizer_open(argv[argc - 2], &err, &t), &err);
    double opening = now() - begin;
    check(rlf_json_load(argv[argc - 1], &err, &texts), &err);
    if (threads)
        show_threads(t, texts, atoi(argv[2]));
    else if (sums)
        show_sums(t, texts);
    else
        show_times(t, texts, opening);
    json_decref(texts);
    rlf_tokenizer_close(t);
    return 0;
}
