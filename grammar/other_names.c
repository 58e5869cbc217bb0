/* Names of other languages and libraries: see other_names.h. */
#include "grammar/other_names.h"

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
    {"max_length", "max_response"},
    {"max_length", "max_prompt"},
    {"max_seq_len", "max_prompt"},
    {"max_seq_length", "max_prompt"},
    {"max_completion_length", "max_new"},
    {"max_response_length", "max_new"},
    {"response_length", "max_new"},
    {"generate_max_len", "max_new"},
    {"max_completion_length", "max_response"},
    {"max_response_length", "max_response"},
    {"max_prompt_length", "max_prompt"},
    {"prompt_max_len", "max_prompt"},
    {"prompt_key", "prompt"},
    {"input_key", "prompt"},
    {"max_samples", "first"},
    {"max_train_samples", "first"},
    {"num", "n"},
    {"num_samples", "n"},
    {"samples", "n"},
    {"num_return_sequences", "n"},
    {"num_generations", "n"},
    {"n_samples_per_prompt", "n"},
    {"rollout_n", "n"},
    {"group_size", "n"},
    {"stop_words", "stop"},
    {"stop_strings", "stop"},
    {"stop_sequences", "stop"},
    {"learning_rate", "lr"},
    {"actor_learning_rate", "lr"},
    {"critic_learning_rate", "lr"},
    {"adam_beta1", "beta1"},
    {"adam_beta2", "beta2"},
    {"adam_epsilon", "eps"},
    {"adam_eps", "eps"},
    {"l2", "decay"},
    {"clip_grad", "clip"},
    {"model_name_or_path", "from"},
    {"model_name", "from"},
    {"pretrain", "from"},
    {"torch_dtype", "dtype"},
    {"chat_template", "template"},
    {"tokenizer_path", "tokenizer"},
    {"ppo_epochs", "epochs"},
    {"num_ppo_epochs", "epochs"},
    {"num_iterations", "epochs"},
    {"update_epochs", "epochs"},
    {"num_mini_batches", "parts"},
    {"mini_batch_size", "size"},
    {"ppo_mini_batch_size", "size"},
    {"train_batch_size", "size"},
    {"lam", "lambda"},
    {"gae_lambda", "lambda"},
    {"cliprange_value", "eps"},
    {"clip_ratio_low", "low"},
    {"clip_ratio_high", "high"},
    {"epsilon_low", "low"},
    {"epsilon_high", "high"},
    {"clip_ratio_c", "most"},
    {"label_smoothing", "smooth"},
    {"desirable_weight", "weight_good"},
    {"undesirable_weight", "weight_bad"},
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
rlf_other_name_exactly(const char *name, const char *const *names, size_t n)
{
    for (size_t k = 0; k < RLF_COUNT(other_names); k++) {
        const char *ours = !strcmp(other_names[k].other, name)
                               ? find(names, n, other_names[k].ours)
                               : NULL;
        if (ours)
            return ours;
    }
    return NULL;
}

const char *
rlf_other_name(const char *name, const char *const *names, size_t n)
{
    const char *found = rlf_other_name_exactly(name, names, n);
    found = found ? found : longer(name, names, n);
    return found ? found : rlf_str_nearest(name, names, n);
}

/* ---- one argument that is several ---- */

static const struct {
    const char *other, *parts;
} several[] = {
    {"betas", "beta1|beta2"},   {"adam_betas", "beta1|beta2"},
    {"cliprange", "low|high"},  {"clip_range", "low|high"},
    {"clip_eps", "low|high"},   {"eps_clip", "low|high"},
    {"clip_ratio", "low|high"}, {"epsilon", "low|high"},
};

const char *
rlf_other_name_parts(const char *label)
{
    for (size_t i = 0; i < RLF_COUNT(several); i++)
        if (!strcmp(several[i].other, label))
            return several[i].parts;
    return NULL;
}

const char *
rlf_other_name_pairs(rlf_arena *arena, const char *parts,
                     const char *const *values, size_t n)
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
rlf_other_name_formula(rlf_arena *arena, const char *name, const char *x)
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

const char *
rlf_other_name_choice(rlf_arena *arena, const char *name, const char *const *x,
                      size_t n)
{
    static const char *const names[] = {"where",   "cond",    "select",
                                        "if_else", "ifelse",  "iif",
                                        "masked_fill"};
    if (n != 3 || !find(names, RLF_COUNT(names), name))
        return NULL;
    return strcmp(name, "masked_fill") == 0
               ? rlf_arena_printf(arena, "%s ? %s : %s", x[1], x[2], x[0])
               : rlf_arena_printf(arena, "%s ? %s : %s", x[0], x[1], x[2]);
}

/* ---- what is said in a sentence ---- */

/* Arguments without a counterpart of their own, where one called `beside` is.
 */
static const struct {
    const char *label, *beside, *hint;
} labels[] = {
    {"do_sample", "greedy",
     "sampling is what it does anyway: greedy: true switches it off"},
    {"sampling", "greedy",
     "sampling is what it does anyway: greedy: true switches it off"},
    {"seed", "greedy", "the seed of a run is given by rlflow run --seed 7"},
    {"batch_size", "on_error",
     "rows of a step are counted in the head of the flow: batch: prompts[8]"},
    {"per_device_train_batch_size", "on_error",
     "rows of a step are counted in the head of the flow: batch: prompts[8]"},
    {"train_batch_size", "on_error",
     "rows of a step are counted in the head of the flow: batch: prompts[8]"},
    {"rollout_batch_size", "on_error",
     "rows of a step are counted in the head of the flow: batch: prompts[8]"},
    {"seed", "on_error", "the seed of a run is given by rlflow run --seed 7"},
    {"scale", "score",
     "grpo(score) divides by the deviation of the group, dr_grpo(score) does "
     "not"},
    {"scale_rewards", "score",
     "grpo(score) divides by the deviation of the group, dr_grpo(score) does "
     "not"},
    {"normalize", "score",
     "grpo(score) divides by the deviation of the group, dr_grpo(score) does "
     "not"},
    {"norm_adv_by_std_in_grpo", "score",
     "grpo(score) divides by the deviation of the group, dr_grpo(score) does "
     "not"},
    {"filter_overlong_prompts", "on_error",
     "on_error: drop leaves out rows that are longer than max_prompt:"},
};

const char *
rlf_other_name_label(const char *label, const char *const *names, size_t n)
{
    for (size_t i = 0; i < RLF_COUNT(labels); i++)
        if (!strcmp(labels[i].label, label) && find(names, n, labels[i].beside))
            return labels[i].hint;
    return NULL;
}

#define KL                                                                \
    "the library has several, import \"std/loss\": k3(p, q) or k2(p, q) " \
    "in a loss, k1(p, q) to report"
#define NO_ORDER                                                            \
    "reductions are sum mean std var min max count; rank(x over batch) is " \
    "the place of each value in the order of all"
#define BETWEEN "a value between two bounds is clamp(x, low, high)"
#define NOTHING                                                              \
    "there is no such value, every value is there: leave out what would be " \
    "given or compared"
#define NO_PLACE \
    "there are no places: x == max(x over group) holds where the most is"

static const struct {
    const char *name, *hint;
} sentences[] = {
    {"kl", KL},
    {"kl_div", KL},
    {"kl_divergence", KL},
    {"kl_penalty", KL},
    {"approx_kl", KL},
    {"clip",
     "PPO's clip(ratio, adv) is in the library, import \"std/loss\"; " BETWEEN},
    {"median", NO_ORDER},
    {"quantile", NO_ORDER},
    {"percentile", NO_ORDER},
    {"sort", NO_ORDER},
    {"topk", NO_ORDER},
    {"argmax", NO_PLACE},
    {"argsort", NO_ORDER},
    {"True", "write 'true'"},
    {"False", "write 'false'"},
    {"None", NOTHING},
    {"nil", NOTHING},
    {"null", NOTHING},
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
rlf_other_name_instead(const char *name)
{
    for (size_t i = 0; i < RLF_COUNT(sentences); i++)
        if (!strcmp(sentences[i].name, name))
            return sentences[i].hint;
    return NULL;
}

const char *
rlf_other_name_elsewhere(const char *name)
{
    bool ratio = !strcmp(name, "clip") || !strcmp(name, "dual_clip") ||
                 !strcmp(name, "cispo");
    return ratio ? "its ratio counts from 1 - low to 1 + high; " BETWEEN : NULL;
}

const char *
rlf_other_name_argument(const char *name)
{
    return !strcmp(name, "ratio")
               ? "the ratio of two policies is exp(logp - old), or "
                 "ratio_of(logp, old)"
               : NULL;
}
