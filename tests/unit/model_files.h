/* Shared by the tests of models' files: a directory to write them to, a good
 * config.json, models that are read from a directory. */
#ifndef RLF_TESTS_UNIT_MODEL_FILES_H
#define RLF_TESTS_UNIT_MODEL_FILES_H

#include "engine/io/file.h"
#include "tests/unit/model.h"

#include <unistd.h>

/* Members of a config.json that says no more than it must. */
#define GOOD                                                 \
    "\"model_type\": \"llama\", \"hidden_size\": 16, "       \
    "\"num_hidden_layers\": 1, \"num_attention_heads\": 2, " \
    "\"intermediate_size\": 24, \"vocab_size\": 11, \"eos_token_id\": 2"

/* The directory of this test, from files_open to files_close. */
static char scratch[64];

/* Its name is that of the test. */
__attribute__((unused)) static void
files_open(test_machine *t, const char *name)
{
    snprintf(scratch, sizeof scratch, "%s.%ld", name, (long)getpid());
    test_machine_open(t, 1);
    MUST(t, rlf_dir_make(scratch, &t->err));
}

__attribute__((unused)) static void
files_close(test_machine *t)
{
    MUST(t, rlf_dir_remove(scratch, &t->err));
    test_machine_close(t);
}

__attribute__((unused)) static const char *
scratch_path(rlf_arena *arena, const char *name)
{
    return rlf_arena_printf(arena, "%s/%s", scratch, name);
}

__attribute__((unused)) static const char *
saved_text(const rlf_model_config *c, const bool *types, rlf_arena *arena)
{
    rlf_err err = RLF_ERR_NONE;
    const char *text = NULL;
    if (rlf_model_config_text(c, RLF_HEAD_LM, types, arena, &err, &text) < 0)
        bail("%s", err.sentence);
    return text;
}

__attribute__((unused)) static rlf_status
read_config(rlf_arena *arena, const char *text, rlf_err *err,
            rlf_model_config *config)
{
    rlf_err_clear(err);
    RLF_TRY(rlf_file_write(scratch_path(arena, "config.json"), text,
                           strlen(text), err));
    return rlf_model_config_read(scratch, arena, err, config);
}

/* All weights from a file, or from the files of a directory. */
static rlf_status
load_weights(rlf_model *model, const char *path, rlf_err *err)
{
    return rlf_weights_fill(model, &(rlf_weights_origin){.dir = path}, err);
}

__attribute__((unused)) static rlf_model *
load(test_machine *t, const char *dir, rlf_model_head head, bool trained,
     rlf_arena *arena)
{
    rlf_model_config *config = RLF_NEW(arena, rlf_model_config);
    rlf_model *model;
    MUST(t, rlf_model_config_read(dir, arena, &t->err, config));
    rlf_model_options options = {.head = head, .trained = trained};
    MUST(t, rlf_model_new(t->queue, rlf_kernels_cpu(), config, &options,
                          &t->err, &model));
    const char *file = rlf_arena_printf(arena, "%s/model.safetensors", dir);
    MUST(t, load_weights(model, file, &t->err));
    return model;
}

#endif
