//! A condition on one string column that a part keeps with a dictionary: evaluated once per value, not once per row.
//!
//! All arrays of a part and column share one array of values. Its answers are found block by block of the dictionary,
//! when a row first needs one of its values, and shared by the threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use arrow::array::{Array, ArrayRef, DictionaryArray};
use arrow::buffer::BooleanBuffer;
use arrow::datatypes::UInt32Type;
use basalt_base::Result;
use parking_lot::Mutex;

use crate::scan::conjunct::Conjunct;
use crate::scan::numbering::same;

/// Values that are evaluated together.
const VALUES_A_BLOCK: usize = 2048;
/// With more values in the dictionary than this for each row, the rows are evaluated instead.
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
    /// The rows of `coded` that meet `conjunct`; `None` if its dictionary has too many values for so few rows.
    pub(super) fn evaluate(
        &self,
        conjunct: &Conjunct,
        coded: &DictionaryArray<UInt32Type>,
    ) -> Result<Option<BooleanBuffer>> {
        if coded.values().len() > coded.len().saturating_mul(VALUES_A_ROW) {
            return Ok(None);
        }
        let table = self.of(coded.values());
        let keys = coded.keys().values();
        loop {
            let mut complete = true;
            let found = BooleanBuffer::collect_bool(keys.len(), |row| {
                let answer = table.answers[keys[row] as usize].load(Ordering::Relaxed);
                complete &= answer != UNKNOWN;
                answer == YES
            });
            if complete {
                return Ok(Some(found));
            }
            // Two threads may evaluate the same block: they get the same answers.
            for &key in keys {
                if table.answers[key as usize].load(Ordering::Relaxed) == UNKNOWN {
                    let start = key as usize / VALUES_A_BLOCK * VALUES_A_BLOCK;
                    table.fill(conjunct, start..table.answers.len().min(start + VALUES_A_BLOCK))?;
                }
            }
        }
    }

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

impl Answers {
    fn fill(&self, conjunct: &Conjunct, block: Range<usize>) -> Result<()> {
        let values = self.values.slice(block.start, block.len());
        let holds = conjunct.evaluate(vec![values], block.len())?;
        for (answer, holds) in self.answers[block].iter().zip(&holds) {
            answer.store(if holds { YES } else { NO }, Ordering::Relaxed);
        }
        Ok(())
    }
}
