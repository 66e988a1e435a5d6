//! A row of text, and the rows of an answer one by one.

use basalt_base::Result;

/// One row: fields of text, or NULL. It is filled again and again, so that rows cost no allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    bytes: Vec<u8>,
    /// Where each field ends, and whether it is there.
    ends: Vec<(usize, bool)>,
}

/// The rows of an answer.
pub trait Rows: Send {
    /// Fills `row` with the next one; `false` at the end.
    fn next_row(&mut self, row: &mut Row) -> Result<bool>;
}

impl<R: Rows + ?Sized> Rows for Box<R> {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        (**self).next_row(row)
    }
}

impl<R: Rows + ?Sized> Rows for &mut R {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        (**self).next_row(row)
    }
}

impl Row {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Appends a field; `None` is NULL.
    pub fn push(&mut self, field: Option<&[u8]>) {
        self.bytes.extend_from_slice(field.unwrap_or_default());
        self.ends.push((self.bytes.len(), field.is_some()));
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The fields in order.
    pub fn fields(&self) -> impl Iterator<Item = Option<&[u8]>> {
        let mut start = 0;
        self.ends.iter().map(move |&(end, is_there)| {
            let field = &self.bytes[start..end];
            start = end;
            is_there.then_some(field)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn null_is_not_the_empty_text() {
        let mut row = Row::default();
        for field in [Some(&b"a"[..]), None, Some(b""), Some(b"bc")] {
            row.push(field);
        }
        assert_eq!(row.fields().collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b""), Some(b"bc")]);
        row.clear();
        assert!(row.is_empty());
    }
}
