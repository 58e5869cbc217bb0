/* See sealed.h. */
#include "engine/io/sealed.h"

#include "engine/io/file.h"
#include "engine/io/json.h"

#include <string.h>

static const char last_line[] = ",\n \"xxh128\":\"";

rlf_digest
rlf_sealed_end(rlf_buf *text)
{
    rlf_digest digest = rlf_digest_of(text->p, text->n);
    char is[RLF_DIGEST_TEXT];
    rlf_buf_printf(text, "%s%s\"}\n", last_line, rlf_digest_print(digest, is));
    return digest;
}

bool
rlf_sealed_is_whole(const rlf_buf *text, rlf_digest *digest)
{
    /* the line, the digest, its quote, the brace and the line end */
    const size_t n = sizeof last_line - 1 + RLF_DIGEST_TEXT - 1 + 3;
    char is[RLF_DIGEST_TEXT];
    if (text->n < n)
        return false;
    const char *last = text->p + text->n - n;
    const char *has = last + sizeof last_line - 1;
    *digest = rlf_digest_of(text->p, text->n - n);
    return memcmp(last, last_line, sizeof last_line - 1) == 0 &&
           memcmp(has, rlf_digest_print(*digest, is), RLF_DIGEST_TEXT - 1) ==
               0 &&
           memcmp(has + RLF_DIGEST_TEXT - 1, "\"}\n", 3) == 0;
}

rlf_status
rlf_sealed_fail(const char *path, rlf_err *err)
{
    return rlf_fail(err, RLF_USER, "%s is damaged: it is not what was saved",
                    path);
}

rlf_status
rlf_sealed_load(const char *path, size_t most, rlf_err *err, json_t **out)
{
    rlf_buf text = {0};
    rlf_digest digest;
    rlf_json_found found;
    rlf_status status = rlf_file_read(path, most, err, &text);
    if (status >= 0 && !rlf_sealed_is_whole(&text, &digest))
        status = rlf_sealed_fail(path, err);
    if (status >= 0)
        status =
            rlf_json_parse_exact(path, 1, text.p, text.n, err, out, &found);
    rlf_buf_free(&text);
    return status;
}
