//! A matrix by its name.

use std::fmt;
use std::str::FromStr;

use evenpath::error::MatrixError;
use evenpath::{Csr, Offset, Value};
use thiserror::Error;

use super::lengths;
use super::pattern::Pattern;
use super::stream::Seeds;
use super::structure::{FEWEST_NONZEROS, LIMIT_FRACTION, Structure};

/// The word before the first colon of a name.
const NAME: &str = "random";
/// The limit of nonzeros without another one.
const MOST_NONZEROS: usize = 20_000_000;
/// The smallest limit. A lower one would leave no range of sizes to draw from.
const SMALLEST_LIMIT: usize = 20_000;

/// A matrix of random structure: `random:SEED:NUMBER`, or `random:SEED:NUMBER:LIMIT` for at most LIMIT nonzeros instead
/// of 20 million, or `random:SEED:NUMBER:LEAST..MOST`. The numbers of a seed are independent matrices.
///
/// The nonzeros that a matrix is drawn for are uniform in their logarithm: from LEAST, or 10000, to four fifths of the limit.
/// Repeated columns and empty stretches leave fewer, so some matrices have less than LEAST.
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
    least_nonzeros: Option<usize>,
}

/// A string that is not the name of a matrix of random structure.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ParseRandomError {
    /// It does not have the form.
    #[error(
        "`{0}` is not random:SEED:NUMBER, random:SEED:NUMBER:LIMIT or random:SEED:NUMBER:LEAST..MOST, with whole numbers"
    )]
    Form(String),
    /// The limit is too small.
    #[error("a limit of {0} nonzeros is too small: the smallest is {SMALLEST_LIMIT}")]
    Limit(usize),
    /// The floor leaves no range of sizes to draw from.
    #[error("a floor of {least} nonzeros is invalid for a limit of {most}: it must be 1 to {largest}")]
    Floor {
        /// The floor.
        least: usize,
        /// The limit.
        most: usize,
        /// The largest floor for the limit.
        largest: usize,
    },
}

impl RandomMatrix {
    /// Number `number` of the matrices of a seed, with at most 20 million nonzeros.
    pub fn new(seed: u64, number: u64) -> Self {
        Self { seed, number, most_nonzeros: MOST_NONZEROS, least_nonzeros: None }
    }

    /// Limits the nonzeros. A floor is set after the limit.
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

    /// Sets the fewest nonzeros that the matrix is drawn for. Without a floor they are 10000.
    ///
    /// # Errors
    ///
    /// If the floor is 0, or above four fifths of the limit.
    pub fn with_floor(self, least: usize) -> Result<Self, ParseRandomError> {
        let most = self.most_nonzeros;
        let largest = (LIMIT_FRACTION * most as f64) as usize;
        if !(1..=largest).contains(&least) {
            return Err(ParseRandomError::Floor { least, most, largest });
        }
        Ok(Self { least_nonzeros: Some(least), ..self })
    }

    /// Returns whether a name is that of a matrix of random structure, or is meant to be one.
    pub fn is_name(text: &str) -> bool {
        text.split(':').next() == Some(NAME)
    }

    /// The parameters that are drawn for it.
    pub fn structure(&self) -> Structure {
        let Self { seed, number, most_nonzeros, least_nonzeros } = *self;
        let least = least_nonzeros.map_or(FEWEST_NONZEROS, |least| least as f64);
        Structure::draw(Seeds { seed, number }, least, most_nonzeros)
    }

    /// Generates the matrix. Rows are canonical, and values are uniform in [-1, 1).
    ///
    /// # Errors
    ///
    /// If it would have more rows or columns than a matrix can have, or `O` cannot count its nonzeros.
    pub fn generate<V: Value, O: Offset>(&self) -> Result<Csr<V, O>, MatrixError> {
        let structure = self.structure();
        let Self { seed, number, most_nonzeros, .. } = *self;
        let seeds = Seeds { seed, number };
        let lengths = lengths::lengths(&structure, seeds, most_nonzeros);
        Pattern::new(&structure, seeds, &lengths).expanded(structure.block).into_matrix(seeds)
    }
}

impl fmt::Display for RandomMatrix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, number, most_nonzeros, least_nonzeros } = self;
        write!(f, "{NAME}:{seed}:{number}")?;
        match least_nonzeros {
            Some(least) => write!(f, ":{least}..{most_nonzeros}"),
            None if *most_nonzeros == MOST_NONZEROS => Ok(()),
            None => write!(f, ":{most_nonzeros}"),
        }
    }
}

impl FromStr for RandomMatrix {
    type Err = ParseRandomError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseRandomError::Form(text.into());
        let whole = |part: &str| part.parse::<u64>().map_err(|_| wrong());
        let parts = text.strip_prefix(NAME).and_then(|rest| rest.strip_prefix(':')).ok_or_else(wrong)?;
        let (seed, number, limits) = match parts.split(':').collect::<Vec<_>>()[..] {
            [seed, number] => (seed, number, None),
            [seed, number, limits] => (seed, number, Some(limits)),
            _ => return Err(wrong()),
        };
        let matrix = Self::new(whole(seed)?, whole(number)?);
        match limits.map(|limits| (limits, limits.split_once(".."))) {
            None => Ok(matrix),
            Some((limit, None)) => matrix.with_limit(whole(limit)? as usize),
            Some((_, Some((least, most)))) => {
                let (least, most) = (whole(least)? as usize, whole(most)? as usize);
                matrix.with_limit(most)?.with_floor(least)
            }
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
        for name in
            ["random:1:2", "random:0:18446744073709551615", "random:1:2:20000", "random:1:2:500..20000"]
        {
            assert_eq!(name.parse::<RandomMatrix>().unwrap().to_string(), name);
        }
        let not_names =
            ["random", "random:", "random:1", "random:1:x", "random:1:2:3:4", "random:1:2:3..", "rmat:3"];
        for name in not_names {
            assert_eq!(name.parse::<RandomMatrix>(), Err(ParseRandomError::Form(name.into())));
        }
        for (name, least) in [("random:1:2:0..30000", 0), ("random:1:2:24001..30000", 24_001)] {
            let error = ParseRandomError::Floor { least, most: 30_000, largest: 24_000 };
            assert_eq!(name.parse::<RandomMatrix>(), Err(error));
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
    fn sizes_above_a_floor_are_even_in_the_logarithm() {
        let of = |number| {
            RandomMatrix::new(3, number).with_limit(10_000_000).unwrap().with_floor(100_000).unwrap()
        };
        let drawn = |number| {
            let structure = of(number).structure();
            structure.row_nodes as f64 * structure.mean * (structure.block * structure.block) as f64
        };
        // 100,000 to 8 million, in four parts of equal ratio. Few rows that are rounded leave a little less or more.
        let mut counts = [0; 4];
        for number in 0..400 {
            let part = 4.0 * (drawn(number) / 1e5).ln() / 80_f64.ln();
            assert!((-0.2..4.2).contains(&part), "{}: {part}", of(number));
            counts[part.clamp(0.0, 3.9) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (70..=130).contains(count)), "{counts:?}");
        // Repeated columns and empty stretches leave 29 of 40 there, and 13 without a floor.
        let above = |floor: usize| {
            let matrix =
                |number| RandomMatrix::new(3, number).with_limit(60_000).unwrap().with_floor(floor).unwrap();
            let nonzeros = (0..40).map(|number| matrix(number).generate::<f32, u32>().unwrap().nnz());
            nonzeros.filter(|&nnz| nnz >= 25_000).count()
        };
        assert!(above(30_000) >= 26 && above(10_000) <= 18, "{} {}", above(30_000), above(10_000));
    }

    #[test]
    fn the_usual_floor_changes_nothing_but_the_name() {
        for number in 0..6 {
            let with_floor = small(number).with_floor(10_000).unwrap();
            assert_eq!(with_floor.to_string(), format!("random:1:{number}:10000..60000"));
            assert_eq!(with_floor.structure(), small(number).structure());
            assert_eq!(with_floor.generate::<f64, u32>(), small(number).generate::<f64, u32>());
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
