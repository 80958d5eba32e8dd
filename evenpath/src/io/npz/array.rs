//! Arrays in NumPy's format, NPY.

use crate::Value;

/// The first bytes of every array.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Header and elements of an array.
pub(super) struct Array<'a> {
    /// Type of the elements, such as `<f8`.
    pub(super) descr: &'a str,
    pub(super) bytes: &'a [u8],
}

impl<'a> Array<'a> {
    /// Parses an array of at most one dimension. The error is a reason.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, String> {
        let cut = || "the file ends in its header".to_string();
        let rest = bytes.strip_prefix(MAGIC).ok_or("it is not in the format NPY")?;
        let (header_len, rest) = match rest {
            [1, _, low, high, rest @ ..] => (usize::from(u16::from_le_bytes([*low, *high])), rest),
            [2 | 3, _, a, b, c, d, rest @ ..] => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, rest),
            [version, ..] if *version > 3 => return Err(format!("version {version} of NPY is unknown")),
            _ => return Err(cut()),
        };
        let (header, bytes) = rest.split_at_checked(header_len).ok_or_else(cut)?;
        let header = std::str::from_utf8(header).map_err(|_| "its header is not UTF-8")?;
        let descr = value_of(header, "descr")
            .and_then(|value| value.strip_prefix('\'')?.split_once('\''))
            .ok_or("its elements have no type, or several")?
            .0;
        let len = shape(header).ok_or("its shape is not that of an array of one dimension")?;
        let size: usize = descr.trim_start_matches(|c: char| !c.is_ascii_digit()).parse().unwrap_or(0);
        // Text has four bytes per character.
        let size = if descr.contains('U') { size.saturating_mul(4) } else { size };
        let needed = len.saturating_mul(size);
        if bytes.len() != needed {
            return Err(format!(
                "{len} elements of type {descr} have {needed} bytes, but there are {}",
                bytes.len()
            ));
        }
        Ok(Self { descr, bytes })
    }

    /// Elements as values. Those of `f64` are rounded to `V`.
    pub(super) fn values<V: Value>(&self) -> Result<Vec<V>, String> {
        let double = |bytes: &[u8; 8]| V::from_f64(f64::from_le_bytes(*bytes));
        let single = |bytes: &[u8; 4]| V::from_f64(f64::from(f32::from_le_bytes(*bytes)));
        match self.descr {
            "<f8" => Ok(self.bytes.as_chunks().0.iter().map(double).collect()),
            "<f4" => Ok(self.bytes.as_chunks().0.iter().map(single).collect()),
            other => Err(format!("values of type {other} are not supported: `<f4` and `<f8` are")),
        }
    }

    /// Elements as integers that are not negative.
    pub(super) fn indices(&self) -> Result<Vec<u64>, String> {
        let index = |index: i64| u64::try_from(index).map_err(|_| format!("{index} is not an index"));
        let long = |bytes: &[u8; 8]| index(i64::from_le_bytes(*bytes));
        let short = |bytes: &[u8; 4]| index(i64::from(i32::from_le_bytes(*bytes)));
        match self.descr {
            "<i8" => self.bytes.as_chunks().0.iter().map(long).collect(),
            "<i4" => self.bytes.as_chunks().0.iter().map(short).collect(),
            other => Err(format!("indices of type {other} are not supported: `<i4` and `<i8` are")),
        }
    }

    /// The element as ASCII text: bytes, or characters of four bytes as Python 2 writes them.
    pub(super) fn text(&self) -> String {
        self.bytes.iter().filter(|&&byte| byte != 0).map(|&byte| char::from(byte)).collect()
    }
}

/// The text after a key of the header, which is a dictionary of Python.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = header.split_once(&format!("'{key}':"))?;
    Some(rest.trim_start())
}

/// Number of elements, for a shape of no or one dimension.
fn shape(header: &str) -> Option<usize> {
    let (shape, _) = value_of(header, "shape")?.strip_prefix('(')?.split_once(')')?;
    match shape.trim().trim_end_matches(',') {
        "" => Some(1),
        // Python 2 writes long integers with an L.
        len => len.trim().trim_end_matches('L').parse().ok(),
    }
}

/// The bytes of an array of the given type, with a shape such as `(3,)`, whose elements follow.
pub(super) fn header(descr: &str, shape: &str) -> Vec<u8> {
    let mut dictionary = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    // Elements begin at a multiple of 64 bytes, after a line end.
    let prefix = MAGIC.len() + 4;
    let padding = (prefix + dictionary.len() + 1).next_multiple_of(64) - prefix - dictionary.len() - 1;
    dictionary.extend(std::iter::repeat_n(' ', padding));
    dictionary.push('\n');
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&[1, 0]);
    bytes.extend_from_slice(&(dictionary.len() as u16).to_le_bytes());
    bytes.extend_from_slice(dictionary.as_bytes());
    bytes
}
