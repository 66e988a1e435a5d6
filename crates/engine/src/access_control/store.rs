//! All entities of access control, in memory and as a file.
//!
//! # Layout
//!
//! ```text
//! access/entities.sql
//!   -- basalt access control 1
//!   -- crc32c 1a2b3c4d            of everything after this line
//!   CREATE ROLE ..;
//!   CREATE USER ..;               with what is stored of passwords
//!   GRANT ..;
//! ```
//!
//! The file is published whole. One that cannot be read is an error at the start: without it, a server might let in
//! whom it must not.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use basalt_access::usage::Amounts;
use basalt_access::{Access, Author, DEFAULT_USER, Entities, Proof, QuotaUsage, User};
use basalt_base::checksum::crc32c;
use basalt_base::fs::{PendingFile, Storage, is_unpublished, publish_empty_dir};
use basalt_base::{Error, ErrorCode, Result, bail};
use basalt_sql::Script;
use basalt_sql::ast::{
    AccessStatement, Authentication, DefinitionMode, Literal, PasswordKind, PasswordText, ProfileElement,
    RoleSet, Statement,
};
use parking_lot::{Mutex, RwLock};

use crate::context::QueryContext;
use crate::settings::{Settings, literal_text};

const DIRECTORY: &str = "access";
const FILE: &str = "entities.sql";
const FIRST_LINE: &str = "-- basalt access control 1\n";
const CRC_LINE: &str = "-- crc32c ";
/// A longer file is invalid.
const BYTES_MAX: u64 = 256 << 20;

/// The user `default`, whom the configuration makes.
#[derive(Clone, Debug, Default)]
pub struct DefaultUser {
    /// SHA-256 of the password, as hexadecimal digits; `None` without a password.
    pub password_sha256_hex: Option<String>,
}

/// Entities, and what is known of the users that work now.
pub(crate) struct AccessControl {
    storage: Arc<dyn Storage>,
    root: PathBuf,
    entities: RwLock<Arc<Entities>>,
    /// Accesses of the present entities, by user and roles.
    known: Mutex<Known>,
    usage: QuotaUsage,
    /// One change at a time; the failure after which the state of the disk is unknown.
    change: Mutex<Option<Error>>,
}

#[derive(Default)]
struct Known {
    of: Option<Arc<Entities>>,
    accesses: HashMap<(String, Option<String>), Arc<Access>>,
}

impl AccessControl {
    /// Opens `<data directory>/access`, making it if it is not there. `statements` are run first: their users and
    /// roles replace those of the same name.
    pub(crate) fn open(
        storage: Arc<dyn Storage>,
        data_dir: &Path,
        default: &DefaultUser,
        statements: &str,
    ) -> Result<AccessControl> {
        let root = data_dir.join(DIRECTORY);
        publish_empty_dir(storage.as_ref(), &root)?;
        for entry in storage.list(&root)?.iter().filter(|entry| is_unpublished(&entry.name)) {
            // A file that stays is replaced by the next change.
            let _ = storage.remove_file(&root.join(&entry.name));
        }
        let mut entities = Entities::default();
        entities.users.insert(DEFAULT_USER.to_owned(), default_user(default));
        let path = root.join(FILE);
        if storage.exists(&path)? {
            let bytes = storage.read(&path, BYTES_MAX)?;
            let text = decode(&bytes).map_err(|error| error.within(path.display()))?;
            entities = apply_all(entities, text, false).map_err(|error| error.within(path.display()))?;
        }
        entities = apply_all(entities, statements.as_bytes(), true)
            .map_err(|error| error.within("the statements about users in the configuration"))?;
        Ok(AccessControl {
            storage,
            root,
            entities: RwLock::new(Arc::new(entities)),
            known: Mutex::default(),
            usage: QuotaUsage::default(),
            change: Mutex::default(),
        })
    }

    pub(crate) fn entities(&self) -> Arc<Entities> {
        Arc::clone(&self.entities.read())
    }

    pub(crate) fn usage(&self) -> &QuotaUsage {
        &self.usage
    }

    /// The name of the user who connects.
    pub(crate) fn authenticate(
        &self,
        name: &str,
        proof: Proof<'_>,
        address: Option<IpAddr>,
        now: i64,
    ) -> Result<String> {
        self.entities().authenticate(name, proof, address, now)
    }

    /// What a user may do with its default roles or those of SET ROLE.
    pub(crate) fn access(&self, user: &str, roles: Option<&RoleSet>) -> Result<Arc<Access>> {
        let entities = self.entities();
        let key = (user.to_owned(), roles.map(ToString::to_string));
        let mut known = self.known.lock();
        if !known.of.as_ref().is_some_and(|of| Arc::ptr_eq(of, &entities)) {
            *known = Known { of: Some(Arc::clone(&entities)), accesses: HashMap::new() };
        }
        if let Some(access) = known.accesses.get(&key) {
            return Ok(Arc::clone(access));
        }
        let access = Arc::new(entities.access(user, roles, &literal_text)?);
        known.accesses.insert(key, Arc::clone(&access));
        Ok(access)
    }

    /// Runs a statement; durable when it returns.
    pub(crate) fn apply(&self, statement: &AccessStatement, access: &Access, database: &str) -> Result<()> {
        let mut failure = self.change.lock();
        if let Some(first) = &*failure {
            bail!(
                CannotWriteToFile,
                "access control is closed for changes since an earlier failure: {}; reopen the database",
                first.message()
            );
        }
        let statement = with_plain_settings(statement.clone())?;
        let changed = self.entities().apply(&statement, Author { access, database })?;
        let bytes = encode(&changed);
        if bytes.len() as u64 > BYTES_MAX {
            bail!(BadArguments, "users, roles and grants have {} bytes, more than {BYTES_MAX}", bytes.len());
        }
        let storage = self.storage.as_ref();
        PendingFile::write(storage, &self.root.join(FILE), &bytes)?.rename(storage)?;
        storage.sync_dir(&self.root).inspect_err(|error| *failure = Some(error.clone()))?;
        *self.entities.write() = Arc::new(changed);
        Ok(())
    }

    /// The roles that a new session of the user has.
    pub(crate) fn default_roles(&self, user: &str) -> Vec<String> {
        let access = self.access(user, None);
        access.map(|access| access.current_roles.iter().cloned().collect()).unwrap_or_default()
    }

    /// Counts a query that begins for the quotas of its user. QUOTA_EXCEEDED if one is used up.
    pub(crate) fn count_start(&self, query: &QueryContext) -> Result<()> {
        let of_kind = |kind: &str| u64::from(query.kind == kind);
        self.count(query, &[1, of_kind("Select"), of_kind("Insert"), 0, 0, 0, 0, 0, 0, 0])
    }

    /// Counts what a query did. A quota that it used up concerns the next one.
    pub(crate) fn count_end(&self, query: &QueryContext, error: Option<&Error>) {
        let done = query.progress.snapshot();
        let elapsed_us = query.started.elapsed().as_micros() as u64;
        let amounts = [
            0,
            0,
            0,
            u64::from(error.is_some()),
            done.result_rows,
            done.result_bytes,
            done.read_rows,
            done.read_bytes,
            elapsed_us,
            done.written_bytes,
        ];
        let _ = self.count(query, &amounts);
    }

    fn count(&self, query: &QueryContext, amounts: &Amounts) -> Result<()> {
        let entities = self.entities();
        if entities.quotas.is_empty() {
            return Ok(());
        }
        let now = query.services.clock.now_us() / 1_000_000;
        self.usage.add(&entities, &query.access, &query.client, now, amounts)
    }
}

fn default_user(default: &DefaultUser) -> User {
    let authentication = match &default.password_sha256_hex {
        Some(hash) => {
            let hash = PasswordText::Hash { hash: hash.clone(), salt: String::new() };
            Authentication::Password(PasswordKind::Sha256, hash)
        }
        None => Authentication::NoPassword,
    };
    User::unlimited(DEFAULT_USER, authentication)
}

fn encode(entities: &Entities) -> Vec<u8> {
    let mut text = String::new();
    for statement in entities.statements() {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{statement};");
    }
    format!("{FIRST_LINE}{CRC_LINE}{:08x}\n{text}", crc32c(text.as_bytes())).into_bytes()
}

fn decode(bytes: &[u8]) -> Result<&[u8]> {
    let rest = bytes.strip_prefix(FIRST_LINE.as_bytes());
    let rest = rest.and_then(|rest| rest.strip_prefix(CRC_LINE.as_bytes()));
    let parts = rest.and_then(|rest| rest.split_at_checked(8));
    let parts = parts.and_then(|(crc, text)| Some((crc, text.strip_prefix(b"\n")?)));
    match parts {
        Some((crc, text)) if crc == format!("{:08x}", crc32c(text)).as_bytes() => Ok(text),
        _ => Err(Error::new(
            ErrorCode::CorruptedData,
            "the file of users and grants is damaged: restore it from a copy, or remove it to begin with the user \
             `default` alone",
        )),
    }
}

/// The statement with the bounds of its settings as their types print them. The settings must exist, and have values of
/// their types.
fn with_plain_settings(mut statement: AccessStatement) -> Result<AccessStatement> {
    let elements = match &mut statement {
        AccessStatement::User(definition) => &mut definition.settings,
        AccessStatement::Role(definition) => &mut definition.settings,
        AccessStatement::SettingsProfile(definition) => &mut definition.settings,
        _ => return Ok(statement),
    };
    for element in elements.iter_mut().flatten() {
        let ProfileElement::Setting(setting) = element else { continue };
        let mut settings = Settings::default();
        settings.get(&setting.name)?;
        for value in [&mut setting.value, &mut setting.min, &mut setting.max].into_iter().flatten() {
            settings.set(&setting.name, &literal_text(value))?;
            let text = settings.get(&setting.name)?;
            *value = match text.parse() {
                Ok(number) => Literal::UInt(number),
                Err(_) => Literal::String(text.into_bytes()),
            };
        }
    }
    Ok(statement)
}

/// The entities after the statements of a text.
fn apply_all(mut entities: Entities, text: &[u8], replaces: bool) -> Result<Entities> {
    let engine = Access::unlimited(DEFAULT_USER);
    let mut script = Script::new(text);
    while let Some(statement) = script.next_statement() {
        let Statement::Access(mut statement) = statement?.statement else {
            bail!(
                SyntaxError,
                "only statements about users, roles, grants, policies and quotas may stand here"
            );
        };
        if replaces {
            replace(&mut statement);
            *statement = with_plain_settings(*statement)?;
        }
        entities = entities.apply(&statement, Author { access: &engine, database: "default" })?;
    }
    Ok(entities)
}

/// Turns CREATE into CREATE OR REPLACE.
fn replace(statement: &mut AccessStatement) {
    let mode = match statement {
        AccessStatement::User(definition) => &mut definition.mode,
        AccessStatement::Role(definition) => &mut definition.mode,
        AccessStatement::RowPolicy(definition) => &mut definition.mode,
        AccessStatement::Quota(definition) => &mut definition.mode,
        AccessStatement::SettingsProfile(definition) => &mut definition.mode,
        _ => return,
    };
    if let DefinitionMode::Create { or_replace, .. } = mode {
        *or_replace = true;
    }
}
