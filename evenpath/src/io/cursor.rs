//! A cursor over the text, and the tokens that it parses.

use std::borrow::Cow;

use super::MatrixMarketErrorKind as Kind;
use super::error::quote;
use crate::Value;

/// A position in part of the text. A token never extends past the end of its line.
#[derive(Debug, Clone)]
pub(super) struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
}

/// U+FEFF in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// White space within a line. Includes carriage returns, so that both kinds of line ends work.
fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self { text, at: 0 }
    }

    /// Bytes before the cursor.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// The line of the cursor, counted from 1.
    pub(super) fn line(&self) -> usize {
        line_at(self.text, self.at)
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(is_blank) {
            self.at += 1;
        }
    }

    /// Skips the byte order mark with which some editors begin a file.
    pub(super) fn skip_byte_order_mark(&mut self) {
        if self.text[self.at..].starts_with(BYTE_ORDER_MARK) {
            self.at += BYTE_ORDER_MARK.len();
        }
    }

    /// Moves to the start of the next line, or to the end of the text.
    pub(super) fn skip_line(&mut self) {
        let rest = &self.text[self.at..];
        self.at += memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
    }

    /// From the start of a line, moves to the first token of the next line that is neither blank nor a
    /// comment. Returns false at the end of the text.
    #[inline]
    pub(super) fn skip_to_entry(&mut self) -> bool {
        self.skip_to_line(|line| line[0] == b'%')
    }

    /// Like [`skip_to_entry`](Self::skip_to_entry), for other comments. `is_comment` gets the text from the first token of a line, at
    /// least a byte.
    #[inline]
    pub(super) fn skip_to_line(&mut self, is_comment: impl Fn(&[u8]) -> bool) -> bool {
        loop {
            self.skip_blanks();
            match self.peek() {
                Some(b'\n') => self.at += 1,
                Some(_) if is_comment(&self.text[self.at..]) => self.skip_line(),
                Some(_) => return true,
                None => return false,
            }
        }
    }

    /// Returns whether any line from here on is neither blank nor a comment.
    pub(super) fn at_entry(mut self) -> bool {
        self.skip_blanks();
        !matches!(self.peek(), None | Some(b'\n' | b'%'))
    }

    /// Skips blanks and returns the bytes up to the next blank or line end; empty at the end of the
    /// line.
    pub(super) fn word(&mut self) -> &'a [u8] {
        self.skip_blanks();
        let rest = &self.text[self.at..];
        let len = rest.iter().position(|&byte| is_blank(byte) || byte == b'\n').unwrap_or(rest.len());
        self.at += len;
        &rest[..len]
    }

    /// An error for the token at `start`.
    #[cold]
    fn unexpected(&mut self, start: usize, expected: &'static str) -> Kind {
        self.at = start;
        Kind::Expected { expected, found: quote(self.clone().word()) }
    }

    /// Returns whether a token may end before the byte at `position`.
    #[inline]
    fn is_token_end(&self, position: usize) -> bool {
        self.text.get(position).is_none_or(|&byte| is_blank(byte) || byte == b'\n')
    }

    /// Parses an unsigned number; saturates beyond 64 bits.
    #[inline]
    fn unsigned(&mut self, expected: &'static str) -> Result<u64, Kind> {
        self.skip_blanks();
        let start = self.at;
        let mut value = 0u64;
        while let Some(digit) = self.peek().map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10) {
            value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        if self.at == start || !self.is_token_end(self.at) {
            return Err(self.unexpected(start, expected));
        }
        // 19 digits always fit.
        if self.at - start > 19 { Ok(saturated(&self.text[start..self.at])) } else { Ok(value) }
    }

    /// Parses the number of a vertex, of at most 64 bits.
    #[inline]
    pub(super) fn vertex(&mut self) -> Result<u64, Kind> {
        self.skip_blanks();
        let start = self.at;
        match self.unsigned("a vertex")? {
            u64::MAX => {
                let found = quote(&self.text[start..self.at]);
                Err(Kind::ValueOverflow { found, value: "the number of a vertex" })
            }
            vertex => Ok(vertex),
        }
    }

    /// Parses a number of the size line.
    pub(super) fn size(&mut self, expected: &'static str) -> Result<usize, Kind> {
        let start = {
            self.skip_blanks();
            self.at
        };
        let size = self.unsigned(expected)?;
        match usize::try_from(size) {
            Ok(size) if size < usize::MAX => Ok(size),
            _ => Err(Kind::ValueOverflow { found: quote(&self.text[start..self.at]), value: "a size" }),
        }
    }

    /// Parses a row or column, which counts from 1 in the text and from 0 in the result. `bound` is at
    /// most 2³² - 1.
    #[inline]
    pub(super) fn index(
        &mut self,
        what: &'static str,
        expected: &'static str,
        bound: usize,
    ) -> Result<u32, Kind> {
        let index = self.unsigned(expected)?;
        if index.wrapping_sub(1) >= bound as u64 {
            return Err(self.out_of_range(what, bound));
        }
        Ok((index - 1) as u32)
    }

    /// The error for the index that ends here.
    #[cold]
    fn out_of_range(&self, what: &'static str, bound: usize) -> Kind {
        let digits = |byte: &u8| byte.is_ascii_digit();
        let start = self.text[..self.at].iter().rposition(|byte| !digits(byte)).map_or(0, |at| at + 1);
        let found = self.text[start..self.at].escape_ascii().to_string();
        Kind::IndexOutOfRange { what, found, bound }
    }

    /// Parses a decimal number.
    #[inline]
    pub(super) fn real<V: Value>(&mut self) -> Result<V, Kind> {
        self.skip_blanks();
        let start = self.at;
        match V::parse_prefix(&self.text[start..]) {
            Some((value, len)) if value.is_finite() && self.is_token_end(start + len) => {
                self.at += len;
                Ok(value)
            }
            _ => self.real_unusual(),
        }
    }

    /// Parses an infinity, NaN or a number with a Fortran exponent, or returns the error for an invalid number.
    #[cold]
    fn real_unusual<V: Value>(&mut self) -> Result<V, Kind> {
        let start = self.at;
        let word = self.word();
        match V::parse_prefix(&with_e(word)) {
            Some((value, len)) if len == word.len() => {
                // Accepts `inf` and `nan`, but not digits that overflow to infinity.
                if value.is_finite() || !word.iter().any(u8::is_ascii_digit) {
                    return Ok(value);
                }
                Err(Kind::ValueOverflow { found: quote(word), value: V::NAME })
            }
            _ => Err(self.unexpected(start, "a number")),
        }
    }

    /// Parses an integer of at most 64 bits, signed or unsigned.
    #[inline]
    pub(super) fn integer<V: Value>(&mut self) -> Result<V, Kind> {
        const EXPECTED: &str = "an integer";
        self.skip_blanks();
        let start = self.at;
        let negative = self.peek() == Some(b'-');
        self.at += usize::from(negative || self.peek() == Some(b'+'));
        if !self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            return Err(self.unexpected(start, EXPECTED));
        }
        let digits = self.at;
        let magnitude = self.unsigned(EXPECTED).map_err(|_| self.unexpected(start, EXPECTED))?;
        let exact = magnitude < u64::MAX || &self.text[digits..self.at] == b"18446744073709551615";
        if !exact || (negative && magnitude > i64::MIN.unsigned_abs()) {
            let found = quote(&self.text[start..self.at]);
            return Err(Kind::ValueOverflow { found, value: "a 64-bit integer" });
        }
        let value = V::from_u64(magnitude);
        Ok(if negative && magnitude > 0 { -value } else { value })
    }

    /// Parses the imaginary part of a number and discards it.
    #[inline]
    pub(super) fn imaginary(&mut self) -> Result<(), Kind> {
        match self.real::<f64>() {
            Ok(_) | Err(Kind::ValueOverflow { .. }) => Ok(()),
            Err(kind) => Err(kind),
        }
    }

    /// Checks that only blanks remain on the line.
    #[inline]
    pub(super) fn end_of_line(&mut self) -> Result<(), Kind> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'\n') => Ok(()),
            Some(_) => Err(self.trailing()),
        }
    }

    /// The error for a token where the line should end.
    #[cold]
    fn trailing(&mut self) -> Kind {
        let before = &self.text[..self.at];
        let blanks = before.iter().rev().take_while(|&&byte| is_blank(byte));
        if blanks.copied().any(|byte| byte == b'\r') {
            return Kind::CarriageReturn;
        }
        self.unexpected(self.at, "the end of the line")
    }
}

impl Cursor<'_> {
    /// Moves past the line end that [`end_of_line`](Self::end_of_line) found.
    #[inline]
    pub(super) fn skip_line_end(&mut self) {
        self.at += usize::from(self.at < self.text.len());
    }
}

/// The line of the byte at `position`, counted from 1.
pub(super) fn line_at(text: &[u8], position: usize) -> usize {
    1 + memchr::memchr_iter(b'\n', &text[..position]).count()
}

/// A number with `e` before its exponent, where Fortran has `d` for double precision.
fn with_e(word: &[u8]) -> Cow<'_, [u8]> {
    let exponent = word.iter().position(|byte| matches!(byte, b'd' | b'D'));
    match exponent {
        Some(at) if word[..at].iter().any(u8::is_ascii_digit) => {
            let mut number = word.to_vec();
            number[at] = b'e';
            Cow::Owned(number)
        }
        _ => Cow::Borrowed(word),
    }
}

/// The value of digits, saturated to `u64::MAX`.
#[cold]
fn saturated(digits: &[u8]) -> u64 {
    digits.iter().fold(0u64, |value, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}
