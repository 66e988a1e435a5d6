//! Structs: a column store for each field.
//!
//! # Layout
//!
//! One number, the count of rows. The fields are the nested components `0`, `1`, ...

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use std::ops::Range;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, StructArray};
use arrow::datatypes::Fields;
use basalt_base::{Error, Result};

use super::numbers::no_value;
use super::store::{ColumnStore, OpenNested, StoreBuilder};
use crate::file::{ComponentReader, PendingComponent};
use crate::{ROWS_MAX, Rank};

pub(super) const ENCODING: &str = "struct";

pub(super) struct StructBuilder {
    component: PendingComponent,
    fields: Vec<Box<dyn StoreBuilder>>,
    count: u64,
}

impl StructBuilder {
    pub(super) fn new(component: PendingComponent, fields: Vec<Box<dyn StoreBuilder>>) -> StructBuilder {
        StructBuilder { component, fields, count: 0 }
    }
}

impl StoreBuilder for StructBuilder {
    fn push(&mut self, values: &ArrayRef) -> Result<()> {
        let structs = values.as_struct_opt().ok_or_else(|| Error::logical("structs have structs"))?;
        for (field, column) in self.fields.iter_mut().zip(structs.columns()) {
            field.push(column)?;
        }
        self.count += structs.len() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Vec<PendingComponent>> {
        let mut component = self.component;
        component.number(self.count);
        let mut nested = Vec::new();
        for field in self.fields {
            let field = field.finish()?;
            component.raw_bytes += field.first().map_or(0, |own| own.raw_bytes);
            nested.extend(field);
        }
        Ok(std::iter::once(component).chain(nested).collect())
    }
}

#[derive(Debug)]
pub(super) struct Structs {
    fields: Fields,
    stores: Vec<Arc<dyn ColumnStore>>,
    count: u32,
}

impl Structs {
    pub(super) fn open(
        component: &mut ComponentReader<'_>,
        fields: &Fields,
        nested: OpenNested<'_>,
    ) -> Result<Structs> {
        let count = u32::try_from(component.number_to(ROWS_MAX)?).map_err(Error::logical)?;
        let stores = fields.iter().enumerate().map(|(index, field)| {
            let store = nested(&index.to_string(), field.data_type())?;
            match store.len() == count {
                true => Ok(store),
                false => {
                    let what = format!("{count} structs, but a field has {} values", store.len());
                    Err(component.place().corrupt(what))
                }
            }
        });
        let stores = stores.collect::<Result<_>>()?;
        Ok(Structs { fields: fields.clone(), stores, count })
    }

    fn array(&self, rows: usize, read: impl Fn(&dyn ColumnStore) -> Result<ArrayRef>) -> Result<ArrayRef> {
        let columns = self.stores.iter().map(|store| read(store.as_ref())).collect::<Result<_>>()?;
        let structs = StructArray::try_new_with_length(self.fields.clone(), columns, None, rows);
        Ok(Arc::new(structs.map_err(Error::logical)?))
    }
}

impl ColumnStore for Structs {
    fn len(&self) -> u32 {
        self.count
    }

    fn take(&self, ranks: &[Rank]) -> Result<ArrayRef> {
        match ranks.iter().find(|&&rank| rank >= self.count) {
            Some(&rank) => Err(no_value(rank, self.count)),
            None => self.array(ranks.len(), |store| store.take(ranks)),
        }
    }

    fn scan(&self, ranks: Range<Rank>) -> Result<ArrayRef> {
        match ranks.start <= ranks.end && ranks.end <= self.count {
            true => self.array(ranks.len(), |store| store.scan(ranks.clone())),
            false => Err(no_value(ranks.end, self.count)),
        }
    }

    fn stored_bytes(&self) -> u64 {
        self.stores.iter().map(|store| store.stored_bytes()).sum()
    }
}
