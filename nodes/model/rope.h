/* Rotary positions (Su et al. 2021, RoFormer): the angular frequency of each
 * rotation, and how they are stretched for sequences longer than those of
 * pretraining.
 *
 * A kind of scaling is a row of the table in rope.c: its name in config.json,
 * the keys that it reads, its formula, all as transformers 5 has them. Two
 * kinds choose by the length of what is read: dynamic and longrope.
 * transformers does so for every batch, so that the same tokens have other
 * log-probabilities beside longer ones; here the longest sequence that a run
 * can have decides once, for all of its models. */
#ifndef RLF_MODEL_ROPE_H
#define RLF_MODEL_ROPE_H

#include "nodes/model/config_keys.h"

#include "engine/base/arena.h"

typedef struct rlf_rope {
    size_t kind;      /* row of the table; 0: not stretched */
    double theta;     /* base of the frequencies */
    double factor;    /* the factor by which sequences may be longer than
                         `original` */
    double original;  /* positions of pretraining; not of linear */
    int dim; /* the elements of each head that are rotated, its first ones; 0:
                all */
    double scale;     /* the factor of cosines and sines; 0: 1 */
    double low, high; /* llama3, yarn: the ramp from frequencies that turn so
                         often within `original`, or less, to those that do
                         more often */
    bool truncated;   /* yarn: the ramp begins and ends at whole rotations */
    const double *short_factor, *long_factor; /* longrope: [dim / 2] */
} rlf_rope;

/* The differences in meaning of a family's config.json from Llama's. */
typedef struct rlf_rope_family {
    double part; /* partial_rotary_factor where it is absent; 0: it has none */
    /* Names of rope_theta and partial_rotary_factor beside the object; NULL:
     * these. */
    const char *theta_key, *part_key;
    bool longrope; /* has no other scaling, and "su" and "yarn" are that */
    int original;  /* original_max_position_embeddings where it stands nowhere
                      beside the object that scales; 0: none */
    double local;  /* base of layers with a window, which have rotations of
                      their own; 0: all layers have the same */
    bool local_key; /* ... which rope_local_base_freq may change */
} rlf_rope_family;

/* The name of kind `i` in config.json, or NULL. */
const char *rlf_rope_kind(size_t i);
/* Read rope_theta, and rope_scaling or rope_parameters. out->theta is the
 * family's, and *context the positions that config.json names; it is raised to
 * those that the scaling reaches. Of a family whose layers with a window have
 * rotations of their own *local is those, else it stays. Numbers live in
 * `arena`. RLF_USER: a key is wrong, missing or not supported. */
rlf_status rlf_rope_read(const rlf_config_keys *keys,
                         const rlf_rope_family *family, int head_dim,
                         int *context, rlf_arena *arena, rlf_rope *out,
                         rlf_rope *local);
/* Radians per position of the dim / 2 rotations, in runs whose longest
 * sequence has so many tokens. Returns the factor of cosines and sines. */
double rlf_rope_frequencies(const rlf_rope *rope, int dim, double longest,
                            double *frequency);
/* Does the longest sequence decide, and otherwise than shorter ones would? */
bool rlf_rope_is_stretched(const rlf_rope *rope, double longest);

#endif
