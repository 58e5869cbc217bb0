# engine/mesh: layer 5. Add the sources (headers too) to the first list, and a
# test as: check_PROGRAMS += tests/unit/mesh_NAME
#          tests_unit_mesh_NAME_LDADD = $(MESH_LIBS)
noinst_LIBRARIES += libmesh.a
libmesh_a_SOURCES = \
	%D%/groups.c %D%/groups.h \
	%D%/outline.c %D%/outline.h
