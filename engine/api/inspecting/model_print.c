/* The findings about a model, as a text and as JSON: see model.h. */
#include "engine/api/inspecting/model.h"

#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "nodes/model/families/families.h"

#include <string.h>

static const char *const part_names[RLF_INSPECTED_PARTS] = {
    "embedding", "attention", "mlp", "norms", "head"};
static const char *const purposes[RLF_INSPECTED_PURPOSES] = {"read", "generate",
                                                             "train", "adapt"};

/* ---- as text ---- */

/* "1,234,567" */
static void
put_count(int64_t n, rlf_buf *out)
{
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%lld", (long long)n);
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            rlf_buf_putc(out, ',');
        rlf_buf_putc(out, digits[i]);
    }
}

/* Has every layer a window? */
static bool
every_layer(const rlf_model_config *m)
{
    for (int i = 0; i < m->layers; i++)
        if (!rlf_model_config_window(m, i))
            return false;
    return true;
}

static void
put_sizes(const rlf_inspected_model *c, rlf_buf *out)
{
    const rlf_model_config *m = c->model;
    rlf_buf_printf(out, "  sizes       %d layers of %d, %d heads of %d",
                   m->layers, m->hidden, m->heads, m->head_dim);
    if (m->kv_heads != m->heads)
        rlf_buf_printf(out, " (%d of keys)", m->kv_heads);
    rlf_buf_printf(out, ", mlp of %d, vocabulary of %d%s\n", m->ffn, m->vocab,
                   m->tied ? ", whose embedding is the head" : "");
    if (m->untied)
        rlf_buf_puts(out, "  head        lm_head.weight of the files, though "
                          "\"tie_word_embeddings\" is true\n");
    rlf_buf_printf(out, "  context     %d tokens", m->context);
    if (m->window)
        rlf_buf_printf(out, ", windows of %d in %s layers", m->window,
                       every_layer(m) ? "all" : "some");
    rlf_buf_putc(out, '\n');
    if (m->family->places) {
        rlf_buf_puts(out, "  positions   learned\n");
        return;
    }
    rlf_buf_puts(out, "  positions   rotary, theta ");
    rlf_buf_number(out, m->rope.theta);
    if (m->rope.kind) {
        rlf_buf_printf(out, ", scaled: %s by ", rlf_rope_kind(m->rope.kind));
        rlf_buf_number(out, m->rope.factor);
        if (m->rope.original > 0)
            rlf_buf_printf(out, " from %.0f tokens", m->rope.original);
    }
    rlf_buf_putc(out, '\n');
}

static void
put_files(const rlf_inspected_model *c, rlf_buf *out)
{
    char bytes[RLF_BYTES_TEXT];
    const char *between = "";
    rlf_buf_puts(out, "  files       ");
    for (int k = 0; k < RLF_ELEMENT_COUNT; k++) {
        if (!c->types[k].tensors)
            continue;
        rlf_buf_printf(out, "%s%llu tensor%s of %s, %s", between,
                       (unsigned long long)c->types[k].tensors,
                       c->types[k].tensors == 1 ? "" : "s",
                       rlf_element_text((rlf_element)k),
                       rlf_bytes_text(c->types[k].bytes, bytes));
        between = "; ";
    }
    if (c->n_files > 1)
        rlf_buf_printf(out, ", in %zu files", c->n_files);
    rlf_buf_putc(out, '\n');
}

/* The class that a file names, and the one that acts, if it is another. */
static void
put_class(const rlf_inspected_model *c, rlf_buf *out)
{
    static const char *const whole[] = {"PreTrainedTokenizerFast",
                                        "TokenizersBackend"};
    const char *named = rlf_inspected_string(c->texts, "tokenizer_class");
    const char *built = rlf_tokenizer_built(c->tokenizer);
    bool plain = !named;
    for (size_t i = 0; named && i < RLF_COUNT(whole); i++)
        plain |= strcmp(named, whole[i]) == 0;
    if (named)
        rlf_buf_printf(out, ", %s", named);
    if (built && (!named || strncmp(named, built, strlen(built)) != 0))
        rlf_buf_printf(out, ", built by %s", built);
    else if (!built && !plain)
        rlf_buf_puts(out, ", read as tokenizer.json says");
}

static void
put_texts(const rlf_inspected_model *c, rlf_buf *out)
{
    if (c->tokenizer) {
        rlf_buf_puts(out, "  tokenizer   ");
        put_count(rlf_tokenizer_vocab(c->tokenizer), out);
        rlf_buf_puts(out, " tokens");
        put_class(c, out);
        rlf_buf_putc(out, '\n');
    }
    rlf_buf_printf(out, "  template    %s", c->template ? c->template : "none");
    for (size_t i = 0; i < c->n_named; i++)
        rlf_buf_printf(out, "%s%s", i ? ", " : ": ", c->named[i]);
    rlf_buf_puts(out, "\n  ends        ");
    for (size_t i = 0; i < c->n_ends; i++) {
        rlf_str piece = {"", 0};
        if (c->tokenizer)
            piece = rlf_tokenizer_piece(c->tokenizer, c->ends[i]);
        rlf_buf_puts(out, i ? ", " : "");
        rlf_buf_shown(out, piece.p, piece.n);
        rlf_buf_printf(out, "%s%u%s", piece.n ? " (" : "", c->ends[i],
                       piece.n ? ")" : "");
    }
    if (c->n_ends)
        rlf_buf_printf(out, ", by %s\n", c->ends_from);
    else
        rlf_buf_puts(out, "none\n");
}

static void
put_numbers(const rlf_inspected_model *c, rlf_buf *out)
{
    static const char *const words[RLF_INSPECTED_PURPOSES] = {
        "to read texts (logprob)", "to generate one answer",
        "to train with AdamW", "to train adapters of rank 16"};
    char cpu[RLF_BYTES_TEXT], gpu[RLF_BYTES_TEXT];
    rlf_buf_puts(out, "\nparameters\n");
    for (int k = 0; k < RLF_INSPECTED_PARTS; k++) {
        rlf_buf n = {0};
        put_count(c->params[k], &n);
        rlf_buf_printf(out, "  %-22s %16s  ", part_names[k], n.p);
        rlf_buf_percent(out,
                        (double)c->params[k] / (double)rlf_inspected_params(c));
        rlf_buf_putc(out, '\n');
        rlf_buf_free(&n);
    }
    rlf_buf_printf(
        out, "\n%-40s f32, CPU   bf16, GPU\n",
        rlf_arena_printf(c->arena, "memory, %u tokens at once", c->longest));
    for (int k = 0; k < RLF_INSPECTED_PURPOSES; k++)
        rlf_buf_printf(out, "  %-35s %11s %11s\n", words[k],
                       rlf_bytes_text(c->memory[k][RLF_INSPECTED_ON_CPU], cpu),
                       rlf_bytes_text(c->memory[k][RLF_INSPECTED_ON_GPU], gpu));
    rlf_buf_printf(out, "  %-35s %11s %11s\n",
                   "keys and values of each token more",
                   rlf_bytes_text(c->token[RLF_INSPECTED_ON_CPU], cpu),
                   rlf_bytes_text(c->token[RLF_INSPECTED_ON_GPU], gpu));
}

/* A sentence about the place of the model that an adapter names. */
static const char *
base_text(const rlf_inspected_model *c)
{
    const char *base =
        rlf_inspected_string(c->adapter, "base_model_name_or_path");
    if (base)
        base = rlf_hub_path(base, base, c->arena);
    return c->based               ? "here"
           : !base || !*base      ? "not named"
           : rlf_dir_exists(base) ? "no model: it has no config.json"
                                  : "not here";
}

static void
put_adapter(const rlf_inspected_model *c, rlf_buf *out)
{
    const json_t *targets = json_object_get(c->adapter, "target_modules");
    const char *type = rlf_inspected_string(c->adapter, "peft_type"),
               *base =
                   rlf_inspected_string(c->adapter, "base_model_name_or_path");
    rlf_buf_line(out, "%s: adapter%s%s%s%s\n", c->dir, type ? ", " : "",
                 type ? type : "", base ? ", of " : "", base ? base : "");
    if (!json_object_size(c->adapter))
        return;
    rlf_buf_puts(out, "  rank        ");
    rlf_buf_number(out, json_number_value(json_object_get(c->adapter, "r")));
    rlf_buf_puts(out, ", alpha ");
    rlf_buf_number(
        out, json_number_value(json_object_get(c->adapter, "lora_alpha")));
    double dropout =
        json_number_value(json_object_get(c->adapter, "lora_dropout"));
    if (dropout > 0) {
        rlf_buf_puts(out, ", dropout ");
        rlf_buf_number(out, dropout);
    }
    rlf_buf_puts(out, "\n  targets     ");
    if (json_is_string(targets))
        rlf_buf_puts(out, json_string_value(targets));
    for (size_t i = 0; i < json_array_size(targets); i++) {
        const char *name = json_string_value(json_array_get(targets, i));
        rlf_buf_printf(out, "%s%s", i ? ", " : "", name ? name : "?");
    }
    if (c->score)
        rlf_buf_puts(out, "\n  head        scalar, trained with it");
    if (!c->based && !c->refused.count)
        rlf_buf_printf(out,
                       "\n  base        %s, so only the adapter's own files "
                       "were looked at",
                       base_text(c));
    rlf_buf_putc(out, '\n');
}

static void
put_refused(const rlf_inspected_model *c, rlf_buf *out)
{
    for (size_t i = 0; i < c->refused.count; i++) {
        const rlf_err *err = &c->refused.data[i];
        rlf_buf_printf(out, "%snot supported: %s\n", i ? "" : "\n",
                       err->sentence);
        if (*err->hint)
            rlf_buf_printf(out, "  hint: %s\n", err->hint);
    }
}

void
rlf_inspected_model_text(const rlf_inspected_model *c, rlf_buf *out)
{
    const json_t *names = json_object_get(c->config, "architectures");
    if (c->adapter)
        put_adapter(c, out);
    const char *type = rlf_inspected_string(c->config, "model_type"),
               *name = json_string_value(json_array_get(names, 0));
    if (!c->adapter || c->config) {
        rlf_buf_line(out, "%s: %s%s%s%s", c->dir, type ? type : "no model",
                     name ? " (" : "", name ? name : "", name ? ")" : "");
        if (c->model) {
            rlf_buf_puts(out, ", ");
            put_count(rlf_inspected_params(c), out);
            rlf_buf_puts(out, " parameters");
        }
        rlf_buf_putc(out, '\n');
    }
    if (c->model)
        put_sizes(c, out);
    if (c->files)
        put_files(c, out);
    if (!c->adapter || c->tokenizer)
        put_texts(c, out);
    if (c->model)
        put_numbers(c, out);
    put_refused(c, out);
}

/* ---- as JSON ---- */

static json_t *
json_of_model(const rlf_inspected_model *c)
{
    const rlf_model_config *m = c->model;
    json_t *params = json_object(), *memory = json_object(), *out;
    for (int k = 0; k < RLF_INSPECTED_PARTS; k++)
        json_object_set_new(params, part_names[k], json_integer(c->params[k]));
    for (int k = 0; k < RLF_INSPECTED_PURPOSES; k++)
        json_object_set_new(
            memory, purposes[k],
            json_pack("{s:I,s:I}", "cpu_f32",
                      (json_int_t)c->memory[k][RLF_INSPECTED_ON_CPU],
                      "gpu_bf16",
                      (json_int_t)c->memory[k][RLF_INSPECTED_ON_GPU]));
    json_object_set_new(memory, "token",
                        json_pack("{s:I,s:I}", "cpu_f32",
                                  (json_int_t)c->token[RLF_INSPECTED_ON_CPU],
                                  "gpu_bf16",
                                  (json_int_t)c->token[RLF_INSPECTED_ON_GPU]));
    json_object_set_new(memory, "tokens", json_integer(c->longest));
    out = json_pack("{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:b,s:I,s:o,s:o}",
                    "layers", m->layers, "hidden", m->hidden, "heads", m->heads,
                    "kv_heads", m->kv_heads, "head_dim", m->head_dim, "ffn",
                    m->ffn, "vocab", m->vocab, "context", m->context, "window",
                    m->window, "tied", m->tied, "parameters",
                    (json_int_t)rlf_inspected_params(c), "parts", params,
                    "memory", memory);
    if (!m->family->places)
        json_object_set_new(out, "rope",
                            json_pack("{s:s,s:f,s:f}", "kind",
                                      rlf_rope_kind(m->rope.kind), "theta",
                                      m->rope.theta, "factor",
                                      m->rope.kind ? m->rope.factor : 1.0));
    return out;
}

static json_t *
json_of_types(const rlf_inspected_model *c)
{
    json_t *out = json_object();
    for (int k = 0; k < RLF_ELEMENT_COUNT; k++)
        if (c->types[k].tensors)
            json_object_set_new(
                out, rlf_element_text((rlf_element)k),
                json_pack("{s:I,s:I,s:I}", "tensors",
                          (json_int_t)c->types[k].tensors, "values",
                          (json_int_t)c->types[k].values, "bytes",
                          (json_int_t)c->types[k].bytes));
    return out;
}

void
rlf_inspected_model_json(const rlf_inspected_model *c, rlf_buf *out)
{
    json_t *refused = json_array(), *ends = json_array(), *named = json_array();
    for (size_t i = 0; i < c->refused.count; i++)
        json_array_append_new(refused,
                              json_string(c->refused.data[i].sentence));
    for (size_t i = 0; i < c->n_ends; i++)
        json_array_append_new(ends, json_integer(c->ends[i]));
    for (size_t i = 0; i < c->n_named; i++)
        json_array_append_new(named, json_string(c->named[i]));
    json_t *all = json_pack(
        "{s:s,s:s?,s:o?,s:o?,s:o?,s:o,s:s?,s:s?,s:o,s:o,s:s?,s:o}", "path",
        c->dir, "model_type", rlf_inspected_string(c->config, "model_type"),
        "adapter",
        c->adapter ? json_incref((json_t *)(uintptr_t)c->adapter) : NULL,
        "model", c->model ? json_of_model(c) : NULL, "files",
        c->files ? json_of_types(c) : NULL, "tokens",
        c->tokenizer ? json_integer(rlf_tokenizer_vocab(c->tokenizer))
                     : json_null(),
        "tokenizer_class", rlf_inspected_string(c->texts, "tokenizer_class"),
        "template", c->template, "templates", named, "ends", ends, "ends_from",
        c->n_ends ? c->ends_from : NULL, "refused", refused);
    if (c->adapter) {
        json_object_set_new(all, "base", json_string(base_text(c)));
        json_object_set_new(all, "score", json_boolean(c->score));
    }
    char *text = json_dumps(all, JSON_INDENT(1) | JSON_ENSURE_ASCII);
    rlf_buf_puts(out, text ? text : "{}");
    rlf_buf_putc(out, '\n');
    free(text);
    json_decref(all);
}
