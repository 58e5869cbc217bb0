/* The digest against published values of XXH3-128, and continued. */
#include "engine/base/digest.h"
#include "tests/tap.h"

static const char *
text_of(rlf_digest digest)
{
    static char text[RLF_DIGEST_TEXT];
    return rlf_digest_print(digest, text);
}

int
main(void)
{
    /* as xxh128sum 0.8.1 prints them */
    is_str(text_of(rlf_digest_of("", 0)), "99aa06d3014798d86001c324468d497f",
           "of nothing");
    is_str(text_of(rlf_digest_of(NULL, 0)), "99aa06d3014798d86001c324468d497f",
           "... wherever that is");
    is_str(text_of(rlf_digest_of("abc", 3)), "06b05ab6733a618578af5f94892f3950",
           "of three bytes");
    rlf_digest none = {0, 0};
    rlf_digest ab = rlf_digest_add(none, "ab", 2);
    rlf_digest apart = rlf_digest_add(rlf_digest_add(none, "a", 1), "b", 1);
    ok(rlf_digest_equal(ab, rlf_digest_add(none, "ab", 2)), "it is a function");
    ok(!rlf_digest_equal(ab, apart), "pieces count");
    ok(!rlf_digest_equal(ab, rlf_digest_add(apart, "ab", 2)),
       "so does what was before");
    return done();
}
