/* The tokenizer of examples/models/arith, for programs whose prompts have a
 * length that a test knows. */
#ifndef RLF_TESTS_UNIT_ARITH_TOKENS_H
#define RLF_TESTS_UNIT_ARITH_TOKENS_H

#include "engine/base/vec.h"
#include "engine/text/tokenizer.h"
#include "tests/tap.h"

/* Returns the number of a text's tokens, with those that begin a text. */
TAP_FUNCTION int
arith_tokens(const char *text)
{
    char path[512];
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *tokenizer;
    rlf_ids ids = {0};
    snprintf(path, sizeof path, "%s/examples/models/arith",
             getenv("RLFLOW_SOURCE"));
    if (rlf_tokenizer_open(path, &err, &tokenizer) < 0 ||
        rlf_tokenizer_encode(tokenizer, text, strlen(text), RLF_ENCODE_SPECIAL,
                             &err, &ids) < 0)
        bail("%s", err.sentence);
    int n = (int)ids.count;
    RLF_VEC_FREE(&ids);
    rlf_tokenizer_close(tokenizer);
    return n;
}

#endif
