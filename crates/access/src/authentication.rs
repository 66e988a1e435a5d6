//! Stored passwords, and proofs of who connects.
//!
//! What is stored: SHA-256 of password and salt; SHA-1 of the SHA-1, as MySQL has it; bcrypt; for SCRAM-SHA-256
//! (RFC 5802, RFC 7677) the salted password, PBKDF2 of 4096 rounds. Comparisons take constant time.

use std::net::{IpAddr, Ipv6Addr};

use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::ast::{Authentication, CertificateField, PasswordKind, PasswordText, UserHost};
use rand::TryRngCore;
use rand::rngs::OsRng;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::entities::{DEFAULT_USER, Entities, User};

/// Rounds of PBKDF2 for SCRAM, as ClickHouse and Postgres have.
pub const SCRAM_ROUNDS: u32 = 4096;
/// The base-2 logarithm of the rounds of bcrypt, as ClickHouse's default.
const BCRYPT_COST: u32 = 12;
const SALT_BYTES: usize = 16;
/// bcrypt looks at no more of a password.
const BCRYPT_BYTES_MAX: usize = 72;

/// What a client shows to be a user.
#[derive(Clone, Copy, Debug)]
pub enum Proof<'a> {
    /// Nothing, which is enough for a user without a password.
    Nothing,
    Password(&'a str),
    /// The names in a certificate that the server has verified.
    Certificate {
        common_name: Option<&'a str>,
        alternative_names: &'a [String],
    },
    /// An exchange of SCRAM-SHA-256, which has succeeded.
    Scram,
}

/// Replaces passwords by what is stored of them.
pub(crate) fn stored(methods: &[Authentication]) -> Result<Vec<Authentication>> {
    methods.iter().map(stored_method).collect()
}

fn stored_method(method: &Authentication) -> Result<Authentication> {
    let Authentication::Password(kind, text) = method else { return Ok(method.clone()) };
    let text = match text {
        PasswordText::Hidden => bail!(BadArguments, "a password is missing"),
        PasswordText::Hash { hash, .. } if is_hash(*kind, hash) => text.clone(),
        PasswordText::Hash { .. } => bail!(BadArguments, "the hash is not one of {kind:?}"),
        PasswordText::Password(password) => hashed(*kind, password)?,
    };
    Ok(Authentication::Password(*kind, text))
}

fn hashed(kind: PasswordKind, password: &str) -> Result<PasswordText> {
    let salt = match kind {
        PasswordKind::Sha256 | PasswordKind::ScramSha256 => random_salt()?,
        _ => String::new(),
    };
    let hash = match kind {
        PasswordKind::Plaintext => password.to_owned(),
        PasswordKind::Sha256 => hex::encode(sha256(password, &salt)),
        PasswordKind::DoubleSha1 => hex::encode(double_sha1(password)),
        PasswordKind::ScramSha256 => hex::encode(salted_password(password, salt.as_bytes())),
        PasswordKind::Bcrypt if password.len() > BCRYPT_BYTES_MAX => {
            bail!(BadArguments, "a bcrypt password has at most {BCRYPT_BYTES_MAX} bytes")
        }
        PasswordKind::Bcrypt => bcrypt::hash(password, BCRYPT_COST)
            .map_err(|error| Error::new(ErrorCode::BadArguments, format!("bcrypt: {error}")))?,
    };
    Ok(PasswordText::Hash { hash, salt })
}

fn random_salt() -> Result<String> {
    let mut bytes = [0; SALT_BYTES];
    match OsRng.try_fill_bytes(&mut bytes) {
        Ok(()) => Ok(hex::encode(bytes)),
        Err(error) => Err(Error::logical(format!("the system gives no random bytes: {error}"))),
    }
}

fn is_hash(kind: PasswordKind, hash: &str) -> bool {
    let is_hex = |digits: usize| hash.len() == digits && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    match kind {
        PasswordKind::Plaintext => true,
        PasswordKind::Sha256 | PasswordKind::ScramSha256 => is_hex(64),
        PasswordKind::DoubleSha1 => is_hex(40),
        PasswordKind::Bcrypt => hash.len() == 60 && hash.starts_with("$2"),
    }
}

fn sha256(password: &str, salt: &str) -> [u8; 32] {
    Sha256::new().chain_update(password).chain_update(salt).finalize().into()
}

/// SHA-1 of the SHA-1 of the password.
pub fn double_sha1(password: &str) -> [u8; 20] {
    Sha1::digest(Sha1::digest(password)).into()
}

/// The salted password of SCRAM-SHA-256.
pub fn salted_password(password: &str, salt: &[u8]) -> [u8; 32] {
    pbkdf2::pbkdf2_hmac_array::<Sha256, 32>(password.as_bytes(), salt, SCRAM_ROUNDS)
}

/// Whether `password` is the one that is stored.
fn is_password(kind: PasswordKind, stored: &PasswordText, password: &str) -> bool {
    let PasswordText::Hash { hash, salt } = stored else { return false };
    let given = match kind {
        PasswordKind::Plaintext => return hash.as_bytes().ct_eq(password.as_bytes()).into(),
        PasswordKind::Bcrypt => return bcrypt::verify(password, hash).unwrap_or(false),
        PasswordKind::Sha256 => hex::encode(sha256(password, salt)),
        PasswordKind::DoubleSha1 => hex::encode(double_sha1(password)),
        PasswordKind::ScramSha256 => hex::encode(salted_password(password, salt.as_bytes())),
    };
    hash.to_ascii_lowercase().as_bytes().ct_eq(given.as_bytes()).into()
}

impl Entities {
    /// Whether a password of the user takes milliseconds to check.
    pub fn is_checked_slowly(&self, name: &str) -> bool {
        let name = if name.is_empty() { DEFAULT_USER } else { name };
        let is_slow = |method: &Authentication| {
            matches!(method, Authentication::Password(PasswordKind::Bcrypt | PasswordKind::ScramSha256, _))
        };
        self.users.get(name).is_some_and(|user| user.authentication().iter().any(is_slow))
    }

    /// The name of the user who connects from `address` with `proof` at `now`, in seconds since 1970. One error for
    /// all reasons, so that it tells nothing of who exists.
    pub fn authenticate(
        &self,
        name: &str,
        proof: Proof<'_>,
        address: Option<IpAddr>,
        now: i64,
    ) -> Result<String> {
        let name = if name.is_empty() { DEFAULT_USER } else { name };
        let user = self.users.get(name);
        let is_proved = match user {
            Some(user) => user.authentication().iter().any(|method| proves(method, proof)),
            None => {
                // As much work as for a user with a password, so that the time tells nothing.
                let _ = sha256("", "");
                false
            }
        };
        match user {
            Some(user) if is_proved && user.is_valid(now) && user.may_connect_from(address) => {
                Ok(name.to_owned())
            }
            _ => Err(authentication_failed(name)),
        }
    }
}

/// AUTHENTICATION_FAILED, as ClickHouse says it.
pub fn authentication_failed(name: &str) -> Error {
    Error::new(
        ErrorCode::AuthenticationFailed,
        format!("{name}: authentication failed: password is incorrect, or there is no user with such name"),
    )
}

fn proves(method: &Authentication, proof: Proof<'_>) -> bool {
    match (method, proof) {
        (Authentication::Password(PasswordKind::ScramSha256, _), Proof::Scram) => true,
        (Authentication::NoPassword, Proof::Nothing) => true,
        (Authentication::NoPassword, Proof::Password(password)) => password.is_empty(),
        (Authentication::Password(kind, stored), Proof::Password(password)) => {
            is_password(*kind, stored, password)
        }
        (
            Authentication::Certificate(field, names),
            Proof::Certificate { common_name, alternative_names },
        ) => match field {
            CertificateField::CommonName => names.iter().any(|name| Some(name.as_str()) == common_name),
            CertificateField::AlternativeName => names.iter().any(|name| alternative_names.contains(name)),
        },
        _ => false,
    }
}

impl User {
    fn is_valid(&self, now: i64) -> bool {
        self.valid_until().is_none_or(|until| now < until)
    }

    /// Whether everybody who comes from another machine may log in.
    pub fn is_open(&self) -> bool {
        let is_far = |host: &UserHost| match host {
            UserHost::Any => true,
            UserHost::Local => false,
            UserHost::Ip(text) => Network::parse(text).is_some_and(|network| !network.is_loopback()),
        };
        self.authentication().contains(&Authentication::NoPassword) && self.hosts().iter().any(is_far)
    }

    /// Seconds since 1970, of `VALID UNTIL`.
    pub fn valid_until(&self) -> Option<i64> {
        let text = self.definition.valid_until.as_deref()?;
        seconds_of(text)
    }

    fn may_connect_from(&self, address: Option<IpAddr>) -> bool {
        let Some(address) = address else { return true };
        self.hosts().iter().any(|host| match host {
            UserHost::Any => true,
            UserHost::Local => address.to_canonical().is_loopback(),
            UserHost::Ip(network) => Network::parse(network).is_some_and(|network| network.has(address)),
        })
    }
}

/// `2030-01-01` or `2030-01-01 12:00:00`, in UTC. `infinity` is `None`.
fn seconds_of(text: &str) -> Option<i64> {
    let (date, time) = text.split_once(' ').unwrap_or((text, "00:00:00"));
    let numbers =
        |text: &str, by: char| -> Option<Vec<i64>> { text.split(by).map(|part| part.parse().ok()).collect() };
    let (date, time) = (numbers(date, '-')?, numbers(time, ':')?);
    let (&[year, month, day], &[hour, minute, second]) = (date.as_slice(), time.as_slice()) else {
        return None;
    };
    if !(1970..=9999).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    // Days from the civil calendar: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    let shifted = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let days = era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468;
    Some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Whether `text` is a time of VALID UNTIL.
pub(crate) fn is_time(text: &str) -> bool {
    text.eq_ignore_ascii_case("infinity") || seconds_of(text).is_some()
}

/// An address and how many of its bits count.
pub(crate) struct Network {
    bits: u128,
    length: u32,
}

impl Network {
    /// `10.0.0.0/8`, `10.0.0.0/255.0.0.0`, `::1`.
    pub(crate) fn parse(text: &str) -> Option<Network> {
        let (address, mask) =
            text.split_once('/').map_or((text, None), |(address, mask)| (address, Some(mask)));
        let address: IpAddr = address.parse().ok()?;
        let offset = if address.is_ipv4() { 96 } else { 0 };
        let length = match mask {
            None => 128,
            Some(mask) => match (mask.parse::<u32>(), mask.parse::<IpAddr>()) {
                (Ok(length), _) => length + offset,
                (_, Ok(IpAddr::V4(mask))) => mask.to_bits().leading_ones() + offset,
                (_, Ok(IpAddr::V6(mask))) => mask.to_bits().leading_ones(),
                _ => return None,
            },
        };
        (length <= 128).then_some(Network { bits: bits_of(address), length })
    }

    /// Whether all its addresses are of this machine.
    fn is_loopback(&self) -> bool {
        let address = Ipv6Addr::from_bits(self.bits).to_canonical();
        let needed = if address.is_ipv4() { 104 } else { 128 };
        address.is_loopback() && self.length >= needed
    }

    fn has(&self, address: IpAddr) -> bool {
        let ignored = 128 - self.length;
        let head = |bits: u128| bits.checked_shr(ignored).unwrap_or(0);
        head(bits_of(address)) == head(self.bits)
    }
}

fn bits_of(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds() -> [PasswordKind; 5] {
        use PasswordKind::{Bcrypt, DoubleSha1, Plaintext, ScramSha256, Sha256};
        [Plaintext, Sha256, DoubleSha1, Bcrypt, ScramSha256]
    }

    #[test]
    fn a_password_of_each_kind_is_stored_and_found_again() {
        for kind in kinds() {
            let text = PasswordText::Password("p\u{e4}ss".to_owned());
            let methods = stored(&[Authentication::Password(kind, text)]).expect("a password");
            assert!(proves(&methods[0], Proof::Password("p\u{e4}ss")), "{kind:?}");
            assert!(!proves(&methods[0], Proof::Password("pass")), "{kind:?}");
            assert!(
                !proves(
                    &methods[0],
                    Proof::Certificate { common_name: Some("pass"), alternative_names: &[] }
                ),
                "{kind:?}"
            );
            assert_eq!(stored(&methods).expect("what is stored"), methods);
        }
    }

    #[test]
    fn hashes_are_those_of_clickhouse() {
        let check = |kind, hash: &str, password| {
            let text = PasswordText::Hash { hash: hash.to_owned(), salt: String::new() };
            assert!(is_password(kind, &text, password), "{kind:?}");
        };
        let sha256 = "2CF24DBA5FB0A30E26E83B2AC5B9E29E1B161E5C1FA7425E73043362938B9824";
        check(PasswordKind::Sha256, sha256, "hello");
        // `SELECT PASSWORD('hello')` of MySQL.
        check(PasswordKind::DoubleSha1, "6b4f89a54e2d27ecd7e8da05b4ab8fd9d1d8b119", "hello");
        assert!(!is_hash(PasswordKind::Sha256, "12") && !is_hash(PasswordKind::Bcrypt, "12"));
    }

    #[test]
    fn networks_have_their_addresses() {
        let has = |network: &str, address: &str| {
            let network = Network::parse(network).expect("a network");
            network.has(address.parse().expect("an address"))
        };
        assert!(has("10.0.0.0/8", "10.1.2.3") && !has("10.0.0.0/8", "11.1.2.3"));
        assert!(has("10.0.0.0/255.255.0.0", "10.0.9.9") && !has("10.0.0.0/255.255.0.0", "10.1.0.0"));
        assert!(has("127.0.0.1", "127.0.0.1") && !has("127.0.0.1", "127.0.0.2"));
        assert!(has("::/0", "1.2.3.4") && has("::1", "::1") && has("127.0.0.1", "::ffff:127.0.0.1"));
        assert!(Network::parse("10.0.0.0/99").is_none() && Network::parse("host").is_none());
    }

    #[test]
    fn times_of_validity_are_seconds() {
        assert_eq!(seconds_of("2026-11-26"), Some(1_795_651_200));
        assert_eq!(seconds_of("2026-11-26 00:00:10"), Some(1_795_651_210));
        assert_eq!(seconds_of("1970-01-01"), Some(0));
        assert!(is_time("infinity") && !is_time("tomorrow") && !is_time("2026-13-01"));
    }
}
