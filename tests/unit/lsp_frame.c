/* Frames from a pipe, in pieces of any size. */
#include "engine/lsp/frame.h"
#include "tests/tap.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The reader's result for these bytes: the messages with a '|' behind each, then
 * END or the reason. */
static const char *
read_all(const char *bytes, size_t n, char *out)
{
    int ends[2];
    if (pipe(ends) != 0)
        bail("no pipe");
    if (write(ends[1], bytes, n) != (ssize_t)n)
        bail("the pipe takes too little");
    close(ends[1]);
    rlf_lsp_input input = {.fd = ends[0]};
    const char *text, *why = "";
    size_t length, used = 0;
    rlf_lsp_frame frame;
    while ((frame = rlf_lsp_read(&input, &text, &length, &why)) ==
           RLF_LSP_MESSAGE)
        used += (size_t)sprintf(out + used, "%.*s|", (int)length, text);
    sprintf(out + used, "%s", frame == RLF_LSP_END ? "END" : why);
    rlf_lsp_input_free(&input);
    close(ends[0]);
    return out;
}

static void
reads(const char *bytes, const char *want, const char *name)
{
    char out[4096];
    is_str(read_all(bytes, strlen(bytes), out), want, name);
}

int
main(void)
{
    static const char number[] =
        "a header has no Content-Length, or several, or one that is no number";
    reads("", "END", "nothing");
    reads("Content-Length: 2\r\n\r\n{}Content-Length: 0\r\n\r\n", "{}||END",
          "two messages");
    reads("content-LENGTH:3\r\nContent-Type: x\r\n\r\nabc", "abc|END",
          "names in any case, other headers");
    reads("Content-Length: 2\r\n\r\n{", "the input ends in a message",
          "half a message");
    reads("Content-Length: 2\r\n", "the input ends in a header",
          "half a header");
    reads("Content-Length: 2x\r\n\r\n{}", number, "a number and a letter");
    reads("Content-Length: \r\n\r\n{}", number, "no number");
    reads("Content-Length: -2\r\n\r\n{}", number, "a number below 0");
    reads("Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}", number, "two");
    reads("X-Content-Length: 2\r\n\r\n{}", number, "another name");
    reads("Content-Length: 18446744073709551618\r\n\r\n{}",
          "a message is longer than 64 MB", "2 more than fit into 64 bits");
    reads("Content-Length: 67108865\r\n\r\n{}",
          "a message is longer than 64 MB", "a byte more than 64 MB");
    char long_header[9000], out[4096];
    memset(long_header, 'a', sizeof long_header);
    is_str(read_all(long_header, sizeof long_header, out),
           "what comes is no message: it has no header", "no header");
    int ends[2];
    if (pipe(ends) != 0)
        bail("no pipe");
    ok(rlf_lsp_write(ends[1], "{}", 2), "a message is written");
    ssize_t n = read(ends[0], out, sizeof out - 1);
    out[n > 0 ? n : 0] = 0;
    is_str(out, "Content-Length: 2\r\n\r\n{}", "with its header");
    return done();
}
