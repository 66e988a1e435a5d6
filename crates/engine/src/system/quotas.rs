//! `system.quotas`, `system.quota_limits`, `system.quotas_usage`, and `system.quota_usage` for the asking user.

use std::sync::Arc;

use arrow::array::{Float64Array, Int8Array, UInt32Array};
use arrow::record_batch::RecordBatch;
use basalt_access::usage::{Counter, RESOURCES, maximum};
use basalt_base::{Columns, Result, SqlType};
use basalt_sql::ast::{QuotaDefinition, QuotaInterval};

use super::access::{apply_to, entity_uuid, storage};
use super::block::{self, BlockBuilder};
use crate::execution::Execution;

const KEYS: &[(&str, i8)] = &[
    ("user_name", 1),
    ("ip_address", 2),
    ("forwarded_ip_address", 3),
    ("client_key", 4),
    ("normalized_query_hash", 7),
];
/// The place of the execution time among the resources, which is in seconds where it is shown.
const EXECUTION_TIME: usize = 8;

pub(super) fn columns() -> Columns {
    let keys: Vec<String> = KEYS.iter().map(|(name, number)| format!("'{name}' = {number}")).collect();
    block::declared(&format!(
        "name String, id UUID, storage String, keys Array(Enum8({})), durations Array(UInt32), \
         apply_to_all UInt8, apply_to_list Array(String), apply_to_except Array(String), \
         ipv4_prefix_bits Nullable(UInt8), ipv6_prefix_bits Nullable(UInt8)",
        keys.join(", ")
    ))
}

pub(super) fn block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let quotas = || entities.quotas.iter();
    let keys: Vec<Vec<i8>> = quotas().map(|(_, quota)| key_numbers(quota)).collect();
    let durations: Vec<Vec<u32>> = quotas()
        .map(|(_, quota)| intervals(quota).map(|interval| interval.seconds as u32).collect())
        .collect();
    let mut block = BlockBuilder::default();
    let key_type = block::enum8(KEYS);
    block
        .strings(quotas().map(|(name, _)| name))
        .uuids(quotas().map(|(name, _)| entity_uuid("quota", name)))
        .strings(quotas().map(|_| storage(false)))
        .lists(
            &key_type,
            keys.iter().map(Vec::len),
            Arc::new(keys.iter().flatten().copied().collect::<Int8Array>()),
        )
        .lists(
            &SqlType::UInt32,
            durations.iter().map(Vec::len),
            Arc::new(durations.iter().flatten().copied().collect::<UInt32Array>()),
        );
    apply_to(&mut block, quotas().map(|(_, quota)| quota.to.as_ref()));
    block.finish(&columns())
}

fn intervals(quota: &QuotaDefinition) -> impl Iterator<Item = &QuotaInterval> {
    quota.intervals.iter().flatten()
}

fn key_numbers(quota: &QuotaDefinition) -> Vec<i8> {
    let names = quota.keyed_by.as_deref().unwrap_or_default().split(", ");
    names
        .filter_map(|name| KEYS.iter().find(|(known, _)| *known == name))
        .map(|(_, number)| *number)
        .collect()
}

pub(super) fn limit_columns() -> Columns {
    let limits = RESOURCES.iter().map(|name| format!("max_{name} {}", amount_type(name)));
    let limits: Vec<String> = limits.collect();
    block::declared(&format!(
        "quota_name String, duration UInt32, is_randomized_interval UInt8, {}, \
         max_failed_sequential_authentications Nullable(UInt64), max_queries_per_normalized_hash Nullable(UInt64)",
        limits.join(", ")
    ))
}

fn amount_type(resource: &str) -> &'static str {
    if resource == "execution_time" { "Nullable(Float64)" } else { "Nullable(UInt64)" }
}

pub(super) fn limit_block(query: &Execution) -> Result<RecordBatch> {
    let entities = query.instance.access_control.entities();
    let quotas = entities.quotas.iter();
    let lines: Vec<(&String, &QuotaInterval)> =
        quotas.flat_map(|(name, quota)| intervals(quota).map(move |interval| (name, interval))).collect();
    let mut block = BlockBuilder::default();
    block
        .strings(lines.iter().map(|(name, _)| name))
        .u32s(lines.iter().map(|(_, interval)| interval.seconds as u32))
        .u8s(lines.iter().map(|(_, interval)| u8::from(interval.randomized)));
    for resource in 0..RESOURCES.len() {
        push_amounts(&mut block, resource, lines.iter().map(|(_, interval)| maximum(interval, resource)));
    }
    block.finish(&limit_columns())
}

fn push_amounts(block: &mut BlockBuilder, resource: usize, amounts: impl Iterator<Item = Option<u64>>) {
    match resource {
        EXECUTION_TIME => {
            let seconds = amounts.map(|amount| amount.map(|microseconds| microseconds as f64 / 1e6));
            block.push(Arc::new(seconds.collect::<Float64Array>()));
        }
        _ => {
            block.maybe_u64s(amounts);
        }
    }
}

fn usage_text(with_current: bool) -> String {
    let is_current = if with_current { "is_current UInt8, " } else { "" };
    let pair = |name: &str, ty: &str| format!("{name} {ty}, max_{name} {ty}");
    let own = RESOURCES.iter().map(|name| pair(name, amount_type(name)));
    let others = ["failed_sequential_authentications", "queries_per_normalized_hash"];
    let others = others.iter().map(|name| pair(name, "Nullable(UInt64)"));
    let resources: Vec<String> = own.chain(others).collect();
    format!(
        "quota_name String, quota_key String, {is_current}start_time Nullable(DateTime), \
         end_time Nullable(DateTime), duration Nullable(UInt32), {}",
        resources.join(", ")
    )
}

pub(super) fn all_usage_columns() -> Columns {
    block::declared(&usage_text(true))
}

pub(super) fn own_usage_columns() -> Columns {
    block::declared(&usage_text(false))
}

struct Line {
    quota: String,
    key: String,
    is_current: bool,
    counter: Counter,
    interval: QuotaInterval,
}

/// The counters of the intervals that have begun.
fn usage_lines(query: &Execution) -> Vec<Line> {
    let access_control = &query.instance.access_control;
    let entities = access_control.entities();
    let mut lines = Vec::new();
    for (name, quota) in &entities.quotas {
        let own_key = basalt_access::usage::key_of(quota, &query.access, &query.client);
        let is_own = quota.to.as_ref().is_some_and(|to| query.access.is_in(to));
        for (key, seconds, counter) in access_control.usage().of(name) {
            let Some(interval) = intervals(quota).find(|interval| interval.seconds == seconds) else {
                continue;
            };
            let is_current = is_own && key == own_key;
            lines.push(Line { quota: name.clone(), key, is_current, counter, interval: interval.clone() });
        }
    }
    lines
}

pub(super) fn all_usage_block(query: &Execution) -> Result<RecordBatch> {
    let lines = usage_lines(query);
    let mut block = BlockBuilder::default();
    push_names(&mut block, &lines);
    block.u8s(lines.iter().map(|line| u8::from(line.is_current)));
    push_usage(&mut block, &lines);
    block.finish(&all_usage_columns())
}

pub(super) fn own_usage_block(query: &Execution) -> Result<RecordBatch> {
    let lines: Vec<Line> = usage_lines(query).into_iter().filter(|line| line.is_current).collect();
    let mut block = BlockBuilder::default();
    push_names(&mut block, &lines);
    push_usage(&mut block, &lines);
    block.finish(&own_usage_columns())
}

fn push_names(block: &mut BlockBuilder, lines: &[Line]) {
    block.strings(lines.iter().map(|line| &line.quota)).strings(lines.iter().map(|line| &line.key));
}

fn push_usage(block: &mut BlockBuilder, lines: &[Line]) {
    let seconds = |line: &Line| line.interval.seconds as u32;
    let start = |line: &Line| line.counter.start as u32;
    block
        .maybe_u32s(lines.iter().map(|line| Some(start(line))))
        .maybe_u32s(lines.iter().map(|line| Some(start(line).saturating_add(seconds(line)))))
        .maybe_u32s(lines.iter().map(|line| Some(seconds(line))));
    for resource in 0..RESOURCES.len() {
        push_amounts(block, resource, lines.iter().map(|line| Some(line.counter.used[resource])));
        push_amounts(block, resource, lines.iter().map(|line| maximum(&line.interval, resource)));
    }
}
