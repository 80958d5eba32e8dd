//! Unions of sorted sets, and radix sorts of a block.

use std::collections::BTreeMap;
use std::error::Error;

use evenpath::device::DeviceKind;

use crate::operations::Bench;
use crate::primitives::{self, Case, Figures, Outcome, Selection};
use crate::study::figures::quotient;
use crate::study::name::Study;
use crate::study::table::{Cell, Table};

fn measured(bench: &Bench<'_>, op: &str, table: &mut Table) -> Result<Vec<(Case, Figures)>, Box<dyn Error>> {
    let repetitions = bench.repetitions.most().min(11);
    let selection = Selection { log2: None, ops: vec![op.into()], repetitions };
    let mut found = Vec::new();
    primitives::measure(bench.device, bench.copy_gbps, &selection, &mut |outcome| match outcome {
        Outcome::LeftOut(reason) => table.note(reason),
        Outcome::Measured(measurement) => match measurement.difference {
            Some(difference) => table.wrong.push(format!("{op}: {difference}")),
            None => found.push((measurement.case, measurement.figures)),
        },
    })?;
    Ok(found)
}

/// Union of sorted sets, by size and type.
pub(super) fn unions(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        Study::MergePath,
        "Union of sorted sets, 10⁹ elements per second",
        "Figure 2; the source has only a plot.",
        &["elements of both sets"],
    );
    let mut kinds: Vec<(String, String)> = Vec::new();
    let mut sizes: BTreeMap<u64, BTreeMap<usize, f64>> = BTreeMap::new();
    for (case, figures) in measured(bench, "set_union", &mut table)? {
        let (Case::Sequence { op, key, value, n }, Figures::Sequence { gkeys_s, .. }) = (case, figures)
        else {
            continue;
        };
        if !["set_union", "set_union_by_key"].contains(&op.as_str()) {
            continue;
        }
        let kind = kinds.iter().position(|kind| *kind == (key.clone(), value.clone()));
        let kind = kind.unwrap_or_else(|| {
            table.columns.push(if value == "-" { key.clone() } else { format!("{key} with {value}") });
            kinds.push((key, value));
            kinds.len() - 1
        });
        sizes.entry(n).or_default().insert(kind, gkeys_s);
    }
    for (n, rates) in sizes {
        let rates = (0..kinds.len()).map(|kind| Cell::from(rates.get(&kind).copied()));
        table.row([Cell::from(n)].into_iter().chain(rates));
    }
    Ok(table)
}

/// Clock cycles of a block's radix sort, by number of bits.
pub(super) fn block_sorts(bench: &Bench<'_>) -> Result<Table, Box<dyn Error>> {
    let mut table = Table::new(
        Study::MergePath,
        "Clock cycles of a block's radix sort",
        "Figure 4, blocks of 128 threads with 11 entries each; the source has only a plot. It says that one pass over pairs \
         takes about half of two, and that keys with their permutation in the upper bits are faster still.",
        &[
            "bits",
            "pairs, two passes",
            "pairs, one pass",
            "keys",
            "keys with permutation",
            "one pass over two",
            "permutation over one pass",
        ],
    );
    let kinds = ["two_passes", "pairs", "keys", "permutation"];
    let mut cycles: BTreeMap<u32, [Option<f64>; 4]> = BTreeMap::new();
    for (case, figures) in measured(bench, "cta_radix_sort", &mut table)? {
        if let (Case::Tile { op, bits }, Figures::Tile { cycles_full, .. }) = (case, figures)
            && let Some(kind) = kinds.iter().position(|kind| op.ends_with(kind))
        {
            cycles.entry(bits).or_default()[kind] = Some(f64::from(cycles_full));
        }
    }
    for (bits, [twice, pairs, keys, permutation]) in cycles {
        table.row([
            u64::from(bits).into(),
            twice.into(),
            pairs.into(),
            keys.into(),
            permutation.into(),
            quotient(pairs, twice).into(),
            quotient(permutation, pairs).into(),
        ]);
    }
    table.note(
        "two passes sort (row, column) pairs by column, then stably by row, each by this many bits; the cycles of both are added",
    );
    if bench.device.kind() == DeviceKind::Cpu {
        table.note("the CPU has no blocks");
    }
    Ok(table)
}
