#!/bin/sh
# Seeds for the targets that would not find their way alone: fuzz/seeds/<target>/. To be given behind the corpus:
# cargo +nightly fuzz run sql_parse fuzz/corpus/sql_parse fuzz/seeds/sql_parse
set -eu
cd "$(dirname "$0")"
mkdir -p seeds/sql_parse seeds/format_read seeds/source_answers seeds/address_text seeds/dict_layout

# Each statement of the SQL tests.
cat ../tests/sql/*/*/*.slt | awk '
    /^(statement|query) / {file = sprintf("seeds/sql_parse/%05d.sql", ++count); next}
    /^----$/ || /^$/ {if (file) close(file); file = ""; next}
    file {print > file}'

# The first byte is the format, the second the types.
seed() { target=$1 name=$2; shift 2; printf "$@" > "seeds/$target/$name"; }
seed format_read tsv_0 '\000\000''1\ta\\tb\n255\t\\\\\n'
seed format_read tsv_1 '\000\001''-1\t\\N\t1.5\n9223372036854775807\tx\tnan\n'
seed format_read tsv_2 '\000\002''2020-01-31\t2020-01-31 23:59:59\t-1.2345\t61f0c404-5cb3-11e7-907b-a6006ad3dba0\n'
seed format_read tsv_5 '\000\005'"true\t['a',NULL]\t('127.0.0.1','abc')\n"
seed format_read csv_0 '\001\000''1,"a""b"\n255,x\n'
seed format_read csv_1 '\001\001''-1,\\N,1.5\n7,"x,y",-inf\n'
seed format_read csv_2 '\001\002''"2020-01-31","2020-01-31 23:59:59",-1.2345,"61f0c404-5cb3-11e7-907b-a6006ad3dba0"\n'
seed format_read csv_5 '\001\005'"true,\"['a',NULL]\",\"127.0.0.1\",\"abc\"\n"
seed format_read json_0 '\002\000''{"c0":1,"c1":"a\\u00e4"}\n'
seed format_read json_1 '\002\001''{"c0":"-1","c1":null,"c2":1.5}\n{"c2":"nan"}\n'
seed format_read json_2 '\002\002''{"c0":"2020-01-31","c1":"2020-01-31 23:59:59","c2":-1.2345,"c3":"61f0c404-5cb3-11e7-907b-a6006ad3dba0"}\n'
seed format_read json_5 '\002\005''{"c0":true,"c1":["a",null],"c2":{"1":"127.0.0.1","2":"abc"}}\n'
seed format_read values_0 '\003\000'"(1,'a\\\\'b'),(255,'x')"
seed format_read values_1 '\003\001'"(-1,NULL,1.5),(7,'x',-inf)"
seed format_read values_2 '\003\002'"('2020-01-31','2020-01-31 23:59:59',-1.2345,'61f0c404-5cb3-11e7-907b-a6006ad3dba0')"
seed format_read values_5 '\003\005'"(true,['a',NULL],('127.0.0.1','abc'))"

seed format_read tsv_3 '\000\003''a\t2020-01-31 23:59:59.123\t\\N\t1.5\nb\\n\t1970-01-01 00:00:00.000\tx\tinf\n'
seed format_read tsv_4 '\000\004'"::1\t1900-01-01\t{'a':1,'b':-2}\n"
seed format_read csv_4 '\005\004''"c0","c1","c2"\n"IPv6","Date32","Map(String, Int8)"\n'"\"::1\",\"1900-01-01\",\"{'a':1}\"\n"
seed format_read json_4 '\010\004''{"meta":[],"data":[{"c0":"::1","c1":"1900-01-01","c2":{"a":1}}],"rows":1}'
seed format_read json_compact_0 '\007\000''{"meta":[],"data":[[1,"a"],[2,"b"]],"rows":2}'
seed format_read json_compact_1 '\006\001''["-1",null,1.5]\n[7,"x",null]\n'

# Trust, ready, one column, one row, done.
seed source_answers postgresql '\000R\000\000\000\010\000\000\000\000Z\000\000\000\005IT\000\000\000\032\000\001n\000\000\000\000\000\000\000\000\000\000\027\000\004\377\377\377\377\000\000D\000\000\000\013\000\001\000\000\000\0011C\000\000\000\015SELECT 1\000Z\000\000\000\005I'
seed source_answers postgresql_md5 '\000R\000\000\000\014\000\000\000\005saltR\000\000\000\010\000\000\000\000Z\000\000\000\005IC\000\000\000\015SELECT 0\000Z\000\000\000\005I'
seed source_answers postgresql_scram '\000R\000\000\000\027\000\000\000\012SCRAM-SHA-256\000\000E\000\000\000\026SFATAL\000C28P01\000Mno\000\000'
# Greeting, OK, one column, end of columns, one row, end of rows.
seed source_answers mysql '\001J\000\000\000\0128.0.0\000\001\000\000\000abcdefgh\000\377\367!\002\000\377\201\025\000\000\000\000\000\000\000\000\000\000ijklmnopqrst\000mysql_native_password\000\007\000\000\002\000\000\000\002\000\000\000\001\000\000\001\001\027\000\000\002\003def\000\000\000\001n\000\014?\000\013\000\000\000\003\000\000\000\000\000\005\000\000\003\376\000\000\002\000\002\000\000\004\0011\005\000\000\005\376\000\000\002\000'
seed source_answers redis_simple '\002+OK\r\n+OK\r\n*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n*1\r\n$1\r\nv\r\n'
seed source_answers redis_hash '\003+OK\r\n+OK\r\n*2\r\n$1\r\n0\r\n*1\r\n$1\r\nk\r\n*1\r\n*4\r\n$1\r\na\r\n$1\r\nv\r\n$1\r\nb\r\n$1\r\nw\r\n'

seed address_text v4 '192.168.0.1'
seed address_text v6 '2001:db8::ff00:42:8329'
seed address_text mapped '::ffff:192.0.2.128'
seed address_text uuid '61f0c404-5cb3-11e7-907b-a6006ad3dba0'

seed dict_layout hashed 'HASHED,SHARDS,4'
seed dict_layout flat 'FLAT,MAX_ARRAY_SIZE,1000'
seed dict_layout load '\253\002\001\000\002\000\003\000\004\000\377\377\001\000\001\000\005\000'
