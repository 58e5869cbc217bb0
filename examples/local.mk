# examples: programs to run and copy, installed as $(pkgdatadir)/examples/...
nobase_dist_pkgdata_DATA += \
	%D%/README.md \
	%D%/embed.c \
	%D%/arith_seq.rlf \
	%D%/async.rlf \
	%D%/curriculum.rlf \
	%D%/dapo.rlf \
	%D%/distill.rlf \
	%D%/dpo.rlf \
	%D%/grpo.rlf \
	%D%/judge.rlf \
	%D%/ppo.rlf \
	%D%/reinforce_pp.rlf \
	%D%/remax.rlf \
	%D%/reward_model.rlf \
	%D%/rloo.rlf \
	%D%/sft.rlf \
	%D%/stories.rlf \
	%D%/data/arith.jsonl \
	%D%/data/arith.lua \
	%D%/data/pairs.jsonl \
	%D%/data/stories.jsonl \
	%D%/data/stories.lua \
	%D%/models/arith/config.json \
	%D%/models/arith/generation_config.json \
	%D%/models/arith/model.safetensors \
	%D%/models/arith/tokenizer.json \
	%D%/models/arith/tokenizer_config.json \
	%D%/rewards/arith.lua \
	%D%/rewards/arith_seq.lua \
	%D%/rewards/judge.lua \
	%D%/rewards/stories.lua \
	%D%/templates/arith_seq.lua
tap_tests += tests/examples.tap
# the library used from another program; tests/embed.tap runs it
noinst_PROGRAMS += %D%/embed
examples_embed_SOURCES = %D%/embed.c
examples_embed_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/engine
if SHARED
examples_embed_LDADD = $(SONAME)
examples_embed_LDFLAGS = $(AM_LDFLAGS) -Wl,-rpath,'$(abs_top_builddir)'
else
examples_embed_LDADD = librlflow.a $(filter-out $(layers),$(API_LIBS))
examples_embed_DEPENDENCIES = librlflow.a
endif
tap_tests += tests/embed.tap
