/* A directory that was looked at as a model: what model.c finds and
 * model_print.c writes. Internal to these two. */
#ifndef RLF_API_INSPECTING_MODEL_H
#define RLF_API_INSPECTING_MODEL_H

#include "engine/api/session.h"
#include "engine/base/vec.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"
#include "engine/text/tokenizer.h"
#include "nodes/model/config.h"
#include "nodes/model/table.h"

/* The kinds of parameters. */
typedef enum rlf_inspected_part {
    RLF_INSPECTED_EMBEDDING,
    RLF_INSPECTED_ATTENTION,
    RLF_INSPECTED_MLP,
    RLF_INSPECTED_NORMS,
    RLF_INSPECTED_HEAD,
    RLF_INSPECTED_PARTS
} rlf_inspected_part;

/* The purposes of memory. */
enum {
    RLF_INSPECTED_TO_READ,
    RLF_INSPECTED_TO_GENERATE,
    RLF_INSPECTED_TO_TRAIN,
    RLF_INSPECTED_TO_ADAPT,
    RLF_INSPECTED_PURPOSES
};
/* The rank of the adapters that memory is counted for, which stand beside all
 * products of a layer. */
enum { RLF_INSPECTED_RANK = 16 };
/* The devices that memory is counted for: f32 on a CPU, bf16 on a GPU. */
enum { RLF_INSPECTED_ON_CPU, RLF_INSPECTED_ON_GPU, RLF_INSPECTED_DEVICES };

enum { RLF_INSPECTED_LONGEST = 2048, RLF_INSPECTED_NAMES = 16 };

typedef struct rlf_inspected_model {
    rlf_arena *arena;
    const char *dir;
    const json_t *config, *generation, *texts; /* files; NULL: not there */
    /* adapter_config.json, or NULL: an adapter has weights of its own, for a
     * model that is elsewhere. */
    const json_t *adapter;
    bool based;            /* the model of the adapter is a directory here */
    bool score;            /* the adapter has a scalar head */
    rlf_model_config *model; /* NULL: it is refused */
    const rlf_table *table;
    int64_t params[RLF_INSPECTED_PARTS];
    uint32_t longest; /* tokens that memory is counted for */
    uint64_t memory[RLF_INSPECTED_PURPOSES][RLF_INSPECTED_DEVICES],
        token[RLF_INSPECTED_DEVICES];
    rlf_safetensors *files;
    struct {
        uint64_t tensors, values, bytes;
    } types[RLF_ELEMENT_COUNT];
    size_t n_files;
    rlf_tokenizer *tokenizer;
    const char *template; /* the file that has it, or NULL */
    const char *named[RLF_INSPECTED_NAMES];
    size_t n_named; /* the number of templates, where there are several */
    const char *ends_from;
    const uint32_t *ends;
    size_t n_ends;
    RLF_VEC(rlf_err) refused;
} rlf_inspected_model;

/* A text of an object, or NULL. */
const char *rlf_inspected_string(const json_t *object, const char *key);
/* Parameters of all kinds. */
int64_t rlf_inspected_params(const rlf_inspected_model *c);

/* The findings as a text, or as an object of JSON. */
void rlf_inspected_model_text(const rlf_inspected_model *c, rlf_buf *out);
void rlf_inspected_model_json(const rlf_inspected_model *c, rlf_buf *out);

#endif
