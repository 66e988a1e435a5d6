//! A real data set: airports and routes, CSV with `\N` and without a header.

use basalt_itest::program::{load, local};
use basalt_itest::shared;
use tempfile::tempdir;

const AIRPORTS: &str = "CREATE TABLE airports (id UInt64, name String, city String, country String, iata Nullable(String), \
     icao Nullable(String), latitude Float64, longitude Float64, altitude Int32, offset Nullable(Float32), \
     dst Nullable(String), zone Nullable(String), type String, source String) ENGINE = MergeTree ORDER BY id";

const ROUTES: &str = "CREATE TABLE routes (airline String, airline_id Nullable(UInt64), origin String, \
     origin_id Nullable(UInt64), destination String, destination_id Nullable(UInt64), codeshare String, \
     stops UInt8, equipment String) ENGINE = MergeTree ORDER BY (origin, destination)";

const DICTIONARY: &str = "CREATE DICTIONARY airport (id UInt64, name String, country String) PRIMARY KEY id \
     SOURCE(CLICKHOUSE(TABLE 'airports')) LIFETIME(0) LAYOUT(HASHED())";

#[test]
fn routes_find_their_airports() {
    let (Some(airports), Some(routes)) =
        (shared::file("data/openflights/airports.dat"), shared::file("data/openflights/routes.dat"))
    else {
        return;
    };
    let dir = tempdir().expect("a directory");
    let data = dir.path();
    local(data, &format!("{AIRPORTS}; {ROUTES}")).expect();
    for (table, path) in [("airports", airports), ("routes", routes)] {
        let bytes = std::fs::read(path).expect("readable");
        let lines = bytes.iter().filter(|byte| **byte == b'\n').count();
        load(data, &format!("INSERT INTO {table} FORMAT CSV"), &bytes).expect();
        assert_eq!(local(data, &format!("SELECT count() FROM {table}")).expect(), format!("{lines}\n"));
    }
    local(data, DICTIONARY).expect();
    let by_dictionary = local(
        data,
        "SELECT dictGet('airport', 'country', assumeNotNull(origin_id)) AS country, count() AS n FROM routes \
         WHERE origin_id IS NOT NULL AND dictHas('airport', assumeNotNull(origin_id)) \
         GROUP BY country ORDER BY n DESC, country LIMIT 5",
    );
    let by_join = local(
        data,
        "SELECT a.country AS country, count() AS n FROM routes AS r JOIN airports AS a ON r.origin_id = a.id \
         GROUP BY country ORDER BY n DESC, country LIMIT 5",
    );
    assert_eq!(by_dictionary.expect(), EXPECTED);
    assert_eq!(by_join.expect(), EXPECTED);
    let routes = local(
        data,
        "SELECT countIf(airline_id IS NULL), countIf(origin_id IS NULL), countIf(destination_id IS NULL), sum(stops) FROM routes",
    );
    assert_eq!(routes.expect(), "479\t220\t221\t11\n");
    let airports = local(
        data,
        "SELECT countIf(iata IS NULL), countIf(zone IS NULL), round(avg(latitude), 6), max(altitude) FROM airports",
    );
    assert_eq!(airports.expect(), "1626\t1021\t25.808442\t14472\n");
}

/// Recorded from ClickHouse.
const EXPECTED: &str =
    "United States\t13100\nChina\t8212\nUnited Kingdom\t2663\nSpain\t2531\nGermany\t2352\n";
