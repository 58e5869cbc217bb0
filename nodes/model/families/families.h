/* The families of models: each a file here, and a row in family.def.
 *
 * A family is what its config.json means and the rows of its program. Its file
 * is all that has to be written for a family whose operations are there. */
#ifndef RLF_MODEL_FAMILIES_FAMILIES_H
#define RLF_MODEL_FAMILIES_FAMILIES_H

#include "nodes/model/config_keys.h"
#include "nodes/model/program.h"

/* The keys of config.json that a family has, and what it means where they are
 * silent. */
typedef struct rlf_family {
    const char *type;         /* model_type */
    const char *architecture; /* transformers' class, without its ending */
    const char *classifier;   /* ... with a scalar head; NULL: the same */
    const char *lm; /* that ending for a language model; NULL: ForCausalLM */
    void (*rows)(rlf_program *r);
    /* Keys of its own, and which those are, of config.c's list of keys that
     * others refuse: "a|b"; NULL: none. */
    rlf_status (*read)(const rlf_config_keys *keys, rlf_model_config *config);
    const char *heeds;
    const rlf_key_name *names; /* up to {0}; NULL: all as Llama's */
    /* Names of tensors and their form in files (form.h). */
    const char *layers; /* NULL: "model.layers" */
    bool transposed;    /* products have [inputs, outputs] */
    bool pairs;         /* rows of q and k that are rotated together are side by
                           side */
    bool groups;        /* q, k and v of one tensor are there head by head: the
                           query heads of each key head, that, its values */
    const char *head;   /* the head's tensor; NULL: "lm_head.weight" */
    const char *head_bias; /* that of its bias; NULL: it has none */
    bool qkv_bias;   /* always, whatever the keys say */
    bool bias_key;   /* has attention_bias */
    bool o_bias_key; /* ... which also gives o_proj a bias */
    bool mlp_bias_key;
    bool qk_norm;           /* of each head */
    const char *never_null; /* keys that null is no value of: "a|b"; or NULL */
    rlf_act act;            /* hidden_act where it is absent */
    bool tied;              /* tie_word_embeddings where it is absent */
    bool window;       /* has sliding_window */
    bool window_named; /* ... and none where it is absent */
    bool window_key;   /* ... which needs use_sliding_window */
    bool window_types; /* ... and layer_types */
    int window_every;  /* ... of so many layers the last has none; 0: all do */
    bool window_every_key; /* ... unless sliding_window_pattern says another */
    int still_every;   /* of so many layers the last rotates nothing, and has
                          the windows, unless no_rope_layers says otherwise;
                          0: all rotate */
    bool places;       /* positions are learned, and nothing is rotated */
    double eps, theta;
    rlf_rope_family rope;
    int context;
    int kv_heads; /* 0: as many as heads */
    int ffn;      /* intermediate_size where it is absent, in widths of the
                     residual; 0: it must be there */
    int head_dim; /* 0: hidden / heads */
} rlf_family;

#define FAMILY(name) extern const rlf_family rlf_family_##name;
#include "nodes/model/families/family.def"
#undef FAMILY

/* The rows of Llama, which others share. */
void rlf_llama_rows(rlf_program *r);

/* Rows that several families have alike (parts.c). */
/* self_attn.q_proj, k_proj and v_proj, with biases if the config has them. */
rlf_heads rlf_qkv_heads(rlf_program *r, rlf_var x);
/* Scores over sqrt(head_dim), without a cap; `window` as in rlf_attend. */
rlf_var rlf_attend_scaled(rlf_program *r, rlf_heads h, int window);
/* mlp.gate_proj, which is activated, times mlp.up_proj. */
rlf_var rlf_gate_up(rlf_program *r, rlf_var x, bool bias);
/* An mlp of x without a gate, onto `to`. */
rlf_var rlf_plain_mlp(rlf_program *r, rlf_var to, rlf_var x, const char *up,
                      const char *down, bool bias);

#endif
