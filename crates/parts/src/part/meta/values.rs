//! Bounds of a column and the value of the partition key, as sections in the metadata.

#![cfg_attr(
    not(test),
    warn(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss)
)]

use arrow::array::ArrayRef;
use arrow::datatypes::Field;
use basalt_base::SqlType;
use basalt_codec::CodecChain;

use crate::column::decoder::decode_array;
use crate::column::encoder::encode_array;
use crate::error::{Damage, Result};
use crate::key::element::KeyElement;
use crate::key::partition::PartitionValue;
use crate::spec::PartSpec;

/// The value of the partition key, with each element as sections.
pub(crate) fn encode_partition(spec: &PartSpec, partition: &PartitionValue) -> Result<Vec<Vec<u8>>> {
    let element = |(element, (_, value)): (&KeyElement, &(SqlType, ArrayRef))| {
        let mut out = Vec::new();
        encode_array(&element.field(&spec.columns), &CodecChain::default(), value, &mut out)?;
        Ok(out)
    };
    spec.partition_key.iter().zip(&partition.elements).map(element).collect()
}

/// The value of the partition key; without elements if the part was written without it.
pub(crate) fn decode_partition(spec: &PartSpec, bytes: &[Vec<u8>]) -> Result<PartitionValue, Damage> {
    let mut elements = Vec::with_capacity(bytes.len());
    for (element, bytes) in spec.partition_key.iter().zip(bytes) {
        let value = decode_array(&element.field(&spec.columns), &CodecChain::default(), bytes, 1)?;
        elements.push((element.ty(&spec.columns).clone(), value));
    }
    Ok(PartitionValue { elements })
}

/// The bounds of a column as sections; empty for none.
pub(crate) fn encode_bounds(field: &Field, bounds: Option<&ArrayRef>) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    if let Some(bounds) = bounds {
        encode_array(field, &CodecChain::default(), bounds, &mut out)?;
    }
    Ok(out)
}

/// The smallest and the largest value, as an array of two.
pub(crate) fn decode_bounds(field: &Field, bytes: &[u8]) -> Result<Option<ArrayRef>, Damage> {
    if bytes.is_empty() {
        return Ok(None);
    }
    decode_array(field, &CodecChain::default(), bytes, 2).map(Some)
}
