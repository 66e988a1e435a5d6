//! The catalog as the functions of one query see it.

use std::sync::{Arc, OnceLock};

use basalt_base::Result;
use basalt_functions::{ObjectKind, ObjectRef, ObjectText, PrivilegeTarget, Relations};

use super::keys::index_definition;
use super::objects::{Relation, all};
use super::schemas::{OWNER, namespaces};
use super::{privileges, relation};
use crate::execution::Execution;
use crate::names::PG_CATALOG;
use crate::postgres_type as types;

/// The objects of the database, listed when a function first needs them.
pub(crate) struct QueryRelations {
    query: Arc<Execution>,
    listed: OnceLock<Vec<Relation>>,
}

impl QueryRelations {
    pub(crate) fn new(query: &Arc<Execution>) -> QueryRelations {
        QueryRelations { query: Arc::clone(query), listed: OnceLock::new() }
    }

    fn listed(&self) -> &[Relation] {
        self.listed.get_or_init(|| all(&self.query))
    }

    fn find(&self, oid: u32) -> Option<&Relation> {
        self.listed().iter().find(|relation| relation.oid == oid)
    }

    fn relation_oid(&self, name: &str) -> Option<u32> {
        let name = name.trim();
        let (schema, name) = match name.split_once('.') {
            Some((schema, name)) => (Some(unquoted(schema)), unquoted(name)),
            None => (None, unquoted(name)),
        };
        if let (None | Some(PG_CATALOG), Some(known)) = (schema.as_deref(), relation::find(PG_CATALOG, &name))
        {
            return Some(known.oid);
        }
        let schema = match schema.as_deref() {
            None | Some("public") => self.query.database.clone(),
            Some(schema) => schema.to_owned(),
        };
        let found =
            self.listed().iter().find(|relation| relation.database == schema && relation.name == name);
        found.map(|relation| relation.oid).or_else(|| {
            let keys = self.listed().iter().filter(|relation| relation.database == schema);
            keys.filter_map(|relation| relation.key.as_ref())
                .find(|key| key.name == name)
                .map(|key| key.index_oid)
        })
    }

    fn relation_name(&self, oid: u32) -> Option<String> {
        let is_near =
            |relation: &Relation| relation.database == self.query.database || relation.database == PG_CATALOG;
        let shown = |relation: &Relation, name: &str| match is_near(relation) {
            true => name.to_owned(),
            false => format!("{}.{name}", relation.database),
        };
        if let Some(relation) = self.find(oid) {
            return Some(shown(relation, &relation.name));
        }
        let mut keys = self.listed().iter().filter_map(|relation| Some((relation, relation.key.as_ref()?)));
        keys.find(|(_, key)| key.index_oid == oid).map(|(relation, key)| shown(relation, &key.name))
    }
}

impl Relations for QueryRelations {
    fn oid_of(&self, kind: ObjectKind, name: &str) -> Option<u32> {
        match kind {
            ObjectKind::Relation => self.relation_oid(name),
            ObjectKind::Type => types::by_name(name).map(|ty| ty.oid),
            ObjectKind::Namespace => {
                namespaces(&self.query).into_iter().find(|(_, known)| known == name).map(|(oid, _)| oid)
            }
            ObjectKind::Role => (name == self.query.user).then_some(OWNER),
        }
    }

    fn name_of(&self, kind: ObjectKind, oid: u32) -> Option<String> {
        match kind {
            ObjectKind::Relation => self.relation_name(oid),
            ObjectKind::Type => types::by_oid(oid).map(|ty| ty.shown.clone()),
            ObjectKind::Namespace => {
                namespaces(&self.query).into_iter().find(|(known, _)| *known == oid).map(|(_, name)| name)
            }
            ObjectKind::Role => (oid == OWNER).then(|| self.query.user.clone()),
        }
    }

    fn is_visible(&self, oid: u32) -> bool {
        match self.find(oid) {
            Some(relation) => relation.database == self.query.database || relation.database == PG_CATALOG,
            None => true,
        }
    }

    fn text_of(&self, text: ObjectText, oid: u32, position: i64) -> Option<String> {
        let mut keys = self.listed().iter().filter_map(|relation| Some((relation, relation.key.as_ref()?)));
        match text {
            ObjectText::Comment => {
                let relation = self.find(oid)?;
                let comment = match usize::try_from(position).ok()?.checked_sub(1) {
                    None => &relation.comment,
                    Some(column) => &relation.columns.get(column)?.comment,
                };
                (!comment.is_empty()).then(|| comment.clone())
            }
            ObjectText::Constraint => keys
                .find(|(_, key)| key.constraint_oid == oid)
                .map(|(_, key)| format!("PRIMARY KEY ({})", key.texts.join(", "))),
            ObjectText::Index => {
                keys.find(|(_, key)| key.index_oid == oid).and_then(|(relation, key)| match usize::try_from(
                    position,
                )
                .ok()?
                .checked_sub(1)
                {
                    None => Some(index_definition(relation, key)),
                    Some(column) => key.texts.get(column).cloned(),
                })
            }
            ObjectText::View => self.find(oid)?.query.clone(),
        }
    }

    fn bytes_of(&self, oid: u32) -> Option<u64> {
        self.find(oid).map(|relation| relation.bytes.unwrap_or(0))
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.query.postgres.as_deref()?.variable(name)
    }

    fn search_path(&self) -> Vec<String> {
        vec![PG_CATALOG.to_owned(), self.query.database.clone()]
    }

    fn has_privilege(
        &self,
        user: Option<&ObjectRef>,
        target: &PrivilegeTarget,
        list: &str,
    ) -> Result<Option<bool>> {
        let access = privileges::access_of(&self.query, user)?;
        let relation = |object: &ObjectRef| match object {
            ObjectRef::Named(name) => self.relation_oid(name).and_then(|oid| self.find(oid)),
            ObjectRef::Numbered(number) => u32::try_from(*number).ok().and_then(|oid| self.find(oid)),
        };
        let object = privileges::object_of(&self.query, target, relation)?;
        object.map(|object| privileges::has_any(&access, &object, list)).transpose()
    }
}

fn unquoted(name: &str) -> String {
    name.trim_matches('"').replace("\"\"", "\"")
}
