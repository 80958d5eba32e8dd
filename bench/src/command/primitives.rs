use std::error::Error;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::Serialize;

use crate::arguments::CommonArguments;
use crate::measure::copy_rate;
use crate::primitives::peers::{Means, Peer, Peers, Ratio, Times};
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
    against: Option<Against<'m>>,
}

#[derive(Serialize)]
struct Against<'m> {
    #[serde(flatten)]
    peer: &'m Peer,
    #[serde(flatten)]
    ratio: Ratio,
}

impl Printer {
    fn measured(&mut self, measurement: &Measurement) {
        self.is_wrong |= measurement.verified == Some(false);
        let compared = self.peers.compare(measurement);
        if let Some((_, ratio)) = compared {
            self.means.add(measurement.case.op(), ratio);
        }
        if self.json {
            let against = compared.map(|(peer, ratio)| Against { peer, ratio });
            return println!("{}", to_json(&Line { measurement, against }));
        }
        let (mut heading, mut line) = columns(&measurement.case, &measurement.figures);
        if !self.peers.is_empty() {
            let (peer_heading, peer_line) = peer_columns(&measurement.figures, compared);
            heading += &peer_heading;
            line += &peer_line;
        }
        if self.heading.as_ref() != Some(&heading) {
            println!("{heading}");
            self.heading = Some(heading);
        }
        if let Some(difference) = &measurement.difference {
            line = format!("{line}  FAIL: {difference}");
        }
        println!("{}", line.trim_end());
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

/// The headings and cells of a measurement.
fn columns(case: &Case, figures: &Figures) -> (String, String) {
    let operation = "operation";
    let (heading, line) = match case {
        Case::Sequence { op, key, value, n } => (
            format!("{operation:<30} {:>4} {:>5} {:>5}", "key", "value", "n"),
            format!("{op:<30} {key:>4} {value:>5} {:>5}", power_of_two(*n)),
        ),
        Case::Tile { op, bits } => (format!("{operation:<30} {:>4}", "bits"), format!("{op:<30} {bits:>4}")),
    };
    match figures {
        Figures::Sequence { ms, gkeys_s, gb_s, copy_share, temporary_bytes } => (
            format!(
                "{heading} {:>10} {:>8} {:>8} {:>8} {:>11}",
                "ms", "Gkeys/s", "GB/s", "of copy", "temp. bytes"
            ),
            format!("{line} {ms:>10.4} {gkeys_s:>8.2} {gb_s:>8.1} {copy_share:>8.3} {temporary_bytes:>11}"),
        ),
        Figures::Tile { threads, items, cycles_alone, cycles_full } => (
            format!("{heading} {:>9} {:>12} {:>11}", "block", "cycles alone", "cycles full"),
            format!("{line} {:>9} {cycles_alone:>12} {cycles_full:>11}", format!("{threads} x {items}")),
        ),
    }
}

/// The headings and cells of the peer that a measurement is compared with.
fn peer_columns(figures: &Figures, compared: Option<(&Peer, Ratio)>) -> (String, String) {
    let heading = match figures {
        Figures::Sequence { .. } => format!("  {:<8} {:>10} {:>6}", "peer", "peer ms", "ratio"),
        Figures::Tile { .. } => {
            format!(
                "  {:<8} {:>9} {:>8} {:>11} {:>10}",
                "peer", "p. alone", "p. full", "ratio alone", "ratio full"
            )
        }
    };
    let line = match compared {
        Some((Peer { name, times: Times::Sequence { ms } }, Ratio::Sequence { ratio })) => {
            format!("  {name:<8} {ms:>10.4} {ratio:>6.3}")
        }
        Some((
            Peer { name, times: Times::Tile { cycles_alone, cycles_full } },
            Ratio::Tile { ratio_alone, ratio_full },
        )) => {
            format!("  {name:<8} {cycles_alone:>9} {cycles_full:>8} {ratio_alone:>11.3} {ratio_full:>10.3}")
        }
        _ => String::new(),
    };
    (heading, line)
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
