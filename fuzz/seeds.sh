#!/bin/sh
# Each statement of the SQL tests as a seed of `sql_parse`: fuzz/seeds/sql_parse/. The seeds of the other targets are
# in the checkout.
set -eu
cd "$(dirname "$0")"
mkdir -p seeds/sql_parse
cat ../tests/sql/*/*/*.slt | awk '
    /^(statement|query) / {file = sprintf("seeds/sql_parse/%05d.sql", ++count); next}
    /^----$/ || /^$/ {if (file) close(file); file = ""; next}
    file {print > file}'
