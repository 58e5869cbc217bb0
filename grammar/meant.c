/* What other languages and libraries call what is ours: see meant.h. */
#include "grammar/meant.h"

#include "engine/base/str.h"
#include "engine/base/vec.h"

#include <ctype.h>
#include <string.h>

/* ---- one name for another ---- */

static const struct {
    const char *other, *ours;
} other_names[] = {
    /* arguments */
    {"max_tokens", "max_new"},
    {"max_new_tokens", "max_new"},
    {"max_length", "max_new"},
    {"num", "n"},
    {"num_samples", "n"},
    {"samples", "n"},
    {"num_return_sequences", "n"},
    {"do_sample", "greedy"},
    {"learning_rate", "lr"},
    {"weight_decay", "decay"},
    {"weightdecay", "decay"},
    {"wd", "decay"},
    {"epsilon", "eps"},
    {"max_grad_norm", "clip"},
    {"grad_clip", "clip"},
    {"n_layers", "layers"},
    {"num_layers", "layers"},
    {"hidden_size", "hidden"},
    {"num_heads", "heads"},
    {"n_heads", "heads"},
    {"intermediate_size", "ffn"},
    {"max_position_embeddings", "context"},
    {"num_parts", "parts"},
    {"batch_size", "size"},
    {"timeout", "time"},
    {"limit", "first"},
    /* fields */
    {"response", "text"},
    {"responses", "text"},
    {"completion", "text"},
    {"completions", "text"},
    {"output", "text"},
    {"outputs", "text"},
    {"texts", "text"},
    {"query", "prompt"},
    {"question", "prompt"},
    {"num_tokens", "length"},
    {"n_tokens", "length"},
    {"done", "finished"},
    {"old_logprob", "logprob"},
    {"logp", "logprob"},
    /* methods */
    {"sample", "generate"},
    {"rollout", "generate"},
    {"complete", "generate"},
    {"forward", "logprob"},
    {"filter", "where"},
    {"select", "where"},
    {"keep", "where"},
    {"chunk", "split"},
    {"chunks", "split"},
    {"pieces", "split"},
    {"batches", "split"},
    {"minibatches", "split"},
    {"reward", "score"},
    /* types */
    {"string", "text"},
    {"str", "text"},
    {"integer", "int"},
    {"number", "float"},
    {"double", "float"},
    {"real", "float"},
    {"boolean", "bool"},
    {"flag", "bool"},
    {"file", "path"},
    /* functions */
    {"fabs", "abs"},
    {"logsigmoid", "log_sigmoid"},
    {"clip_by_value", "clamp"},
    {"minimum", "min"},
    {"maximum", "max"},
};

static const char *
find(const char *const *names, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (names[i] && !strcmp(names[i], name))
            return names[i];
    return NULL;
}

/* The only one of the names that goes on after `name`: len is length. */
static const char *
longer(const char *name, const char *const *names, size_t n)
{
    const char *found = NULL;
    size_t k = strlen(name);
    for (size_t i = 0; i < n && k > 2; i++) {
        if (!names[i] || strncmp(names[i], name, k) != 0)
            continue;
        if (found && strcmp(found, names[i]) != 0)
            return NULL;
        found = names[i];
    }
    return found;
}

const char *
rlf_meant(const char *name, const char *const *names, size_t n)
{
    for (size_t k = 0; k < RLF_COUNT(other_names); k++) {
        const char *ours = !strcmp(other_names[k].other, name)
                               ? find(names, n, other_names[k].ours)
                               : NULL;
        if (ours)
            return ours;
    }
    const char *found = longer(name, names, n);
    return found ? found : rlf_str_nearest(name, names, n);
}

/* ---- one argument that is several ---- */

const char *
rlf_meant_parts(const char *label)
{
    return !strcmp(label, "betas") ? "beta1|beta2" : NULL;
}

const char *
rlf_meant_pairs(rlf_arena *arena, const char *parts, const char *const *values,
                size_t n)
{
    const char *text = "";
    for (size_t i = 0; *parts; i++) {
        size_t k = strcspn(parts, "|");
        text =
            rlf_arena_printf(arena, "%s%s%.*s: %s", text, i ? ", " : "", (int)k,
                             parts, i < n && values[i] ? values[i] : "...");
        parts += k + (parts[k] == '|');
    }
    return text;
}

/* ---- functions that are formulas ---- */

/* '@' stands for the argument. */
static const struct {
    const char *name, *formula;
} formulas[] = {
    {"round", "floor(@ + 0.5)"},
    {"ceil", "-floor(-@)"},
    {"ceiling", "-floor(-@)"},
    {"int", "floor(@)"},
    {"trunc", "floor(@)"},
    {"relu", "max(@, 0)"},
    {"sign", "(@ > 0) - (@ < 0)"},
    {"square", "@ ^ 2"},
    {"sqr", "@ ^ 2"},
    {"ln", "log(@)"},
    {"log2", "log(@) / log(2)"},
    {"log10", "log(@) / log(10)"},
    {"log1p", "log(1 + @)"},
    {"expm1", "exp(@) - 1"},
    {"softplus", "-log_sigmoid(-@)"},
    {"logit", "log(@ / (1 - @))"},
    {"detach", "sg(@)"},
    {"stop_gradient", "sg(@)"},
    {"average", "mean(@ over batch)"},
    {"avg", "mean(@ over batch)"},
    {"any", "max(@ over batch)"},
    {"all", "min(@ over batch)"},
    {"len", "@.length"},
    {"rand", "uniform(@)"},
    {"random", "uniform(@)"},
};

static bool
is_simple(const char *x)
{
    for (; *x; x++)
        if (!isalnum((unsigned char)*x) && !strchr("._", *x))
            return false;
    return true;
}

/* Do parentheses or commas stand around the '@' at `at` already? */
static bool
is_alone(const char *formula, const char *at)
{
    return at > formula && at[-1] == '(' && strchr("),", at[1]);
}

const char *
rlf_meant_formula(rlf_arena *arena, const char *name, const char *x)
{
    for (size_t i = 0; i < RLF_COUNT(formulas); i++) {
        if (strcmp(formulas[i].name, name) != 0)
            continue;
        /* A text's length is its sample's: len(roll.text) is roll.length. */
        size_t n = strlen(x);
        if (!strcmp(name, "len") && n > 5 && !strcmp(x + n - 5, ".text"))
            x = rlf_arena_strndup(arena, x, n - 5);
        const char *text = "";
        for (const char *p = formulas[i].formula; *p; p++) {
            bool bare = is_simple(x) || is_alone(formulas[i].formula, p);
            text = *p != '@' ? rlf_arena_printf(arena, "%s%c", text, *p)
                             : rlf_arena_printf(arena, bare ? "%s%s" : "%s(%s)",
                                                text, x);
        }
        return text;
    }
    return NULL;
}

/* ---- what is said in a sentence ---- */

static const struct {
    const char *name, *hint;
} sentences[] = {
    {"True", "write 'true'"},
    {"False", "write 'false'"},
    {"None", "leave the argument out instead"},
    {"nil", "leave the argument out instead"},
    {"null", "leave the argument out instead"},
    {"inf", "write a large number, or compare before you divide"},
    {"nan", "a value that is not a number ends the run: leave it out"},
    {"pow", "write 'a ^ b'"},
    {"print", "write 'report name = value'"},
    {"where", "write 's.where(c)' for a set, 'c ? a : b' for values"},
    {"softmax", "log-probabilities are m.logprobs(s), one per word: exp(...) "
                "of them"},
    {"range", "a loop walks the pieces of a set: for mini in s.split(parts: "
              "4) { ... }"},
    {"normalize", "write whiten(x), of the library: import \"std/advantage\""},
};

const char *
rlf_meant_instead(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(sentences); i++)
        if (!strcmp(sentences[i].name, name))
            return sentences[i].hint;
    return NULL;
}
