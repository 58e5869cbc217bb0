/* Profiles that end before all cuts were tried: at one that the models cannot
 * have, which is no error of the profile. */
#include "engine/rlflow.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] =
    "param problems : path \"JSON lines: question, answer\"\n"
    "param words    : path \"the directory of a tokenizer\"\n"
    "data  rows  = jsonl(problems, prompt: \"question\", answer: \"answer\")\n"
    "model actor = lm(llama(layers: 1, hidden: 16, heads: 2, ffn: 24,\n"
    "                       context: 64),\n"
    "                 tokenizer: words, optimizer: adamw(lr: 1e-4))\n"
    "flow measured(batch: rows[4]) {\n"
    "    roll = actor.generate(batch, max_new: 3)\n"
    "    update actor minimize -mean(actor.logprob(roll) over batch)\n"
    "}\n";

/* Ends at the first cut that cannot be. */
static int
watch(void *arg, const rlf_progress *progress)
{
    int *cannot = arg;
    if (progress->done > 0 && strncmp(progress->text, "cannot be: ", 11) == 0)
        ++*cannot;
    return *cannot;
}

int
main(void)
{
    char problems[1100], words[1100];
    const char *root = getenv("RLFLOW_SOURCE");
    if (!root)
        skip_all("RLFLOW_SOURCE is not set");
    snprintf(problems, sizeof problems, "%s/examples/data/arith.jsonl", root);
    snprintf(words, sizeof words, "%s/examples/models/arith", root);
    rlf_session *s =
        rlf_session_open_text("measured.rlf", program, sizeof program - 1);
    rlf_session_set(s, "problems", problems);
    rlf_session_set(s, "words", words);
    rlf_session_set(s, "--ranks", "2");
    rlf_session_set(s, "--time-limit", "10");
    int cannot = 0;
    rlf_result result = rlf_session_profile(s, watch, &cannot);
    ok(result == RLF_RESULT_OK && cannot == 1,
       "a profile that ends at a layer cut into two stages: %s",
       rlf_session_message(s));
    ok(!rlf_session_failed(s) && rlf_session_status(s) == RLF_RESULT_OK &&
           !*rlf_session_message(s),
       "... has not failed: %s", rlf_session_message(s));
    const char *text = rlf_session_text(s, RLF_TEXT_PROFILE);
    ok(text && strstr(text, "\"piece\":\"backward\""), "... has lines");
    text = rlf_session_text(s, RLF_TEXT_NOTES);
    ok(text && strstr(text, "not measured in 10 s, 3 of 8 cuts"),
       "... and says what it has not measured: %s", text ? text : "nothing");
    ok(rlf_session_close(s) == RLF_RESULT_OK, "... to its end");
    return done();
}
