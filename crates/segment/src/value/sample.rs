//! A column before it is encoded: figures of all values, and a sample.

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::DataType;
use basalt_base::{Error, Result, query};

use super::byte_stats::ByteStats;
use super::image::{append_images, has_images};
use super::number_stats::NumberStats;

/// Rows between checks of the query.
const CHECKED_ROWS: usize = 16 << 10;

/// Sees all values of a column in the first pass over the rows, in the order of ranks.
#[derive(Debug)]
pub struct ColumnSample {
    rows: u64,
    nulls: u64,
    values: ValueStats,
}

/// The figures, by the type of the values.
#[derive(Debug)]
pub(super) enum ValueStats {
    Numbers(Box<NumberStats>),
    /// Decimals, one of which has no image.
    LargeNumbers,
    Strings(Box<ByteStats>),
    List(Box<ColumnSample>),
    Struct(Vec<ColumnSample>),
    Nothing,
}

impl ColumnSample {
    /// No values yet. A sample of strings takes at most `sample_bytes`. An error if the type has no store.
    pub fn new(data_type: &DataType, sample_bytes: usize) -> Result<ColumnSample> {
        let values = match data_type {
            DataType::Null => ValueStats::Nothing,
            DataType::BinaryView | DataType::FixedSizeBinary(_) => {
                ValueStats::Strings(Box::new(ByteStats::new(sample_bytes)))
            }
            DataType::List(element) => {
                ValueStats::List(Box::new(ColumnSample::new(element.data_type(), sample_bytes)?))
            }
            DataType::Struct(fields) => {
                let fields = fields.iter().map(|field| ColumnSample::new(field.data_type(), sample_bytes));
                ValueStats::Struct(fields.collect::<Result<_>>()?)
            }
            number if has_images(number) => ValueStats::Numbers(Box::default()),
            other => return Err(Error::not_implemented(format!("a column store for the type {other}"))),
        };
        Ok(ColumnSample { rows: 0, nulls: 0, values })
    }

    /// The next values, whose type is that of the column.
    pub fn add(&mut self, values: &ArrayRef) -> Result<()> {
        for start in (0..values.len()).step_by(CHECKED_ROWS) {
            query::checkpoint()?;
            self.add_rows(&values.slice(start, (values.len() - start).min(CHECKED_ROWS)))?;
        }
        Ok(())
    }

    fn add_rows(&mut self, values: &ArrayRef) -> Result<()> {
        self.rows += values.len() as u64;
        self.nulls += values.null_count() as u64;
        match &mut self.values {
            ValueStats::Numbers(stats) => {
                if !add_numbers(stats, values)? {
                    self.values = ValueStats::LargeNumbers;
                }
            }
            ValueStats::Strings(stats) => add_strings(stats, values)?,
            ValueStats::List(element) => {
                let list = values.as_list_opt::<i32>().ok_or_else(|| unlike(values))?;
                let (start, end) = (list.value_offsets()[0], list.value_offsets()[list.len()]);
                element.add(&list.values().slice(start as usize, (end - start) as usize))?;
            }
            ValueStats::Struct(fields) => {
                let columns = values.as_struct_opt().ok_or_else(|| unlike(values))?.columns();
                for (field, column) in fields.iter_mut().zip(columns) {
                    field.add(column)?;
                }
            }
            ValueStats::LargeNumbers | ValueStats::Nothing => {}
        }
        Ok(())
    }

    pub fn rows(&self) -> u64 {
        self.rows
    }

    pub fn null_count(&self) -> u64 {
        self.nulls
    }

    /// The number of distinct values without NULL; `None` if there are more than codes are made for, or for lists and
    /// structs.
    pub fn distinct(&self) -> Option<usize> {
        match &self.values {
            ValueStats::Numbers(stats) => stats.distinct().len(),
            ValueStats::Strings(stats) => stats.distinct().len(),
            _ => None,
        }
    }

    /// Sampled strings, in the order of ranks; none for a column of another type.
    pub fn strings(&self) -> impl Iterator<Item = &[u8]> {
        self.string_stats().into_iter().flat_map(ByteStats::sample)
    }

    /// The distinct strings in order; `None` if they are too many for codes, or the column has another type.
    pub fn distinct_strings(&self) -> Option<Vec<Box<[u8]>>> {
        self.string_stats()?.distinct().sorted()
    }

    /// The bytes of all strings.
    pub fn string_bytes(&self) -> u64 {
        self.string_stats().map_or(0, ByteStats::bytes)
    }

    /// The bytes of the longest string.
    pub fn longest_string(&self) -> u64 {
        self.string_stats().map_or(0, ByteStats::longest)
    }

    /// The first bytes of the least string and of the greatest one.
    pub fn string_bounds(&self) -> Option<(&[u8], &[u8])> {
        self.string_stats()?.bounds()
    }

    fn string_stats(&self) -> Option<&ByteStats> {
        match &self.values {
            ValueStats::Strings(stats) => Some(stats),
            _ => None,
        }
    }

    pub(super) fn values(&self) -> &ValueStats {
        &self.values
    }
}

/// `false` if a value has no image.
fn add_numbers(stats: &mut NumberStats, values: &ArrayRef) -> Result<bool> {
    let mut rows = values.slice(0, values.len());
    if stats.count() == 0
        && let Some(nulls) = values.nulls()
    {
        // The builder puts a value of the column in the place of NULLs before the first value.
        let first = nulls.iter().position(|is_valid| is_valid).unwrap_or(values.len());
        rows = values.slice(first, values.len() - first);
    }
    let mut images = Vec::with_capacity(rows.len());
    let all = append_images(&rows, stats.last(), &mut images)?;
    stats.add(&images);
    Ok(all)
}

fn add_strings(stats: &mut ByteStats, values: &ArrayRef) -> Result<()> {
    if let Some(strings) = values.as_binary_view_opt() {
        strings.iter().flatten().for_each(|string| stats.add(string));
        return Ok(());
    }
    let strings = values.as_fixed_size_binary_opt().ok_or_else(|| unlike(values))?;
    strings.iter().flatten().for_each(|string| stats.add(string));
    Ok(())
}

#[cold]
fn unlike(values: &ArrayRef) -> Error {
    Error::logical(format!("values of type {} in another column", values.data_type()))
}
