//! Numbers of the strings that a query meets in one column, or in a function of one.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayRef, AsArray, BinaryViewArray, DictionaryArray, UInt32Array, new_null_array};
use arrow::buffer::NullBuffer;
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef, UInt32Type};
use arrow::record_batch::RecordBatch;
use basalt_base::string_views::gather;
use basalt_base::{Error, Result, bail};
use basalt_exec::error::from_datafusion;
use basalt_parts::DistinctStrings;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_expr::PhysicalExpr;
use parking_lot::Mutex;

/// A string whose number no row has needed yet.
const UNKNOWN: u32 = 0;
/// A value that is NULL; the numbers of other strings begin after it.
const NULL: u32 = 1;

/// The numbers of the strings of one column: equal strings have equal numbers, in all parts and threads.
pub(crate) struct Numbering {
    field: FieldRef,
    kind: Kind,
}

enum Kind {
    /// The codes of the only part there is.
    OfPart(OnceLock<ArrayRef>),
    /// Numbers of the query's own.
    OfQuery(Box<Shared>),
}

/// The numbers of strings of several dictionaries.
struct Shared {
    function: Option<Function>,
    known: Mutex<Known>,
}

/// A function of one column.
struct Function {
    /// Over the only column.
    expr: Arc<dyn PhysicalExpr>,
    schema: SchemaRef,
}

struct Known {
    strings: DistinctStrings,
    tables: Vec<Arc<Table>>,
    memory: MemoryReservation,
}

/// The numbers of the strings of one dictionary, found when a row first needs them.
struct Table {
    values: ArrayRef,
    numbers: Vec<AtomicU32>,
}

impl Numbering {
    /// Numbers of the strings of the column `field`; one dictionary has all of them.
    pub(crate) fn of_part(field: &Field) -> Numbering {
        Numbering { field: numbers_field(field), kind: Kind::OfPart(OnceLock::new()) }
    }

    /// Numbers of the strings of the column `field`, or of `function`, whose only column is `field`. Their memory is
    /// charged to `pool`.
    pub(crate) fn of_query(
        field: &Field,
        function: Option<Arc<dyn PhysicalExpr>>,
        pool: &Arc<dyn MemoryPool>,
    ) -> Numbering {
        let schema = Arc::new(Schema::new(vec![field.clone()]));
        let function = function.map(|expr| Function { expr, schema });
        let known = Known {
            strings: DistinctStrings::of_query(),
            tables: Vec::new(),
            memory: MemoryConsumer::new("numbers of strings").register(pool),
        };
        let shared = Shared { function, known: Mutex::new(known) };
        let field = Field::new(field.name(), DataType::UInt32, true);
        Numbering { field: Arc::new(field), kind: Kind::OfQuery(Box::new(shared)) }
    }

    /// The column of numbers.
    pub(crate) fn field(&self) -> Field {
        self.field.as_ref().clone()
    }

    /// The numbers of the strings of `array`, which has the form in which a part returns it.
    pub(crate) fn numbers(&self, array: &ArrayRef) -> Result<ArrayRef> {
        let dictionary = array.as_dictionary_opt::<UInt32Type>();
        match (&self.kind, dictionary) {
            (Kind::OfPart(values), Some(dictionary)) => {
                let values = values.get_or_init(|| Arc::clone(dictionary.values()));
                if values.len() != dictionary.values().len() {
                    return Err(Error::logical("a part has two dictionaries of a column"));
                }
                Ok(Arc::new(dictionary.keys().clone()))
            }
            (Kind::OfPart(_), None) => Err(Error::logical("a part lost the dictionary of a column")),
            (Kind::OfQuery(shared), Some(dictionary)) => shared.numbers(dictionary),
            (Kind::OfQuery(shared), None) => shared.numbers_of_plain(array),
        }
    }

    /// The strings of `numbers`, copied: a few of them keep no dictionary in memory.
    pub(crate) fn strings(&self, numbers: &UInt32Array) -> BinaryViewArray {
        let nulls = numbers.nulls().cloned();
        match &self.kind {
            Kind::OfPart(values) => match values.get() {
                Some(values) if !values.is_empty() => {
                    gather(values.as_binary_view(), numbers.values(), nulls).gc()
                }
                // Only NULLs were read.
                _ => new_null_array(&DataType::BinaryView, numbers.len()).as_binary_view().clone(),
            },
            Kind::OfQuery(shared) => shared.known.lock().strings.gather(numbers.values(), nulls),
        }
    }
}

impl fmt::Debug for Numbering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Numbering({})", self.field.name())
    }
}

fn numbers_field(field: &Field) -> FieldRef {
    Arc::new(Field::new(field.name(), DataType::UInt32, field.is_nullable()))
}

impl Shared {
    fn numbers(&self, dictionary: &DictionaryArray<UInt32Type>) -> Result<ArrayRef> {
        let table = self.table(dictionary.values());
        let keys = dictionary.keys();
        let number = |key: u32| table.numbers[key as usize].load(Ordering::Relaxed);
        // Another thread may look up the same strings meanwhile; it gets the same numbers.
        let mut unknown: Vec<u32> = keys.iter().flatten().filter(|&key| number(key) == UNKNOWN).collect();
        if !unknown.is_empty() {
            unknown.sort_unstable();
            unknown.dedup();
            let wanted = UInt32Array::from(unknown);
            let strings = take(&table.values, &wanted, None).map_err(Error::of_arrow)?;
            let found = self.number_all(&strings)?;
            for (&key, number) in wanted.values().iter().zip(found) {
                table.numbers[key as usize].store(number, Ordering::Relaxed);
            }
        }
        let marked: Vec<u32> = match keys.nulls() {
            None => keys.values().iter().map(|&key| number(key)).collect(),
            Some(_) => keys.iter().map(|key| key.map_or(NULL, number)).collect(),
        };
        Ok(unmarked(&marked))
    }

    fn numbers_of_plain(&self, array: &ArrayRef) -> Result<ArrayRef> {
        Ok(unmarked(&self.number_all(array)?))
    }

    fn table(&self, values: &ArrayRef) -> Arc<Table> {
        let mut known = self.known.lock();
        if let Some(table) = known.tables.iter().find(|table| same(&table.values, values)) {
            return Arc::clone(table);
        }
        let numbers = std::iter::repeat_with(|| AtomicU32::new(UNKNOWN)).take(values.len()).collect();
        let table = Arc::new(Table { values: Arc::clone(values), numbers });
        known.tables.push(Arc::clone(&table));
        table
    }

    /// The marked number of each string: [`NULL`] for NULL, and greater ones for all others.
    fn number_all(&self, strings: &ArrayRef) -> Result<Vec<u32>> {
        let values = match &self.function {
            None => Arc::clone(strings),
            Some(function) => function.apply(strings)?,
        };
        let views = values.as_binary_view();
        let mut known = self.known.lock();
        let mut codes = Vec::with_capacity(views.len());
        let taken = known.strings.append_codes(views.views(), views.data_buffers(), &mut codes);
        let is_full = codes.iter().any(|&code| code >= u32::MAX - NULL);
        if taken < views.len() || is_full {
            bail!(MemoryLimitExceeded, "a GROUP BY has more distinct strings than four gigabytes hold");
        }
        known.reserve()?;
        let marked = |(row, code): (usize, u32)| if views.is_null(row) { NULL } else { code + 1 + NULL };
        Ok(codes.into_iter().enumerate().map(marked).collect())
    }
}

impl Known {
    fn reserve(&mut self) -> Result<()> {
        let tables: usize =
            self.tables.iter().map(|table| table.numbers.len() * size_of::<AtomicU32>()).sum();
        self.memory.try_resize(self.strings.heap_bytes() + tables).map_err(from_datafusion)
    }
}

impl Function {
    fn apply(&self, strings: &ArrayRef) -> Result<ArrayRef> {
        let rows = strings.len();
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), vec![Arc::clone(strings)]);
        let batch = batch.map_err(Error::logical)?;
        self.expr.evaluate(&batch).and_then(|value| value.into_array(rows)).map_err(from_datafusion)
    }
}

/// Numbers from 0 on, and NULL.
fn unmarked(marked: &[u32]) -> ArrayRef {
    let numbers = marked.iter().map(|&number| number.saturating_sub(1 + NULL)).collect::<Vec<_>>();
    let has_null = marked.contains(&NULL);
    let nulls = has_null.then(|| NullBuffer::from_iter(marked.iter().map(|&number| number != NULL)));
    Arc::new(UInt32Array::new(numbers.into(), nulls))
}

/// Whether both are one array, not only equal ones.
pub(super) fn same(one: &ArrayRef, other: &ArrayRef) -> bool {
    Arc::ptr_eq(one, other)
        || (one.len() == other.len()
            && one.as_binary_view_opt().map(|views| views.views().as_ptr())
                == other.as_binary_view_opt().map(|views| views.views().as_ptr()))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use arrow::array::types::UInt32Type;
    use arrow::array::{BinaryViewBuilder, PrimitiveArray};
    use datafusion::execution::memory_pool::UnboundedMemoryPool;

    use super::*;

    fn strings(values: &[Option<&str>]) -> BinaryViewArray {
        let mut builder = BinaryViewBuilder::new();
        values.iter().for_each(|value| builder.append_option(value.map(str::as_bytes)));
        builder.finish()
    }

    fn dictionary(values: &[&str], keys: &[Option<u32>]) -> ArrayRef {
        let values: Vec<_> = values.iter().map(|value| Some(*value)).collect();
        let keys: PrimitiveArray<UInt32Type> = keys.iter().copied().collect();
        Arc::new(DictionaryArray::try_new(keys, Arc::new(strings(&values))).unwrap())
    }

    /// The numbers stand for the strings of `arrays`, and equal strings have equal numbers.
    fn check(numbering: &Numbering, arrays: &[ArrayRef]) {
        let mut known = HashMap::new();
        for array in arrays {
            let numbers = numbering.numbers(array).unwrap();
            let numbers = numbers.as_primitive::<UInt32Type>();
            let plain = basalt_parts::plain(array);
            assert_eq!(&numbering.strings(numbers), plain.as_binary_view());
            for (number, string) in numbers.iter().zip(plain.as_binary_view()) {
                let string = string.map(<[u8]>::to_vec);
                assert_eq!(*known.entry(string).or_insert(number), number);
            }
        }
    }

    fn of_query(is_nullable: bool, function: Option<Arc<dyn PhysicalExpr>>) -> Numbering {
        let pool: Arc<dyn MemoryPool> = Arc::new(UnboundedMemoryPool::default());
        Numbering::of_query(&Field::new("s", DataType::BinaryView, is_nullable), function, &pool)
    }

    #[test]
    fn strings_of_several_dictionaries_and_plain_ones_have_one_number_each() {
        let arrays = [
            dictionary(&["a", "long enough to lie outside", "c"], &[Some(1), Some(1), None, Some(0)]),
            dictionary(&["c", "a"], &[Some(1), Some(0), Some(1)]),
            Arc::new(strings(&[Some("a"), None, Some("long enough to lie outside"), Some("")])) as ArrayRef,
        ];
        check(&of_query(true, None), &arrays);
    }

    #[test]
    fn codes_of_the_only_part_are_the_numbers() {
        let values = ["x", "y", "another one that is long"];
        let arrays = [
            dictionary(&values, &[Some(2), Some(0), None]),
            dictionary(&values, &[Some(0), Some(1), Some(2)]),
        ];
        let numbering = Numbering::of_part(&Field::new("s", DataType::BinaryView, true));
        check(&numbering, &arrays);
        assert!(numbering.numbers(&(Arc::new(strings(&[Some("x")])) as ArrayRef)).is_err());
    }

    #[test]
    fn nulls_alone_need_no_dictionary() {
        let nothing = UInt32Array::from(vec![None, None]);
        for numbering in
            [of_query(true, None), Numbering::of_part(&Field::new("s", DataType::BinaryView, true))]
        {
            assert_eq!(numbering.strings(&nothing), strings(&[None, None]));
        }
    }
}
