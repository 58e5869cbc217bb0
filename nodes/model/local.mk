# nodes/model: part of layer 4, add to libnodes_la_SOURCES.
