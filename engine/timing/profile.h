/* Profiles: what pieces of a program's work took on a machine, as lines.
 *
 *     seconds = fixed + each x + more y
 *
 * for a call cut in some way, on a rank with so many threads: what x and y are
 * says engine/graph/measure.h. `rlflow profile` and every run with a directory
 * write them; a simulation takes a line in the place of counts. Beside them a
 * profile has how long responses were, and what the lines hold for: the
 * machine, and the shapes of the models.
 *
 * A profile is text: a JSON object. No files here. */
#ifndef RLF_TIMING_PROFILE_H
#define RLF_TIMING_PROFILE_H

#include "engine/graph/measure.h"
#include "engine/order/tail.h"
#include "engine/timing/seconds.h"

enum {
    RLF_PROFILE_FORMAT = 3,    /* 2 is read as well: see profile.c */
    RLF_PROFILE_SAMPLES = 512, /* samples of a line that are kept, the newest */
};

/* The key of a line. `call` is "actor.generate", "update" and so on: of all
 * calls of that name; "" of EDGE and STEP; of MODEL the model. */
typedef struct rlf_profile_key {
    rlf_measured_kind kind;
    const char *call;
    int tp, pp, stage, dp; /* dp: of FINISH alone, else 0 */
    int threads; /* threads of the rank; 0: there are more ranks than cores, so
                    that a rank that waits sleeps at once */
    /* Of what goes through a table micro-batch by micro-batch (FORWARD,
     * BACKWARD, WEIGHTS), which passes through one of the stage's chunks: how
     * many it has, else 0; whether the second of two is on the way back; and
     * of BACKWARD whether WEIGHTS is what it leaves out. */
    int chunks;
    bool vee, split;
} rlf_profile_key;

typedef struct rlf_profile_line {
    rlf_profile_key key;
    double fixed, each, more;
    double least, most; /* x that was measured */
    double spread;      /* mean error of the line, as a part of what was seen */
    uint64_t n;         /* measurements */
} rlf_profile_line;

/* Responses of a generation, and its prompts. */
typedef struct rlf_profile_lengths {
    const char *call;
    double prompt; /* tokens, on average */
    /* By class: responses, and their tokens in all; tokens 0: not known, which
     * only a file may say. */
    double count[RLF_TAIL_LENGTHS], tokens[RLF_TAIL_LENGTHS];
} rlf_profile_lengths;

typedef struct rlf_profile_model {
    const char *name;
    const char *shape; /* equal texts: the same tensors */
} rlf_profile_model;

typedef struct rlf_profile {
    const char *path; /* the path for messages; NULL: the profile was not read
                         from a file */
    const char *machine;
    int cores;
    bool gpu; /* it was measured on GPUs */
    const char *program;
    rlf_profile_model *models;
    int n_models;
    rlf_profile_line *lines;
    int n_lines;
    rlf_line *links; /* between ranks of the machine */
    int n_links;
    rlf_profile_lengths *lengths;
    int n_lengths;
    double post; /* seconds from a post of the controller to a rank until it
                    has the answer; 0: not measured */
} rlf_profile;

/* The name of a node's calls in keys, in `text` of `room` bytes. */
const char *rlf_profile_call(const rlf_graph *graph, const rlf_node *node,
                             char *text, size_t room);

/* A line through measurements, at least one: least squares of relative errors,
 * none of its constants negative, once more without what took a multiple of it.
 * Then all of it times what makes the sum right, since relative errors favour
 * what was quick. Fills all but the key. Where no x is a quarter more than
 * another they are taken as in proportion. */
typedef struct rlf_profile_sample {
    double x, y, seconds;
} rlf_profile_sample;
void rlf_profile_fit(const rlf_profile_sample *samples, int n,
                     rlf_profile_line *out);

/* Is it of what goes through a table? */
bool rlf_profile_is_pass(rlf_measured_kind kind);
bool rlf_profile_same_key(const rlf_profile_key *a, const rlf_profile_key *b);

/* The line of that key; else that of the same call and kind (and split) that is
 * cut most alike, its work divided by as many parts more, into *made. NULL:
 * there is none. `*exact`: it is the key's own. */
const rlf_profile_line *rlf_profile_find(const rlf_profile *profile,
                                         const rlf_profile_key *key,
                                         rlf_profile_line *made, bool *exact);
double rlf_profile_line_at(const rlf_profile_line *line, double x, double y);
const rlf_profile_lengths *rlf_profile_lengths_of(const rlf_profile *profile,
                                                  const char *call);

void rlf_profile_print(const rlf_profile *profile, rlf_buf *out);
/* All in `arena`. RLF_USER, naming `path` and what is wrong in it. */
rlf_status rlf_profile_parse(const char *path, const char *text, size_t n,
                             rlf_arena *arena, rlf_err *err, rlf_profile *out);

#endif
