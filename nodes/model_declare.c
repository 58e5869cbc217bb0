/* Declarations of models: see model_declare.h. */
#include "nodes/model_declare.h"

#include "engine/io/file.h"
#include "engine/io/hub.h"
#include "engine/text/files.h"
#include "engine/text/tokenizer.h"
#include "nodes/model/adapter.h"
#include "nodes/model/adapter_files.h"
#include "nodes/model/move.h"
#include "nodes/model/weights.h"

/* ---- constructors ---- */

#define HEAD_FORMAL                                                          \
    {                                                                        \
        .name = "head", .kind = RLF_FORMAL_WORD, .labelled = true,           \
        .words = "lm|scalar|both",                                           \
        .doc = "what is computed on top: token log-probabilities, a number " \
               "(value, score), or both; lm if not given"                    \
    }
#define OPTIMIZER_FORMAL                                                       \
    {                                                                          \
        .name = "optimizer", .kind = RLF_FORMAL_CONSTRUCTOR, .labelled = true, \
        .words = "adamw", .unsized = true,                                     \
        .doc = "how update changes it: adamw(...)"                             \
    }
#define SAVE_FORMAL                                                          \
    {                                                                        \
        .name = "save", .kind = RLF_FORMAL_WORD, .words = "f32",             \
        .labelled = true,                                                    \
        .doc = "type that its tensors are saved in, all bits kept; without " \
               "it each as its file has it"                                  \
    }
#define TEMPLATE_FORMAL                                                        \
    {                                                                          \
        .name = "template", .kind = RLF_FORMAL_PATH, .labelled = true,         \
        .doc = "a Lua file that writes chat messages as one text, instead of " \
               "the "                                                          \
               "template that the tokenizer comes with"                        \
    }

static const rlf_formal lm_formals[] = {
    {.name = "from",
     .kind = RLF_FORMAL_SOURCE,
     .words = "llama",
     .required = true,
     .find = rlf_hub_path,
     .doc = "a Hugging Face directory, the name of a model in the hub's cache, "
            "or llama(...) for a new model"},
    HEAD_FORMAL,
    OPTIMIZER_FORMAL,
    {.name = "lora",
     .kind = RLF_FORMAL_CONSTRUCTOR,
     .words = "lora",
     .labelled = true,
     .doc = "adapters, which alone are trained: lora(...)"},
    TEMPLATE_FORMAL,
    {.name = "template_name",
     .kind = RLF_FORMAL_TEXT,
     .labelled = true,
     .doc = "which of several chat templates that the tokenizer comes with; "
            "tool_use or default if not given"},
    {.name = "tools",
     .kind = RLF_FORMAL_PATH,
     .labelled = true,
     .doc = "a file of JSON, a list of tools that the tokenizer's chat "
            "template is told of where a row has none of its own"},
    {.name = "date",
     .kind = RLF_FORMAL_TEXT,
     .labelled = true,
     .doc = "the day, \"2024-12-31\", that the tokenizer's chat template is "
            "told; the day on which the run began if not given"},
    {.name = "tokenizer",
     .kind = RLF_FORMAL_PATH,
     .labelled = true,
     .find = rlf_hub_path,
     .doc = "a directory with a tokenizer, if not that of the model"},
    {.name = "dtype",
     .kind = RLF_FORMAL_WORD,
     .words = "f32",
     .labelled = true,
     .doc = "type that it computes in; that of a run: --dtype bf16"},
    SAVE_FORMAL,
};

static const rlf_formal copy_formals[] = {
    {.name = "from",
     .kind = RLF_FORMAL_MODEL,
     .required = true,
     .doc = "the model whose first weights it takes"},
    HEAD_FORMAL,
    OPTIMIZER_FORMAL,
    SAVE_FORMAL,
};

static const rlf_formal base_formals[] = {
    {.name = "from",
     .kind = RLF_FORMAL_MODEL,
     .required = true,
     .doc = "a model with adapters"},
};

/* As much as config.json may say (nodes/model/config.c). */
#define WHOLE(name_, required_, most_, doc_)                          \
    {                                                                 \
        .name = name_, .kind = RLF_FORMAL_INT, .labelled = true,      \
        .required = required_, .least = 1, .most = most_, .doc = doc_ \
    }

static const rlf_formal llama_formals[] = {
    WHOLE("layers", true, 1 << 16, "transformer layers"),
    WHOLE("hidden", true, 1 << 20, "width of the residual"),
    WHOLE("heads", true, 1 << 16, "query heads"),
    WHOLE("kv_heads", false, 1 << 16, "key and value heads; as many as heads"),
    WHOLE("ffn", false, 1 << 24, "width of the feed-forward; 8/3 of hidden"),
    WHOLE("context", false, 1 << 30, "longest sequence; 2048"),
    {.name = "rope_theta",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = 1,
     .most = 1e12,
     .doc = "base of the rotary embedding; 10000"},
    {.name = "eps",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = 1e-20,
     .most = 1,
     .doc = "of the norms; 1e-5"},
    {.name = "tied",
     .kind = RLF_FORMAL_FLAG,
     .labelled = true,
     .doc = "the head is the embedding's matrix"},
};

static const rlf_formal lora_formals[] = {
    {.name = "rank",
     .kind = RLF_FORMAL_INT,
     .labelled = true,
     .most = 1 << 16,
     .doc = "rows of the first matrix of each adapter; 0: there are none"},
    {.name = "alpha",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = 1e-6,
     .most = 1e6,
     .doc = "over rank, what an adapter's product is multiplied by"},
    {.name = "targets",
     .kind = RLF_FORMAL_TEXTS,
     .labelled = true,
     .least = 1,
     .doc = "the modules of a layer that have one, \"q_proj\"; all if not "
            "given, or \"all-linear\""},
    {.name = "rslora",
     .kind = RLF_FORMAL_FLAG,
     .labelled = true,
     .doc = "alpha is over the root of rank (Kalajdzievski 2023)"},
    {.name = "dropout",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .most = RLF_LORA_MOST_DROPOUT,
     .doc = "the part of an adapter's input that an update leaves out"},
    {.name = "from",
     .kind = RLF_FORMAL_PATH,
     .labelled = true,
     .find = rlf_hub_path,
     .doc = "a directory of the PEFT library with an adapter, which says all "
            "of the above, dropout if that is not given; if not given they "
            "begin anew"},
};

/* 1 would divide by 0: a moment's first value is divided by 1 - beta. */
#define LARGEST_BETA 0.999999999

const rlf_formal rlf_adamw_formals[RLF_ADAMW_FORMALS] = {
    {.name = "lr",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .required = true,
     .least = 0,
     .most = 1e3,
     .doc = "learning rate; may use step and states"},
    {.name = "beta1",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 0.9,
     .least = 0,
     .most = LARGEST_BETA,
     .doc = "decay of the first moment"},
    {.name = "beta2",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 0.999,
     .least = 0,
     .most = LARGEST_BETA,
     .doc = "decay of the second moment"},
    {.name = "eps",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .fallback = 1e-8,
     .least = 0,
     .most = 1,
     .doc = "added to the root of the second moment"},
    {.name = "decay",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = 0,
     .most = 1e3,
     .doc = "decoupled weight decay of matrices"},
    {.name = "clip",
     .kind = RLF_FORMAL_NUMBER,
     .labelled = true,
     .least = 0,
     .most = 1e30,
     .doc = "largest norm of the gradient; 0: no limit"},
};

#define FORMALS(table) .formals = table, .n_formals = RLF_COUNT(table)

const rlf_constructor rlf_model_constructors[RLF_MODEL_CONSTRUCTORS] = {
    {.name = "lm", FORMALS(lm_formals), .doc = "a decoder-only transformer"},
    {.name = "copy",
     FORMALS(copy_formals),
     .doc = "a model that starts with another's weights"},
    {.name = "base",
     FORMALS(base_formals),
     .doc = "what adapters of a model are beside, without them"},
    {.name = "llama",
     .within = "lm",
     FORMALS(llama_formals),
     .doc = "a Llama-type model with fresh weights"},
    {.name = "lora",
     .within = "lm",
     FORMALS(lora_formals),
     .doc = "adapters of low rank (Hu et al. 2021)"},
    {.name = "adamw",
     .within = "lm",
     FORMALS(rlf_adamw_formals),
     .doc = "AdamW (Loshchilov and Hutter 2019)"},
    {.name = "adamw",
     .within = "copy",
     FORMALS(rlf_adamw_formals),
     .doc = "AdamW (Loshchilov and Hutter 2019)"},
};

/* ---- what can be told ---- */

const rlf_arg *
rlf_declared(const rlf_resource *resource, const char *name)
{
    const rlf_arg *arg = rlf_args_find(resource->args, resource->n_args, name);
    const rlf_arg *rank = arg && arg->kind == RLF_ARG_LIST
                              ? rlf_args_find(arg->list, arg->n_list, "rank")
                              : NULL;
    /* a rank of 0 is no adapter */
    bool none = rank && rank->kind == RLF_ARG_NUMBER && rank->number == 0 &&
                !rlf_args_find(arg->list, arg->n_list, "from");
    return arg && arg->kind != RLF_ARG_ABSENT && !none ? arg : NULL;
}

const rlf_arg *
rlf_declared_source(const rlf_resource *resource)
{
    const rlf_arg *arg = rlf_declared(resource, "from");
    return arg ? arg : rlf_args_plain(resource->args, resource->n_args, 0);
}

rlf_model_head
rlf_declared_head(const rlf_resource *resource, rlf_model_head fallback)
{
    const rlf_arg *arg = rlf_declared(resource, "head");
    if (!arg)
        return fallback;
    return strcmp(arg->text, "scalar") == 0 ? RLF_HEAD_SCALAR
           : strcmp(arg->text, "both") == 0 ? RLF_HEAD_BOTH
                                            : RLF_HEAD_LM;
}

bool
rlf_declared_save_f32(const rlf_graph *graph, const rlf_resource *resource)
{
    while (!rlf_declared(resource, "save") && resource->source >= 0)
        resource = &graph->resources.data[resource->source];
    return rlf_declared(resource, "save") != NULL; /* it has one word */
}

static double
number(const rlf_arg *list, const char *name)
{
    const rlf_arg *arg = rlf_args_find(list->list, list->n_list, name);
    return arg && arg->kind == RLF_ARG_NUMBER ? arg->number : 0;
}

static rlf_status
config_llama(const rlf_arg *list, const rlf_tokenizer *tokenizer,
             rlf_arena *arena, rlf_err *err, rlf_model_config *out)
{
    rlf_llama_args args = {
        .layers = (int)number(list, "layers"),
        .hidden = (int)number(list, "hidden"),
        .heads = (int)number(list, "heads"),
        .kv_heads = (int)number(list, "kv_heads"),
        .ffn = (int)number(list, "ffn"),
        .context = (int)number(list, "context"),
        .rope_theta = number(list, "rope_theta"),
        .eps = number(list, "eps"),
        .tied = number(list, "tied") != 0,
        .vocab = (int)rlf_tokenizer_vocab(tokenizer),
        .bos = -1,
    };
    if (rlf_tokenizer_bos(tokenizer) != RLF_NO_ID)
        args.bos = (int)rlf_tokenizer_bos(tokenizer);
    size_t n;
    const uint32_t *eos = rlf_tokenizer_eos(tokenizer, &n);
    for (size_t i = 0; i < n && i < RLF_MODEL_MAX_EOS; i++)
        args.eos[args.n_eos++] = (int)eos[i];
    return rlf_model_config_llama(&args, arena, err, out);
}

/* ---- adapters ---- */

const char *
rlf_declared_adapter(const rlf_resource *resource)
{
    const rlf_arg *lora = rlf_declared(resource, "lora");
    const rlf_arg *from =
        lora ? rlf_args_find(lora->list, lora->n_list, "from") : NULL;
    return from ? from->text : NULL;
}

/* One that is read says by itself what it is. */
static rlf_status
check_read(const rlf_arg *lora, rlf_err *err)
{
    static const char *const others[] = {"rank", "alpha", "targets", "rslora"};
    for (size_t i = 0; i < RLF_COUNT(others); i++) {
        const rlf_arg *arg = rlf_args_find(lora->list, lora->n_list, others[i]);
        if (!arg || !arg->given)
            continue;
        rlf_fail(err, RLF_USER, "%s: says what adapters there are, and %s: too",
                 "from", others[i]);
        rlf_err_hint(err, "leave one of the two out");
        return rlf_arg_blame(arg, RLF_USER, err);
    }
    return RLF_OK;
}

/* Makes adapters that begin anew. */
static rlf_status
make_lora(const rlf_resource *resource, const rlf_arg *lora, rlf_arena *arena,
          rlf_err *err, rlf_lora *out)
{
    static const char *const needed[] = {"rank", "alpha"};
    for (size_t i = 0; i < RLF_COUNT(needed); i++) {
        if (rlf_args_find(lora->list, lora->n_list, needed[i]))
            continue;
        rlf_fail(err, RLF_USER, "adapters that begin anew need %s:", needed[i]);
        rlf_err_hint(err, "write lora(rank: 16, alpha: 32), or lora(from: "
                          "\"DIR\") to read some");
        return rlf_arg_blame(lora, RLF_USER, err);
    }
    if (!rlf_declared(resource, "optimizer")) {
        rlf_fail(err, RLF_USER,
                 "adapters that begin anew change nothing before they are "
                 "trained, and '%s' has no optimizer",
                 resource->name);
        rlf_err_hint(err, "give it optimizer: adamw(...), or leave lora: out");
        return rlf_arg_blame(lora, RLF_USER, err);
    }
    *out = (rlf_lora){.rank = (int)number(lora, "rank"),
                      .alpha = number(lora, "alpha"),
                      .stable = number(lora, "rslora") != 0,
                      .dropout = number(lora, "dropout")};
    const rlf_arg *arg = rlf_args_find(lora->list, lora->n_list, "targets");
    if (!arg || (arg->kind == RLF_ARG_TEXT && !strcmp(arg->text, "all-linear")))
        return RLF_OK;
    bool one = arg->kind == RLF_ARG_TEXT;
    out->n_targets = one ? 1 : arg->n_list;
    const char **names = RLF_NEW_ARRAY(arena, const char *, out->n_targets);
    for (int i = 0; i < out->n_targets; i++)
        names[i] = one ? arg->text : arg->list[i].text;
    out->targets = names;
    return RLF_OK;
}

/* Each target is a module, and none is given twice. */
static rlf_status
check_targets(const rlf_model_config *config, const rlf_arg *lora,
              rlf_arena *arena, rlf_err *err)
{
    const rlf_arg *targets = rlf_args_find(lora->list, lora->n_list, "targets");
    for (int i = 0; targets && i < config->lora.n_targets; i++)
        for (int k = 0; k < i; k++) {
            const char *target = config->lora.targets[i];
            if (strcmp(target, config->lora.targets[k]) != 0)
                continue;
            rlf_fail(err, RLF_USER, "targets: names '%s' twice", target);
            rlf_err_hint(err, "leave out one of the two");
            return rlf_arg_blame(targets, RLF_USER, err);
        }
    return rlf_arg_blame(targets ? targets : lora,
                         rlf_adapters_check(config, arena, err), err);
}

static rlf_status
read_lora(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
          rlf_model_config *out)
{
    const rlf_arg *lora = rlf_declared(resource, "lora");
    const char *dir = rlf_declared_adapter(resource);
    if (!lora)
        return RLF_OK;
    if (dir) {
        RLF_TRY(check_read(lora, err));
        RLF_TRY(rlf_arg_blame(
            lora, rlf_adapter_config_read(dir, arena, err, &out->lora), err));
        if (rlf_args_find(lora->list, lora->n_list, "dropout"))
            out->lora.dropout = number(lora, "dropout");
    } else {
        RLF_TRY(make_lora(resource, lora, arena, err, &out->lora));
    }
    return check_targets(out, lora, arena, err);
}

/* ---- what it is made of ---- */

static bool
is_fresh(const rlf_resource *resource)
{
    return rlf_declared_source(resource)->kind == RLF_ARG_LIST;
}

/* A model is a directory: its weights alone are none. */
static rlf_status
check_directory(const rlf_resource *resource, rlf_err *err)
{
    const char *path = rlf_declared_source(resource)->text;
    if (!rlf_file_exists(path))
        return RLF_OK;
    const char *slash = strrchr(path, '/');
    rlf_fail(err, RLF_USER,
             "%s is a file, and a model is the directory that holds it", path);
    rlf_err_hint(err, "write lm(\"%.*s\")", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
    return RLF_USER;
}

const rlf_arg *
rlf_declared_tokenizer(const rlf_resource *resource)
{
    const rlf_arg *own = rlf_declared(resource, "tokenizer");
    return own ? own : rlf_declared_source(resource);
}

rlf_status
rlf_declared_texts(const rlf_resource *resource, rlf_err *err, const char **out)
{
    if (!rlf_declared(resource, "tokenizer") && is_fresh(resource)) {
        rlf_fail(err, RLF_USER, "model '%s' has no tokenizer", resource->name);
        rlf_err_hint(err, "a new model needs one: lm(llama(...), tokenizer: "
                          "\"DIR\")");
        return RLF_USER;
    }
    if (!is_fresh(resource))
        RLF_TRY(rlf_arg_blame(rlf_declared_source(resource),
                              check_directory(resource, err), err));
    *out = rlf_declared_tokenizer(resource)->text;
    return RLF_OK;
}

rlf_status
rlf_declared_config(const rlf_resource *resource,
                    const rlf_tokenizer *tokenizer, bool planned,
                    rlf_arena *arena, rlf_err *err, rlf_model_config *out)
{
    const rlf_arg *from = rlf_declared_source(resource);
    if (is_fresh(resource)) {
        RLF_TRY(config_llama(from, tokenizer, arena, err, out));
        return read_lora(resource, arena, err, out);
    }
    RLF_TRY(rlf_arg_blame(
        from, rlf_model_config_read(from->text, arena, err, out), err));
    RLF_TRY(read_lora(resource, arena, err, out));
    rlf_err why = RLF_ERR_NONE;
    rlf_status status = rlf_weights_tie(from->text, out, &why);
    if (status >= 0 || planned)
        return RLF_OK;
    *err = why;
    return rlf_arg_blame(from, status, err);
}

static rlf_status
read_config(const rlf_resource *resource, rlf_arena *arena, rlf_err *err,
            rlf_model_config *out)
{
    const char *texts;
    rlf_tokenizer *tokenizer = NULL;
    RLF_TRY(rlf_declared_texts(resource, err, &texts));
    if (is_fresh(resource))
        RLF_TRY(rlf_tokenizer_open(texts, err, &tokenizer));
    rlf_status status =
        rlf_declared_config(resource, tokenizer, true, arena, err, out);
    rlf_tokenizer_close(tokenizer);
    return status;
}

/* The head of the model that it is a copy of, unless it says another. */
static rlf_model_head
head_through(const rlf_graph *graph, const rlf_resource *resource)
{
    rlf_model_head fallback = RLF_HEAD_LM;
    if (resource->source >= 0 && !rlf_declared_base(resource))
        fallback =
            head_through(graph, &graph->resources.data[resource->source]);
    return rlf_declared_head(resource, fallback);
}

/* The declaration that says the model's form: its own, or that of what it is a
 * copy of. */
static const rlf_resource *
made_as(const rlf_graph *graph, const rlf_resource *resource)
{
    while (resource->source >= 0)
        resource = &graph->resources.data[resource->source];
    return resource;
}

bool
rlf_declared_base(const rlf_resource *resource)
{
    return strcmp(resource->constructor, "base") == 0;
}

bool
rlf_declared_adapted(const rlf_graph *graph, const rlf_resource *resource)
{
    while (resource->source >= 0 && !rlf_declared_base(resource))
        resource = &graph->resources.data[resource->source];
    return rlf_declared(resource, "lora") != NULL;
}

double
rlf_declared_dropout(const rlf_graph *graph, const rlf_resource *resource)
{
    const rlf_resource *made = made_as(graph, resource);
    const rlf_arg *lora = rlf_declared(made, "lora");
    const char *dir = rlf_declared_adapter(made);
    if (!lora || !dir || rlf_args_find(lora->list, lora->n_list, "dropout"))
        return lora ? number(lora, "dropout") : 0;
    rlf_arena *arena = rlf_arena_new();
    rlf_lora read;
    rlf_err unread = RLF_ERR_NONE;
    if (rlf_adapter_config_read(dir, arena, &unread, &read) < 0)
        read.dropout = 0;
    rlf_arena_free(arena);
    return read.dropout;
}

static rlf_status
check_cuts(const rlf_model_config *config, const rlf_layout *const *layouts,
           int n, int shards, rlf_err *err, int *wrong)
{
    for (*wrong = 0; *wrong < n; ++*wrong) {
        const rlf_layout *l = layouts[*wrong];
        const rlf_cut cut = {.ranks = l->tp,
                             .stages = l->pp,
                             .chunks = l->chunks,
                             .vee = l->vee};
        RLF_TRY(rlf_table_check_cut(config, &cut, err));
    }
    const rlf_cut cut = {.shards = shards};
    return rlf_table_check_cut(config, &cut, err);
}

rlf_status
rlf_declared_fits(const rlf_graph *graph, const rlf_resource *resource,
                  const rlf_layout *const *layouts, int n, int shards,
                  rlf_err *err, int *wrong)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config;
    rlf_err unread = RLF_ERR_NONE; /* who opens it says so */
    rlf_status status = RLF_OK;
    if (read_config(made_as(graph, resource), arena, &unread, &config) >= 0)
        status = check_cuts(&config, layouts, n, shards, err, wrong);
    rlf_arena_free(arena);
    return status;
}

rlf_status
rlf_declared_shapes(const rlf_graph *graph, const rlf_resource *resource,
                    rlf_arena *arena, rlf_err *err, rlf_shapes *out)
{
    rlf_model_config *config = RLF_NEW(arena, rlf_model_config);
    RLF_TRY(read_config(made_as(graph, resource), arena, err, config));
    if (!rlf_declared_adapted(graph, resource))
        config->lora.rank = 0; /* what it is the base of has some */
    const rlf_model_options options = {.head = head_through(graph, resource)};
    const rlf_model *outline;
    RLF_TRY(rlf_model_outline(NULL, config, &options, arena, err, &outline));
    RLF_TRY(rlf_arena_room(arena,
                           (size_t)outline->table->n_slots * sizeof *out->list,
                           "the tensors of a model", err));
    *out = rlf_move_shapes(outline->table, arena);
    return RLF_OK;
}

/* ---- checks of calls ---- */

void
rlf_model_check_head(const rlf_graph *graph, const rlf_node *node, bool scalar,
                     rlf_diags *diags)
{
    const rlf_resource *model = &graph->resources.data[node->receiver];
    rlf_model_head lacks = scalar ? RLF_HEAD_LM : RLF_HEAD_SCALAR;
    if (head_through(graph, model) != lacks)
        return;
    rlf_diag *diag = rlf_diag_error(
        diags, "head", node->span, "model '%s' has no %s head, which %s needs",
        model->name, scalar ? "scalar" : "language", node->class->name);
    rlf_diag_hint(diags, diag, "declare it with head: %s, or head: both",
                  scalar ? "scalar" : "lm");
}

/* Its config, of which only numbers are there when this returns; all 0 where it
 * cannot be read. */
static rlf_model_config
config_or_none(const rlf_graph *graph, const rlf_resource *resource)
{
    rlf_arena *arena = rlf_arena_new();
    rlf_model_config config;
    rlf_err unread = RLF_ERR_NONE; /* who opens it says so */
    if (read_config(made_as(graph, resource), arena, &unread, &config) < 0)
        config = (rlf_model_config){0};
    rlf_err_clear(&unread);
    rlf_arena_free(arena);
    return config;
}

int
rlf_declared_context(const rlf_graph *graph, const rlf_resource *resource)
{
    return config_or_none(graph, resource).context;
}

int
rlf_declared_vocab(const rlf_graph *graph, const rlf_resource *resource)
{
    return config_or_none(graph, resource).vocab;
}

/* The path of a model's tokenizer; NULL: it has none. */
static const char *
tokenizer_path(const rlf_graph *graph, const rlf_resource *resource)
{
    if (resource->source >= 0)
        return tokenizer_path(graph, &graph->resources.data[resource->source]);
    const rlf_arg *from = rlf_declared_source(resource),
                  *own = rlf_declared(resource, "tokenizer");
    if (own)
        return own->text;
    return from && from->kind == RLF_ARG_TEXT ? from->text : NULL;
}

/* Do two tokenizers differ? What cannot be read is told of by the run. */
static bool
differ(rlf_arena *arena, const char *a, const char *b)
{
    if (!a || !b || strcmp(a, b) == 0 || rlf_tokenizer_files_same(a, b, arena))
        return false;
    rlf_tokenizer *x = NULL, *y = NULL;
    rlf_err ignored = RLF_ERR_NONE;
    bool other =
        rlf_tokenizer_open(a, &ignored, &x) >= 0 &&
        rlf_tokenizer_open(b, &ignored, &y) >= 0 &&
        !rlf_digest_equal(rlf_tokenizer_digest(x), rlf_tokenizer_digest(y));
    rlf_tokenizer_close(x);
    rlf_tokenizer_close(y);
    return other;
}

bool
rlf_declared_differ(const rlf_graph *graph, const rlf_resource *a,
                    const rlf_resource *b)
{
    return differ(graph->arena, tokenizer_path(graph, a),
                  tokenizer_path(graph, b));
}

void
rlf_model_check_tokens(const rlf_graph *graph, const rlf_node *node,
                       rlf_diags *diags)
{
    const rlf_value *value = &graph->values.data[node->inputs[0]];
    const rlf_set *set = &graph->sets.data[value->set];
    const rlf_resource *model = &graph->resources.data[node->receiver];
    if (set->model < 0 || set->model == node->receiver)
        return;
    const rlf_resource *writer = &graph->resources.data[set->model];
    if (!rlf_declared_differ(graph, writer, model))
        return;
    rlf_diag *diag = rlf_diag_error(
        diags, "tokens", node->span,
        "the tokens of '%s' are those of model '%s', and '%s' has another "
        "tokenizer",
        set->name, writer->name, model->name);
    rlf_diag_hint(diags, diag,
                  "it can read the text: %s.score(%s), or in tokens of its own: "
                  "respond(%s.text), ask(...)",
                  model->name, set->name, set->name);
}

void
rlf_declared_hint_template(const char *stdlib, const char *path, rlf_err *err)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    rlf_buf file = {0};
    rlf_buf_printf(&file, "%s/template/%s", stdlib ? stdlib : "", name);
    if (!rlf_file_exists(path) && rlf_file_exists(file.p))
        rlf_err_hint(err,
                     "the library has one: template: \"std/template/%s\"",
                     name);
    rlf_buf_free(&file);
}
