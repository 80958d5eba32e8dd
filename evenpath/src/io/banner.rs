//! The words of the banner.

use std::fmt;

macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name { $($(#[$variant_doc])* $variant),+ }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(match self { $(Self::$variant => $word),+ })
            }
        }

        impl $name {
            pub(super) const ALL: &'static [(&'static str, Self)] = &[$(($word, Self::$variant)),+];
        }
    };
}

words! {
    /// Listing of entries.
    Format {
        /// Row, column and value of some entries, in any order.
        Coordinate = "coordinate",
        /// The value of every entry, column by column.
        Array = "array",
    }
}

words! {
    /// The type of the values.
    Field {
        /// A decimal number.
        Real = "real",
        /// An integer.
        Integer = "integer",
        /// Positions only; values are read as 1.
        Pattern = "pattern",
        /// Real and imaginary part.
        Complex = "complex",
    }
}

words! {
    /// Symmetry: entries that are implied by others and not stored.
    Symmetry {
        /// No implied entries.
        General = "general",
        /// `a[j][i] = a[i][j]`.
        Symmetric = "symmetric",
        /// `a[j][i] = -a[i][j]`; the diagonal is 0.
        SkewSymmetric = "skew-symmetric",
        /// `a[j][i]` is the complex conjugate of `a[i][j]`.
        Hermitian = "hermitian",
    }
}
