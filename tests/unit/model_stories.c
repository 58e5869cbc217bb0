/* A model that others trained: stories260K with the text that llama2.c's own
 * test expects of 200 greedy steps, from f32 and, for its beginning, from bf16
 * weights; on GPUs too, emulated and real. Skipped where the test data is not
 * there (RLFLOW_TEST_DATA). */
#include "engine/io/file.h"
#include "nodes/model/generate.h"
#include "tests/unit/model_places.h"

static const char want[] =
    "Once upon a time, there was a little girl named Lily. She loved to play "
    "outside in the park. One day, she saw a big, red ball. She wanted to play "
    "with it, but it was too high.\nLily's mom said, \"Lily, let's go to the "
    "park.\" Lily was sad and didn't know what to do. She said, \"I want to "
    "play with your ball, but I can't find it.\"\nLily was sad and didn't know "
    "what to do. She said, \"I'm sorry, Lily. I didn't know what to do.\"\n"
    "Lily didn't want to help her mom, so she";

/* The text of n greedy tokens after the start token; `stop` may be NULL. */
static void
tell(test_machine *t, const char *dir, uint32_t n, const char *stop,
     rlf_buf *out, bool *finished)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config;
    rlf_tokenizer *tokenizer;
    rlf_model *model;
    MUST(t, rlf_model_config_read(dir, arena, &t->err, &config));
    MUST(t, rlf_tokenizer_open(dir, &t->err, &tokenizer));
    rlf_model_options options = {.head = RLF_HEAD_LM};
    MUST(t, rlf_model_new(t->queue, t->kernels, &config, &options, &t->err,
                          &model));
    MUST(t,
         rlf_weights_fill(model, &(rlf_weights_origin){.dir = dir}, &t->err));
    rlf_pass_options pass_options = {.tokens = 64};
    rlf_pass *pass;
    MUST(t, rlf_pass_new(model, &pass_options, &t->err, &pass));
    rlf_kv *kv;
    MUST(t, rlf_kv_new(model, 16, 32, &t->err, &kv));
    uint32_t start = rlf_tokenizer_bos(tokenizer), first;
    uint64_t identity = 0;
    rlf_generation_options o = {.max_new = n,
                                .greedy = true,
                                .tokenizer = tokenizer,
                                .stop = &stop,
                                .n_stop = stop != NULL,
                                .eos = &start,
                                .n_eos = 1};
    rlf_generation *g;
    MUST(t, rlf_generation_new(model, pass, kv, &o, &t->err, &g));
    MUST(t, rlf_generation_add(g, &start, 1, &identity, 1, &t->err, &first));
    for (rlf_status status = RLF_AGAIN; status == RLF_AGAIN;) {
        const uint32_t *rows;
        uint32_t n_rows;
        status = rlf_generation_step(g, &t->err, &rows, &n_rows);
        MUST(t, status);
    }
    rlf_response r = rlf_generation_response(g, first);
    rlf_tokenizer_decode(tokenizer, r.ids, r.n, RLF_DECODE_SKIP_SPECIAL, out);
    *finished = r.finished;
    rlf_generation_free(g);
    rlf_kv_free(kv);
    rlf_pass_free(pass);
    rlf_model_free(model);
    rlf_tokenizer_close(tokenizer);
    rlf_arena_free(arena);
}

/* The whole story, and the end of one. */
static void
tell_all(test_machine *t, const test_place *at, const char *dir)
{
    rlf_buf text = {0};
    bool finished;
    tell(t, dir, 200, NULL, &text, &finished);
    is_str(text.p, want, at->name);
    ok(!finished, "cut by max_new");
    rlf_buf_clear(&text);
    tell(t, dir, 200, " ball", &text, &finished);
    ok(finished, "a stop text ends the response");
    is_str(text.p,
           "Once upon a time, there was a little girl named Lily. She loved "
           "to play outside in the park. One day, she saw a big, red ball",
           "and is its last text");
    rlf_buf_free(&text);
}

/* The first n tokens tell at least the first `same` letters of it. */
static void
tell_beginning(test_machine *t, const test_place *at, const char *dir,
               uint32_t n, size_t same)
{
    rlf_buf text = {0};
    bool finished;
    tell(t, dir, n, NULL, &text, &finished);
    ok(text.n > same && strncmp(text.p, want, same) == 0,
       "%s: %s begins the same story", at->name, strrchr(dir, '/') + 1);
    if (getenv("VERBOSE"))
        note("%s", text.p);
    rlf_buf_free(&text);
}

int
main(void)
{
    const char *data = getenv("RLFLOW_TEST_DATA");
    rlf_arena *arena = rlf_arena_new();
    const char *dir =
        rlf_arena_printf(arena, "%s/models/stories260K-hf", data ? data : "");
    const char *bf16 = rlf_arena_printf(arena, "%s-bf16", dir);
    if (!data || !rlf_dir_exists(dir))
        skip_all("no %s", data ? dir : "RLFLOW_TEST_DATA");
    test_place places[MOST_PLACES];
    int n = test_places(places);
    for (int i = 0; i < n; i++) {
        const test_place *at = &places[i];
        if (!wanted(at->name))
            continue;
        test_machine t;
        test_machine_open_at(&t, at, 2);
        if (is_exact(at) && !at->slow)
            tell_all(&t, at, dir);
        if (at->slow)
            tell_beginning(&t, at, is_exact(at) ? dir : bf16, 6, 16);
        else
            tell_beginning(&t, at, bf16, 40, 60);
        test_machine_close(&t);
    }
    rlf_arena_free(arena);
    return done();
}
