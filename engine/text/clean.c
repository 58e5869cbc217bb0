/* See clean.h. */
#include "engine/text/clean.h"

#include "engine/base/vec.h"

#include <string.h>

/* Each text is replaced by its part without spaces. They begin with a space,
 * and none has another one before its end: so a text that breaks off can only
 * begin anew with the byte that breaks it off. */
static const char *const texts[] = {" .",   " ?",  " !",  " ,",   " ' ",
                                    " n't", " 'm", " 's", " 've", " 're"};
_Static_assert(RLF_COUNT(texts) == RLF_CLEAN_STEPS, "one step for each text");

/* One byte enters a step. */
static void
enter(uint8_t *waits, int step, char c, rlf_buf *out)
{
    if (step == RLF_CLEAN_STEPS) {
        rlf_buf_putc(out, c);
        return;
    }
    const char *text = texts[step];
    size_t n = strlen(text), k = waits[step];
    if (c == text[k]) {
        waits[step] = (uint8_t)(k + 1);
        if (k + 1 < n)
            return;
        waits[step] = 0;
        for (size_t i = 1; i < n; i++)
            if (text[i] != ' ')
                enter(waits, step + 1, text[i], out);
        return;
    }
    waits[step] = 0;
    for (size_t i = 0; i < k; i++)
        enter(waits, step + 1, text[i], out);
    if (k)
        enter(waits, step, c, out);
    else
        enter(waits, step + 1, c, out);
}

void
rlf_clean_feed(uint8_t *waits, const char *p, size_t n, rlf_buf *out)
{
    for (size_t i = 0; i < n; i++)
        enter(waits, 0, p[i], out);
}

void
rlf_clean_end(uint8_t *waits, rlf_buf *out)
{
    for (int step = 0; step < RLF_CLEAN_STEPS; step++) {
        size_t k = waits[step];
        waits[step] = 0;
        for (size_t i = 0; i < k; i++)
            enter(waits, step + 1, texts[step][i], out);
    }
}
