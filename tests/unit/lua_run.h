/* For the tests of the Lua host: one line to run a source on a sample. */
#ifndef RLF_TESTS_UNIT_LUA_RUN_H
#define RLF_TESTS_UNIT_LUA_RUN_H

#include "engine/base/arena.h"
#include "engine/lua/host.h"
#include "tests/tap.h"

/* The outcome of a run: its first value, or its error. */
typedef struct outcome {
    rlf_status status;
    double number;
    char text[4096];
    rlf_err err;
} outcome;

typedef struct setup {
    const char *path; /* NULL: "r.lua" */
    rlf_lua_per per;
    bool text; /* the result is a text */
    uint64_t instructions, memory, most_text;
    double time;
    const char *dir;
    rlf_lua_options options;
} setup;

static const int32_t lua_run_tokens[] = {11, 12, 13};
static const rlf_str lua_run_pieces[] = {{" 4", 2}, {"2", 1}, {"", 0}};
static const rlf_lua_field lua_run_fields[] = {
    {.name = "prompt",
     .kind = RLF_LUA_BYTES,
     .text = {"What is 12 plus 30?", 19}},
    {.name = "response", .kind = RLF_LUA_BYTES, .text = {" 42", 3}},
    {.name = "answer", .kind = RLF_LUA_BYTES, .text = {"42", 2}},
    {.name = "grade", .kind = RLF_LUA_NUMBER, .number = 2.5},
    {.name = "length", .kind = RLF_LUA_NUMBER, .number = 3},
    {.name = "finished", .kind = RLF_LUA_BOOL, .flag = true},
    {.name = "tokens", .kind = RLF_LUA_INTS, .ints = {lua_run_tokens, 3}},
    {.name = "pieces", .kind = RLF_LUA_TEXTS, .texts = {lua_run_pieces, 3}},
};
static const rlf_lua_sample lua_run_sample = {
    .fields = lua_run_fields,
    .n_fields = sizeof lua_run_fields / sizeof *lua_run_fields,
    .length = 3,
    .prompt = 12,
    .place = 3,
    .step = 40,
    .key = {7, RLF_PURPOSE_LUA, 1, 40, 99},
};

TAP_FUNCTION rlf_status
lua_open(rlf_arena *arena, const setup *s, const char *source, rlf_err *err,
         rlf_lua_host **host)
{
    const rlf_lua_give text = {NULL, RLF_LUA_TEXT};
    rlf_lua_spec spec = {
        .path = s->path ? s->path : "r.lua",
        .source = source,
        .per = s->per,
        .gives = &text,
        .n_gives = s->text,
        .instructions = s->instructions,
        .memory = s->memory,
        .text = s->most_text,
        .time = s->time,
        .dirs = &s->dir,
        .n_dirs = s->dir != NULL,
    };
    const rlf_lua_program *program;
    RLF_TRY(rlf_lua_program_open(arena, &spec, err, &program));
    RLF_TRY(rlf_lua_host_new(program, &s->options, err, host));
    return RLF_OK;
}

TAP_FUNCTION void
lua_again(rlf_lua_host *host, rlf_arena *arena, outcome *out)
{
    rlf_lua_value value = {0};
    rlf_err_clear(&out->err);
    out->status =
        rlf_lua_call(host, &lua_run_sample, 1, arena, &out->err, &value);
    out->number = value.number;
    snprintf(out->text, sizeof out->text, "%.*s", (int)value.text.n,
             value.text.p ? value.text.p : "");
}

/* Load the source and call it once. */
TAP_FUNCTION outcome
lua_run(setup s, const char *source)
{
    outcome out = {.err = RLF_ERR_NONE};
    rlf_arena *arena = rlf_arena_new();
    rlf_lua_host *host = NULL;
    out.status = lua_open(arena, &s, source, &out.err, &host);
    if (out.status >= 0)
        lua_again(host, arena, &out);
    rlf_lua_host_free(host);
    rlf_arena_free(arena);
    return out;
}

/* The function body gives this text. */
TAP_FUNCTION bool
lua_gives(const char *body, const char *want)
{
    char source[4096];
    snprintf(source, sizeof source, "return function(s)\n%s\nend", body);
    outcome out = lua_run((setup){.text = true}, source);
    const char *got = out.status < 0 ? out.err.sentence : out.text;
    bool good = ok(strcmp(got, want) == 0, "gives: %.*s",
                   (int)strcspn(want, "\n"), want);
    if (!good)
        note("source: %s\n# got: %s\n# %s", body, got, out.err.detail);
    return good;
}

/* The source fails with this sentence, and if not NULL this hint. */
TAP_FUNCTION bool
lua_fails(const char *source, const char *sentence, const char *hint)
{
    outcome out = lua_run((setup){0}, source);
    bool good = out.status == RLF_USER &&
                strcmp(out.err.sentence, sentence) == 0 &&
                (!hint || strcmp(out.err.hint, hint) == 0);
    if (!ok(good, "fails: %.60s", sentence)) {
        note("source: %s", source);
        note("status %d, got: %s", (int)out.status, out.err.sentence);
        note("hint: %s", out.err.hint);
    }
    return good;
}

#endif
