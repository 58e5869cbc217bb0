/* Fuzz target: any bytes as a tokenizer.json. One that is read can encode texts
 * and decode ids; one that is not says why. */
#include "tests/fuzz.h"

#include "engine/text/detokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const texts[] = {
    "",
    " The  quick brown <s>fox</s> jumps, doesn't it? 12345",
    "\xc3\xa9 e\xcc\x81 \xef\xac\x81 \xe2\x96\x81\xe2\x96\x81x "
    "\xe4\xb8\xad\r\n",
    "\xf0\x9f\x91\xa8\xe2\x80\x8d\xf0\x9f\x91\xa9 \xe0\xa4\x95\xe0\xa5\x8d"
    "\xe0\xa4\xb7 \xff\xc3 [CLS]a[SEP]",
};

static void
use(const rlf_tokenizer *t)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        rlf_err err = RLF_ERR_NONE;
        rlf_ids ids = {0};
        rlf_buf out = {0};
        if (rlf_tokenizer_encode(t, texts[i], strlen(texts[i]),
                                 RLF_ENCODE_SPECIAL, &err, &ids) < 0 &&
            !err.sentence[0])
            abort();
        rlf_tokenizer_decode(t, ids.data, ids.count, 0, &out);
        rlf_buf_free(&out);
        RLF_VEC_FREE(&ids);
        rlf_err_clear(&err);
    }
    for (uint32_t id = 0; id < rlf_tokenizer_vocab(t) && id < 1000; id += 7) {
        rlf_buf out = {0};
        rlf_tokenizer_decode(t, &id, 1, RLF_DECODE_CONTINUE, &out);
        rlf_buf_free(&out);
    }
}

FUZZ_TARGET(fuzz_tokenizer)
{
    char path[512];
    const char *in = getenv("TMPDIR");
    rlf_err err = RLF_ERR_NONE;
    rlf_tokenizer *t = NULL;
    snprintf(path, sizeof path, "%s/rlflow-fuzz-%d.json", in ? in : "/tmp",
             (int)getpid());
    FILE *file = fopen(path, "wb");
    if (!file)
        abort();
    fwrite(data, 1, n, file);
    fclose(file);
    if (rlf_tokenizer_open(path, &err, &t) == RLF_OK)
        use(t);
    else if (!err.sentence[0])
        abort();
    rlf_tokenizer_close(t);
    rlf_err_clear(&err);
    remove(path);
    return 0;
}
