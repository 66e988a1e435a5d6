//! System tables of things that Basalt does not have: their columns are those of ClickHouse, and they have no rows.

use arrow::record_batch::RecordBatch;
use basalt_base::{Columns, Result};

use super::block;

/// Name and columns of each.
pub(super) const EMPTY: &[(&str, &str)] = &[
    (
        "asynchronous_loader",
        "job String, job_id UInt64, dependencies Array(UInt64), dependencies_left UInt64, status \
         Enum8('PENDING' = 0, 'OK' = 1, 'FAILED' = 2, 'CANCELED' = 3), is_executing UInt8, is_blocked UInt8, \
         is_ready UInt8, elapsed Float64, pool_id UInt64, pool String, priority Int64, execution_pool_id \
         UInt64, execution_pool String, execution_priority Int64, ready_seqno Nullable(UInt64), waiters \
         UInt64, exception Nullable(String), schedule_time DateTime64(6), enqueue_time \
         Nullable(DateTime64(6)), start_time Nullable(DateTime64(6)), finish_time Nullable(DateTime64(6))",
    ),
    (
        "clusters",
        "cluster String, name String, shard_num UInt32, shard_name String, shard_weight UInt32, internal_replication \
         UInt8, replica_num UInt32, host_name String, host_address String, port UInt16, is_local UInt8, user \
         String, default_database String, errors_count UInt32, slowdowns_count UInt32, \
         estimated_recovery_time UInt32, database_shard_name String, database_replica_name String, \
         is_shared_catalog_cluster UInt8, is_active Nullable(UInt8), unsynced_after_recovery Nullable(UInt8), \
         replication_lag Nullable(UInt32), recovery_time Nullable(UInt64)",
    ),
    ("collations", "name String, language Nullable(String)"),
    ("contributors", "name String"),
    ("dimensional_metrics", "metric String, value Float64, description String, labels Map(String, String)"),
    (
        "distributed_ddl_queue",
        "entry String, entry_version Nullable(UInt8), initiator_host Nullable(String), initiator_port \
         Nullable(UInt16), cluster String, query String, settings Map(String, String), query_create_time \
         DateTime, host Nullable(String), port Nullable(UInt16), status Nullable(Enum8('Inactive' = 0, \
         'Active' = 1, 'Finished' = 2, 'Removing' = 3, 'Unknown' = 4)), exception_code Nullable(UInt16), \
         exception_text Nullable(String), query_finish_time Nullable(DateTime), query_duration_ms \
         Nullable(UInt64)",
    ),
    (
        "distribution_queue",
        "database String, table String, data_path String, is_blocked UInt8, error_count UInt64, data_files \
         UInt64, data_compressed_bytes UInt64, broken_data_files UInt64, broken_data_compressed_bytes UInt64, \
         last_exception String, last_exception_time DateTime",
    ),
    (
        "dropped_tables",
        "index UInt32, database String, table String, uuid UUID, engine String, metadata_dropped_path String, \
         table_dropped_time DateTime",
    ),
    (
        "filesystem_cache",
        "cache_name String, cache_base_path String, cache_path String, key String, file_segment_range_begin \
         UInt64, file_segment_range_end UInt64, size UInt64, state String, finished_download_time DateTime, \
         cache_hits UInt64, references UInt64, downloaded_size UInt64, kind String, unbound UInt8, user_id \
         String, segment_type String, file_size Nullable(UInt64)",
    ),
    (
        "graphite_retentions",
        "config_name String, rule_type String, regexp String, function String, age UInt64, precision UInt64, \
         priority UInt16, is_default UInt8, `Tables.database` Array(String), `Tables.table` Array(String)",
    ),
    ("licenses", "library_name String, license_type String, license_path String, license_text String"),
    ("macros", "macro String, substitution String"),
    (
        "moves",
        "database String, table String, elapsed Float64, target_disk_name String, target_disk_path String, \
         part_name String, part_size UInt64, thread_id UInt64",
    ),
    (
        "part_moves_between_shards",
        "database String, table String, task_name String, task_uuid UUID, create_time DateTime, part_name \
         String, part_uuid UUID, to_shard String, dst_part_name String, update_time DateTime, state String, \
         rollback UInt8, num_tries UInt32, last_exception String",
    ),
    (
        "projections",
        "database String, table String, name String, type Enum8('Normal' = 0, 'Aggregate' = 1), sorting_key \
         Array(String), query String, settings Map(String, String)",
    ),
    (
        "replicas",
        "database String, table String, uuid UUID, engine String, is_leader UInt8, can_become_leader UInt8, \
         is_readonly UInt8, readonly_start_time Nullable(DateTime), is_session_expired UInt8, future_parts \
         UInt32, parts_to_check UInt32, zookeeper_name String, zookeeper_path String, replica_name String, \
         replica_path String, columns_version Int32, queue_size UInt32, inserts_in_queue UInt32, \
         merges_in_queue UInt32, part_mutations_in_queue UInt32, queue_oldest_time DateTime, \
         inserts_oldest_time DateTime, merges_oldest_time DateTime, part_mutations_oldest_time DateTime, \
         oldest_part_to_get String, oldest_part_to_merge_to String, oldest_part_to_mutate_to String, \
         log_max_index UInt64, log_pointer UInt64, last_queue_update DateTime, absolute_delay UInt64, \
         total_replicas UInt32, active_replicas UInt32, lost_part_count UInt64, last_queue_update_exception \
         String, zookeeper_exception String, replica_is_active Map(String, UInt8), readonly_duration \
         Nullable(UInt64)",
    ),
    (
        "replicated_fetches",
        "database String, table String, elapsed Float64, progress Float64, result_part_name String, \
         result_part_path String, partition_id String, total_size_bytes_compressed UInt64, \
         bytes_read_compressed UInt64, source_replica_path String, source_replica_hostname String, \
         source_replica_port UInt16, interserver_scheme String, URI String, to_detached UInt8, thread_id \
         UInt64",
    ),
    (
        "replication_queue",
        "database String, table String, replica_name String, position UInt32, node_name String, type String, \
         create_time DateTime, required_quorum UInt32, source_replica String, new_part_name String, \
         parts_to_merge Array(String), is_detach UInt8, is_currently_executing UInt8, num_tries UInt32, \
         last_exception String, last_exception_time DateTime, last_attempt_time DateTime, num_postponed \
         UInt32, postpone_reason String, last_postpone_time DateTime, merge_type String",
    ),
    (
        "schema_inference_cache",
        "storage String, source String, format String, additional_format_info String, registration_time \
         DateTime, schema Nullable(String), number_of_rows Nullable(UInt64), schema_inference_mode \
         Nullable(String)",
    ),
    (
        "server_settings",
        "name String, value String, default String, changed UInt8, description String, type String, \
         changeable_without_restart Enum8('No' = 0, 'IncreaseOnly' = 1, 'DecreaseOnly' = 2, 'Yes' = 3), \
         is_obsolete UInt8",
    ),
    (
        "settings_changes",
        "type Enum8('Session' = 0, 'MergeTree' = 1), version String, changes Array(Tuple(name String, \
         previous_value String, new_value String, reason String, compatibility_mode String))",
    ),
    ("symbols", "symbol String, address_begin UInt64, address_end UInt64"),
    (
        "view_refreshes",
        "database String, view String, uuid UUID, status String, last_success_time Nullable(DateTime), \
         last_success_duration_ms Nullable(UInt64), last_refresh_time Nullable(DateTime), \
         last_refresh_replica String, next_refresh_time Nullable(DateTime), exception String, retry UInt64, \
         progress Nullable(Float64), read_rows Nullable(UInt64), read_bytes Nullable(UInt64), total_rows \
         Nullable(UInt64), written_rows Nullable(UInt64), written_bytes Nullable(UInt64)",
    ),
];

/// The columns of the table called `name`.
pub(super) fn columns(name: &str) -> Option<Columns> {
    let (_, text) = EMPTY.iter().find(|(known, _)| *known == name)?;
    Some(block::declared(text))
}

/// No rows.
pub(super) fn block(columns: &Columns) -> Result<RecordBatch> {
    Ok(RecordBatch::new_empty(columns.to_arrow()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_declaration_is_understood() {
        for (name, _) in EMPTY {
            assert!(columns(name).is_some_and(|columns| !columns.is_empty()), "{name}");
        }
    }
}
