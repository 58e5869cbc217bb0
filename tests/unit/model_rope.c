/* Frequencies of rotary positions against transformers (tests/oracle/rope.py):
 * every kind of scaling, with the keys that it may have, at lengths within and
 * beyond those of pretraining. */
#include "engine/io/file.h"
#include "engine/io/json.h"
#include "nodes/model/config.h"
#include "tests/unit/model.h"

#include <math.h>
#include <unistd.h>

/* The reference computes in single precision, powers included. */
#define OFF 3e-6
/* Tokens of a sequence that is long to every case: MOST of rope.py. */
#define MOST 1e6

static char scratch[64];
static bool has_case[64]; /* of each kind of scaling */

static void
read_case(test_machine *t, rlf_arena *arena, const json_t *of,
          rlf_model_config *out)
{
    const char *path = rlf_path_join(arena, scratch, "config.json");
    char *text = json_dumps(json_object_get(of, "config"), 0);
    MUST(t, rlf_file_write(path, text, strlen(text), &t->err));
    MUST(t, rlf_model_config_read(scratch, arena, &t->err, out));
    free(text);
}

static void
test_case(test_machine *t, rlf_arena *arena, const json_t *of, size_t number)
{
    rlf_model_config config;
    read_case(t, arena, of, &config);
    const json_t *want = json_object_get(of, "frequency");
    double longest = json_number_value(json_object_get(of, "longest"));
    double scale = json_number_value(json_object_get(of, "scale"));
    int dim = rlf_model_config_rotated(&config), n = dim / 2;
    double *got = RLF_NEW_ARRAY(arena, double, n), worst = 0;
    double got_scale = rlf_rope_frequencies(&config.rope, dim, longest, got);
    if (json_array_size(want) != (size_t)n)
        bail("case %zu: %zu frequencies", number, json_array_size(want));
    for (int i = 0; i < n; i++) {
        double x = json_number_value(json_array_get(want, (size_t)i));
        worst = fmax(worst, fabs(got[i] - x) / x);
    }
    ok(worst <= OFF && fabs(got_scale - scale) <= 1e-12 * scale,
       "case %zu: %s, %.0f tokens: frequencies and their factor %g", number,
       rlf_rope_kind(config.rope.kind), longest, scale);
    if (worst > OFF)
        note("worst %g", worst);
    ok(rlf_rope_is_stretched(&config.rope, MOST) ==
           json_is_true(json_object_get(of, "by_length")),
       "... and whether the longest sequence decides");
    if (config.rope.kind < RLF_COUNT(has_case))
        has_case[config.rope.kind] = true;
}

static void
test_all_kinds(void)
{
    const char *name;
    for (size_t i = 0; (name = rlf_rope_kind(i)); i++)
        ok(i < RLF_COUNT(has_case) && has_case[i],
           "%s has a case in tests/oracle/rope.py", name);
}

static rlf_model_config
config_of(test_machine *t, rlf_arena *arena, const char *members)
{
    rlf_model_config config;
    json_t *of = json_loads(
        rlf_arena_printf(arena,
                         "{\"config\": {\"model_type\": \"llama\", "
                         "\"hidden_size\": 16, \"num_attention_heads\": 2, "
                         "\"num_hidden_layers\": 1, \"vocab_size\": 11, "
                         "\"intermediate_size\": 24, "
                         "\"max_position_embeddings\": 100, %s}}",
                         members),
        0, NULL);
    if (!of)
        bail("no JSON: %s", members);
    read_case(t, arena, of, &config);
    json_decref(of);
    return config;
}

/* transformers takes a "truncate" that is null for false. */
static void
test_null_truncate(test_machine *t, rlf_arena *arena)
{
    static const char yarn[] =
        "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4%s}";
    rlf_model_config absent =
        config_of(t, arena, rlf_arena_printf(arena, yarn, ""));
    rlf_model_config null = config_of(
        t, arena, rlf_arena_printf(arena, yarn, ", \"truncate\": null"));
    ok(absent.rope.truncated && !null.rope.truncated,
       "yarn: a \"truncate\" that is null is false");
}

/* Of the sequences that a scaling is made for, and of what decides. */
static void
test_reach(test_machine *t, rlf_arena *arena)
{
    rlf_model_config c = config_of(
        t, arena, "\"rope_scaling\": {\"type\": \"dynamic\", \"factor\": 4}");
    is_int(c.context, 400, "dynamic: four times the context");
    ok(!rlf_rope_is_stretched(&c.rope, 100) &&
           rlf_rope_is_stretched(&c.rope, 101),
       "a longer sequence stretches all");
    c = config_of(t, arena,
                  "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 4, "
                  "\"original_max_position_embeddings\": 50}");
    is_int(c.context, 200, "yarn: four times what came before");
    ok(!rlf_rope_is_stretched(&c.rope, 200), "whatever the length");
    c = config_of(t, arena,
                  "\"rope_scaling\": {\"type\": \"yarn\", \"factor\": 2, "
                  "\"original_max_position_embeddings\": 25}");
    is_int(c.context, 100, "the context that config.json names is not cut");
    c = config_of(t, arena,
                  "\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}");
    is_int(c.context, 100, "linear: config.json names the context");
    c = config_of(t, arena,
                  "\"rope_parameters\": {\"rope_type\": \"default\"}");
    is_int(c.context, 100, "... and where nothing is scaled");
    c = config_of(t, arena,
                  "\"rope_scaling\": {\"type\": \"llama3\", \"factor\": 4, "
                  "\"low_freq_factor\": 1, \"high_freq_factor\": 4, "
                  "\"original_max_position_embeddings\": 50}");
    is_int(c.context, 100, "llama3: so does it there");
    c = config_of(t, arena,
                  "\"rope_scaling\": {\"type\": \"longrope\", \"factor\": 4, "
                  "\"short_factor\": [1, 1, 1, 1], "
                  "\"long_factor\": [2, 2, 2, 2], "
                  "\"original_max_position_embeddings\": 50}");
    is_int(c.context, 200, "longrope: four times what came before");
    ok(!rlf_rope_is_stretched(&c.rope, 50) &&
           rlf_rope_is_stretched(&c.rope, 51),
       "a sequence longer than that stretches all");
}

/* One that is not there is refused with the names of all that are. */
static void
test_refusal(test_machine *t, rlf_arena *arena)
{
    static const char text[] =
        "{\"model_type\": \"llama\", \"hidden_size\": 16, "
        "\"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
        "\"vocab_size\": 11, \"intermediate_size\": 24, "
        "\"rope_scaling\": {\"rope_type\": \"axial\", \"factor\": 4}}";
    const char *path = rlf_path_join(arena, scratch, "config.json");
    rlf_model_config config;
    const char *name;
    MUST(t, rlf_file_write(path, text, strlen(text), &t->err));
    is_int(rlf_model_config_read(scratch, arena, &t->err, &config), RLF_USER,
           "another kind of scaling is refused");
    for (size_t i = 0; (name = rlf_rope_kind(i)); i++)
        ok(strstr(t->err.sentence, name) != NULL, "the message names %s", name);
    rlf_err_clear(&t->err);
}

int
main(void)
{
    test_machine t;
    test_machine_open(&t, 1);
    rlf_arena *arena = rlf_arena_new();
    const char *path = source_path(arena, "tests/data/rope.json");
    json_t *cases = json_load_file(path, 0, NULL);
    snprintf(scratch, sizeof scratch, "model_rope.%ld", (long)getpid());
    MUST(&t, rlf_dir_make(scratch, &t.err));
    if (!cases)
        bail("no cases in %s", path);
    for (size_t i = 0; i < json_array_size(cases); i++)
        test_case(&t, arena, json_array_get(cases, i), i + 1);
    test_all_kinds();
    test_reach(&t, arena);
    test_null_truncate(&t, arena);
    test_refusal(&t, arena);
    json_decref(cases);
    MUST(&t, rlf_dir_remove(scratch, &t.err));
    rlf_arena_free(arena);
    test_machine_close(&t);
    return done();
}
