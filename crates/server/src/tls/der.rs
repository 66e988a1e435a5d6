//! Reads the elements of DER, the encoding of certificates.
//!
//! An element is a tag, a length and contents, which may be elements again. Nothing here recurses.

#![warn(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

/// The longest length field: contents of 4 GiB.
const LENGTH_BYTES_MAX: usize = 4;

/// The elements in a piece of DER. Ends at the first that is malformed.
pub(super) struct Elements<'a>(pub(super) &'a [u8]);

/// One element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element<'a> {
    pub(super) tag: u8,
    pub(super) contents: &'a [u8],
}

impl<'a> Element<'a> {
    pub(super) fn elements(self) -> Elements<'a> {
        Elements(self.contents)
    }
}

impl<'a> Elements<'a> {
    /// The next element, if it has this tag; any other stays.
    pub(super) fn tagged(&mut self, tag: u8) -> Option<Element<'a>> {
        let before = self.0;
        let found = self.next().filter(|element| element.tag == tag);
        if found.is_none() {
            self.0 = before;
        }
        found
    }

    fn length(&mut self) -> Option<usize> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        if *first < 0x80 {
            return Some(usize::from(*first));
        }
        let count = usize::from(first & 0x7f);
        if count == 0 || count > LENGTH_BYTES_MAX {
            return None;
        }
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Element<'a>;

    fn next(&mut self) -> Option<Element<'a>> {
        let (tag, rest) = self.0.split_first()?;
        self.0 = rest;
        let length = self.length()?;
        let (contents, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(Element { tag: *tag, contents })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_follow_each_other_and_a_malformed_one_is_the_end() {
        let long = [&[4, 0x81, 200][..], &[7; 200]].concat();
        let bytes = [&[2, 1, 5][..], &long, &[0x30, 0]].concat();
        let found: Vec<_> = Elements(&bytes).collect();
        let expected = [(2, &[5][..]), (4, &[7; 200]), (0x30, &[])];
        assert_eq!(found, expected.map(|(tag, contents)| Element { tag, contents }));
        for end in 0..bytes.len() {
            assert!(Elements(&bytes[..end]).count() < 3);
        }
        for wrong in
            [&[2, 0x80][..], &[2, 0x85, 0, 0, 0, 0, 1, 5], &[2, 0x84, 255, 255, 255, 255], &[2, 2, 5]]
        {
            assert_eq!(Elements(wrong).next(), None, "{wrong:?}");
        }
    }

    #[test]
    fn an_element_with_another_tag_stays() {
        let mut elements = Elements(&[2, 1, 5, 4, 0]);
        assert_eq!(elements.tagged(4), None);
        assert_eq!(elements.tagged(2), Some(Element { tag: 2, contents: &[5] }));
        assert!(elements.tagged(4).is_some() && elements.next().is_none());
    }
}
