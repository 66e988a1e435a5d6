//! The columns that a scan touches, each in a slot.

use basalt_base::{Error, ErrorCode, Result};
use basalt_parts::PartSpec;

use crate::scan::VirtualColumn;
use crate::scan::source::ScanRequest;

/// Gives every touched column a slot.
pub(super) struct Slots<'a> {
    pub(super) slots: Vec<Slot>,
    /// By stored column.
    pub(super) slot_of: Vec<Option<usize>>,
    request: &'a ScanRequest,
    spec: &'a PartSpec,
}

impl<'a> Slots<'a> {
    pub(super) fn new(request: &'a ScanRequest, spec: &'a PartSpec) -> Slots<'a> {
        Slots { slots: Vec::new(), slot_of: vec![None; request.stored.len()], request, spec }
    }

    pub(super) fn of_all(&mut self, columns: &[usize]) -> Result<Vec<usize>> {
        columns.iter().map(|&column| self.of(column)).collect()
    }

    fn of(&mut self, column: usize) -> Result<usize> {
        if let Some(slot) = self.slot_of[column] {
            return Ok(slot);
        }
        self.slots.push(slot_of(self.request, self.spec, column)?);
        let slot = self.slots.len() - 1;
        self.slot_of[column] = Some(slot);
        Ok(slot)
    }
}

/// A column that is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    /// At this position in the parts.
    Stored(usize),
    Virtual(VirtualColumn),
}

impl Slot {
    pub(super) fn stored(self) -> Option<usize> {
        match self {
            Slot::Stored(position) => Some(position),
            Slot::Virtual(_) => None,
        }
    }

    pub(super) fn is_of_snapshot(self) -> bool {
        matches!(self, Slot::Virtual(column) if column.is_of_snapshot())
    }
}

/// The column at `at` of the query's plan.
pub(super) fn slot_of(request: &ScanRequest, spec: &PartSpec, at: usize) -> Result<Slot> {
    let name = &request.stored[at].name;
    match VirtualColumn::find(name).filter(|_| at >= request.virtual_from) {
        Some(column) => Ok(Slot::Virtual(column)),
        None => place(request, spec, at).map(Slot::Stored),
    }
}

/// The position in the parts of the column at `at` of the query's plan.
pub(super) fn place(request: &ScanRequest, spec: &PartSpec, at: usize) -> Result<usize> {
    let name = &request.stored[at].name;
    spec.columns.position(name).ok_or_else(|| {
        let what = format!("column `{name}` was dropped while the query began; run it again");
        Error::new(ErrorCode::UnknownIdentifier, what)
    })
}
