#include "nodes/model/rope.h"

#include <limits.h>
#include <math.h>
#include <string.h>

#include "engine/base/fmath.h"
#include "engine/base/str.h"
#include "engine/base/vec.h"

/* Numbers must make sense and stay what they are in single precision. */
#define MOST_THETA 1e12
#define LEAST_FACTOR 1e-6
#define MOST_FACTOR 1e6
#define TURN 6.283185307179586

/* The object that scales rotations, while it is read. */
typedef struct reading {
    const rlf_config_keys *keys;
    const char *name; /* "rope_scaling" */
    const json_t *object;
    const rlf_rope_family *family;
    double positions; /* max_position_embeddings */
    int dim;          /* of each head the elements that are rotated */
    rlf_arena *arena;
    rlf_rope *rope;
} reading;

static rlf_status
read_number(const reading *r, const char *key, double least, double most,
            double *out)
{
    rlf_err *err = r->keys->err;
    RLF_TRY(rlf_config_refuse_null(r->keys, r->object, key));
    return rlf_config_number(r->keys, r->object, key, least, most, out);
}

/* The same, where null is the default. */
static rlf_status
read_optional(const reading *r, const char *key, double least, double most,
              double *out)
{
    return rlf_config_number(r->keys, r->object, key, least, most, out);
}

/* ---- keys ---- */

static rlf_status
read_factor(const reading *r)
{
    rlf_err *err = r->keys->err;
    RLF_TRY(read_number(r, "factor", 1, MOST_FACTOR, &r->rope->factor));
    if (!(r->rope->factor >= 1)) /* it is missing */
        return rlf_config_fail(r->keys, r->name,
                               "needs a \"factor\" of at least 1");
    return RLF_OK;
}

/* The positions of pretraining, which may stand inside of the object, or beside
 * it; in both places they must be the same. */
static rlf_status
read_original(const reading *r)
{
    rlf_err *err = r->keys->err;
    static const char key[] = "original_max_position_embeddings";
    double inside = 0, outside = r->family->original;
    if (outside == 0) /* else the family's own replaces a null */
        RLF_TRY(rlf_config_refuse_null(r->keys, r->object, key));
    RLF_TRY(rlf_config_refuse_null(r->keys, r->keys->root, key));
    RLF_TRY(read_optional(r, key, 1, INT_MAX, &inside));
    RLF_TRY(
        rlf_config_number(r->keys, r->keys->root, key, 1, INT_MAX, &outside));
    if (inside > 0 && outside > 0 && inside != outside)
        return rlf_config_fail(
            r->keys, key,
            "says another length than the object that scales rotations: write "
            "it in there, once");
    r->rope->original = inside > 0    ? inside
                        : outside > 0 ? outside
                                      : r->positions;
    return RLF_OK;
}

/* The same; without a factor sequences are as much longer as positions are
 * more, and cosines and sines may have a factor of their own. */
static rlf_status
read_stretch(const reading *r)
{
    rlf_err *err = r->keys->err;
    RLF_TRY(read_original(r));
    r->rope->factor = r->positions / r->rope->original;
    RLF_TRY(read_optional(r, "factor", 1, MOST_FACTOR, &r->rope->factor));
    return read_optional(r, "attention_factor", LEAST_FACTOR, MOST_FACTOR,
                         &r->rope->scale);
}

static rlf_status
read_dynamic(const reading *r)
{
    r->rope->original = r->positions;
    return read_factor(r);
}

static rlf_status
read_llama3(const reading *r)
{
    rlf_err *err = r->keys->err;
    rlf_rope *rope = r->rope;
    RLF_TRY(read_factor(r));
    RLF_TRY(read_number(r, "low_freq_factor", 0, MOST_FACTOR, &rope->low));
    RLF_TRY(read_number(r, "high_freq_factor", 0, MOST_FACTOR, &rope->high));
    RLF_TRY(read_original(r));
    if (!(rope->low > 0 && rope->high > rope->low))
        return rlf_config_fail(
            r->keys, r->name,
            "needs 0 < \"low_freq_factor\" < \"high_freq_factor\" and "
            "\"original_max_position_embeddings\"");
    return RLF_OK;
}

/* Attention is sharpened where keys are closer together (Peng et al. 2023,
 * YaRN, section 3.4). */
static double
sharpness(double factor, double by)
{
    return factor > 1 ? 0.1 * by * rlf_ln(factor) + 1 : 1;
}

static rlf_status
read_yarn(const reading *r)
{
    rlf_err *err = r->keys->err;
    rlf_rope *rope = r->rope;
    double by = 0, by_all = 0;
    RLF_TRY(read_stretch(r));
    if (!rlf_config_member(r->object, "factor"))
        return rlf_config_fail(r->keys, r->name,
                               "needs a \"factor\" of at least 1");
    RLF_TRY(read_optional(r, "mscale", 0, MOST_FACTOR, &by));
    RLF_TRY(read_optional(r, "mscale_all_dim", 0, MOST_FACTOR, &by_all));
    RLF_TRY(read_optional(r, "beta_slow", 0, MOST_FACTOR, &rope->low));
    RLF_TRY(read_optional(r, "beta_fast", 0, MOST_FACTOR, &rope->high));
    rope->truncated = !json_object_get(r->object, "truncate"); /* null: no */
    RLF_TRY(rlf_json_get_bool(r->object, r->keys->path, "truncate", false, err,
                              &rope->truncated));
    rope->low = rope->low > 0 ? rope->low : 1;
    rope->high = rope->high > 0 ? rope->high : 32;
    if (rope->high < rope->low)
        return rlf_config_fail(r->keys, r->name,
                               "needs \"beta_slow\" <= \"beta_fast\"");
    if (!(rope->theta > 1))
        return rlf_config_fail(r->keys, "rope_theta", "must be above 1");
    if (!(rope->scale > 0))
        rope->scale = by > 0 && by_all > 0 ? sharpness(rope->factor, by) /
                                                 sharpness(rope->factor, by_all)
                                           : sharpness(rope->factor, 1);
    return RLF_OK;
}

/* A factor for each rotation. */
static rlf_status
read_factors(const reading *r, const char *key, const double **out)
{
    const json_t *list = rlf_config_member(r->object, key);
    size_t n = (size_t)r->dim / 2;
    if (!json_is_array(list) || json_array_size(list) != n)
        return rlf_fail(r->keys->err, RLF_USER,
                        "%s: \"%s\" must be a list of %zu numbers, one for "
                        "each rotation of a head",
                        r->keys->path, key, n);
    double *factors = RLF_NEW_ARRAY(r->arena, double, n);
    for (size_t i = 0; i < n; i++) {
        const json_t *x = json_array_get(list, i);
        factors[i] = json_number_value(x);
        if (!json_is_number(x) ||
            !(factors[i] >= LEAST_FACTOR && factors[i] <= MOST_FACTOR))
            return rlf_fail(r->keys->err, RLF_USER,
                            "%s: \"%s\" must have numbers from %g to %g",
                            r->keys->path, key, LEAST_FACTOR, MOST_FACTOR);
    }
    *out = factors;
    return RLF_OK;
}

/* Ding et al. 2024, LongRoPE. */
static rlf_status
read_longrope(const reading *r)
{
    rlf_err *err = r->keys->err;
    rlf_rope *rope = r->rope;
    RLF_TRY(read_stretch(r));
    RLF_TRY(read_factors(r, "short_factor", &rope->short_factor));
    RLF_TRY(read_factors(r, "long_factor", &rope->long_factor));
    if (rope->original < 2)
        return rlf_config_fail(r->keys, "original_max_position_embeddings",
                               "must be at least 2");
    if (!(rope->scale > 0))
        rope->scale =
            rope->factor > 1
                ? sqrt(1 + rlf_ln(rope->factor) / rlf_ln(rope->original))
                : 1;
    return RLF_OK;
}

/* ---- frequencies ---- */

static void
plain(double theta, int dim, double *frequency)
{
    for (int i = 0; i < dim / 2; i++)
        frequency[i] = rlf_pow(theta, -2.0 * i / dim);
}

static void
linear(const rlf_rope *rope, int dim, double longest, double *frequency)
{
    (void)longest;
    plain(rope->theta, dim, frequency);
    for (int i = 0; i < dim / 2; i++)
        frequency[i] /= rope->factor;
}

/* The base grows with the length beyond pretraining. */
static void
dynamic(const rlf_rope *rope, int dim, double longest, double *frequency)
{
    double length = fmax(longest, rope->original);
    double grown = rope->factor * length / rope->original - (rope->factor - 1);
    plain(rope->theta * rlf_pow(grown, dim / (dim - 2.0)), dim, frequency);
}

/* Turns made within the original positions decide. */
static void
llama3(const rlf_rope *rope, int dim, double longest, double *frequency)
{
    (void)longest;
    plain(rope->theta, dim, frequency);
    for (int i = 0; i < dim / 2; i++) {
        double f = frequency[i], turns = rope->original * f / TURN;
        double keep = (turns - rope->low) / (rope->high - rope->low);
        keep = keep < 0 ? 0 : keep > 1 ? 1 : keep;
        frequency[i] = (1 - keep) * f / rope->factor + keep * f;
    }
}

/* The rotation that turns so often within the original positions. */
static double
rotation_of(const rlf_rope *rope, int dim, double turns)
{
    return dim * rlf_ln(rope->original / (turns * TURN)) /
           (2 * rlf_ln(rope->theta));
}

static void
yarn(const rlf_rope *rope, int dim, double longest, double *frequency)
{
    (void)longest;
    double first = rotation_of(rope, dim, rope->high);
    double last = rotation_of(rope, dim, rope->low);
    if (rope->truncated) {
        first = floor(first);
        last = ceil(last);
    }
    first = fmax(first, 0);
    last = fmin(last, dim - 1);
    double width = last == first ? 0.001 : last - first;
    plain(rope->theta, dim, frequency);
    for (int i = 0; i < dim / 2; i++) {
        double f = frequency[i], stretched = (i - first) / width;
        stretched = stretched < 0 ? 0 : stretched > 1 ? 1 : stretched;
        frequency[i] = f / rope->factor * stretched + f * (1 - stretched);
    }
}

static void
longrope(const rlf_rope *rope, int dim, double longest, double *frequency)
{
    const double *factor =
        longest > rope->original ? rope->long_factor : rope->short_factor;
    plain(rope->theta, dim, frequency);
    for (int i = 0; i < dim / 2; i++)
        frequency[i] /= factor[i];
}

/* ---- the table ---- */

typedef void formula(const rlf_rope *rope, int dim, double longest,
                     double *frequency);

static const struct kind {
    const char *name; /* of "rope_type", or "type" */
    rlf_status (*read)(const reading *r);
    formula *frequencies;
    bool extends;   /* raises the context to factor times `original`, which its
                       `read` sets */
    bool by_length; /* the longest sequence decides */
} kinds[] = {
    {.name = "default"},
    {"linear", read_factor, linear, false, false},
    {"dynamic", read_dynamic, dynamic, true, true},
    {"llama3", read_llama3, llama3, false, false},
    {"yarn", read_yarn, yarn, true, false},
    {"longrope", read_longrope, longrope, true, true},
};

const char *
rlf_rope_kind(size_t i)
{
    return i < RLF_COUNT(kinds) ? kinds[i].name : NULL;
}

double
rlf_rope_frequencies(const rlf_rope *rope, int dim, double longest,
                     double *frequency)
{
    if (rope->kind)
        kinds[rope->kind].frequencies(rope, dim, longest, frequency);
    else
        plain(rope->theta, dim, frequency);
    return rope->scale > 0 ? rope->scale : 1;
}

bool
rlf_rope_is_stretched(const rlf_rope *rope, double longest)
{
    return kinds[rope->kind].by_length && longest > rope->original;
}

/* ---- reading ---- */

/* Refuses what would turn positions otherwise than it says at first sight: a
 * part of each head, or every kind of layer its own way. */
static rlf_status
check_object(const reading *r)
{
    rlf_err *err = r->keys->err;
    const char *name;
    json_t *value;
    double part = 1;
    json_object_foreach((json_t *)(uintptr_t)r->object, name, value)
    {
        if (json_is_object(value))
            return rlf_fail(err, RLF_USER,
                            "%s: \"%s\" has a \"%s\" of its own: rotations "
                            "by kind of layer are not supported",
                            r->keys->path, r->name, name);
    }
    RLF_TRY(read_optional(r, "partial_rotary_factor", 0, 1, &part));
    if (part != 1 && !(r->family->part > 0))
        return rlf_config_fail(r->keys, r->name,
                               "has a \"partial_rotary_factor\": rotation of a "
                               "part of each head is not supported");
    return RLF_OK;
}

/* The part of each head that is rotated, by what the object says, or what
 * stands beside it. */
static rlf_status
read_part(reading *r, int head_dim)
{
    rlf_err *err = r->keys->err;
    static const char key[] = "partial_rotary_factor";
    const char *own = r->family->part_key ? r->family->part_key : key;
    double part = r->family->part;
    r->dim = head_dim;
    if (!(part > 0))
        return RLF_OK;
    RLF_TRY(rlf_config_number(r->keys, r->keys->root, own, 0, 1, &part));
    RLF_TRY(read_number(r, key, 0, 1, &part));
    r->dim = (int)(head_dim * part);
    if (r->dim < 2 || r->dim % 2)
        return rlf_fail(err, RLF_USER,
                        "%s: \"%s\": %g of heads of %d elements are %d, which "
                        "is no number of pairs",
                        r->keys->path, key, part, head_dim, r->dim);
    r->rope->dim = r->dim < head_dim ? r->dim : 0;
    return RLF_OK;
}

/* Finds the kind that a word names. */
static rlf_status
find_kind(const reading *r, const char *word)
{
    rlf_buf known = {0};
    size_t n = RLF_COUNT(kinds);
    if (r->family->longrope) {
        bool other = !strcmp(word, "su") || !strcmp(word, "yarn");
        word = other ? "longrope" : word;
        if (strcmp(word, "longrope") != 0 && strcmp(word, "default") != 0)
            return rlf_fail(r->keys->err, RLF_USER,
                            "%s: \"%s\": rotary scaling \"%s\" is not of this "
                            "model_type, which has longrope alone",
                            r->keys->path, r->name, word);
    }
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(word, kinds[i].name)) {
            r->rope->kind = i;
            rlf_buf_free(&known);
            return RLF_OK;
        }
        rlf_buf_printf(&known, "%s%s",
                       i == 0       ? ""
                       : i + 1 == n ? " and "
                                    : ", ",
                       kinds[i].name);
    }
    rlf_fail(r->keys->err, RLF_USER,
             "%s: \"%s\": rotary scaling \"%s\" is not supported (%s are)",
             r->keys->path, r->name, word, known.p);
    rlf_buf_free(&known);
    return RLF_USER;
}

/* rope_scaling, or rope_parameters, its newer name, which has the base too and
 * is read where the other is absent or empty; NULL: neither is there. */
static const json_t *
find_object(const json_t *root, const char **name)
{
    *name = "rope_scaling";
    const json_t *object = rlf_config_member(root, *name);
    if (!object || (json_is_object(object) && !json_object_size(object))) {
        *name = "rope_parameters";
        object = rlf_config_member(root, *name);
    }
    return object;
}

static rlf_status
read_object(reading *r, const json_t *object, int head_dim, int *context)
{
    rlf_err *err = r->keys->err;
    r->object = object;
    RLF_TRY(read_part(r, head_dim));
    if (!object)
        return RLF_OK;
    if (!json_is_object(object))
        return rlf_config_fail(r->keys, r->name, "must be an object");
    RLF_TRY(check_object(r));
    RLF_TRY(read_number(r, "rope_theta", 1, MOST_THETA, &r->rope->theta));
    const char *key =
        json_object_get(object, "rope_type") ? "rope_type" : "type";
    RLF_TRY(rlf_config_refuse_null(r->keys, object, key));
    const json_t *kind = json_object_get(object, key);
    const char *word = kind ? json_string_value(kind) : kinds[0].name;
    if (!word)
        return rlf_config_fail(r->keys, r->name,
                               "needs a \"rope_type\" that is a word");
    RLF_TRY(find_kind(r, word));
    const struct kind *k = &kinds[r->rope->kind];
    if (k->read) {
        RLF_TRY(
            rlf_config_refuse_null(r->keys, object, "partial_rotary_factor"));
        RLF_TRY(k->read(r));
    }
    RLF_ASSERT(!k->extends || r->rope->original > 0);
    double reach = k->extends ? r->rope->original * r->rope->factor : 0;
    if (reach > *context)
        *context = reach < 1 << 30 ? (int)reach : 1 << 30;
    return RLF_OK;
}

/* An object for each kind of layer; rope_scaling, the older name, is of those
 * without a window. */
static rlf_status
read_both(reading *r, int head_dim, int *context, rlf_rope *local)
{
    rlf_err *err = r->keys->err;
    const json_t *root = r->keys->root, *scaling = find_object(root, &r->name);
    const json_t *both = rlf_config_member(root, "rope_parameters"), *global;
    const char *name;
    json_t *value;
    if (both && !json_is_object(both))
        return rlf_config_fail(r->keys, "rope_parameters", "must be an object");
    json_object_foreach((json_t *)(uintptr_t)both, name, value)
    {
        if (strcmp(name, "full_attention") != 0 &&
            strcmp(name, "sliding_attention") != 0)
            return rlf_fail(err, RLF_USER,
                            "%s: \"rope_parameters\" of this model_type has "
                            "an object for each kind of layer: \"%s\" is none",
                            r->keys->path, name);
    }
    global = rlf_config_member(both, "full_attention");
    if (scaling == both) {
        r->name = global ? "full_attention" : r->name;
    } else if (global || !rlf_config_member(scaling, "rope_type")) {
        return rlf_config_fail(r->keys, r->name,
                               global ? "says what \"rope_parameters\" says: "
                                        "keep one of them"
                                      : "needs a \"rope_type\"");
    } else {
        global = scaling;
    }
    RLF_TRY(read_object(r, global, head_dim, context));
    r->rope = local;
    r->name = "sliding_attention";
    local->theta = r->family->local;
    if (r->family->local_key)
        RLF_TRY(rlf_config_number(r->keys, root, "rope_local_base_freq", 1,
                                  MOST_THETA, &local->theta));
    RLF_TRY(
        read_object(r, rlf_config_member(both, r->name), head_dim, context));
    if (kinds[local->kind].by_length)
        return rlf_config_fail(r->keys, r->name,
                               "may not be scaled by the length of sequences");
    return RLF_OK;
}

rlf_status
rlf_rope_read(const rlf_config_keys *keys, const rlf_rope_family *family,
              int head_dim, int *context, rlf_arena *arena, rlf_rope *out,
              rlf_rope *local)
{
    rlf_err *err = keys->err;
    reading r = {.keys = keys,
                 .family = family,
                 .positions = *context,
                 .arena = arena,
                 .rope = out};
    const char *key = family->theta_key ? family->theta_key : "rope_theta";
    RLF_TRY(
        rlf_config_number(keys, keys->root, key, 1, MOST_THETA, &out->theta));
    if (family->local > 0)
        return read_both(&r, head_dim, context, local);
    const json_t *object = find_object(keys->root, &r.name);
    if (!rlf_config_member(object, "rope_theta"))
        RLF_TRY(rlf_config_refuse_null(keys, keys->root, key));
    return read_object(&r, object, head_dim, context);
}
