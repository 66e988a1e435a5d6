//! Background work on the tables of an instance.

use std::sync::Arc;

use basalt_parts::TableParts;

use crate::background::{Background, BackgroundWork};
use crate::catalog::CatalogObject;
use crate::instance::Instance;
use crate::mutation;
use crate::names::ObjectKey;
use crate::tables::Table;

impl BackgroundWork for Instance {
    fn background(&self) -> &Background {
        &self.background
    }

    fn tables(&self) -> Vec<(ObjectKey, Arc<dyn Table>)> {
        let objects = self.catalog().all_objects().into_iter();
        let tables = objects.filter_map(|(database, name, object)| match object {
            CatalogObject::Table(table) => Some((ObjectKey { database, name }, table)),
            _ => None,
        });
        tables.collect()
    }

    fn mutate(self: Arc<Self>, key: &ObjectKey, table: &dyn Table, parts: &TableParts) -> bool {
        mutation::step(&self, key, table, parts)
    }

    fn sweep_dropped(&self) {
        self.catalog().sweep_dropped();
    }
}
