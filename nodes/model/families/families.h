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
    const char *classifier;   /* transformers' class with a scalar head, without
                                 its ending; NULL: as `architecture` */
    const char *lm; /* the ending of the class of a language model; NULL:
                       ForCausalLM */
    void (*rows)(rlf_program *r);
    /* Reads keys that only this family has; NULL: there are none. */
    rlf_status (*read)(const rlf_config_keys *keys, rlf_model_config *config);
    const char *heeds; /* "a|b": keys of config.c's list of refused keys that
                          `read` reads; NULL: none */
    const rlf_key_name *names; /* names of keys that are not Llama's, up to {0};
                                  NULL: all are
                                  Llama's */
    /* Names of tensors and their form in files (form.h). */
    const char *layers; /* NULL: "model.layers" */
    bool transposed;    /* products have [inputs, outputs] */
    bool pairs;         /* rows of q and k that are rotated together are side by
                           side */
    bool groups;        /* q, k and v of one tensor are there head by head: the
                           query heads of each key head, that, its values */
    const char *head;   /* the head's tensor; NULL: "lm_head.weight" */
    const char *head_bias;  /* the tensor of the head's bias; NULL: none */
    bool qkv_bias;          /* q, k and v have biases, whatever the keys say */
    bool bias_key;          /* config.json has attention_bias */
    bool o_bias_key;        /* attention_bias gives o_proj a bias, too */
    bool mlp_bias_key;      /* config.json has mlp_bias */
    bool qk_norm;           /* q and k have a norm of each head */
    const char *never_null; /* "a|b": keys whose value cannot be null; or NULL
                             */
    rlf_act act;            /* hidden_act where it is absent */
    bool tied;              /* tie_word_embeddings where it is absent */
    bool window;            /* config.json has sliding_window */
    bool window_named;      /* without sliding_window no layer has a window */
    bool window_key;   /* sliding_window counts only with use_sliding_window */
    bool window_types; /* layer_types says which layers have windows */
    int window_every;  /* the number of layers of which the last has no window;
                          0: all have one */
    bool window_every_key; /* sliding_window_pattern, if it is there, stands in
                              the place of window_every */
    int still_every; /* the number of layers of which the last rotates nothing,
                        and has the windows, unless no_rope_layers says
                        otherwise; 0: all layers rotate */
    bool places;       /* positions are learned, and nothing is rotated */
    double eps, theta;
    rlf_rope_family rope;
    int context;
    int kv_heads; /* 0: as many as query heads */
    int ffn;      /* intermediate_size where it is absent, in widths of the
                     residual; 0: it must be there */
    int head_dim; /* elements of a head; 0: hidden / heads */
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
