# examples: programs to run and copy, installed as $(pkgdatadir)/examples/...
nobase_dist_pkgdata_DATA += \
	%D%/README.md \
	%D%/embed.c \
	%D%/arith_seq.rlf \
	%D%/async.rlf \
	%D%/chat_sft.rlf \
	%D%/cispo.rlf \
	%D%/cost_model.rlf \
	%D%/curriculum.rlf \
	%D%/dapo.rlf \
	%D%/distill.rlf \
	%D%/dpo.rlf \
	%D%/dr_grpo.rlf \
	%D%/grpo.rlf \
	%D%/gsm8k.rlf \
	%D%/gspo.rlf \
	%D%/judge.rlf \
	%D%/kto.rlf \
	%D%/orpo.rlf \
	%D%/ppo.rlf \
	%D%/ppo_rm.rlf \
	%D%/raft.rlf \
	%D%/reinforce.rlf \
	%D%/reinforce_pp.rlf \
	%D%/remax.rlf \
	%D%/rloo.rlf \
	%D%/rm.rlf \
	%D%/safe_rlhf.rlf \
	%D%/sft.rlf \
	%D%/simpo.rlf \
	%D%/stories.rlf \
	%D%/data/arith.jsonl \
	%D%/data/arith.lua \
	%D%/data/chats.jsonl \
	%D%/data/graded.jsonl \
	%D%/data/gsm8k.lua \
	%D%/data/gsm8k/test.jsonl \
	%D%/data/gsm8k/train.jsonl \
	%D%/data/pairs.jsonl \
	%D%/data/rated.jsonl \
	%D%/data/stories.jsonl \
	%D%/data/stories.lua \
	%D%/models/arith/config.json \
	%D%/models/arith/generation_config.json \
	%D%/models/arith/model.safetensors \
	%D%/models/arith/tokenizer.json \
	%D%/models/arith/tokenizer_config.json \
	%D%/rewards/arith.lua \
	%D%/rewards/arith_seq.lua \
	%D%/rewards/graded.lua \
	%D%/rewards/gsm8k.lua \
	%D%/rewards/judge.lua \
	%D%/rewards/stories.lua \
	%D%/templates/arith_seq.lua \
	%D%/templates/turns.lua
tap_tests += tests/examples.tap
# the library used from other programs, that of librlflow(3) among them;
# tests/embed.tap runs them
noinst_PROGRAMS += %D%/embed %D%/plan %D%/manual
examples_embed_SOURCES = %D%/embed.c
examples_plan_SOURCES = %D%/plan.c
nodist_examples_manual_SOURCES = %D%/manual.c
user_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/engine
examples_embed_CPPFLAGS = $(user_cppflags)
examples_plan_CPPFLAGS = $(user_cppflags)
examples_manual_CPPFLAGS = $(user_cppflags)
if SHARED
user_libs = $(SONAME)
user_depends = $(SONAME)
user_ldflags = $(AM_LDFLAGS) -Wl,-rpath,'$(abs_top_builddir)'
else
user_libs = librlflow.a $(filter-out $(layers),$(API_LIBS))
user_depends = librlflow.a
user_ldflags = $(AM_LDFLAGS)
endif
examples_embed_LDADD = $(user_libs)
examples_plan_LDADD = $(user_libs)
examples_manual_LDADD = $(user_libs)
examples_embed_DEPENDENCIES = $(user_depends)
examples_plan_DEPENDENCIES = $(user_depends)
examples_manual_DEPENDENCIES = $(user_depends)
examples_embed_LDFLAGS = $(user_ldflags)
examples_plan_LDFLAGS = $(user_ldflags)
examples_manual_LDFLAGS = $(user_ldflags)
%D%/manual.c: $(top_srcdir)/man/librlflow.3.in
	$(AM_V_GEN)$(MKDIR_P) %D% && sed -n '/^#include <rlflow.h>/,/^[.]Ed/p' \
	    $(top_srcdir)/man/librlflow.3.in | \
	    sed '/^[.]Ed/d; s/\\e/\\/g' >$@.tmp && mv $@.tmp $@
CLEANFILES += %D%/manual.c
tap_tests += tests/embed.tap
