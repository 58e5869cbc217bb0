/* Which metrics are looked at first where there is no room for all. */
#include "engine/cmd/cmd.h"

#include <ctype.h>
#include <string.h>

/* Is one of the words a word of the name: "accuracy" of "test_accuracy"? */
static bool
has_word(const char *name, const char *const *words)
{
    for (; *words; words++) {
        size_t n = strlen(*words);
        for (const char *p = strstr(name, *words); p;
             p = strstr(p + 1, *words))
            if ((p == name || !isalnum((unsigned char)p[-1])) &&
                !isalnum((unsigned char)p[n]))
                return true;
    }
    return false;
}

int
rlf_cmd_metric_rank(const char *name)
{
    static const char *const aims[] = {
                                 "reward", "rewards", "score",   "scores",
                                 "return", "accuracy", "acc",    "solved",
                                 "right",  "correct", "success", "pass",
                                 "exact",  "win",     NULL},
                             *const parts[] = {"loss", "gradient", NULL};
    bool own = strchr(name, '.') == NULL;
    if (strcmp(name, "reward") == 0)
        return 0;
    if (own && has_word(name, aims))
        return 1;
    return own ? 2 : has_word(name, parts) ? 4 : 3;
}
