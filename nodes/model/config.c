/* Reading and writing config.json.
 *
 * The keys that are read stand in tables; keys that change what is computed
 * in a way that is not supported stand in another, with the only value they
 * may have. Start at rlf_model_config_read(). */
#include "nodes/model/config.h"

#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/vec.h"
#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/io/json.h"
#include "engine/io/safetensors.h"
#include "kernels/kernels.h"
#include "nodes/model/families/families.h"
#include "nodes/model/config_layers.h"
#include "nodes/model/config_typos.h"

static const rlf_family *const families[] = {
#define FAMILY(name) &rlf_family_##name,
#include "nodes/model/families/family.def"
#undef FAMILY
};

// clang-format off
/* Activations of the mlp, by their names in config.json. */
static const struct {
    const char *name;
    rlf_act act;
} acts[] = {
    {"silu", RLF_ACT_SILU},
    {"swish", RLF_ACT_SILU},
    {"gelu", RLF_ACT_GELU},
    {"gelu_pytorch_tanh", RLF_ACT_GELU_TANH},
    {"gelu_new", RLF_ACT_GELU_TANH},
};

/* Whole numbers from 1 to `most`, which no model is near: products of two of
 * them are far from overflowing. */
static const struct {
    const char *key;
    size_t offset;
    int most;
    bool needed;
} sizes[] = {
    {"num_hidden_layers",       offsetof(rlf_model_config, layers),   1 << 16, true},
    {"hidden_size",             offsetof(rlf_model_config, hidden),   1 << 20, true},
    {"num_attention_heads",     offsetof(rlf_model_config, heads),    1 << 16, true},
    {"num_key_value_heads",     offsetof(rlf_model_config, kv_heads), 1 << 16, false},
    {"head_dim",                offsetof(rlf_model_config, head_dim), 1 << 16, false},
    {"intermediate_size",       offsetof(rlf_model_config, ffn),      1 << 24, true},
    {"vocab_size",              offsetof(rlf_model_config, vocab),    1 << 24, true},
    {"max_position_embeddings", offsetof(rlf_model_config, context),  1 << 30, false},
};

/* The bounds of every norm's eps: more or less makes no sense in single
 * precision. */
#define LEAST_EPS 1e-20
#define MOST_EPS 1.0

/* Keys that would change the mathematics: anything but null, false, and the
 * number given here is refused. */
static const struct {
    const char *key;
    double number; /* NAN: no number is allowed */
    const char *what;
} refused[] = {
    {"num_local_experts",     0, "mixtures of experts"},
    {"num_experts",           0, "mixtures of experts"},
    {"n_routed_experts",      0, "mixtures of experts"},
    {"quantization_config",   NAN, "quantized weights"},
    {"peft_type",             NAN, "adapters"},
    {"auto_map",              NAN, "models with code of their own"},
    {"per_layer_config",      NAN, "layers of different shapes"},
    {"partial_rotary_factor", 1, "rotation of a part of each head"},
    {"attn_logit_softcapping",  0, "soft caps on logits"},
    {"final_logit_softcapping", 0, "soft caps on logits"},
    {"logits_scaling",        1, "scaled logits"},
    {"logit_scale",           1, "scaled logits"},
    {"embedding_multiplier",  1, "scaled embeddings"},
    {"residual_multiplier",   1, "scaled residuals"},
    {"attention_multiplier",  NAN, "other attention scales"},
    {"is_encoder_decoder",    0, "encoders"},
    {"attention_dropout",     0, "dropout"},
    {"attn_pdrop",            0, "dropout"},
    {"embd_pdrop",            0, "dropout"},
    {"resid_pdrop",           0, "dropout"},
    {"hidden_dropout",        0, "dropout"},
    {"residual_dropout",      0, "dropout"},
    {"embedding_dropout",     0, "dropout"},
    {"use_bidirectional_attention", NAN, "attention to later tokens"},
    {"add_cross_attention",   NAN, "attention to another sequence"},
    {"scale_attn_by_inverse_layer_idx", NAN, "attention scales of each layer"},
};

/* Keys of generation_config.json with which transformers 5 generates other
 * tokens than rlflow does, unless they are null, false, empty or this. Not
 * those that an argument of generate takes the place of: temperature, top_k,
 * top_p, min_p and do_sample. */
static const struct {
    const char *key;
    double neutral; /* NAN: no number is */
} unheeded[] = {
    {"repetition_penalty",         1},
    {"encoder_repetition_penalty", 1},
    {"no_repeat_ngram_size",       0},
    {"encoder_no_repeat_ngram_size", 0},
    {"bad_words_ids",              NAN},
    {"suppress_tokens",            NAN},
    {"begin_suppress_tokens",      NAN},
    {"sequence_bias",              NAN},
    {"forced_bos_token_id",        NAN},
    {"forced_eos_token_id",        NAN},
    {"force_words_ids",            NAN},
    {"constraints",                NAN},
    {"min_length",                 0},
    {"min_new_tokens",             0},
    {"exponential_decay_length_penalty", NAN},
    {"stop_strings",               NAN},
    {"num_beams",                  1},
    {"penalty_alpha",              0},
    {"dola_layers",                NAN},
    {"guidance_scale",             1},
    {"typical_p",                  1},
    {"top_h",                      NAN},
    {"epsilon_cutoff",             0},
    {"eta_cutoff",                 0},
    {"watermarking_config",        NAN},
    {"token_healing",              NAN},
};
// clang-format on

static bool
has_word(const char *words, const char *word)
{
    size_t n = strlen(word), m;
    for (bool more = true; more; words += m + 1) {
        m = strcspn(words, "|");
        more = words[m] != 0;
        if (m == n && !memcmp(words, word, n))
            return true;
    }
    return false;
}

/* Does a key with this value ask for nothing: is it absent, null, false, {}, or
 * the number that changes nothing? */
static bool
asks_nothing(const json_t *j, double neutral)
{
    return !j || json_is_false(j) ||
           (json_is_number(j) && json_number_value(j) == neutral) ||
           (json_is_object(j) && !json_object_size(j));
}

static rlf_status
check_refused(const rlf_config_keys *r, const rlf_family *f)
{
    rlf_err *err = r->err;
    bool causal = true;
    RLF_TRY(rlf_config_flag(r, "is_causal", &causal));
    if (!causal)
        return rlf_config_fail(r, "is_causal",
                               "is false: attention to later tokens is not "
                               "supported");
    for (size_t i = 0; i < RLF_COUNT(refused); i++) {
        const json_t *j = rlf_config_member(r->root, refused[i].key);
        if (asks_nothing(j, refused[i].number) ||
            (f->heeds && has_word(f->heeds, refused[i].key)))
            continue;
        char number[32];
        snprintf(number, sizeof number, "%.15g", json_number_value(j));
        char *text = json_is_number(j)
                         ? NULL
                         : json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT);
        rlf_status status = rlf_fail(
            r->err, RLF_USER, "%s: \"%s\": %.*s: %s are not supported", r->path,
            refused[i].key, RLF_CUT(80, text ? text : number), refused[i].what);
        free(text);
        return status;
    }
    return RLF_OK;
}

/* The end tokens, a token id or a list of them; those known before stay where
 * it names none. */
static rlf_status
read_eos(const rlf_config_keys *r, rlf_model_config *c)
{
    const json_t *j = rlf_config_member(r->root, "eos_token_id");
    size_t n = !j ? 0 : json_is_array(j) ? json_array_size(j) : 1;
    if (n)
        c->n_eos = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_is_array(j) ? json_array_get(j, i) : j;
        int64_t id = -1;
        if (!rlf_json_as_int(x, &id) || id < 0 || id >= c->vocab)
            return rlf_config_fail(r, "eos_token_id",
                                   "must be a token of the vocabulary");
        bool known = false;
        for (int k = 0; k < c->n_eos; k++)
            known |= c->eos[k] == (int)id;
        if (known)
            continue;
        if (c->n_eos == RLF_MODEL_MAX_EOS)
            return rlf_config_fail(r, "eos_token_id",
                                   "names more than 8 tokens");
        c->eos[c->n_eos++] = (int)id;
    }
    return RLF_OK;
}

/* A file's text as it was read, parsed once more: integers keep their digits.
 * Only memory can lack. */
static rlf_status
parse_again(const char *file, const char *text, rlf_err *err, json_t **out)
{
    rlf_json_found found;
    if (!strncmp(text, "\xef\xbb\xbf", 3))
        text += 3;
    return rlf_json_parse_exact(file, 1, text, strlen(text), err, out, &found);
}

/* Settings of generation that are not heeded, by name and value; NULL: all of
 * it is. */
static rlf_status
list_unheeded(const char *generation, rlf_arena *arena, rlf_err *err,
              const char **out)
{
    rlf_buf all = {0};
    json_t *root;
    RLF_TRY(parse_again("generation_config.json", generation, err, &root));
    for (size_t i = 0; i < RLF_COUNT(unheeded); i++) {
        const json_t *j = rlf_config_member(root, unheeded[i].key);
        if (asks_nothing(j, unheeded[i].neutral) ||
            (json_is_array(j) && !json_array_size(j)))
            continue;
        rlf_buf_printf(&all, "%s%s ", all.n ? ", " : "", unheeded[i].key);
        char *text = json_dumps(j, JSON_ENCODE_ANY | JSON_COMPACT);
        if (json_is_number(j))
            rlf_buf_number(&all, json_number_value(j));
        else
            rlf_buf_printf(&all, "%.*s%s", RLF_CUT(40, text),
                           strlen(text) > 40 ? "..." : "");
        free(text);
    }
    *out = all.n ? rlf_arena_strdup(arena, all.p) : NULL;
    rlf_buf_free(&all);
    json_decref(root);
    return RLF_OK;
}

static rlf_status
check_shape(const rlf_config_keys *r, const rlf_model_config *c)
{
    if (c->heads % c->kv_heads)
        return rlf_config_fail(r, "num_attention_heads",
                               "must be a multiple of \"num_key_value_heads\"");
    if (c->heads / c->kv_heads > RLF_MOST_GROUP)
        return rlf_fail(r->err, RLF_USER,
                        "%s: \"num_attention_heads\": %d is more than %d for "
                        "each of \"num_key_value_heads\": %d",
                        r->path, c->heads, RLF_MOST_GROUP, c->kv_heads);
    if (c->head_dim % 8 || c->head_dim > RLF_MOST_HEAD)
        return rlf_fail(r->err, RLF_USER,
                        "%s: heads of %d elements are not supported: they "
                        "must be a multiple of 8, at most %d",
                        r->path, c->head_dim, RLF_MOST_HEAD);
    if (c->bos >= c->vocab)
        return rlf_config_fail(r, "bos_token_id",
                               "must be a token of the vocabulary");
    return RLF_OK;
}

static const char *
model_type(const json_t *object)
{
    return json_string_value(json_object_get(object, "model_type"));
}

/* The family that an object names; NULL: none of those here. */
static const rlf_family *
find_family(const json_t *object)
{
    const char *word = model_type(object);
    for (size_t i = 0; word && i < RLF_COUNT(families); i++)
        if (!strcmp(families[i]->type, word))
            return families[i];
    return NULL;
}

static rlf_status
read_family(const rlf_config_keys *r, const rlf_family **out)
{
    if (!model_type(r->root))
        return rlf_config_fail(r, "model_type", "is missing");
    *out = find_family(r->root);
    if (*out)
        return RLF_OK;
    rlf_fail(r->err, RLF_USER, "%s: \"model_type\": \"%s\" is not supported",
             r->path, model_type(r->root));
    const rlf_family *text =
        find_family(rlf_config_member(r->root, "text_config"));
    if (text) {
        rlf_err_hint(r->err,
                     "its text model, a \"%s\", is supported where that is "
                     "saved by itself",
                     text->type);
        return RLF_USER;
    }
    rlf_buf known = {0};
    for (size_t i = 0; i < RLF_COUNT(families); i++)
        rlf_buf_printf(&known, "%s%s",
                       i == 0                         ? ""
                       : i + 1 == RLF_COUNT(families) ? " and "
                                                      : ", ",
                       families[i]->type);
    rlf_err_hint(r->err, "%s are", known.p);
    rlf_buf_free(&known);
    return RLF_USER;
}

const char *
rlf_model_family(size_t i)
{
    return i < RLF_COUNT(families) ? families[i]->type : NULL;
}

/* The name of a key in the family's config.json, NULL if it has none. */
static const char *
key_of(const rlf_config_keys *r, const rlf_family *f, const char *key)
{
    const rlf_key_name *n = f->names;
    while (n && n->key && strcmp(n->key, key) != 0)
        n++;
    bool other = n && n->key && !(n->also && rlf_config_member(r->root, key));
    return other ? n->name : key;
}

/* Sizes, with what the family takes for those that are absent. */
static rlf_status
read_sizes(const rlf_config_keys *r, const rlf_family *f, rlf_model_config *c)
{
    rlf_err *err = r->err;
    for (size_t i = 0; i < RLF_COUNT(sizes); i++) {
        const char *key = key_of(r, f, sizes[i].key);
        int *size = (int *)((char *)c + sizes[i].offset);
        bool silent = size == &c->ffn && f->ffn;
        if (!key)
            continue;
        if (sizes[i].needed && !silent && !rlf_config_member(r->root, key))
            return rlf_config_fail(r, key, "is missing");
        if (rlf_config_member(r->root, key))
            RLF_TRY(rlf_config_int(r, key, 1, sizes[i].most, size));
    }
    if (!c->ffn)
        c->ffn = f->ffn * c->hidden;
    const char *kv_heads = key_of(r, f, "num_key_value_heads");
    if (!kv_heads || !json_object_get(r->root, kv_heads))
        c->kv_heads = f->kv_heads;
    if (!c->kv_heads)
        c->kv_heads = c->heads;
    if (!json_object_get(r->root, "head_dim"))
        c->head_dim = f->head_dim;
    if (!c->head_dim) {
        if (c->hidden % c->heads)
            return rlf_fail(err, RLF_USER,
                            "%s: \"%s\" must be a multiple of \"%s\"", r->path,
                            key_of(r, f, "hidden_size"),
                            key_of(r, f, "num_attention_heads"));
        c->head_dim = c->hidden / c->heads;
    }
    return RLF_OK;
}

/* Keys that have a default where they are missing, but whose value is a number,
 * a word or a truth in each family, or in this: a null is a slip of what wrote
 * the file. */
static rlf_status
refuse_null(const rlf_config_keys *r, const rlf_family *f)
{
    rlf_err *err = r->err;
    const struct {
        const char *key;
        bool has; /* the family */
    } all[] = {{"rms_norm_eps", true},
               {"max_position_embeddings", true},
               {"tie_word_embeddings", true},
               {"hidden_act", true},
               {"attention_bias", f->bias_key},
               {"mlp_bias", f->mlp_bias_key},
               {"use_sliding_window", f->window_key},
               {"max_window_layers", f->window_key && !f->still_every},
               {"no_rope_layer_interval", f->still_every > 0}};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)r->root, key, value)
    {
        bool named = f->never_null && has_word(f->never_null, key);
        for (size_t i = 0; i < RLF_COUNT(all); i++) {
            const char *name = key_of(r, f, all[i].key);
            named |= all[i].has && name && !strcmp(key, name);
        }
        if (named)
            RLF_TRY(rlf_config_refuse_null(r, r->root, key));
    }
    return RLF_OK;
}

static rlf_status
read_act(const rlf_config_keys *r, const rlf_family *f, rlf_act *out)
{
    const char *key = key_of(r, f, "hidden_act");
    const json_t *j = rlf_config_member(r->root, key);
    const char *word = json_string_value(j);
    *out = f->act;
    if (j && !word)
        return rlf_config_fail(r, key, "must be a word");
    if (!word)
        return RLF_OK;
    rlf_buf known = {0};
    for (size_t i = 0; i < RLF_COUNT(acts); i++) {
        if (!strcmp(acts[i].name, word)) {
            *out = acts[i].act;
            rlf_buf_free(&known);
            return RLF_OK;
        }
        rlf_buf_printf(&known, "%s%s", i ? ", " : "", acts[i].name);
    }
    rlf_fail(r->err, RLF_USER,
             "%s: \"%s\": \"%s\" is no activation that is supported (%s are)",
             r->path, key, word, known.p);
    rlf_buf_free(&known);
    return RLF_USER;
}

static rlf_status
read_config(const rlf_config_keys *r, rlf_arena *arena, rlf_model_config *c)
{
    rlf_err *err = r->err;
    const rlf_family *f = NULL;
    RLF_TRY(read_family(r, &f));
    RLF_TRY(check_refused(r, f));
    *c = (rlf_model_config){.family = f,
                            .eps = f->eps,
                            .rope = {.theta = f->theta},
                            .context = f->context,
                            .qkv_bias = f->qkv_bias,
                            .qk_norm = f->qk_norm,
                            .tied = f->tied,
                            .bos = -1};
    RLF_TRY(refuse_null(r, f));
    RLF_TRY(read_sizes(r, f, c));
    bool bias = false;
    if (f->bias_key)
        RLF_TRY(rlf_config_flag(r, "attention_bias", &bias));
    c->qkv_bias |= bias;
    c->o_bias = bias && f->o_bias_key;
    if (f->mlp_bias_key)
        RLF_TRY(rlf_config_flag(r, "mlp_bias", &c->mlp_bias));
    RLF_TRY(rlf_config_flag(r, "tie_word_embeddings", &c->tied));
    const char *eps = key_of(r, f, "rms_norm_eps");
    if (eps)
        RLF_TRY(
            rlf_config_number(r, r->root, eps, LEAST_EPS, MOST_EPS, &c->eps));
    if (!f->places)
        RLF_TRY(rlf_rope_read(r, &f->rope, c->head_dim, &c->context, arena,
                              &c->rope, &c->local_rope));
    RLF_TRY(read_act(r, f, &c->act));
    RLF_TRY(rlf_config_layers(r, f, arena, c));
    if (f->read)
        RLF_TRY(f->read(r, c));
    if (rlf_config_member(r->root, "bos_token_id"))
        RLF_TRY(rlf_config_int(r, "bos_token_id", 0, INT_MAX, &c->bos));
    RLF_TRY(read_eos(r, c));
    return check_shape(r, c);
}

rlf_status
rlf_model_config_read(const char *dir, rlf_arena *arena, rlf_err *err,
                      rlf_model_config *out)
{
    const char *path = rlf_path_join(arena, dir, "config.json");
    const char *more = rlf_path_join(arena, dir, "generation_config.json");
    const char *adapter = rlf_path_join(arena, dir, "adapter_config.json");
    bool there;
    RLF_TRY(rlf_file_find(adapter, err, &there));
    if (there) {
        rlf_fail(err, RLF_USER,
                 "%s: this is an adapter, and the model is another directory",
                 adapter);
        rlf_err_hint(err, "write lm(\"THE MODEL\", lora: lora(from: \"%s\"))",
                     dir);
        return RLF_USER;
    }
    RLF_TRY(rlf_file_find(path, err, &there));
    if (!there) {
        bool is_dir = rlf_dir_exists(dir);
        rlf_fail(err, RLF_USER,
                 is_dir ? "%s is not a model: it has no config.json"
                        : "%s is not there",
                 dir);
        rlf_err_hint(err, "%s%s",
                     is_dir ? "give the path of a Hugging Face model directory"
                            : "a model is a directory on this machine, and "
                              "nothing is downloaded",
                     rlf_hub_advice(dir, arena));
        rlf_hub_explain(dir, err);
        return RLF_USER;
    }
    json_t *root = NULL, *extra = NULL;
    rlf_buf text = {0};
    rlf_status status = RLF_OK;
    status = rlf_json_load_object(path, err, &root);
    if (status < 0)
        rlf_hub_explain(dir, err);
    RLF_TRY_GOTO(status, done);
    rlf_config_keys r = {path, root, err};
    RLF_TRY_GOTO(read_config(&r, arena, out), done);
    RLF_TRY_GOTO(rlf_file_read(path, 1 << 24, err, &text), done);
    out->json = rlf_arena_strndup(arena, text.p, text.n);
    out->dir = rlf_arena_strdup(arena, dir);
    out->slips = rlf_config_typos(root, out->family->names,
                                  out->family->never_null, arena);
    RLF_TRY_GOTO(rlf_file_find(more, err, &there), done);
    if (there) {
        RLF_TRY_GOTO(rlf_json_load_object(more, err, &extra), done);
        r = (rlf_config_keys){more, extra, err};
        RLF_TRY_GOTO(read_eos(&r, out), done);
        rlf_buf_clear(&text);
        RLF_TRY_GOTO(rlf_file_read(more, 1 << 24, err, &text), done);
        out->generation = rlf_arena_strndup(arena, text.p, text.n);
        RLF_TRY_GOTO(list_unheeded(out->generation, arena, err, &out->unheeded),
                     done);
    }
done:
    rlf_buf_free(&text);
    json_decref(root);
    json_decref(extra);
    return status;
}

/* End tokens as config.json has them: a number, a list, or null. */
static json_t *
eos_value(const int *ids, int n)
{
    if (n < 2)
        return n ? json_integer(ids[0]) : json_null();
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, json_integer(ids[i]));
    return list;
}

rlf_status
rlf_model_config_llama(const rlf_llama_args *a, rlf_arena *arena, rlf_err *err,
                       rlf_model_config *out)
{
    const struct {
        const char *name;
        int value;
    } needed[] = {{"layers", a->layers},
                  {"hidden", a->hidden},
                  {"heads", a->heads},
                  {"vocab", a->vocab}};
    for (size_t i = 0; i < RLF_COUNT(needed); i++)
        if (needed[i].value < 1)
            return rlf_fail(err, RLF_USER, "llama(...) needs %s: at least 1",
                            needed[i].name);
    if (a->hidden % a->heads || a->hidden / a->heads % 8 ||
        a->hidden / a->heads > RLF_MOST_HEAD)
        return rlf_fail(err, RLF_USER,
                        "llama(...): hidden: %d over heads: %d must give "
                        "heads of 8, 16, 24, ... at most %d elements",
                        a->hidden, a->heads, RLF_MOST_HEAD);
    int kv = a->kv_heads ? a->kv_heads : a->heads;
    if (kv < 1 || a->heads % kv)
        return rlf_fail(err, RLF_USER,
                        "llama(...): heads: %d must be a multiple of "
                        "kv_heads: %d",
                        a->heads, kv);
    if (a->heads / kv > RLF_MOST_GROUP)
        return rlf_fail(err, RLF_USER,
                        "llama(...): heads: %d is more than %d for each of "
                        "kv_heads: %d",
                        a->heads, RLF_MOST_GROUP, kv);
    json_t *root = json_pack(
        "{s:s, s:b, s:b, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f, "
        "s:b, s:s, s:s}",
        "model_type", "llama", "attention_bias", 0, "mlp_bias", 0,
        "num_hidden_layers", a->layers, "hidden_size", a->hidden,
        "num_attention_heads", a->heads, "num_key_value_heads", kv, "head_dim",
        a->hidden / a->heads, "intermediate_size",
        a->ffn ? a->ffn : (a->hidden * 8 / 3 + 31) / 32 * 32, "vocab_size",
        a->vocab, "max_position_embeddings", a->context ? a->context : 2048,
        "rms_norm_eps", a->eps > 0 ? a->eps : 1e-5, "rope_theta",
        a->rope_theta > 0 ? a->rope_theta : 10000.0, "tie_word_embeddings",
        a->tied, "hidden_act", "silu", "torch_dtype", "float32");
    RLF_ASSERT(root);
    json_object_set_new(root, "bos_token_id",
                        a->bos >= 0 ? json_integer(a->bos) : json_null());
    json_object_set_new(root, "eos_token_id", eos_value(a->eos, a->n_eos));
    const rlf_config_keys r = {"llama(...)", root, err};
    rlf_status status = read_config(&r, arena, out);
    const char *text = rlf_json_print(root, arena);
    if (status >= 0)
        out->json = text;
    return status;
}

/* The type in which others load the weights: that of the saved tensors. Where
 * these have several the word stays if it is one of them. */
static void
say_type(json_t *root, const char *key, const bool *types)
{
    static const struct {
        rlf_element element;
        const char *word;
    } words[] = {
        {RLF_ELEMENT_F32, "float32"},
        {RLF_ELEMENT_BF16, "bfloat16"},
        {RLF_ELEMENT_F16, "float16"},
    };
    const char *word = NULL,
               *was = json_string_value(rlf_config_member(root, key));
    for (size_t i = 0; i < RLF_COUNT(words); i++) {
        if (!types[words[i].element])
            continue;
        if (was && !strcmp(was, words[i].word))
            return;
        word = word ? "float32" : words[i].word;
    }
    if (was && word)
        json_object_set_new(root, key, json_string(word));
}

rlf_status
rlf_model_config_text(const rlf_model_config *c, rlf_model_head head,
                      const bool *types, rlf_arena *arena, rlf_err *err,
                      const char **out)
{
    json_t *root;
    RLF_TRY(parse_again("config.json", c->json, err, &root));
    const rlf_family *f = find_family(root);
    if (f) {
        bool scalar = head == RLF_HEAD_SCALAR;
        char *name = rlf_arena_printf(
            arena, "%s%s",
            scalar && f->classifier ? f->classifier : f->architecture,
            scalar  ? "ForSequenceClassification"
            : f->lm ? f->lm
                    : "ForCausalLM");
        json_object_set_new(root, "architectures", json_pack("[s]", name));
    }
    json_object_set_new(root, "tie_word_embeddings", json_boolean(c->tied));
    say_type(root, "dtype", types);
    say_type(root, "torch_dtype", types);
    if (head == RLF_HEAD_SCALAR)
        json_object_set_new(root, "id2label", json_pack("{s:s}", "0", "score"));
    *out = rlf_json_print(root, arena);
    return RLF_OK;
}

const char *
rlf_model_config_generation(const rlf_model_config *c, rlf_arena *arena)
{
    if (c->generation)
        return c->generation;
    json_t *root = json_object();
    if (c->bos >= 0)
        json_object_set_new(root, "bos_token_id", json_integer(c->bos));
    json_object_set_new(root, "eos_token_id", eos_value(c->eos, c->n_eos));
    return rlf_json_print(root, arena);
}

int
rlf_model_config_rotated(const rlf_model_config *c)
{
    if (c->family && c->family->places)
        return 0;
    return c->rope.dim ? c->rope.dim : c->head_dim;
}

int
rlf_model_config_window(const rlf_model_config *c, int layer)
{
    return !c->windowed || c->windowed[layer] ? c->window : 0;
}
