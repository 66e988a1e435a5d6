//! The table of commands.

use std::sync::OnceLock;

use super::{
    connection, counters, expiry, hash_numbers, hashes, keys, keyspace, list_edits, lists, scan, server,
    set_algebra, sets, sorted, sorted_range, sorted_remove, string_ranges, string_set, strings, transactions,
};
use crate::command::{Command, Effect, Run, RunConnection, RunData};

const fn data(
    name: &'static str,
    arity: i32,
    effect: Effect,
    keys: (usize, i32, usize),
    run: RunData,
) -> Command {
    Command { name, arity, effect, keys, run: Run::Data(run) }
}

const fn connection(name: &'static str, arity: i32, run: RunConnection) -> Command {
    Command { name, arity, effect: Effect::None, keys: NONE, run: Run::Connection(run) }
}

const NONE: (usize, i32, usize) = (0, 0, 0);
const ONE: (usize, i32, usize) = (1, 1, 1);
const TWO: (usize, i32, usize) = (1, 2, 1);
const ALL: (usize, i32, usize) = (1, -1, 1);

use Effect::{Reads, ReadsRow, Writes, WritesAll};

/// All commands.
pub(crate) static COMMANDS: &[Command] = &[
    // Strings
    data("get", 2, ReadsRow, ONE, strings::get),
    data("set", -3, Writes, ONE, string_set::set),
    data("mget", -2, Reads, ALL, strings::mget),
    data("mset", -3, Writes, (1, -1, 2), string_set::mset),
    data("msetnx", -3, Writes, (1, -1, 2), string_set::msetnx),
    data("setnx", 3, Writes, ONE, string_set::setnx),
    data("setex", 4, Writes, ONE, string_set::setex),
    data("psetex", 4, Writes, ONE, string_set::psetex),
    data("getset", 3, Writes, ONE, string_set::getset),
    data("getdel", 2, Writes, ONE, strings::getdel),
    data("getex", -2, Writes, ONE, string_set::getex),
    data("append", 3, Writes, ONE, string_ranges::append),
    data("strlen", 2, ReadsRow, ONE, strings::strlen),
    data("incr", 2, Writes, ONE, counters::incr),
    data("decr", 2, Writes, ONE, counters::decr),
    data("incrby", 3, Writes, ONE, counters::incrby),
    data("decrby", 3, Writes, ONE, counters::decrby),
    data("incrbyfloat", 3, Writes, ONE, counters::incrbyfloat),
    data("getrange", 4, ReadsRow, ONE, string_ranges::getrange),
    data("substr", 4, ReadsRow, ONE, string_ranges::getrange),
    data("setrange", 4, Writes, ONE, string_ranges::setrange),
    // Keys
    data("del", -2, Writes, ALL, keys::del),
    data("unlink", -2, Writes, ALL, keys::del),
    data("exists", -2, Reads, ALL, keys::exists),
    data("touch", -2, Reads, ALL, keys::exists),
    data("expire", -3, Writes, ONE, expiry::expire),
    data("pexpire", -3, Writes, ONE, expiry::pexpire),
    data("expireat", -3, Writes, ONE, expiry::expireat),
    data("pexpireat", -3, Writes, ONE, expiry::pexpireat),
    data("ttl", 2, ReadsRow, ONE, expiry::ttl),
    data("pttl", 2, ReadsRow, ONE, expiry::pttl),
    data("expiretime", 2, ReadsRow, ONE, expiry::expiretime),
    data("pexpiretime", 2, ReadsRow, ONE, expiry::pexpiretime),
    data("persist", 2, Writes, ONE, expiry::persist),
    data("type", 2, ReadsRow, ONE, keys::key_type),
    data("scan", -2, Effect::None, NONE, scan::scan),
    data("keys", 2, Effect::None, NONE, keyspace::keys),
    data("randomkey", 1, Effect::None, NONE, keyspace::randomkey),
    data("rename", 3, Writes, TWO, keys::rename),
    data("renamenx", 3, Writes, TWO, keys::renamenx),
    data("copy", -3, Writes, TWO, keys::copy),
    data("dbsize", 1, Effect::None, NONE, keyspace::dbsize),
    data("flushdb", -1, WritesAll, NONE, keyspace::flushdb),
    data("object", -2, Reads, (2, 2, 1), keys::object),
    data("memory", -2, Reads, (2, 2, 1), keys::memory),
    // Hashes
    data("hget", 3, Reads, ONE, hashes::hget),
    data("hset", -4, Writes, ONE, hashes::hset),
    data("hmset", -4, Writes, ONE, hashes::hmset),
    data("hsetnx", 4, Writes, ONE, hashes::hsetnx),
    data("hmget", -3, Reads, ONE, hashes::hmget),
    data("hgetall", 2, Reads, ONE, hashes::hgetall),
    data("hkeys", 2, Reads, ONE, hashes::hkeys),
    data("hvals", 2, Reads, ONE, hashes::hvals),
    data("hdel", -3, Writes, ONE, hashes::hdel),
    data("hexists", 3, Reads, ONE, hashes::hexists),
    data("hlen", 2, ReadsRow, ONE, hashes::hlen),
    data("hstrlen", 3, Reads, ONE, hashes::hstrlen),
    data("hincrby", 4, Writes, ONE, hash_numbers::hincrby),
    data("hincrbyfloat", 4, Writes, ONE, hash_numbers::hincrbyfloat),
    data("hrandfield", -2, Reads, ONE, hash_numbers::hrandfield),
    data("hscan", -3, Reads, ONE, scan::hscan),
    // Lists
    data("lpush", -3, Writes, ONE, lists::lpush),
    data("rpush", -3, Writes, ONE, lists::rpush),
    data("lpushx", -3, Writes, ONE, lists::lpushx),
    data("rpushx", -3, Writes, ONE, lists::rpushx),
    data("lpop", -2, Writes, ONE, lists::lpop),
    data("rpop", -2, Writes, ONE, lists::rpop),
    data("llen", 2, ReadsRow, ONE, lists::llen),
    data("lrange", 4, Reads, ONE, lists::lrange),
    data("lindex", 3, Reads, ONE, lists::lindex),
    data("lset", 4, Writes, ONE, list_edits::lset),
    data("ltrim", 4, Writes, ONE, list_edits::ltrim),
    data("lrem", 4, Writes, ONE, list_edits::lrem),
    data("linsert", 5, Writes, ONE, list_edits::linsert),
    data("rpoplpush", 3, Writes, TWO, list_edits::rpoplpush),
    data("lmove", 5, Writes, TWO, list_edits::lmove),
    // Sets
    data("sadd", -3, Writes, ONE, sets::sadd),
    data("srem", -3, Writes, ONE, sets::srem),
    data("smembers", 2, Reads, ONE, sets::smembers),
    data("sismember", 3, Reads, ONE, sets::sismember),
    data("smismember", -3, Reads, ONE, sets::smismember),
    data("scard", 2, ReadsRow, ONE, sets::scard),
    data("spop", -2, Writes, ONE, sets::spop),
    data("srandmember", -2, Reads, ONE, sets::srandmember),
    data("smove", 4, Writes, TWO, sets::smove),
    data("sscan", -3, Reads, ONE, scan::sscan),
    data("sinter", -2, Reads, ALL, set_algebra::sinter),
    data("sunion", -2, Reads, ALL, set_algebra::sunion),
    data("sdiff", -2, Reads, ALL, set_algebra::sdiff),
    data("sinterstore", -3, Writes, ALL, set_algebra::sinterstore),
    data("sunionstore", -3, Writes, ALL, set_algebra::sunionstore),
    data("sdiffstore", -3, Writes, ALL, set_algebra::sdiffstore),
    // Sorted sets
    data("zadd", -4, Writes, ONE, sorted::zadd),
    data("zincrby", 4, Writes, ONE, sorted::zincrby),
    data("zrem", -3, Writes, ONE, sorted_remove::zrem),
    data("zscore", 3, Reads, ONE, sorted::zscore),
    data("zmscore", -3, Reads, ONE, sorted::zmscore),
    data("zcard", 2, ReadsRow, ONE, sorted::zcard),
    data("zcount", 4, Reads, ONE, sorted_range::zcount),
    data("zlexcount", 4, Reads, ONE, sorted_range::zlexcount),
    data("zrank", 3, Reads, ONE, sorted_range::zrank),
    data("zrevrank", 3, Reads, ONE, sorted_range::zrevrank),
    data("zrange", -4, Reads, ONE, sorted_range::zrange),
    data("zrevrange", -4, Reads, ONE, sorted_range::zrevrange),
    data("zrangebyscore", -4, Reads, ONE, sorted_range::zrangebyscore),
    data("zrevrangebyscore", -4, Reads, ONE, sorted_range::zrevrangebyscore),
    data("zrangebylex", -4, Reads, ONE, sorted_range::zrangebylex),
    data("zrevrangebylex", -4, Reads, ONE, sorted_range::zrevrangebylex),
    data("zremrangebyrank", 4, Writes, ONE, sorted_remove::zremrangebyrank),
    data("zremrangebyscore", 4, Writes, ONE, sorted_remove::zremrangebyscore),
    data("zremrangebylex", 4, Writes, ONE, sorted_remove::zremrangebylex),
    data("zpopmin", -2, Writes, ONE, sorted_remove::zpopmin),
    data("zpopmax", -2, Writes, ONE, sorted_remove::zpopmax),
    data("zscan", -3, Reads, ONE, scan::zscan),
    // Transactions
    connection("multi", 1, transactions::multi),
    connection("exec", 1, transactions::exec),
    connection("discard", 1, transactions::discard),
    Command { keys: ALL, ..connection("watch", -2, transactions::watch) },
    connection("unwatch", 1, transactions::unwatch),
    // Connection and server
    data("ping", -1, Effect::None, NONE, server::ping),
    data("echo", 2, Effect::None, NONE, server::echo),
    connection("select", 2, connection::select),
    connection("quit", -1, connection::quit),
    connection("reset", 1, connection::reset),
    connection("auth", -2, connection::auth),
    connection("hello", -1, connection::hello),
    connection("client", -2, connection::client),
    data("flushall", -1, WritesAll, NONE, keyspace::flushall),
    data("info", -1, Effect::None, NONE, server::info),
    data("command", -1, Effect::None, NONE, server::command),
    data("config", -2, Effect::None, NONE, server::config),
    data("time", 1, Effect::None, NONE, server::time),
    data("debug", -2, Effect::None, NONE, server::debug),
    data("wait", 3, Effect::None, NONE, server::wait),
    data("lastsave", 1, Effect::None, NONE, server::lastsave),
];

/// Places of the hash table; a power of two.
const PLACES: usize = 1024;
const NAME_BYTES_MAX: usize = 16;

/// The command of this name, in any case.
pub(crate) fn find(name: &[u8]) -> Option<&'static Command> {
    static PLACE_OF: OnceLock<Vec<Option<&'static Command>>> = OnceLock::new();
    let places = PLACE_OF.get_or_init(|| {
        let mut places = vec![None; PLACES];
        for command in COMMANDS {
            let mut at = hash(command.name.as_bytes());
            while places[at].is_some() {
                at = (at + 1) % PLACES;
            }
            places[at] = Some(command);
        }
        places
    });
    if name.len() > NAME_BYTES_MAX {
        return None;
    }
    let mut at = hash(name);
    while let Some(command) = places[at] {
        if command.name.as_bytes().eq_ignore_ascii_case(name) {
            return Some(command);
        }
        at = (at + 1) % PLACES;
    }
    None
}

fn hash(name: &[u8]) -> usize {
    let hash = name.iter().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte.to_ascii_lowercase())).wrapping_mul(0x0100_0193)
    });
    (hash ^ hash >> 16) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_found_in_any_case() {
        for command in COMMANDS {
            assert!(command.name.len() <= NAME_BYTES_MAX, "{}", command.name);
            for name in [command.name.to_owned(), command.name.to_uppercase()] {
                assert_eq!(find(name.as_bytes()).expect("a command").name, command.name);
            }
        }
        assert!(find(b"").is_none() && find(b"gett").is_none() && find(&[b'g'; 5000]).is_none());
    }
}
