//! Judgement of the choice of a method of SpMV: its time over that of the fastest method, and beside other libraries.

use std::collections::BTreeSet;

use evenpath::spmv::SpmvMethod;

use super::{AUTO, Comparison, Contender, Figures, MAY_COPY, Op, Row, Size};
use crate::markdown::Markdown;
use crate::statistics::geometric_mean;

/// The choice is good if its time is at most this factor times that of the fastest method.
const GOOD: f64 = 1.05;

/// Tables of how good the choice is, one for each class of size that has matrices on which it and another method were measured. A
/// table has a line per type of the values, choice, and suite or seed.
pub(crate) fn judgements<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Vec<(Size, String)> {
    let of_op: Vec<&Row> = rows.into_iter().filter(|row| row.key.op == Op::Spmv).collect();
    let table = |size| {
        let lines = Line::all(of_op.iter().copied().filter(|row| Size::of(row) == size));
        (!lines.is_empty()).then(|| (size, table(&lines)))
    };
    Size::ALL.into_iter().filter_map(table).collect()
}

/// A choice that plans make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Choice {
    /// Among the methods that keep no copy of the matrix.
    WithoutCopy,
    /// Among all.
    MayCopy,
}

impl Choice {
    const ALL: [Self; 2] = [Self::WithoutCopy, Self::MayCopy];

    /// The name of its contender.
    fn contender(self) -> &'static str {
        match self {
            Self::WithoutCopy => AUTO,
            Self::MayCopy => MAY_COPY,
        }
    }

    /// Returns whether it could have taken the method of this name.
    fn could_take(self, name: &str) -> bool {
        let is_open = |method: SpmvMethod| self == Self::MayCopy || !method.copies();
        name != AUTO && name.parse().is_ok_and(is_open)
    }
}

/// The choice on one matrix.
struct Judged<'r> {
    row: &'r Row,
    figures: &'r Figures,
    /// The choice as it was measured.
    own: &'r Contender,
    /// The chosen method, as it was measured by its name with what it is compared with. The choice itself makes the same
    /// launches, and two measurements of one method may differ by more than what counts as good; it stands for itself only
    /// where that is all there is.
    chosen: &'r Contender,
    /// The fastest method.
    best: &'r Contender,
    /// The time of the chosen method over that of the fastest, at least 1.
    regret: f64,
}

impl<'r> Judged<'r> {
    /// `None` if the choice or all other methods were not measured with a correct result.
    fn of(row: &'r Row, choice: Choice) -> Option<Self> {
        let figures = row.figures()?;
        let right = |own: &'r Contender| Some((own, own.right_ms()?));
        let (own, own_ms) = figures.own(choice.contender()).and_then(right)?;
        let (chosen, chosen_ms) = figures.own(own.method()).and_then(right).unwrap_or((own, own_ms));
        let others = figures.ours.iter().filter(|other| choice.could_take(&other.name));
        let (other, other_ms) = others.filter_map(right).min_by(|a, b| a.1.total_cmp(&b.1))?;
        let best = if other_ms < chosen_ms { other } else { chosen };
        Some(Self { row, figures, own, chosen, best, regret: chosen_ms / other_ms.min(chosen_ms) })
    }

    /// Returns whether the times of either are spread widely.
    fn is_wide(&self) -> bool {
        self.chosen.is_wide() || self.best.is_wide()
    }
}

/// The matrices of a type, a choice, and a suite or seed.
struct Line<'r> {
    value: &'r str,
    choice: Choice,
    group: String,
    judged: Vec<Judged<'r>>,
}

impl<'r> Line<'r> {
    /// Sorted by type and choice, then in order of appearance.
    fn all(rows: impl Iterator<Item = &'r Row>) -> Vec<Self> {
        let mut lines: Vec<Self> = Vec::new();
        for row in rows {
            for choice in Choice::ALL {
                let Some(judged) = Judged::of(row, choice) else { continue };
                let (value, group) = (row.key.value.as_str(), group(row));
                let is_it =
                    |line: &&mut Self| (line.value, line.choice, &line.group) == (value, choice, &group);
                match lines.iter_mut().find(is_it) {
                    Some(line) => line.judged.push(judged),
                    None => lines.push(Self { value, choice, group, judged: vec![judged] }),
                }
            }
        }
        lines.sort_by_key(|line| (line.value, line.choice));
        lines
    }

    /// The library's time over that of the choice.
    fn beside(&self, library: &Library) -> Comparison<'r> {
        let ratio =
            |judged: &Judged<'r>| Some((library.ms(judged.figures)? / judged.own.right_ms()?, judged.row));
        Comparison::of(self.judged.iter().filter_map(ratio))
    }

    fn cells(&self, libraries: &BTreeSet<Library>) -> Vec<String> {
        let regrets = || self.judged.iter().map(|judged| judged.regret);
        let count = self.judged.len();
        let good = regrets().filter(|regret| *regret <= GOOD).count();
        let worst = self.judged.iter().max_by(|a, b| a.regret.total_cmp(&b.regret));
        let or_none = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        let mut cells = vec![
            self.value.to_owned(),
            self.choice.contender().to_owned(),
            self.group.clone(),
            count.to_string(),
            or_none(geometric_mean(regrets()).map(|mean| format!("{mean:.3}"))),
            or_none(worst.map(|judged| format!("{:.2} ({})", judged.regret, judged.row.key.matrix))),
            format!("{good} ({:.0} %)", 100.0 * good as f64 / count as f64),
            self.judged.iter().filter(|judged| judged.is_wide()).count().to_string(),
        ];
        for library in libraries {
            let comparison = self.beside(library);
            cells.extend([comparison.mean(), comparison.lowest()]);
        }
        cells
    }
}

/// A library, or its algorithms for CSR alone.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Library {
    name: String,
    is_csr: bool,
}

impl Library {
    /// Those that a row is compared with.
    fn all(figures: &Figures) -> impl Iterator<Item = Self> {
        let has_other =
            |name: &str| figures.peers.iter().any(|peer| peer.library == name && peer.format.is_some());
        let of_name = move |name: String| {
            let csr = has_other(&name).then(|| Self { name: name.clone(), is_csr: true });
            [Some(Self { name, is_csr: false }), csr].into_iter().flatten()
        };
        figures.libraries().into_iter().flat_map(of_name)
    }

    fn ms(&self, figures: &Figures) -> Option<f64> {
        if self.is_csr {
            figures.csr_ms(&self.name)
        } else {
            figures.best_peer(&self.name).map(|best| best.1)
        }
    }

    fn text(&self) -> String {
        format!("{}{}", self.name, if self.is_csr { " by CSR" } else { "" })
    }
}

/// The suite, or the seed.
fn group(row: &Row) -> String {
    match row.key.matrix.split(':').collect::<Vec<_>>()[..] {
        ["random", seed, ..] => format!("random:{seed}"),
        _ => row.key.suite.clone(),
    }
}

fn table(lines: &[Line<'_>]) -> String {
    let judged = || lines.iter().flat_map(|line| &line.judged);
    let libraries: BTreeSet<Library> = judged().flat_map(|judged| Library::all(judged.figures)).collect();
    let headings =
        ["", "choice", "suite", "matrices", "over the fastest", "largest", "within 5 %", "spread widely"];
    let mut headings = headings.map(str::to_owned).to_vec();
    headings.extend(libraries.iter().flat_map(|library| [library.text(), "lowest".to_owned()]));
    let mut table = Markdown::new(&headings);
    for line in lines {
        table.row(line.cells(&libraries));
    }
    table.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::measure::Times;
    use crate::results::{Key, Shape};

    fn ran(library: &str, name: &str, ms: f64) -> Contender {
        Contender::ran(library, name, &Times::of_runs(vec![ms]), Ok(()))
    }

    fn method(name: &str, ms: f64) -> Contender {
        ran("evenpath", name, ms)
    }

    fn chose(name: &str, ms: f64, chosen: &str) -> Contender {
        Contender { chosen: Some(chosen.into()), ..method(name, ms) }
    }

    /// A row of a large matrix.
    fn row(matrix: &str, ours: Vec<Contender>, peers: Vec<Contender>) -> Row {
        let (suite, variant, value) = ("table2".into(), String::new(), "f64".into());
        let key = Key { op: Op::Spmv, variant, suite, matrix: matrix.into(), value };
        let shape = Some(Shape { rows: 1, cols: 1, nnz: 1_000_000 });
        Row::measured(key, shape, Figures::new((1, 2, 3), ours, peers, BTreeMap::new()))
    }

    /// The cells of the lines of the only table.
    fn cells(rows: &[Row]) -> Vec<Vec<String>> {
        let [(Size::Large, text)] = &judgements(rows)[..] else {
            panic!("one table: {:?}", judgements(rows))
        };
        let cells =
            |line: &str| line.split(" | ").map(|cell| cell.trim_matches(['|', ' ']).to_owned()).collect();
        text.lines().skip(2).map(cells).collect()
    }

    #[test]
    fn lines_are_by_seed_and_suite() {
        let of = |matrix: &str, auto: f64| {
            // The choice cannot take a copy of the matrix.
            let ours = vec![
                method("auto", auto),
                method("flat", 1.0),
                method("scalar", 1.5),
                method("sliced-ell", 0.1),
            ];
            row(matrix, ours, vec![])
        };
        let rows = [
            of("random:1:0", 1.04),
            of("random:2:0", 2.0),
            of("random:1:1:20..50000", 1.21),
            of("random:2:1:50000", 0.5),
            of("like:qcd", 1.0),
        ];
        // Means of 1.04 and 1.21; of 2 and 1, since what is faster than all others is the fastest.
        let expected = [
            ["f64", "auto", "random:1", "2", "1.122", "1.21 (random:1:1:20..50000)", "1 (50 %)", "0"],
            ["f64", "auto", "random:2", "2", "1.414", "2.00 (random:2:0)", "1 (50 %)", "0"],
            ["f64", "auto", "table2", "1", "1.000", "1.00 (like:qcd)", "1 (100 %)", "0"],
        ];
        assert_eq!(cells(&rows), expected);
    }

    #[test]
    fn the_chosen_method_counts_as_measured_by_its_name() {
        let mean = |methods| cells(&[row("a", methods, vec![])])[0][4].clone();
        let auto = || chose("auto", 1.4, "scalar");
        assert_eq!(mean(vec![auto(), method("flat", 1.0), method("scalar", 1.25)]), "1.250");
        assert_eq!(mean(vec![auto(), method("flat", 1.0)]), "1.400");
        let wrong = Contender { error: Some("wrong: y[0]".into()), ..method("scalar", 0.5) };
        assert_eq!(mean(vec![auto(), method("flat", 1.0), wrong]), "1.400");
    }

    #[test]
    fn a_choice_that_may_copy_is_beside_copies_and_both_beside_libraries() {
        let ours = |choices: &[Contender]| {
            [choices, &[method("flat", 1.0), method("scalar", 1.2), method("sliced-ell", 0.8)]].concat()
        };
        let coo = Contender { format: Some("coo".into()), ..ran("cusparse", "COO", 1.1) };
        let peers = vec![ran("cusparse", "CSR_ALG1", 2.2), coo];
        let choices = [chose("auto", 1.1, "flat"), chose("may-copy", 1.0, "flat")];
        let rows = [row("a", ours(&choices), peers)];
        let tables = judgements(&rows);
        let lines: Vec<&str> = tables[0].1.lines().collect();
        let [head, _, auto_cells, copy_cells] = lines[..] else { panic!("two lines: {lines:?}") };
        assert_eq!(
            auto_cells,
            "| f64 | auto | table2 | 1 | 1.000 | 1.00 (a) | 1 (100 %) | 0 | 1.000 | 1.00 (a) | 2.000 | 2.00 (a) |"
        );
        assert_eq!(
            copy_cells,
            "| f64 | may-copy | table2 | 1 | 1.250 | 1.25 (a) | 0 (0 %) | 0 | 1.100 | 1.10 (a) | 2.200 | 2.20 (a) |"
        );
        assert!(head.ends_with("| cusparse | lowest | cusparse by CSR | lowest |"), "{head}");
    }

    #[test]
    fn types_are_apart_and_small_matrices_in_a_table_of_their_own() {
        let of = |matrix: &str, value: &str, nnz, auto| {
            let mut row = row(matrix, vec![method("auto", auto), method("flat", 1.0)], vec![]);
            row.key.value = value.into();
            row.shape = Some(Shape { rows: 1, cols: 1, nnz });
            row
        };
        // 4.8 and 3.2 MB.
        let rows = [
            of("a", "f64", 400_000, 1.5),
            of("a", "f32", 400_000, 3.0),
            of("b", "f64", 400_000, 1.0),
            of("b", "f32", 4_000_000, 1.1),
        ];
        let [(Size::Large, large), (Size::Small, small)] = &judgements(&rows)[..] else {
            panic!("two tables")
        };
        let lines = |text: &str| text.lines().skip(2).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            lines(large),
            [
                "| f32 | auto | table2 | 1 | 1.100 | 1.10 (b) | 0 (0 %) | 0 |",
                "| f64 | auto | table2 | 2 | 1.225 | 1.50 (a) | 1 (50 %) | 0 |"
            ]
        );
        assert_eq!(lines(small), ["| f32 | auto | table2 | 1 | 3.000 | 3.00 (a) | 0 (0 %) | 0 |"]);
    }

    #[test]
    fn without_a_choice_or_another_method_nothing_is_judged() {
        let of = |ours| judgements(&[row("a", ours, vec![])]);
        assert!(of(vec![method("auto", 1.0)]).is_empty());
        assert!(of(vec![method("flat", 1.0)]).is_empty());
        assert!(of(vec![method("auto", 1.0), method("sliced-ell", 1.0), method("direct", 1.0)]).is_empty());
        let wrong = Contender { error: Some("wrong: y[0]".into()), ..method("auto", 1.0) };
        assert!(of(vec![wrong, method("flat", 1.0)]).is_empty());
    }
}
