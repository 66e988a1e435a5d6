//! A row of text, and an iterator of rows.

use basalt_base::Result;

/// A row: fields of text, or NULL. It is refilled for each row, to avoid allocations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    bytes: Vec<u8>,
    /// The end of each field, and whether it is not NULL.
    ends: Vec<(usize, bool)>,
}

/// The rows of a result.
pub trait RowStream: Send {
    /// Fills `row` with the next row; `false` at the end.
    fn next_row(&mut self, row: &mut Row) -> Result<bool>;
}

impl<R: RowStream + ?Sized> RowStream for Box<R> {
    fn next_row(&mut self, row: &mut Row) -> Result<bool> {
        (**self).next_row(row)
    }
}

impl<R: RowStream + ?Sized> RowStream for &mut R {
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
