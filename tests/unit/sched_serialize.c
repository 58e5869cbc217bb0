/* Values of a step as bytes and back: sets with chats, tokens and columns come
 * back as they were, spaces that were one are one again, all rows of data are
 * those of the rank that reads; a value that nobody asks for does no harm; a
 * text may be longer than what is written and read at once; and what is torn is
 * found, wherever it was cut. */
#define _GNU_SOURCE /* mkdtemp */
#include "engine/io/records.h"
#include "engine/sched/serialize.h"
#include "tests/tap.h"

enum { ROWS = 5, PROMPTS = 2, EACH = 2, SAMPLES = PROMPTS * EACH };

/* ---- a program of one data set, a model, a draw and its samples ---- */

static rlf_space all_rows; /* of the data */
static char words;         /* stands for the model's reader */

static const rlf_space *
rows_of(const void *object)
{
    (void)object;
    return &all_rows;
}

static const struct rlf_reader *
reader_of(const void *object)
{
    (void)object;
    return (const struct rlf_reader *)&words;
}

static const rlf_data_class data_only = {.rows = rows_of};
static const rlf_model_class model_only = {.reader = reader_of};
static const rlf_resource_class of_data = {.data = &data_only},
                                of_model = {.model = &model_only};
static void *objects[2];

enum { DATA = 1, DRAW, ROLL, TOKENS }; /* domains */

static rlf_graph *
make_graph(rlf_arena *arena, rlf_sources *sources)
{
    rlf_graph *g = rlf_graph_new(arena, sources);
    rlf_domain list[] = {
        {.kind = RLF_DOMAIN_ROWS, .owner = -1, .name = "data"},
        {.kind = RLF_DOMAIN_ROWS,
         .owner = -1,
         .name = "batch",
         .up = {DATA},
         .n_up = 1},
        {.kind = RLF_DOMAIN_ROWS, .owner = DRAW, .name = "roll"},
        {.kind = RLF_DOMAIN_TOKENS, .owner = ROLL, .name = "tokens"}};
    for (size_t i = 0; i < RLF_COUNT(list); i++)
        rlf_domains_add(&g->domains, list[i]);
    rlf_graph_add_resource(
        g, (rlf_resource){.class = &of_data, .name = "rows", .domain = DATA});
    rlf_graph_add_resource(g,
                           (rlf_resource){.class = &of_model, .name = "actor"});
    rlf_graph_add_set(g, (rlf_set){.kind = RLF_SET_SAMPLED,
                                   .name = "roll",
                                   .prompts = DRAW,
                                   .samples = ROLL,
                                   .tokens = TOKENS});
    return g;
}

static const rlf_value set_value = {.kind = RLF_VALUE_SET, .domain = -1},
                       token_value = {.kind = RLF_VALUE_NUMBER,
                                      .domain = TOKENS,
                                      .set = -1},
                       text_value = {
                           .kind = RLF_VALUE_TEXT, .domain = DRAW, .set = -1};

/* ---- contents ---- */

static const uint32_t length[SAMPLES] = {2, 0, 3, 1};
static const uint32_t all_ids[] = {5, 7, 6};
static const rlf_token_run one_run = {1, 2};
static const rlf_dialog dialog = {
    .ids = all_ids, .runs = &one_run, .n_ids = 3, .n_runs = 1};

static rlf_rows *
make_rows(rlf_arena *arena, const rlf_graph *g)
{
    static const rlf_message chat[] = {
        {.role = RLF_STR("user"), .content = RLF_STR("why?")},
        {.role = RLF_STR("system"),
         .content = RLF_STR(""),
         .json = RLF_STR("{\"role\":\"system\",\"content\":null}")}};
    static const uint32_t ids[] = {7, 8, 9};
    rlf_rows *rows = RLF_NEW(arena, rlf_rows);
    rlf_space *draw = rlf_space_rows(arena, g, DRAW, PROMPTS);
    rlf_space *roll = rlf_space_rows(arena, g, ROLL, SAMPLES);
    uint32_t *row = RLF_NEW_ARRAY(arena, uint32_t, PROMPTS);
    for (uint32_t i = 0; i < PROMPTS; i++) {
        row[i] = 3 - i;
        ((uint64_t *)draw->identity)[i] = 100 + i;
    }
    draw->up[0] = (rlf_space_up){&all_rows, row};
    uint32_t *owner = RLF_NEW_ARRAY(arena, uint32_t, SAMPLES);
    for (uint32_t i = 0; i < SAMPLES; i++) {
        owner[i] = i / EACH;
        ((uint64_t *)roll->identity)[i] = 200 + i;
    }
    roll->up[0] = (rlf_space_up){draw, owner};
    *rows = (rlf_rows){.set = &g->sets.data[0],
                       .prompts = draw,
                       .samples = roll,
                       .data_row = row,
                       .temperature = 0.5f,
                       .lag = 2,
                       .reader = (const struct rlf_reader *)&words};
    rows->tokens = rlf_space_tokens(arena, g, TOKENS, roll, 4, NULL);
    rows->logprob = RLF_NEW_ARRAY(arena, double, rows->tokens->extent);
    rows->prompt = RLF_NEW_ARRAY(arena, rlf_prompt, PROMPTS);
    rows->sample = RLF_NEW_ARRAY(arena, rlf_sample, SAMPLES);
    rows->prompt[0] = (rlf_prompt){.messages = chat, .n_messages = 2};
    rows->prompt[1] =
        (rlf_prompt){.text = RLF_STR("2 + 2 ="), .ids = ids, .n_ids = 3};
    for (uint32_t i = 0; i < SAMPLES; i++) {
        ((uint32_t *)rows->tokens->length)[i] = length[i];
        rows->sample[i] = (rlf_sample){.text = RLF_STR("four"),
                                       .ids = ids,
                                       .n_ids = length[i],
                                       .finished = i % 2};
        for (uint32_t t = 0; t < length[i]; t++)
            rows->logprob[rows->tokens->offset[i] + t] = -1.0 / (1 + i + t);
    }
    rows->sample[3].dialog = &dialog;
    return rows;
}

/* The contents that a checkpoint keeps: the set, a column on its tokens, and
 * texts of its prompts. */
typedef struct things {
    rlf_content set, numbers, texts;
} things;

static things
make_things(rlf_arena *arena, const rlf_graph *g)
{
    things x = {.set = {.rows = make_rows(arena, g)}};
    const rlf_rows *rows = x.set.rows;
    x.numbers.column =
        (rlf_column){.space = rows->tokens, .number = rows->logprob};
    x.texts.column = rlf_column_new(arena, rows->prompts, true);
    x.texts.column.text[0] = RLF_STR("a");
    return x;
}

static char path[] = "/tmp/rlflow-keep-XXXXXX/values";
static rlf_err failed = RLF_ERR_NONE;

static rlf_serializer
serializer(const rlf_graph *g, rlf_arena *arena)
{
    return (rlf_serializer){
        .graph = g, .resource = objects, .arena = arena, .err = &failed};
}

static void
serialize_all(rlf_serializer *k, const things *x)
{
    rlf_serialize_content(k, &text_value, &x->texts);
    rlf_serialize_content(k, &set_value, &x->set);
    rlf_serialize_content(k, &token_value, &x->numbers);
}

/* As a file: spaces, then the values; its size, and that of the first value. */
static size_t
keep(const rlf_graph *g, const things *x, size_t *first)
{
    rlf_writer *file;
    rlf_serializer k = serializer(g, NULL);
    rlf_serialize_content(&k, &text_value, &x->texts);
    *first = (size_t)k.at;
    serialize_all(&k, x);
    if (rlf_writer_open(path, &failed, &file) < 0)
        bail("%s", failed.sentence);
    k.to = file;
    k.at = 0;
    rlf_serialize_spaces(&k);
    serialize_all(&k, x);
    if (rlf_serialize_end(&k) < 0 || rlf_writer_size(file) != k.at ||
        rlf_writer_commit(file, &failed) < 0)
        bail("%s has %s", path, failed.sentence);
    rlf_serializer_free(&k);
    return (size_t)k.at;
}

/* True unless it is torn. `skip`: without the first value. */
static bool
read_back(const rlf_graph *g, rlf_arena *arena, size_t skip, things *out)
{
    rlf_infile *file;
    rlf_serializer k = serializer(g, arena);
    if (rlf_infile_open(path, &failed, &file) < 0)
        bail("%s", failed.sentence);
    k.from = file;
    k.end = rlf_infile_size(file);
    rlf_deserialize_spaces(&k);
    if (skip)
        k.at += skip;
    else
        out->texts = rlf_deserialize_content(&k, &text_value);
    out->set = rlf_deserialize_content(&k, &set_value);
    out->numbers = rlf_deserialize_content(&k, &token_value);
    bool whole = !k.torn && k.at == k.end && rlf_serializer_check(&k) >= 0;
    rlf_serializer_free(&k);
    rlf_infile_close(file);
    return whole;
}

/* Texts of these lengths, by which pieces of the file begin and end in them,
 * beside them, and with them. */
static bool
check_long(const rlf_graph *g, rlf_arena *arena, things *x)
{
    enum { PIECE = 1 << 16, MOST = 3 * PIECE };
    static const size_t lengths[] = {PIECE - 9, PIECE - 8, PIECE,
                                     2 * PIECE, PIECE + 1, MOST};
    char *letters = rlf_arena_alloc(arena, MOST);
    bool good = true;
    for (size_t i = 0; i < MOST; i++)
        letters[i] = (char)('a' + (i * i / 7) % 26);
    for (size_t i = 0; i < RLF_COUNT(lengths); i++) {
        things y = {0};
        size_t first;
        rlf_str *texts = x->texts.column.text;
        texts[0] = (rlf_str){letters, lengths[i]};
        texts[1] = (rlf_str){letters + 1, MOST - lengths[i]};
        keep(g, x, &first);
        good &= read_back(g, arena, 0, &y) &&
                rlf_str_eq(y.texts.column.text[0], texts[0]) &&
                rlf_str_eq(y.texts.column.text[1], texts[1]) &&
                y.set.rows->sample[3].n_ids == length[3];
    }
    return good;
}

static void
check_set(const rlf_rows *rows)
{
    ok(rows->prompts->up[0].to == &all_rows &&
           rows->prompts->up[0].index[1] == 2,
       "a draw hangs from the rows of its data");
    ok(rows->samples->up[0].to == rows->prompts &&
           rows->tokens->up[0].to == rows->samples,
       "spaces hang together");
    ok(rows->samples->identity[3] == 203 && rows->samples->up[0].index[3] == 1,
       "who a sample is, and of which prompt");
    ok(rows->reader == (const struct rlf_reader *)&words && rows->lag == 2 &&
           !(rows->temperature < 0.5f) && rows->data_row[0] == 3,
       "reader, lag, temperature, rows of data");
    const rlf_prompt *p = rows->prompt;
    ok(!p[0].text.p && p[0].n_messages == 2 && !p[0].ids &&
           rlf_str_eq(p[0].messages[0].content, RLF_STR("why?")) &&
           !p[0].messages[0].json.n &&
           rlf_str_eq(p[0].messages[1].json,
                      RLF_STR("{\"role\":\"system\",\"content\":null}")) &&
           p[1].n_ids == 3 && p[1].ids[2] == 9 &&
           rlf_str_eq(p[1].text, RLF_STR("2 + 2 =")),
       "a prompt of messages, one of tokens");
    bool good = true;
    for (uint32_t i = 0; i < SAMPLES; i++) {
        good &= rows->sample[i].n_ids == length[i] &&
                rows->sample[i].finished == i % 2 &&
                rows->tokens->length[i] == length[i];
        for (uint32_t t = 0; t < length[i]; t++) {
            double x = rows->logprob[rows->tokens->offset[i] + t];
            good &= x + 1.0 / (1 + i + t) >= 0 && x + 1.0 / (1 + i + t) <= 0;
        }
    }
    ok(good, "responses and their log-probabilities");
    const rlf_dialog *t = rows->sample[3].dialog;
    ok(!rows->sample[0].dialog && t && t->n_ids == dialog.n_ids &&
           t->n_runs == 1 &&
           t->ids[dialog.n_ids - 1] == dialog.ids[dialog.n_ids - 1] &&
           t->runs[0].from == 1 && t->runs[0].to == 1 + length[3],
       "what others say in a sample");
}

int
main(void)
{
    plan(12);
    rlf_arena *arena = rlf_arena_new(), *other = rlf_arena_new();
    rlf_sources sources = {.arena = arena};
    rlf_graph *g = make_graph(arena, &sources);
    all_rows = *rlf_space_rows(arena, g, DATA, ROWS);
    things x = make_things(arena, g), y = {0};
    size_t first;
    rlf_err ignored = RLF_ERR_NONE;
    *strrchr(path, '/') = 0;
    if (!mkdtemp(path))
        bail("no directory");
    path[strlen(path)] = '/';
    size_t size = keep(g, &x, &first);
    ok(read_back(g, other, 0, &y), "values come back");
    check_set(y.set.rows);
    ok(y.numbers.column.space == y.set.rows->tokens &&
           y.texts.column.space == y.set.rows->prompts &&
           rlf_str_eq(y.texts.column.text[0], RLF_STR("a")),
       "columns stand on the spaces of their set");
    y = (things){0};
    ok(read_back(g, other, first, &y) &&
           y.numbers.column.space == y.set.rows->tokens,
       "a value may be left out");
    size_t found = 0;
    for (size_t n = size; n-- > 0;) {
        if (rlf_file_truncate(path, n, &ignored) < 0)
            bail("%s", ignored.sentence);
        found += !read_back(g, other, 0, &y);
        rlf_arena_reset(other);
    }
    ok(found == size, "cut anywhere, it is torn");
    ok(check_long(g, other, &x), "texts longer than a piece of the file");
    rlf_dir_remove(rlf_path_parent(arena, path), &ignored);
    rlf_arena_free(other);
    rlf_arena_free(arena);
    return done();
}
