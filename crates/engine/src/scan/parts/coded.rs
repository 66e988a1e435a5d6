//! A condition on one string column of which a part has a dictionary: asked once a value, not once a row.
//!
//! All arrays of a part and column share one array of values. The answers for it are found block by
//! block of the dictionary, when a row first needs one of its values, and shared by the threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arrow::array::{Array, ArrayRef, AsArray, DictionaryArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt32Type;
use basalt_base::Result;
use basalt_parts::plain;
use parking_lot::Mutex;

use super::plan::Stage;

/// Values that are evaluated together.
const VALUES_A_BLOCK: usize = 2048;
/// A dictionary with more values than this for each row at hand is not worth asking.
const VALUES_A_ROW: usize = 8;

const UNKNOWN: u8 = 0;
const NO: u8 = 1;
const YES: u8 = 2;

/// The answers of one condition, for each dictionary that it met: one a part.
#[derive(Default)]
pub(super) struct CodedAnswers {
    tables: Mutex<Vec<Arc<Answers>>>,
}

/// The answers for the values of one dictionary.
struct Answers {
    values: ArrayRef,
    answers: Vec<AtomicU8>,
}

impl CodedAnswers {
    fn of(&self, values: &ArrayRef) -> Arc<Answers> {
        let mut tables = self.tables.lock();
        if let Some(known) = tables.iter().find(|known| same(&known.values, values)) {
            return Arc::clone(known);
        }
        let answers = std::iter::repeat_with(|| AtomicU8::new(UNKNOWN)).take(values.len()).collect();
        let fresh = Arc::new(Answers { values: Arc::clone(values), answers });
        tables.push(Arc::clone(&fresh));
        fresh
    }
}

/// Whether both are one array, not only equal ones.
pub(crate) fn same(one: &ArrayRef, other: &ArrayRef) -> bool {
    Arc::ptr_eq(one, other)
        || (one.len() == other.len()
            && one.as_binary_view_opt().map(|views| views.views().as_ptr())
                == other.as_binary_view_opt().map(|views| views.views().as_ptr()))
}

impl Stage {
    /// The rows for which the condition holds.
    pub(super) fn evaluate(&self, arrays: &[ArrayRef], rows: usize) -> Result<BooleanBuffer> {
        if let (Some(answers), [array]) = (&self.coded, arrays)
            && let Some(coded) = array.as_dictionary_opt::<UInt32Type>()
            && coded.null_count() == 0
            && !self.conjunct.is_fallible()
            && coded.values().len() <= rows.saturating_mul(VALUES_A_ROW)
        {
            return self.evaluate_coded(&answers.of(coded.values()), coded);
        }
        self.conjunct.evaluate(arrays.iter().map(plain).collect(), rows)
    }

    fn evaluate_coded(&self, table: &Answers, coded: &DictionaryArray<UInt32Type>) -> Result<BooleanBuffer> {
        let keys = coded.keys().values();
        loop {
            let mut complete = true;
            let found = BooleanBuffer::collect_bool(keys.len(), |row| {
                let answer = table.answers[keys[row] as usize].load(Ordering::Relaxed);
                complete &= answer != UNKNOWN;
                answer == YES
            });
            if complete {
                return Ok(found);
            }
            // What another thread finds out meanwhile is found out twice: the same answers.
            for &key in keys {
                if table.answers[key as usize].load(Ordering::Relaxed) == UNKNOWN {
                    let start = key as usize / VALUES_A_BLOCK * VALUES_A_BLOCK;
                    self.ask(table, start..table.answers.len().min(start + VALUES_A_BLOCK))?;
                }
            }
        }
    }

    fn ask(&self, table: &Answers, block: Range<usize>) -> Result<()> {
        let values = table.values.slice(block.start, block.len());
        let holds = self.conjunct.evaluate(vec![values], block.len())?;
        for (answer, holds) in table.answers[block].iter().zip(&holds) {
            answer.store(if holds { YES } else { NO }, Ordering::Relaxed);
        }
        Ok(())
    }
}
