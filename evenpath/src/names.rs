//! Enums whose values have names: methods, operations, layouts.

use thiserror::Error;

/// Error of parsing an unknown name. It lists the known names.
///
/// ```
/// use evenpath::spmv::SpmvMethod;
///
/// let error = "by magic".parse::<SpmvMethod>().unwrap_err();
/// assert!(error.to_string().starts_with("unknown SpMV method `by magic`; known names are auto, "));
/// ```
#[derive(Clone, PartialEq, Eq, Error)]
#[error("unknown {kind} `{name}`; known names are {known}")]
pub struct ParseNameError {
    kind: &'static str,
    name: String,
    known: String,
}

evenpath_simt::debug_as_message!(ParseNameError);

impl ParseNameError {
    pub(crate) fn new(kind: &'static str, name: &str, known: String) -> Self {
        Self { kind, name: name.into(), known }
    }
}

/// Lists the names of some values, separated by commas.
pub(crate) fn list<T: Copy>(
    values: &[T],
    is_wanted: impl Fn(T) -> bool,
    name: fn(T) -> &'static str,
) -> String {
    let wanted: Vec<&str> = values.iter().copied().filter(|&value| is_wanted(value)).map(name).collect();
    wanted.join(", ")
}

/// Names every variant of an enum, for `Display` and `FromStr`, and lists them in `ALL`. Fields of a variant are options,
/// and `None` in both.
macro_rules! named {
    ($type:ident, $kind:literal: $($variant:ident $({ $($field:ident),+ })? = $name:literal),+ $(,)?) => {
        impl $type {
            /// All values, the default first.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant $({ $($field: None),+ })?),+];

            /// Name of the value, used by [`Display`](std::fmt::Display) and [`FromStr`](std::str::FromStr).
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant $({ $($field: _),+ })? => $name),+ }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = crate::names::ParseNameError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                let found = Self::ALL.iter().copied().find(|value| value.name() == text);
                found.ok_or_else(|| {
                    let known = crate::names::list(&Self::ALL, |_| true, Self::name);
                    crate::names::ParseNameError::new($kind, text, known)
                })
            }
        }
    };
}

pub(crate) use named;

#[cfg(test)]
mod tests {
    use std::fmt::{Debug, Display};
    use std::str::FromStr;

    use super::ParseNameError;
    use crate::Layout;
    use crate::hisparse;
    use crate::operator::Operator;
    use crate::sets::{Combine, SetOperation};
    use crate::sort::SortOrder;
    use crate::spadd::Elementwise;
    use crate::spgemm::SpgemmMethod;
    use crate::spmv::{SpmvMethod, SpmvTransposedMethod};

    fn check<T: Copy + PartialEq + Debug + Display + FromStr<Err = ParseNameError>>(all: &[T]) {
        for (index, &value) in all.iter().enumerate() {
            let name = value.to_string();
            assert_eq!(name.parse(), Ok(value));
            assert!(!all[..index].iter().any(|other| other.to_string() == name), "{name} names two");
            assert_eq!(format!("{value:>30}").trim_start(), name);
        }
        let error = "by magic".parse::<T>().expect_err("no such name").to_string();
        assert!(error.contains("by magic"), "{error}");
        for value in all {
            assert!(error.contains(&value.to_string()), "{error}");
        }
    }

    #[test]
    fn every_name_is_read_as_what_has_it() {
        check(&SpmvMethod::ALL);
        check(&SpmvTransposedMethod::ALL);
        check(&SpgemmMethod::ALL);
        check(&hisparse::SpmvMethod::ALL);
        check(&hisparse::SpgemmMethod::ALL);
        check(&hisparse::SpaddMethod::ALL);
        check(&hisparse::ConversionMethod::ALL);
        check(&Elementwise::ALL);
        check(&SetOperation::ALL);
        check(&Combine::ALL);
        check(&Operator::ALL);
        check(&SortOrder::ALL);
        check(&Layout::ALL);
    }
}
