# engine/lua: layer 3. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/lua_NAME
#          tests_unit_lua_NAME_LDADD = $(LUA_HOST_LIBS)
noinst_LIBRARIES += libluahost.a
libluahost_a_SOURCES = %D%/absent.c %D%/array.c %D%/budget.c %D%/compare.c %D%/coroutine.c %D%/cost.c %D%/error.c \
	%D%/freeze.c %D%/host.c %D%/host.h %D%/internal.h %D%/json.c %D%/order.c %D%/pattern.c %D%/place.c %D%/pure.c %D%/program.c %D%/regex.c \
	%D%/sandbox.c %D%/text.c %D%/value.c
libluahost_a_SOURCES += %D%/trace.c %D%/write.c

check_PROGRAMS += tests/unit/lua_trace
tests_unit_lua_trace_SOURCES = tests/unit/lua_trace.c tests/unit/lua_run.h
tests_unit_lua_trace_LDADD = $(LUA_HOST_LIBS) $(JANSSON_LIBS)
check_PROGRAMS += tests/unit/lua_library tests/unit/lua_limits \
	tests/unit/lua_pattern tests/unit/lua_sandbox tests/unit/lua_value
tests_unit_lua_library_SOURCES = tests/unit/lua_library.c tests/unit/lua_run.h
tests_unit_lua_library_LDADD = $(LUA_HOST_LIBS)
tests_unit_lua_limits_SOURCES = tests/unit/lua_limits.c tests/unit/lua_run.h
tests_unit_lua_limits_LDADD = $(LUA_HOST_LIBS)
tests_unit_lua_pattern_LDADD = $(LUA_HOST_LIBS) $(LUA_LIBS)
tests_unit_lua_sandbox_SOURCES = tests/unit/lua_sandbox.c tests/unit/lua_run.h
tests_unit_lua_sandbox_LDADD = $(LUA_HOST_LIBS)
tests_unit_lua_value_SOURCES = tests/unit/lua_value.c tests/unit/lua_run.h
tests_unit_lua_value_LDADD = $(LUA_HOST_LIBS)
