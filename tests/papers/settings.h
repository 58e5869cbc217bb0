/* PPO of four Llama models on A100 machines, as the papers ran it: calls and
 * layouts measured by rlflow's own counts, and problems of the search.
 *
 * A family is a program whose four models are of one size, from config.json
 * files alone. A setting takes the actor's and the reference's calls of one
 * family, the critic's and the reward model's of another. */
#ifndef RLF_TESTS_PAPERS_SETTINGS_H
#define RLF_TESTS_PAPERS_SETTINGS_H

#include "engine/api/session.h"
#include "engine/search/calls.h"
#include "engine/search/search.h"

/* Calls, in the order of the program. */
enum {
    PAPERS_GENERATE,
    PAPERS_REWARD,
    PAPERS_REFERENCE,
    PAPERS_VALUE,
    PAPERS_ACTOR,
    PAPERS_CRITIC,
    PAPERS_CALLS,
};

typedef enum papers_size {
    PAPERS_7B,
    PAPERS_13B,
    PAPERS_34B,
    PAPERS_70B,
    PAPERS_405B,
    PAPERS_SIZES
} papers_size;

/* Llama 2 and 3.1, and Code Llama 34B; the configs of ReaL have the same
 * vocabulary for all (405B: its own). */
typedef struct papers_model {
    const char *name;
    int layers, hidden, heads, kv_heads, ffn, vocab;
} papers_model;

extern const papers_model papers_models[PAPERS_SIZES];
/* Weights of a model with a head over the vocabulary, or with a scalar one. */
double papers_parameters(const papers_model *model, bool scalar);

typedef struct papers_lengths {
    int batch, prompt, response;
} papers_lengths;

/* PPO of four models of one size, the critic and the reward model with a head
 * of one number, in a directory of its own. */
typedef struct papers_program {
    char directory[64], path[96];
} papers_program;

/* The text of PPO to the end of `out`: the actor and the reference are models
 * from one directory, the critic and the reward model from another. */
void papers_write_text(rlf_buf *out, papers_lengths lengths, const char *actor,
                       const char *critic);
void papers_write(papers_size size, papers_lengths lengths,
                  papers_program *out);
void papers_remove(const papers_program *program);

/* The speeds that seconds are worked out with: factors of terms, apart for
 * generation and for reading and updates. */
typedef struct papers_speeds {
    const char *machine; /* a preset's name: "a100x8" */
    double link;         /* bytes a second of a machine's link */
    double start; /* seconds at the start of a collective in a machine; 0: the
                     preset's */
    double generate[RLF_SECONDS_TERMS], pass[RLF_SECONDS_TERMS];
    double sequence; /* seconds for each sequence of a replica in each turn:
                        logits and sampling of a runtime that is not ours */
    double piece; /* seconds to place a piece of weights that a rank receives */
} papers_speeds;

/* Numbers of the data sheet. */
papers_speeds papers_speeds_of(const char *machine, double link);

typedef struct papers_family papers_family;

/* In `arena`; ends with it. */
papers_family *papers_open(papers_size size, papers_lengths lengths,
                           const papers_speeds *speeds, rlf_arena *arena);
void papers_set_speeds(papers_family *family, const papers_speeds *speeds);
/* A family's session: its graph has the program. */
rlf_session *papers_session(papers_family *family);

/* A way to cut a model; micro-batches of readings and updates. */
typedef struct papers_cut {
    int count, tp, pp, dp;
    int reads, updates; /* micro-batches */
    int waves;          /* waves of a generation */
} papers_cut;

/* One call so. */
typedef struct papers_call {
    rlf_seconds seconds; /* `sequence` times the next is in the total */
    double sequences;    /* in turns, summed over the turns of a replica */
    double kept, own, work;
    double flops; /* operations of the replica's slowest stage */
} papers_call;

/* False: the model cannot be cut so. `memory`: bytes too. */
bool papers_measure(papers_family *family, const papers_cut *cut, bool memory,
                    papers_call out[PAPERS_CALLS]);

/* Micro-batches as ReaL cuts them: as many as stages, twice as many in
 * training; no more than there are rows. */
papers_cut papers_cut_as_real(const papers_lengths *lengths, int count, int tp,
                              int pp);

/* Operations of an iteration as ReaL counts them: a generation with keys and
 * values kept, three readings, two updates of which each is four forwards (one
 * of them recomputed). */
double papers_real_flops(papers_size actor, papers_size critic,
                         papers_lengths lengths);
/* The same with what models really compute: keys and values of their own width,
 * pairs of a token and those before it, heads of one number for the critic and
 * the reward model. */
double papers_model_flops(papers_size actor, papers_size critic,
                          papers_lengths lengths);
/* The same of updates that compute nothing again. */
double papers_least_flops(papers_size actor, papers_size critic,
                          papers_lengths lengths);

/* Is it among the ways to run a call that ReaL looks at, on machines of eight?
 * Whole machines or an aligned four of one; tp a power of two, tp dp one of 1,
 * 2, 4, or whole eights; a row for each stage and replica (training: two), tp
 * dp of 8 at most in training; stages at most as machines, or eight. (`batch`
 * 0: any number of rows.) */
bool papers_is_real(const rlf_choice *choice, bool trains, int machines,
                    int batch);

/* Bytes of a call on a device as ReaL's estimator counts them: weights and
 * gradients of training twice 2 bytes, the rest of it 20 bytes over all
 * replicas; weights that are only read 4 bytes, on the host between calls where
 * nothing trains them; keys and values as wide as the model. Sets `kept`, `own`
 * and `work`. */
void papers_real_memory(papers_size size, papers_lengths lengths, int call,
                        rlf_choice *choice);

/* A problem of the search. */
typedef struct papers_problem {
    rlf_problem problem;
    rlf_problem_call calls[PAPERS_CALLS];
    papers_family *actor, *critic;
} papers_problem;

/* The meshes that a problem has. */
typedef enum papers_meshes {
    PAPERS_ALL,  /* rlf_cluster_meshes */
    PAPERS_REAL, /* those, and the cuts, that ReaL looks at */
    /* the same, with memory as ReaL's estimator counts it, and generations that
     * have all their samples at work at once */
    PAPERS_REAL_MEMORY,
    PAPERS_PARTS, /* aligned parts of all devices, down to an eighth */
} papers_meshes;

void papers_problem_make(papers_family *actor, papers_family *critic,
                         int devices, papers_meshes meshes, rlf_arena *arena,
                         papers_problem *out);
/* Every model's calls on ranks of its own, cut as is best there. */
typedef struct papers_placed {
    double period; /* INFINITY: it does not fit */
    rlf_choice call[PAPERS_CALLS];
} papers_placed;

/* By model (actor, critic, reference, reward) first rank and count. */
papers_placed papers_place(const papers_problem *problem, const int first[4],
                           const int count[4]);

#endif
