//! Formatting of errors for people, also if a program returns one from `main`.

use std::error::Error;
use std::fmt;

/// Writes an error's message, and after colons those of its causes. Omits a cause whose message is part of
/// the previous one, as when an error forwards to another.
///
/// # Errors
///
/// If the formatter fails.
pub fn write_with_causes(error: &dyn Error, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut message = error.to_string();
    f.write_str(&message)?;
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !message.contains(&next) {
            write!(f, ": {next}")?;
            message = next;
        }
        cause = error.source();
    }
    Ok(())
}

/// Implements `Debug` for errors by their messages and those of their causes: a program whose `main` returns one prints its `Debug`.
///
/// ```
/// #[derive(Clone)]
/// pub struct Refused(u32);
///
/// impl std::fmt::Display for Refused {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
///         write!(f, "{} was refused", self.0)
///     }
/// }
/// impl std::error::Error for Refused {}
/// evenpath_simt::debug_as_message!(Refused);
///
/// assert_eq!(format!("{:?}", Refused(7)), "7 was refused");
/// ```
#[macro_export]
macro_rules! debug_as_message {
    ($($error:ident $(<$($parameter:ident $(: $bound:path)?),+>)?),+ $(,)?) => {$(
        impl $(<$($parameter $(: $bound)?),+>)? ::std::fmt::Debug for $error $(<$($parameter),+>)? {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                $crate::host::write_with_causes(self, f)
            }
        }
    )+};
}
