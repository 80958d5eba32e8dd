use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::CommonArguments;
use crate::columns::{Cell, decimal, head, line};
use crate::measure::copy_rate;
use crate::primitives::peers::{Comparison, Means, Peers};
use crate::primitives::{Case, Figures, Measurement, Outcome, Selection, measure};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// log2 of the sizes; for merges and set operations, of both inputs together. Copies and sorts by some bits are
    /// measured at one size: the largest, or 2^26 for sorts if that is less. [default: 10 to 28 on a GPU (scans and segments: to 27),
    /// 10 to 20 on the CPU, 10 and 12 on the simulated GPU]
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=30))]
    log2: Option<Vec<u32>>,
    /// Measure only operations with this in their name, such as `set_union`. Can be given several times.
    #[arg(long, value_name = "FILTER")]
    op: Vec<String>,
    /// Runs to time per measurement.
    #[arg(long, value_name = "N", default_value = "11")]
    repetitions: NonZeroUsize,
    /// Files of measurements to compare with, as printed by programs of other libraries or by this one with --json.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    peers: Vec<PathBuf>,
    #[command(flatten)]
    common: CommonArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    let peers = Peers::read(&arguments.peers)?;
    let device = arguments.common.device.open()?;
    let rate = copy_rate(&device)?;
    let mut printer = Printer { json: arguments.common.json, peers, ..Printer::default() };
    if arguments.common.json {
        println!("{}", serde_json::json!({ "device": device.to_string(), "copy_gbps": rate }));
    } else {
        println!("{device}, copies at {rate:.0} GB/s");
    }
    let selection = Selection {
        log2: arguments.log2.clone(),
        ops: arguments.op.clone(),
        repetitions: arguments.repetitions.get(),
    };
    measure(&device, rate, &selection, &mut |outcome| match outcome {
        Outcome::Measured(measurement) => printer.measured(&measurement),
        Outcome::LeftOut(reason) => eprintln!("note: {reason}"),
    })?;
    Ok(printer.finish())
}

/// Prints measurements beside those of peers.
#[derive(Default)]
struct Printer {
    json: bool,
    peers: Peers,
    means: Means,
    /// The heading of the lines last printed.
    heading: Option<String>,
    is_wrong: bool,
}

/// A line of JSON.
#[derive(Serialize)]
struct Line<'m> {
    #[serde(flatten)]
    measurement: &'m Measurement,
    #[serde(skip_serializing_if = "Option::is_none")]
    against: Option<serde_json::Map<String, serde_json::Value>>,
}

impl Printer {
    fn measured(&mut self, measurement: &Measurement) {
        self.is_wrong |= measurement.verified == Some(false);
        let compared = self.peers.compare(measurement);
        if let Some(found) = compared {
            self.means.add(measurement.case.op(), found.ratios);
        }
        if self.json {
            let against = compared.map(|found| found.fields());
            return println!("{}", to_json(&Line { measurement, against }));
        }
        let mut cells = cells(&measurement.case, &measurement.figures);
        if !self.peers.is_empty() {
            cells.extend(Comparison::cells(&measurement.figures, compared));
        }
        let heading = head(&cells);
        if self.heading.as_ref() != Some(&heading) {
            println!("{heading}");
            self.heading = Some(heading);
        }
        let failure = measurement.difference.as_ref().map(|difference| format!("  FAIL: {difference}"));
        println!("{}{}", line(&cells), failure.unwrap_or_default());
    }

    /// Prints the means and returns the exit code.
    fn finish(self) -> ExitCode {
        let mut means = self.means.iter().peekable();
        if means.peek().is_some() && !self.json {
            println!(
                "{:<36} {:>14} {:>8} {:>6}",
                "time of peer / evenpath", "geometric mean", "lowest", "cases"
            );
        }
        for mean in means {
            if self.json {
                println!("{}", to_json(mean));
            } else {
                println!("{:<36} {:>14.3} {:>8.3} {:>6}", mean.op, mean.ratio, mean.lowest, mean.cases);
            }
        }
        if self.is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

/// The cells of a measurement.
fn cells(case: &Case, figures: &Figures) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![("operation", -30, case.op().into())];
    match case {
        Case::Sequence { key, value, n, .. } => {
            cells.extend([("key", 4, key.clone()), ("value", 5, value.clone()), ("n", 5, power_of_two(*n))]);
        }
        Case::Tile { bits, .. } => cells.push(("bits", 4, bits.to_string())),
    }
    match *figures {
        Figures::Sequence { ms, gkeys_s, gb_s, copy_share, temporary_bytes } => cells.extend([
            ("ms", 10, decimal(ms, 4)),
            ("Gkeys/s", 8, decimal(gkeys_s, 2)),
            ("GB/s", 8, decimal(gb_s, 1)),
            ("of copy", 8, decimal(copy_share, 3)),
            ("temp. bytes", 11, temporary_bytes.to_string()),
        ]),
        Figures::Tile { threads, items, cycles_alone, cycles_full } => cells.extend([
            ("block", 9, format!("{threads} x {items}")),
            ("cycles alone", 12, cycles_alone.to_string()),
            ("cycles full", 11, cycles_full.to_string()),
        ]),
    }
    cells
}

fn power_of_two(n: u64) -> String {
    if n.is_power_of_two() { format!("2^{}", n.ilog2()) } else { n.to_string() }
}

fn to_json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("numbers and texts are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_result_decides_the_exit_code() {
        for json in [false, true] {
            let mut printer = Printer { json, ..Printer::default() };
            let mut measurement = Measurement {
                peer: "evenpath",
                case: Case::Tile { op: "sort".into(), bits: 12 },
                figures: Figures::Tile { threads: 128, items: 11, cycles_alone: 1, cycles_full: 2 },
                verified: Some(false),
                difference: Some("key 3 is less than the one before it".into()),
            };
            printer.measured(&measurement);
            (measurement.verified, measurement.difference) = (Some(true), None);
            printer.measured(&measurement);
            assert_eq!(printer.finish(), ExitCode::FAILURE);
            let mut printer = Printer { json, ..Printer::default() };
            printer.measured(&measurement);
            assert_eq!(printer.finish(), ExitCode::SUCCESS);
        }
    }
}
