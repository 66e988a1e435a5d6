//! The table of settings: one line each.

use std::collections::BTreeMap;
use std::sync::Arc;

use basalt_access::Constraints;
use basalt_base::suggest::did_you_mean;
use basalt_base::zone::Zone;
use basalt_base::{Error, ErrorCode, Result};
use basalt_formats::FormatSettings;

use super::known::{KnownSetting, SESSION};
use super::table::{SettingLine, settings_table};

/// Settings that take other words than ClickHouse's.
const OWN_WORDS: &[&str] = &["default_table_engine"];

impl Settings {
    /// Sets the setting called `name` from text.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> Result<()> {
        let name = SESSION.resolve(name);
        if name == "session_timezone" && !text.is_empty() {
            Zone::parse(text)?;
        }
        let known = SESSION.find(name);
        let text = match known.filter(|_| !OWN_WORDS.contains(&name)) {
            Some(known) => &SESSION.canonical(known, text)?,
            None => text,
        };
        if self.set_known(name, text)? || self.set_format(name, text)? {
            return Ok(());
        }
        let known = known.ok_or_else(|| unknown_setting(name))?;
        let value = SESSION.accepted(known, text)?;
        self.without_effect.insert(known.name, value);
        Ok(())
    }

    /// Makes all `changes` of a statement or a request, or none, as the constraints of the user's profiles allow. Under `readonly = 1` no setting may change; under a
    /// larger number, only `readonly` itself may not.
    pub(crate) fn change(&mut self, changes: &[(String, String)]) -> Result<()> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut changed = self.clone();
        for (name, text) in changes {
            changed.set(name, text)?;
            let Some(value) = changed.get(name).ok().filter(|new| self.get(name).ok().as_ref() != Some(new))
            else {
                continue;
            };
            self.constraints.check(SESSION.resolve(name), &value)?;
            if self.is_kept(name) {
                let what = format!(
                    "setting `{name}` cannot be modified in readonly mode, readonly is {}",
                    self.readonly
                );
                return Err(Error::new(ErrorCode::ReadOnly, what));
            }
        }
        *self = changed;
        Ok(())
    }

    /// What the profiles of the user let later changes do.
    pub(crate) fn constrain(&mut self, constraints: &Arc<Constraints>) {
        self.constraints = Arc::clone(constraints);
    }

    pub(crate) fn constraints(&self) -> &Constraints {
        &self.constraints
    }

    /// Whether [`Settings::change`] may give the setting another value.
    pub(crate) fn is_kept(&self, name: &str) -> bool {
        self.readonly == 1 || (self.readonly > 1 && name == "readonly")
    }

    /// The value of the setting called `name`, as text.
    pub(crate) fn get(&self, name: &str) -> Result<String> {
        self.line(name).map(|line| line.value)
    }

    /// The setting called `name`.
    pub(crate) fn line(&self, name: &str) -> Result<SettingLine> {
        let name = SESSION.resolve(name);
        let own = self.own_lines().into_iter().find(|line| line.name == name);
        match own.map(typed_as_known).or_else(|| SESSION.find(name).map(|known| self.known_line(known))) {
            Some(line) => Ok(line),
            None => Err(unknown_setting(name)),
        }
    }

    /// Every setting, in alphabetical order.
    pub(crate) fn lines(&self) -> Vec<SettingLine> {
        let own = self.own_lines().into_iter().map(typed_as_known);
        let mut lines: BTreeMap<&str, SettingLine> = own.map(|line| (line.name, line)).collect();
        for known in SESSION.iter().filter(|known| known.alias_for.is_empty()) {
            lines.entry(known.name).or_insert_with(|| self.known_line(known));
        }
        for alias in SESSION.iter().filter(|known| !known.alias_for.is_empty()) {
            let Some(line) = lines.get(alias.alias_for).cloned() else { continue };
            let description = alias.description;
            lines.insert(
                alias.name,
                SettingLine { name: alias.name, alias_for: alias.alias_for, description, ..line },
            );
        }
        lines.into_values().collect()
    }

    /// A setting of ClickHouse that is not in the table.
    fn known_line(&self, known: &'static KnownSetting) -> SettingLine {
        let is_of_formats = !matches!(FormatSettings::default().set(known.name, &known.default), Ok(false));
        let value = self.formats.get(known.name).or_else(|| self.without_effect.get(known.name));
        let value = value.unwrap_or(&known.default).clone();
        let line = known.unchanged_line();
        SettingLine {
            changed: value != known.default,
            value,
            is_fixed: line.is_fixed && !is_of_formats,
            ..line
        }
    }

    /// Sets a setting of formats; `false` if it is none.
    fn set_format(&mut self, name: &str, text: &str) -> Result<bool> {
        let is_default = SESSION.find(name).is_some_and(|known| known.default == text);
        match FormatSettings::default().set(name, text) {
            Ok(true) => {
                self.formats.insert(name.to_owned(), text.to_owned());
                Ok(true)
            }
            // A word that formats do not take, such as `auto`, is what they do anyway.
            Err(_) if is_default => {
                self.formats.remove(name);
                Ok(true)
            }
            other => other,
        }
    }

    /// The changed settings of formats: names and values.
    pub(crate) fn formats(&self) -> &BTreeMap<String, String> {
        &self.formats
    }
}

/// The line with ClickHouse's name for the type of its values.
fn typed_as_known(line: SettingLine) -> SettingLine {
    match SESSION.find(line.name) {
        Some(known) => SettingLine { type_name: known.type_name, tier: known.tier, ..line },
        None => line,
    }
}

fn unknown_setting(name: &str) -> Error {
    let known = Settings::names().chain(SESSION.iter().map(|known| known.name));
    Error::new(
        ErrorCode::UnknownSetting,
        format!("setting `{name}` is not known{}", did_you_mean(name, known)),
    )
}

settings_table! {
    /// The values of all settings; `formats` are those of input and output formats that were changed, whose names
    /// `formats` knows, and `without_effect` are others that were changed.
    Settings + formats: BTreeMap<String, String>, without_effect: BTreeMap<&'static str, String>, constraints: Arc<Constraints>;
    max_threads: u64 = 0u64, "Threads that a query runs on; 0 is the number of processors.";
    max_block_size: u64 = 65_409u64, "Rows in a block, at most.";
    max_insert_block_size: u64 = 1_048_449u64, "Rows of a block that is made of an INSERT's data, at most; small blocks are joined, see min_insert_block_size_rows.";
    min_insert_block_size_rows: u64 = 1_048_449u64, "Smaller blocks of an INSERT are joined up to this many rows.";
    min_insert_block_size_bytes: u64 = 268_402_944u64, "Smaller blocks of an INSERT are joined up to this many bytes.";
    max_memory_usage: u64 = 0u64, "Bytes that a query may hold; 0 is no limit but the server's.";
    max_execution_time: f64 = 0.0f64, "Seconds that a query may run; 0 is no limit.";
    connect_timeout: f64 = 10.0f64, "Seconds to connect to another server: of `remote`, and of a CLICKHOUSE source in the SETTINGS of its dictionary.";
    send_timeout: f64 = 300.0f64, "Seconds that another server may take no bytes.";
    receive_timeout: f64 = 300.0f64, "Seconds that another server may send no bytes.";
    http_connection_timeout: f64 = 10.0f64, "Seconds to connect to an HTTP source, in the SETTINGS of a dictionary.";
    http_send_timeout: f64 = 30.0f64, "Seconds that an HTTP source may take no bytes.";
    http_receive_timeout: f64 = 30.0f64, "Seconds that an HTTP source may send no bytes.";
    http_max_tries: u64 = 10u64, "Times that a request to an HTTP source is sent, the first included, while it fails for a reason that may pass.";
    http_retry_initial_backoff_ms: u64 = 100u64, "Milliseconds before the second try of a request to an HTTP source; each pause is twice the one before.";
    http_retry_max_backoff_ms: u64 = 10_000u64, "Milliseconds between two tries of a request to an HTTP source, at most.";
    max_http_get_redirects: u64 = 0u64, "Times that the answer of an HTTP source may send a request elsewhere.";
    external_storage_connect_timeout_sec: f64 = 10.0f64, "Seconds to connect to a source POSTGRESQL, MYSQL or REDIS, in the SETTINGS of a dictionary.";
    external_storage_rw_timeout_sec: f64 = 300.0f64, "Seconds that a source POSTGRESQL, MYSQL, REDIS or SQLITE may take or send no bytes.";
    max_rows_to_read: u64 = 0u64, "Rows that a query may read; 0 is no limit.";
    read_overflow_mode: String = "throw", "What happens at max_rows_to_read: throw is an error, break ends reading.";
    max_result_rows: u64 = 0u64, "Rows that a result may have; 0 is no limit.";
    max_bytes_to_read: u64 = 0u64, "Bytes that a query may read, before compression; 0 is no limit.";
    max_result_bytes: u64 = 0u64, "Bytes that a result may have; 0 is no limit.";
    limit: u64 = 0u64, "Rows of the result of a SELECT, at most; 0 is no limit.";
    offset: u64 = 0u64, "Rows of the result of a SELECT that are left out at its beginning.";
    prefer_column_name_to_alias: bool = false, "A name that is a column and an alias means the column.";
    aggregate_functions_null_for_empty: bool = false, "Aggregate functions of no rows give NULL, as with the suffix OrNull.";
    cast_keep_nullable: bool = false, "CAST of a Nullable value gives a Nullable one.";
    database: String = "", "The current database of the statement, instead of the one of the session.";
    log_comment: String = "", "Text for the column log_comment of system.query_log.";
    max_rows_in_set: u64 = 0u64, "Rows that the right side of IN may have; 0 is no limit.";
    max_subquery_depth: u64 = 100u64, "Depth of nested subqueries.";
    max_bytes_before_external_sort: u64 = 0u64, "Bytes that a sort holds before it spills to disk; 0 is no limit of its own.";
    max_bytes_before_external_group_by: u64 = 0u64, "Bytes that a GROUP BY holds before it spills to disk; 0 is no limit of its own.";
    extremes: bool = false, "Also compute the minimum and maximum of every result column.";
    decimal_check_overflow: bool = true, "A result of decimals that does not fit its type is an error; 0 keeps its low bits.";
    optimize_move_to_prewhere: bool = true, "Conditions of WHERE are evaluated while columns are read, the most selective first.";
    optimize_read_in_order: bool = true, "ORDER BY a prefix of the sorting key reads in that order, and does not sort.";
    optimize_trivial_approximate_count_query: bool = false, "`SELECT count()` of an EmbeddedRocksDB table answers with RocksDB's estimate.";
    use_skip_indexes: bool = true, "Skip indexes leave out granules.";
    ignore_data_skipping_indices: String = "", "Names of skip indexes that are not used, with commas.";
    force_data_skipping_indices: String = "", "Names of skip indexes without which a query fails, with commas.";
    force_primary_key: bool = false, "A query that does not use the primary key fails.";
    force_index_by_date: bool = false, "A query of a partitioned table that does not use the partition key fails.";
    optimize_injective_functions_in_group_by: bool = true, "GROUP BY an INJECTIVE attribute of a dictionary groups by its key.";
    optimize_inverse_dictionary_lookup: bool = true, "A condition on the value of dictGet becomes one on its key: the keys that have such a value.";
    query_plan_optimize_lazy_materialization: bool = true, "ORDER BY with a small LIMIT reads other columns of the rows that are left, and of no other.";
    use_query_condition_cache: bool = true, "Granules that an earlier query found to have no row for a condition are not read again.";
    join_algorithm: String = "direct,parallel_hash,hash", "How joins may be executed: `direct` asks a dictionary or key/value table for keys; all others are by hash.";
    join_use_nulls: bool = false, "Rows that an outer join did not match get NULL, not default values.";
    joined_subquery_requires_alias: bool = true, "Subqueries and table functions are joined only with an alias.";
    empty_result_for_aggregation_by_constant_keys_on_empty_set: bool = true, "GROUP BY constants alone of no rows gives no row; if false, one.";
    union_default_mode: String = "", "What UNION alone means: ALL, DISTINCT, or nothing (an error).";
    log_queries: bool = true, "Write queries to system.query_log.";
    log_queries_min_query_duration_ms: u64 = 0u64, "Only queries that took as long as this are logged.";
    allow_ddl: bool = true, "Let statements run that make, change and drop databases, tables and dictionaries.";
    readonly: u64 = 0u64, "1: only reading; 2: reading and SET.";
    session_timezone: String = "", "Zone of DateTime values that name none; empty is the machine's.";
    flatten_nested: bool = true, "CREATE TABLE and ALTER TABLE make an array column of each element of a Nested column.";
    default_table_engine: String = "MergeTree", "Engine of a CREATE TABLE that names none.";
    check_named_collection_dependencies: bool = true, "Refuse to drop a named collection that a dictionary uses.";
    check_query_single_value_result: bool = false, "CHECK TABLE answers with one value, not with a row a part.";
    check_table_dependencies: bool = true, "Refuse to drop or rename a table that a dictionary loads from.";
    insert_mode: String = "replace", "A row whose key is in a table of rows by key: `replace` replaces the other, `ignore` leaves it out, `error` refuses the INSERT.";
    fsync_after_insert: bool = true, "An INSERT returns when its rows are on the disk, not only with the operating system.";
    max_final_threads: u64 = 0u64, "Threads that merge parts for FINAL, at most; 0 is as many as the query has.";
    use_skip_indexes_if_final: bool = true, "Skip indexes leave out granules with FINAL, too.";
    use_skip_indexes_if_final_exact_mode: bool = true, "With FINAL, granules with a key of what skip indexes leave are read.";
    do_not_merge_across_partitions_select_final: bool = false, "FINAL merges rows of one partition only.";
    enable_automatic_decision_for_merging_across_partitions_for_final: bool = true, "FINAL merges partitions apart if the sorting key determines the partition.";
    r#final: bool = false, "Read every table whose engine knows FINAL as with FINAL.";
    optimize_on_insert: bool = true, "Apply the merge mode of a table to the rows of an inserted block.";
    alter_sync: u64 = 1u64, "0: ALTER does not wait until stored values have the types of their columns.";
    materialize_ttl_after_modify: bool = true, "ALTER TABLE ... MODIFY TTL applies the TTL to the rows that are stored.";
    mutations_sync: u64 = 0u64, "1 or 2: ALTER ... UPDATE and DELETE wait until all rows are changed.";
    lightweight_deletes_sync: u64 = 2u64, "0: DELETE FROM does not wait until its rows are gone.";
    allow_drop_detached: bool = false, "Permit ALTER TABLE ... DROP DETACHED.";
    async_insert: bool = false, "Gather the rows of small INSERTs of many clients and insert them together.";
    async_insert_busy_timeout_max_ms: u64 = 200u64, "Milliseconds that rows of asynchronous INSERTs wait for others.";
    async_insert_max_data_size: u64 = 10_485_760u64, "Bytes of asynchronous INSERTs that are gathered at most; a larger INSERT is not asynchronous.";
    async_insert_max_query_number: u64 = 450u64, "Asynchronous INSERTs that are gathered at most.";
    wait_for_async_insert: bool = true, "An asynchronous INSERT is answered when its rows are in the table.";
    wait_for_async_insert_timeout: u64 = 120u64, "Seconds that an asynchronous INSERT waits to be written.";
    deduplicate_insert: String = "enable", "With `disable`, as insert_deduplicate = 0. With `enable` and `backward_compatible_choice`, insert_deduplicate decides.";
    deduplicate_insert_select: String = "enable_when_possible", "INSERT SELECT leaves out blocks that were sent before: `disable`: never; `enable_when_possible`: with ORDER BY ALL or insert_deduplication_token, if deduplicate_insert allows it; `enable_even_for_bad_queries`: if deduplicate_insert allows it; `force_enable`: always, or the statement fails.";
    insert_deduplicate: bool = true, "Leave out the blocks of an INSERT that was sent before, if the table remembers them.";
    insert_deduplication_token: String = "", "Names an INSERT: one of the same name was sent before; empty: its rows tell.";
    max_partitions_per_insert_block: u64 = 100u64, "Partitions that one block of an INSERT may have rows of; 0 is no limit.";
    throw_on_max_partitions_per_insert_block: bool = true, "Refuse an INSERT into more partitions than max_partitions_per_insert_block.";
    max_query_size: u64 = 1_073_741_824u64, "Bytes of a statement's text, at most.";
    allow_suspicious_codecs: bool = false, "Columns may have codecs that make no sense together or for their type.";
    allow_suspicious_low_cardinality_types: bool = false, "Columns may be LowCardinality of values of up to 8 bytes, which do not gain by it.";
    allow_suspicious_fixed_string_types: bool = false, "Columns may be FixedString of more than 256 bytes.";
    enable_alp_codec: bool = true, "Accepted for compatibility: codec ALP is always there.";
    input_format_parallel_parsing: bool = true, "Parse text formats on several threads.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_keeps_what_it_was_given() {
        let mut settings = Settings::default();
        settings.set("max_threads", "3").expect("a known setting");
        assert_eq!(settings.get("max_threads").expect("a known setting"), "3");
        assert!(settings.lines().iter().any(|line| line.name == "max_threads" && line.changed));
    }

    #[test]
    fn every_setting_of_clickhouse_takes_its_default() {
        for known in SESSION.iter() {
            let mut settings = Settings::default();
            let set = settings.set(known.name, &known.default);
            assert!(set.is_ok(), "{}: {set:?}", known.name);
            assert!(settings.line(known.name).is_ok(), "{}", known.name);
        }
        let lines = Settings::default().lines();
        assert!(SESSION.iter().all(|known| lines.iter().any(|line| line.name == known.name)));
    }

    #[test]
    fn only_harmless_settings_take_other_values() {
        let mut settings = Settings::default();
        settings.set("load_balancing", "in_order").expect("steers only");
        settings.set("insert_distributed_sync", "1").expect("another name");
        assert_eq!(settings.get("distributed_foreground_insert").expect("known"), "1");
        let error = settings.set("totals_mode", "before_having").expect_err("changes answers");
        assert_eq!(error.code(), ErrorCode::NotImplemented);
        settings.set("totals_mode", "after_having_exclusive").expect("the default");
    }

    #[test]
    fn readonly_keeps_settings_and_itself() {
        let change = |readonly: &str, name: &str, text: &str| {
            let mut settings = Settings::default();
            settings.set("readonly", readonly).expect("a known setting");
            let changed = settings.change(&[(name.to_owned(), text.to_owned())]);
            changed.map_err(|error| error.code()).map(|()| settings.get(name).expect("a known setting"))
        };
        assert_eq!(change("0", "readonly", "2"), Ok("2".to_owned()));
        assert_eq!(change("1", "max_threads", "3"), Err(ErrorCode::ReadOnly));
        assert_eq!(change("1", "format_csv_delimiter", ";"), Err(ErrorCode::ReadOnly));
        assert_eq!(change("1", "readonly", "0"), Err(ErrorCode::ReadOnly));
        assert_eq!(change("1", "readonly", "1"), Ok("1".to_owned()));
        assert_eq!(change("2", "max_threads", "3"), Ok("3".to_owned()));
        assert_eq!(change("2", "readonly", "1"), Err(ErrorCode::ReadOnly));
        assert_eq!(change("2", "readonly", "0"), Err(ErrorCode::ReadOnly));
    }

    #[test]
    fn changes_are_made_together_or_not_at_all() {
        let mut settings = Settings::default();
        let changes = |last: &str| {
            [("readonly", "1"), ("max_threads", "3"), ("extremes", last)]
                .map(|(name, text)| (name.to_owned(), text.to_owned()))
        };
        assert!(settings.change(&changes("x")).is_err());
        assert_eq!((settings.readonly, settings.max_threads), (0, 0));
        settings.change(&changes("1")).expect("readonly counts from now on");
        assert_eq!((settings.readonly, settings.max_threads, settings.extremes), (1, 3, true));
    }

    #[test]
    fn an_unknown_setting_names_the_nearest() {
        let error = Settings::default().set("max_thread", "3").expect_err("there is none");
        assert!(error.message().contains("did you mean `max_threads`?"), "{error}");
    }
}
