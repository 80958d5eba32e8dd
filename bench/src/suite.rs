//! Sets of matrices for measurements.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use evenpath::Csr;
use evenpath::error::MatrixError;
use evenpath::generate::Kind;
use evenpath::io::{Complex, MatrixMarketHeader, MatrixMarketReader, ReadOptions, Symmetry};
use thiserror::Error;

use crate::generated::Generated;
use crate::random::{ParseRandomError, PublishedTree, RandomMatrix, Shape, ShapeMatrix, TreeMatrix};

/// The environment variable with a folder of Matrix Market files.
pub(crate) const FOLDER_VARIABLE: &str = "EVENPATH_MATRICES";

/// The seed of generated matrices.
const SEED: u64 = 1;

/// Kinds of matrix that cover all structures relevant to the choice of a schedule.
const GENERATED: [&str; 10] = [
    "stencil5:2000",
    "fem:1000000",
    "power-law:2000000",
    "uniform:2000000",
    "lp:4284",
    "empty-rows:8000000",
    "block-fem:200000x3",
    "stencil27:100",
    "rmat:20",
    "dense:2000",
];

/// A set of matrices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Suite {
    /// Stand-ins for Table II of the IPDPS 2015 paper on merge path.
    Table2,
    /// Stand-ins for Figure 7.1 of the thesis on HiSparse, with the same trees.
    Figure7,
    /// Matrices of every structure relevant to the choice of a schedule.
    Generated,
    /// The Matrix Market files of a folder.
    Folder,
    /// Matrices whose structure is drawn at random.
    Random,
    /// Large matrices of twelve further shapes.
    Shapes,
}

/// Settings of some suites.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SuiteOptions<'o> {
    /// The folder of the suite `folder`.
    pub(crate) folder: Option<&'o Path>,
    /// The matrices of the suite `random`.
    pub(crate) random: RandomSuite<'o>,
    /// The nonzeros of the matrices of the suites `random` and `folder`.
    pub(crate) nonzeros: NonzeroRange,
}

/// Limits on nonzeros, if there are any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct NonzeroRange {
    pub(crate) least: Option<usize>,
    pub(crate) most: Option<usize>,
}

/// The first matrices of random structure of some seeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RandomSuite<'o> {
    pub(crate) seeds: &'o [u64],
    /// Number of each.
    pub(crate) count: u64,
}

/// A matrix of a suite, not loaded yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Generated.
    Generated(Generated),
    /// Read from a file.
    File(PathBuf),
}

/// Errors in listing a suite or loading a matrix.
#[derive(Debug, Error)]
pub(crate) enum SuiteError {
    /// The suite needs a folder, and none was given.
    #[error("the suite `folder` needs --folder or the variable {FOLDER_VARIABLE}")]
    NoFolder,
    /// The folder cannot be read.
    #[error("{}: {source}", folder.display())]
    Folder { folder: PathBuf, source: std::io::Error },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] evenpath::io::MatrixMarketError),
    /// The matrix cannot be generated.
    #[error("{kind}: {source}")]
    Generate { kind: Generated, source: MatrixError },
    /// The suite `random` cannot be drawn.
    #[error("--least-nonzeros, --most-nonzeros: {0}")]
    Random(#[from] ParseRandomError),
}

impl Suite {
    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Table2 => "table2",
            Self::Figure7 => "figure7",
            Self::Generated => "generated",
            Self::Folder => "folder",
            Self::Random => "random",
            Self::Shapes => "shapes",
        }
    }

    /// Its matrices.
    ///
    /// # Errors
    ///
    /// If a suite needs a folder and none is given, if the folder cannot be read, or if random matrices cannot have the nonzeros asked for.
    pub(crate) fn sources(self, options: SuiteOptions<'_>) -> Result<Vec<Source>, SuiteError> {
        let like = |matrix| Source::Generated(Kind::Like { matrix }.into());
        Ok(match self {
            Self::Table2 => evenpath_lab::table2().map(like).collect(),
            Self::Figure7 => {
                let stand_in = |tree| Source::Generated(Generated::Tree(TreeMatrix::new(tree)));
                PublishedTree::all().iter().map(stand_in).collect()
            }
            Self::Generated => GENERATED
                .iter()
                .map(|name| match name.parse() {
                    Ok(kind) => Source::Generated(kind),
                    Err(error) => unreachable!("{error}"),
                })
                .collect(),
            Self::Folder => {
                let mut paths = matrix_files(options.folder.ok_or(SuiteError::NoFolder)?)?;
                paths.retain(|path| options.nonzeros.has_file(path));
                paths.into_iter().map(Source::File).collect()
            }
            Self::Random => options.random.sources(options.nonzeros)?,
            Self::Shapes => {
                let source = |shape| Source::Generated(Generated::Shape(ShapeMatrix::new(shape)));
                Shape::ALL.map(source).into()
            }
        })
    }
}

impl RandomSuite<'_> {
    fn sources(self, nonzeros: NonzeroRange) -> Result<Vec<Source>, SuiteError> {
        let Self { seeds, count } = self;
        let matrix = |(seed, number)| {
            let matrix = RandomMatrix::new(seed, number);
            let matrix = nonzeros.most.map_or(Ok(matrix), |most| matrix.with_limit(most))?;
            let matrix = nonzeros.least.map_or(Ok(matrix), |least| matrix.with_floor(least))?;
            Ok(Source::Generated(Generated::Random(matrix)))
        };
        seeds.iter().flat_map(|&seed| (0..count).map(move |number| (seed, number))).map(matrix).collect()
    }
}

impl NonzeroRange {
    /// Returns whether the nonzeros of a file are in the range, by its header; those of a symmetric matrix count twice. A file without a
    /// valid header stays, so that it is reported.
    fn has_file(self, path: &Path) -> bool {
        if self == Self::default() {
            return true;
        }
        let Some(header) = header(path) else { return true };
        let times = if header.symmetry == Symmetry::General { 1 } else { 2 };
        let nonzeros = header.entries * times;
        self.least.is_none_or(|least| nonzeros >= least as u128)
            && self.most.is_none_or(|most| nonzeros <= most as u128)
    }
}

/// The header of a file. Of a file that is not compressed, only the beginning is read.
fn header(path: &Path) -> Option<MatrixMarketHeader> {
    const BEGINNING: u64 = 1 << 16;
    let whole = || MatrixMarketReader::open(path, ReadOptions::default()).ok();
    if path.extension().is_some_and(|extension| extension == "gz") {
        return Some(whole()?.header().clone());
    }
    let mut text = Vec::new();
    File::open(path).ok()?.take(BEGINNING).read_to_end(&mut text).ok()?;
    // A number may be cut.
    text.truncate(text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1));
    match MatrixMarketReader::from_bytes(&text, ReadOptions::default()) {
        Ok(reader) => Some(reader.header().clone()),
        // Comments may be longer.
        Err(_) => Some(whole()?.header().clone()),
    }
}

/// The Matrix Market files in a folder, sorted by name.
///
/// # Errors
///
/// If the folder cannot be read.
pub(crate) fn matrix_files(folder: &Path) -> Result<Vec<PathBuf>, SuiteError> {
    let failed = |source| SuiteError::Folder { folder: folder.into(), source };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".mtx") || name.ends_with(".mtx.gz") {
            paths.push(path);
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

impl Source {
    /// The parameters that were drawn for the matrix, if its structure is random.
    pub(crate) fn structure(&self) -> Option<String> {
        match self {
            Self::Generated(Generated::Random(matrix)) => Some(matrix.structure().to_string()),
            _ => None,
        }
    }

    /// Generates or reads the matrix. For complex matrices, reads the real part.
    ///
    /// # Errors
    ///
    /// If it cannot be read or generated.
    pub(crate) fn load(&self) -> Result<Csr<f64>, SuiteError> {
        match self {
            Self::Generated(kind) => {
                kind.generate(SEED).map_err(|source| SuiteError::Generate { kind: *kind, source })
            }
            Self::File(path) => {
                let options = ReadOptions::default().with_complex(Complex::RealPart);
                Ok(MatrixMarketReader::open(path, options)?.read_csr()?)
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Generated(kind) => kind.fmt(f),
            Self::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                f.write_str(name.trim_end_matches(".gz").trim_end_matches(".mtx"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn suites_have_the_matrices_of_their_sources() {
        let count = |suite: Suite| suite.sources(SuiteOptions::default()).unwrap().len();
        assert_eq!((count(Suite::Table2), count(Suite::Generated)), (14, 10));
        let shapes = Suite::Shapes.sources(SuiteOptions::default()).unwrap();
        assert_eq!((shapes.len(), shapes[0].to_string()), (12, "band:1500000".to_owned()));
        let figure7 = Suite::Figure7.sources(SuiteOptions::default()).unwrap();
        assert_eq!(figure7.len(), 20);
        assert!(figure7.iter().any(|source| source.to_string() == "tree:webbase"));
        assert!(matches!(Suite::Folder.sources(SuiteOptions::default()), Err(SuiteError::NoFolder)));
    }

    #[test]
    fn the_random_suite_has_the_first_matrices_of_a_seed() {
        let sources = |least, most| {
            let (random, nonzeros) = (RandomSuite { seeds: &[4, 9], count: 2 }, NonzeroRange { least, most });
            Suite::Random.sources(SuiteOptions { random, nonzeros, folder: None })
        };
        let names =
            |least, most| sources(least, most).unwrap().iter().map(Source::to_string).collect::<Vec<_>>();
        let expected = ["random:4:0:30000", "random:4:1:30000", "random:9:0:30000", "random:9:1:30000"];
        assert_eq!(names(None, Some(30_000)), expected);
        assert_eq!(names(None, None)[3], "random:9:1");
        assert_eq!(names(Some(500), Some(30_000))[1], "random:4:1:500..30000");
        assert_eq!(names(Some(1_000_000), None)[2], "random:9:0:1000000..20000000");
        let source = &sources(None, None).unwrap()[0];
        assert!(source.structure().unwrap().contains("lengths="), "{source}");
        assert!(sources(None, Some(10)).unwrap_err().to_string().contains("20000"));
        let error = sources(Some(25_000), Some(30_000)).unwrap_err().to_string();
        assert!(error.contains("--least-nonzeros") && error.contains("1 to 24000"), "{error}");
    }

    #[test]
    fn a_folder_is_chosen_from_by_headers() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a file");
        let banner = "%%MatrixMarket matrix coordinate real";
        write("general.mtx", &format!("{banner} general\n2 2 3\n1 1 1\n1 2 1\n2 2 1\n"));
        write(
            "symmetric.mtx",
            &format!("{banner} symmetric\n%{}\n2 2 2\n2 1 1\n2 2 1\n", "x".repeat(70_000)),
        );
        write("bad.mtx", "2 2 3\n");
        let names = |least, most| {
            let (folder, nonzeros) = (Some(folder.path()), NonzeroRange { least, most });
            let sources = Suite::Folder.sources(SuiteOptions { folder, nonzeros, ..SuiteOptions::default() });
            sources.unwrap().iter().map(Source::to_string).collect::<Vec<_>>()
        };
        assert_eq!(names(None, None), ["bad", "general", "symmetric"]);
        assert_eq!(names(Some(3), Some(4)), ["bad", "general", "symmetric"]);
        assert_eq!(names(Some(4), None), ["bad", "symmetric"]);
        assert_eq!(names(None, Some(3)), ["bad", "general"]);
    }

    #[test]
    fn a_folder_is_a_suite_of_its_matrix_market_files() {
        let in_folder =
            |folder| Suite::Folder.sources(SuiteOptions { folder: Some(folder), ..SuiteOptions::default() });
        let folder = tempfile::tempdir().expect("a folder");
        let text = "%%MatrixMarket matrix coordinate real general\n1 2 1\n1 2 3.5\n";
        for name in ["b.mtx", "a.mtx", "notes.txt"] {
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let sources = in_folder(folder.path()).unwrap();
        let names: Vec<_> = sources.iter().map(Source::to_string).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(sources[0].load().unwrap().values(), [3.5]);
        let missing = in_folder(&folder.path().join("none")).unwrap_err();
        assert!(missing.to_string().contains("none: "), "{missing}");
    }
}
