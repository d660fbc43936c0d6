#!/bin/sh
# cached.sh COMPILER ARGUMENTS: runs the compiler through ccache, but for headers that are being
# precompiled: ccache takes the old one for what they are made from, and would give back one that
# was made from other sources.
for argument in "$@"; do
  [ "$argument" != c++-header ] || exec "$@"
done
CCACHE_SLOPPINESS=pch_defines,time_macros exec ccache "$@"
