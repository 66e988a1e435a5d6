//! What quotas have counted. An interval starts with the first use after the end of the last one.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use basalt_base::{Result, bail};
use basalt_sql::ast::{Literal, QuotaDefinition, QuotaInterval};

use crate::effective::Access;
use crate::entities::Entities;

/// The resources of a quota, by their names in SQL.
pub const RESOURCES: &[&str] = &[
    "queries",
    "query_selects",
    "query_inserts",
    "errors",
    "result_rows",
    "result_bytes",
    "read_rows",
    "read_bytes",
    "execution_time",
    "written_bytes",
];

/// Amounts of all resources, in the order of [`RESOURCES`]; execution time in microseconds.
pub type Amounts = [u64; 10];

/// A quota, the users that it counts together, and an interval in seconds.
type CounterKey = (String, String, u64);

/// The client that a quota counts for.
#[derive(Clone, Debug, Default)]
pub struct QuotaClient {
    /// Its address; empty for one in the process.
    pub address: String,
    /// The key that it gives by itself.
    pub key: String,
}

/// The counters of all quotas. They are in memory alone: a restart begins anew.
#[derive(Debug, Default)]
pub struct QuotaUsage {
    counters: Mutex<HashMap<CounterKey, Counter>>,
}

#[derive(Clone, Debug, Default)]
pub struct Counter {
    /// Seconds since 1970.
    pub start: u64,
    pub used: Amounts,
}

/// The maximum of a resource, in the unit of [`Amounts`]; `None` without a limit.
pub fn maximum(interval: &QuotaInterval, resource: usize) -> Option<u64> {
    let (_, literal) = interval.limits.iter().flatten().find(|(name, _)| name == RESOURCES[resource])?;
    let value = match literal {
        Literal::UInt(value) => *value as f64,
        Literal::Number(text) => text.parse().ok()?,
        _ => return None,
    };
    let unit = if RESOURCES[resource] == "execution_time" { 1e6 } else { 1.0 };
    Some((value * unit) as u64)
}

impl QuotaUsage {
    /// Adds `amounts` to the quotas of a user at `now`, in seconds since 1970. QUOTA_EXCEEDED if one is used up; the
    /// amounts count nevertheless.
    pub fn add(
        &self,
        entities: &Entities,
        access: &Access,
        client: &QuotaClient,
        now: u64,
        amounts: &Amounts,
    ) -> Result<()> {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let mut exceeded = None;
        for (name, quota) in &entities.quotas {
            if !quota.to.as_ref().is_some_and(|to| access.is_in(to)) {
                continue;
            }
            for interval in quota.intervals.iter().flatten() {
                let key = (name.clone(), key_of(quota, access, client), interval.seconds);
                let counter = counters.entry(key).or_default();
                counter.renew(now, interval.seconds);
                for (used, amount) in counter.used.iter_mut().zip(amounts) {
                    *used = used.saturating_add(*amount);
                }
                exceeded = exceeded
                    .or_else(|| counter.exceeded(interval).map(|resource| (name, interval, resource)));
            }
        }
        match exceeded {
            None => Ok(()),
            Some((name, interval, resource)) => bail!(
                QuotaExceeded,
                "quota `{name}` of user `{}` is exceeded: {} is above its maximum in {} seconds",
                access.user,
                RESOURCES[resource],
                interval.seconds
            ),
        }
    }

    /// The counters of a quota: the users that they count together, the interval, the amounts.
    pub fn of(&self, quota: &str) -> Vec<(String, u64, Counter)> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let own = counters.iter().filter(|((name, _, _), _)| name == quota);
        let mut all: Vec<_> =
            own.map(|((_, user, seconds), counter)| (user.clone(), *seconds, counter.clone())).collect();
        all.sort_by(|left, right| (&left.0, left.1).cmp(&(&right.0, right.1)));
        all
    }
}

/// What a quota counts together.
pub fn key_of(quota: &QuotaDefinition, access: &Access, client: &QuotaClient) -> String {
    let keyed_by = quota.keyed_by.as_deref().unwrap_or_default();
    let has_key = keyed_by.starts_with("client_key") && !client.key.is_empty();
    match keyed_by {
        _ if has_key => client.key.clone(),
        "user_name" | "client_key, user_name" => access.user.clone(),
        "ip_address" | "forwarded_ip_address" | "client_key, ip_address" => client.address.clone(),
        _ => String::new(),
    }
}

impl Counter {
    fn renew(&mut self, now: u64, seconds: u64) {
        if now >= self.start.saturating_add(seconds) {
            *self = Counter { start: now, used: Amounts::default() };
        }
    }

    fn exceeded(&self, interval: &QuotaInterval) -> Option<usize> {
        (0..RESOURCES.len())
            .find(|&index| maximum(interval, index).is_some_and(|most| self.used[index] > most))
    }
}
