//! Required memory, added up before it is allocated.

/// A number of bytes of device memory. Sums saturate: a requirement that exceeds every device still does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Requirement(u64);

impl Requirement {
    pub(crate) const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Requirement of `len` elements of a type.
    pub(crate) fn of<T>(len: u64) -> Self {
        Self::each(len, size_of::<T>())
    }

    /// Requirement of `len` elements of `bytes` bytes each.
    pub(crate) fn each(len: u64, bytes: usize) -> Self {
        Self(len.saturating_mul(bytes as u64))
    }

    /// Requirement of all parts at the same time.
    pub(crate) fn all_of<const N: usize>(parts: [Self; N]) -> Self {
        Self(parts.into_iter().fold(0, |sum, part| sum.saturating_add(part.0)))
    }

    /// Requirement of one part at a time.
    pub(crate) fn any_of<const N: usize>(parts: [Self; N]) -> Self {
        parts.into_iter().max().unwrap_or(Self(0))
    }

    pub(crate) fn bytes(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_add_up() {
        let (keys, values) = (Requirement::of::<u32>(10), Requirement::each(10, 8));
        assert_eq!((keys.bytes(), values.bytes()), (40, 80));
        assert_eq!(Requirement::all_of([keys, values]).bytes(), 120);
        assert_eq!(Requirement::any_of([keys, values]), values);
        let beyond = Requirement::of::<u64>(u64::MAX / 2);
        assert_eq!(Requirement::all_of([beyond, keys]).bytes(), u64::MAX);
    }
}
