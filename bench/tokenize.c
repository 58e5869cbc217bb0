/* bench tokenize TOKENIZER TEXTS: how long the texts of a JSON list take to be
 * tokenized, in processor time of one thread, the least of a few times, behind
 * the bytes, the ids and the time that opening the tokenizer takes. With
 * --hashes in front, hashes of each text's ids and of what they decode to, with
 * which tests/oracle/text_made.py compares them. */
#include "engine/io/json.h"
#include "engine/text/detokenizer.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { TIMES = 5 };

static double
seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void
die(const rlf_err *err)
{
    fprintf(stderr, "%s\n", err->sentence);
    exit(1);
}

static uint32_t
hash_of(const rlf_buf *buf)
{
    uint32_t hash = 0x811c9dc5;
    for (size_t i = 0; i < buf->n; i++)
        hash = (hash ^ (unsigned char)buf->p[i]) * 0x01000193;
    return hash;
}

static void
show_hashes(const rlf_tokenizer *t, const json_t *texts)
{
    rlf_err err = RLF_ERR_NONE;
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const json_t *text = json_array_get(texts, i);
        rlf_ids ids = {0};
        rlf_buf line = {0}, whole = {0}, plain = {0};
        if (rlf_tokenizer_encode(t, json_string_value(text),
                                 json_string_length(text), RLF_ENCODE_SPECIAL,
                                 &err, &ids) < 0)
            die(&err);
        for (size_t k = 0; k < ids.count; k++)
            rlf_buf_printf(&line, "%s%u", k ? " " : "", ids.data[k]);
        rlf_tokenizer_decode(t, ids.data, ids.count, 0, &whole);
        rlf_tokenizer_decode(t, ids.data, ids.count, RLF_DECODE_SKIP_SPECIAL,
                             &plain);
        printf("%u %u %u\n", hash_of(&line), hash_of(&whole), hash_of(&plain));
        RLF_VEC_FREE(&ids);
        rlf_buf_free(&line);
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
        double begin = seconds(), end;
        bytes = count = 0;
        for (size_t i = 0; i < json_array_size(texts); i++) {
            const json_t *text = json_array_get(texts, i);
            rlf_ids ids = {0};
            if (rlf_tokenizer_encode(t, json_string_value(text),
                                     json_string_length(text), 0, &err,
                                     &ids) < 0)
                die(&err);
            bytes += json_string_length(text);
            count += ids.count;
            RLF_VEC_FREE(&ids);
        }
        end = seconds();
        least = end - begin < least ? end - begin : least;
    }
    printf("%zu %zu %.4f %.4f\n", bytes, count, opening, least);
}

int
main(int argc, char **argv)
{
    bool hashes = argc == 4 && strcmp(argv[1], "--hashes") == 0;
    if (argc != 3 && !hashes) {
        fprintf(stderr, "usage: tokenize [--hashes] TOKENIZER TEXTS\n");
        return 2;
    }
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    json_t *texts = NULL;
    double begin = seconds();
    if (rlf_tokenizer_open(argv[argc - 2], &err, &t) < 0)
        die(&err);
    double opening = seconds() - begin;
    if (rlf_json_load(argv[argc - 1], &err, &texts) < 0)
        die(&err);
    if (hashes)
        show_hashes(t, texts);
    else
        show_times(t, texts, opening);
    json_decref(texts);
    rlf_tokenizer_close(t);
    return 0;
}
