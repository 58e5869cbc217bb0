/* PPO of four equal models on 8 to 16,384 H100: what `rlflow plan --search`
 * finds for each number of devices, and what its step waits for. */
#ifndef RLF_TESTS_PAPERS_SCALE_H
#define RLF_TESTS_PAPERS_SCALE_H

#include "engine/base/str.h"
#include "tests/papers/settings.h"

/* The setting of HybridFlow's figures, with four times as many rows. */
enum { SCALE_BATCH = 4096, SCALE_PROMPT = 1024, SCALE_RESPONSE = 1024 };

typedef struct scale_row {
    papers_size size;
    int devices;
    bool fits;
    /* That does not fit: bytes that a device lacks where the closest placement
     * lacks most, and why in words; in the arena. */
    double lacks;
    const char *why;
    /* That fits: */
    const char *strategy;         /* see scale_strategy */
    const char *generate, *train; /* "tp 4 pp 1 dp 2 on 8", with words */
    const char *binds;            /* the two longest calls: part of the step,
                                     and of that what takes most */
    bool simulated; /* step and idle are a simulation's; else estimates */
    double step;    /* seconds */
    double tokens;  /* tokens of prompts and responses a second */
    double idle;    /* part of the devices' time */
    double gap; /* the part of a step, by the estimate, that a better placement
                   could save at most */
    double bound;   /* seconds in which the operations of a step are computed at
                       the peak of all devices */
    double first;   /* processor seconds after which the search had a placement
                       that fits, which a search that is stopped then prints */
    double best;    /* and after which it knew the shortest by the estimate */
} scale_row;

/* The rates that H100 machines reach, as parts of those of the data sheet: half
 * of the operations, and of memory and links what is usual of A100 (real.c). */
typedef struct scale_reached {
    double compute, memory, inside, across;
} scale_reached;

extern const scale_reached scale_usual;

/* Processor seconds of this process. */
double scale_processor(void);
/* `moves`: placements that are looked at, and as many again for the proof. */
void scale_search(papers_size size, int devices, int64_t moves,
                  const scale_reached *reached, rlf_arena *arena,
                  scale_row *out);

/* Returns the strategy of a placement: "colocate", all calls on the same ranks;
 * "separate", generation on ranks that train no actor; "split", updates of
 * actor and critic on ranks of their own; else "mixed". `at` has the layout of
 * each of PAPERS_CALLS. */
const char *scale_strategy(const rlf_layout *const *at);

#endif
