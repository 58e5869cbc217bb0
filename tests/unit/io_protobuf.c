/* Protocol buffers that are written: the bytes that the packages tensorboard
 * 2.21.0 and protobuf 7.36.2 write for the same record, and CRC-32C's published
 * check. */
#include "engine/io/protobuf.h"
#include "tests/tap.h"

static void
put_hex(const rlf_buf *bytes, rlf_buf *out)
{
    for (size_t i = 0; i < bytes->n; i++)
        rlf_buf_printf(out, "%02x", (unsigned char)bytes->p[i]);
}

int
main(void)
{
    rlf_buf value = {0}, summary = {0}, event = {0}, record = {0}, hex = {0};
    ok(rlf_crc32c("123456789", 9) == 0xe3069283, "CRC-32C of 123456789");
    ok(rlf_crc32c("", 0) == 0, "... and of nothing");

    rlf_proto_text(&value, 1, "a.loss");
    rlf_proto_float(&value, 2, -0.25f);
    rlf_proto_message(&summary, 1, &value);
    rlf_proto_double(&event, 1, 1.5);
    rlf_proto_int(&event, 2, 300);
    rlf_proto_message(&event, 5, &summary);
    rlf_tfrecord_add(&record, event.p, event.n);
    put_hex(&record, &hex);
    is_str(hex.p,
           "1d00000000000000602fdf2309000000000000f83f10ac022a0f0a0d0a06612e6c"
           "6f737315000080be3de91851",
           "an event as tensorboard writes it");

    rlf_buf_clear(&value);
    rlf_buf_clear(&hex);
    rlf_proto_int(&value, 1, UINT64_MAX);
    rlf_proto_int(&value, 16, 0);
    rlf_proto_bytes(&value, 536870911, "", 0);
    put_hex(&value, &hex);
    is_str(hex.p,
           "08ffffffffffffffffff0180010"
           "0faffffff0f00",
           "the largest numbers, and nothing");
    rlf_buf *all[] = {&value, &summary, &event, &record, &hex};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        rlf_buf_free(all[i]);
    return done();
}
