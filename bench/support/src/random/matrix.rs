//! A matrix by its name.

use std::fmt;
use std::str::FromStr;

use evenpath::error::MatrixError;
use evenpath::{Csr, Offset, Value};
use thiserror::Error;

use super::lengths;
use super::pattern::Pattern;
use super::stream::Seeds;
use super::structure::Structure;

/// The word before the first colon of a name.
const NAME: &str = "random";
/// The limit of nonzeros without another one.
const MOST_NONZEROS: usize = 20_000_000;
/// The smallest limit. A lower one would leave no range of sizes to draw from.
const SMALLEST_LIMIT: usize = 20_000;

/// A matrix of random structure: `random:SEED:NUMBER`, or `random:SEED:NUMBER:LIMIT` for at most LIMIT nonzeros instead
/// of 20 million. The numbers of a seed are independent matrices; the limit scales their sizes.
///
/// ```
/// use evenpath_bench_support::random::RandomMatrix;
///
/// let matrix: RandomMatrix = "random:7:3:100000".parse()?;
/// println!("{}", matrix.structure());
/// let a: evenpath::Csr<f64> = matrix.generate()?;
/// assert!(a.nnz() <= 100_000 && a.is_canonical());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomMatrix {
    seed: u64,
    number: u64,
    most_nonzeros: usize,
}

/// A string that is not the name of a matrix of random structure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseRandomError {
    /// It does not have the form.
    #[error("`{0}` is not random:SEED:NUMBER or random:SEED:NUMBER:LIMIT, with whole numbers")]
    Form(String),
    /// The limit is too small.
    #[error("a limit of {0} nonzeros is too small: the smallest is {SMALLEST_LIMIT}")]
    Limit(usize),
}

impl RandomMatrix {
    /// Number `number` of the matrices of a seed, with at most 20 million nonzeros.
    pub fn new(seed: u64, number: u64) -> Self {
        Self { seed, number, most_nonzeros: MOST_NONZEROS }
    }

    /// Limits the nonzeros.
    ///
    /// # Errors
    ///
    /// If the limit is below 20000, which leaves no range of sizes to draw from.
    pub fn with_limit(self, most_nonzeros: usize) -> Result<Self, ParseRandomError> {
        if most_nonzeros < SMALLEST_LIMIT {
            return Err(ParseRandomError::Limit(most_nonzeros));
        }
        Ok(Self { most_nonzeros, ..self })
    }

    /// Returns whether a name is that of a matrix of random structure, or is meant to be one.
    pub fn is_name(text: &str) -> bool {
        text.split(':').next() == Some(NAME)
    }

    /// The parameters that are drawn for it.
    pub fn structure(&self) -> Structure {
        let Self { seed, number, most_nonzeros } = *self;
        Structure::draw(Seeds { seed, number }, most_nonzeros)
    }

    /// Generates the matrix. Rows are canonical, and values are uniform in [-1, 1).
    ///
    /// # Errors
    ///
    /// If it would have more rows or columns than a matrix can have, or `O` cannot count its nonzeros.
    pub fn generate<V: Value, O: Offset>(&self) -> Result<Csr<V, O>, MatrixError> {
        let structure = self.structure();
        let Self { seed, number, most_nonzeros } = *self;
        let seeds = Seeds { seed, number };
        let lengths = lengths::lengths(&structure, seeds, most_nonzeros);
        Pattern::new(&structure, seeds, &lengths).expanded(structure.block).into_matrix(seeds)
    }
}

impl fmt::Display for RandomMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, number, most_nonzeros } = self;
        write!(f, "{NAME}:{seed}:{number}")?;
        if *most_nonzeros == MOST_NONZEROS { Ok(()) } else { write!(f, ":{most_nonzeros}") }
    }
}

impl FromStr for RandomMatrix {
    type Err = ParseRandomError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseRandomError::Form(text.into());
        let numbers = text.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':')).ok_or_else(wrong)?;
        let numbers: Result<Vec<u64>, _> = numbers.split(':').map(str::parse).collect();
        match numbers.as_deref() {
            Ok(&[seed, number]) => Ok(Self::new(seed, number)),
            Ok(&[seed, number, limit]) => Self::new(seed, number).with_limit(limit as usize),
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(number: u64) -> RandomMatrix {
        RandomMatrix::new(1, number).with_limit(60_000).unwrap()
    }

    #[test]
    fn names_round_trip() {
        for name in ["random:1:2", "random:0:18446744073709551615", "random:1:2:20000"] {
            assert_eq!(name.parse::<RandomMatrix>().unwrap().to_string(), name);
        }
        for name in ["random", "random:", "random:1", "random:1:x", "random:1:2:3:4", "rmat:3"] {
            assert_eq!(name.parse::<RandomMatrix>(), Err(ParseRandomError::Form(name.into())));
        }
        assert_eq!("random:1:2:19999".parse::<RandomMatrix>(), Err(ParseRandomError::Limit(19_999)));
    }

    #[test]
    fn matrices_are_canonical_of_their_shape_and_within_the_limit() {
        for number in 0..60 {
            let matrix = small(number);
            let a: Csr<f32> = matrix.generate().unwrap();
            let structure = matrix.structure();
            assert_eq!(a.shape(), structure.shape(), "{matrix}: {structure}");
            a.check_canonical().unwrap();
            assert!((1..=60_000).contains(&a.nnz()), "{matrix}: {} nonzeros, {structure}", a.nnz());
            if structure.symmetric {
                let t = a.transpose().unwrap();
                assert_eq!((a.row_offsets(), a.column_indices()), (t.row_offsets(), t.column_indices()));
            }
        }
    }

    #[test]
    fn threads_and_types_do_not_change_a_matrix() {
        for number in 0..8 {
            let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let alone: Csr<f64> = pool(1).install(|| small(number).generate()).unwrap();
            assert_eq!(alone, pool(3).install(|| small(number).generate()).unwrap());
            let single: Csr<f32, u64> = small(number).generate().unwrap();
            assert_eq!(alone.column_indices(), single.column_indices());
            assert_ne!(alone.nnz(), small(number + 100).generate::<f64, u32>().unwrap().nnz());
        }
    }

    /// A change of streams or laws changes every matrix. This test makes sure that it is deliberate, and fails on a
    /// machine whose arithmetic differs.
    #[test]
    fn matrices_are_the_same_on_every_machine() {
        let hash = |number| {
            let a: Csr<f64> = small(number).generate().unwrap();
            let offsets = a.row_offsets().iter().map(|&offset| u64::from(offset));
            let columns = a.column_indices().iter().map(|&column| u64::from(column));
            let words = offsets.chain(columns).chain(a.values().iter().map(|value| value.to_bits()));
            // FNV-1a, by words.
            words.fold(0xcbf2_9ce4_8422_2325, |hash: u64, word| (hash ^ word).wrapping_mul(0x0100_0000_01b3))
        };
        assert_eq!((0..6).map(hash).collect::<Vec<_>>(), HASHES);
    }

    const HASHES: [u64; 6] = [
        0x7def_a553_2e54_d23f,
        0x43e0_5331_1ebe_ee9d,
        0x45e6_5f78_d01d_4daa,
        0xc023_481b_26eb_47ba,
        0x3c47_6720_b93a_27bf,
        0xca40_381f_3666_6f4a,
    ];

    #[test]
    fn structures_of_a_seed_cover_every_law() {
        let texts: Vec<String> =
            (0..300).map(|number| RandomMatrix::new(2, number).structure().to_string()).collect();
        let words = [
            "lengths=constant",
            "lengths=uniform",
            "lengths=geometric",
            "lengths=power-law",
            "lengths=bimodal",
            "drift=none",
            "drift=linear",
            "drift=step",
            "drift=periodic",
            "columns=uniform",
            "columns=band",
            "columns=clusters",
            "columns=hot",
            "columns=runs",
            "symmetric=true",
            "symmetric=false",
            "permutation=none",
            "permutation=rows",
            "permutation=both",
            "permutation=reversed",
            "empty-rows=0",
            "empty-columns=0",
            "block=1 ",
            "block=3 ",
            "block=8 ",
        ];
        for word in words {
            assert!(texts.iter().any(|text| text.contains(word)), "{word}");
        }
        let shape = |number| RandomMatrix::new(2, number).structure().shape();
        assert!((0..300).map(shape).any(|(rows, cols)| rows > 10 * cols));
        assert!((0..300).map(shape).any(|(rows, cols)| cols > 10 * rows));
    }
}
