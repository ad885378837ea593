//! Reading from the front of bytes that are not trusted.

#[derive(Debug, Clone, Copy)]
pub struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    #[inline]
    pub fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (front, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(front)
    }

    /// A part that may be null, which a length of -1 says.
    #[inline]
    pub fn part(&mut self, length: i64) -> Option<Option<&'a [u8]>> {
        match usize::try_from(length) {
            Ok(length) => self.take(length).map(Some),
            Err(_) => (length == -1).then_some(None),
        }
    }
}
