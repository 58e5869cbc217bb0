# engine/lua: layer 3. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/lua_NAME
#          tests_unit_lua_NAME_LDADD = $(LUA_HOST_LIBS)
noinst_LTLIBRARIES += libluahost.la
libluahost_la_SOURCES =
libluahost_la_LIBADD = $(LUA_LIBS)
