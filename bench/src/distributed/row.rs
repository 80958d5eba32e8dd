//! One line of results.

use serde_json::{Value, json};

use super::measure::{Format, Measured, Series};
use crate::columns::{Cell, decimal};
use crate::scale::{Machine, Problem, Rows, Volumes};
use crate::statistics::{median, spread};

/// Bytes of a value.
const VALUE: u64 = 8;

/// The measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Op {
    /// y = Ax.
    Spmv,
    /// A step of conjugate gradients.
    Cg,
}

impl Op {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Spmv => "spmv",
            Self::Cg => "cg",
        }
    }
}

/// An operation with a matrix on a number of ranks, as all ranks measured it.
pub(crate) struct Row<'a> {
    pub(crate) problem: Problem,
    pub(crate) scaling: &'static str,
    pub(crate) op: Op,
    pub(crate) format: Format,
    pub(crate) ranks: &'a [Measured],
    pub(crate) volumes: &'a Volumes,
    /// Knowledge of the model; nothing where it has no say.
    pub(crate) machine: Option<Machine>,
}

impl Row<'_> {
    fn series(&self) -> &Series {
        match self.op {
            Op::Spmv => &self.ranks[0].product,
            Op::Cg => &self.ranks[0].step,
        }
    }

    /// µs, the median of the rounds.
    pub(crate) fn us(&self) -> f64 {
        median(&self.series().us)
    }

    /// Nonzeros of all ranks.
    pub(crate) fn nonzeros(&self) -> u64 {
        self.volumes.ranks.iter().map(|rank| rank.local_nonzeros + rank.non_local_nonzeros).sum()
    }

    /// Fault that one rank found.
    pub(crate) fn wrong(&self) -> Option<String> {
        let wrong = |rank: &Measured| match self.op {
            Op::Spmv => rank.wrong_product.clone(),
            Op::Cg => rank.wrong_steps.clone(),
        };
        let named = |(index, rank)| wrong(rank).map(|wrong| format!("rank {index}: {wrong}"));
        self.ranks.iter().enumerate().find_map(named)
    }

    /// The bytes of a product with the whole matrix on one device, every array once, per second.
    fn gb_s(&self) -> Option<f64> {
        let bytes = self.nonzeros() * (4 + VALUE) + self.problem.nrows() * (4 + 2 * VALUE);
        (self.op == Op::Spmv).then(|| bytes as f64 / 1e3 / self.us())
    }

    fn predicted(&self) -> Option<f64> {
        self.machine.map(|machine| match self.op {
            Op::Spmv => machine.predict(self.volumes, VALUE).time,
            Op::Cg => machine.predict_step(self.volumes, VALUE),
        })
    }

    fn most(&self, seconds: fn(&Measured) -> f64) -> f64 {
        self.ranks.iter().map(seconds).fold(0.0, f64::max)
    }

    fn waited(&self) -> f64 {
        let op = self.op;
        let waited = |rank: &Measured| if op == Op::Spmv { rank.product.waited } else { rank.step.waited };
        self.ranks.iter().map(waited).fold(0.0, f64::max)
    }

    /// A line of the table. `(first_ranks, rate)`: the first row of the series, and its nonzeros per µs.
    pub(crate) fn cells(&self, first: (f64, f64)) -> Vec<Cell> {
        let (speed_up, efficiency) = self.scaling_from(first);
        let predicted = self.predicted();
        let percent = |share: f64| format!("{:.1}%", share * 1e2);
        vec![
            ("scaling", 7, self.scaling.into()),
            ("op", 5, self.op.name().into()),
            ("ranks", 5, self.ranks.len().to_string()),
            ("rows", 11, self.problem.nrows().to_string()),
            ("nonzeros", 12, self.nonzeros().to_string()),
            ("most halo", 9, self.volumes.most(|rank| rank.received).to_string()),
            ("build s", 7, decimal(self.most(|rank| rank.build_s), 2)),
            ("µs", 10, decimal(self.us(), 1)),
            ("spread", 6, percent(spread(&self.series().us))),
            ("GB/s", 8, decimal(self.gb_s(), 0)),
            ("speed-up", 8, decimal(speed_up, 2)),
            ("eff.", 5, decimal(efficiency, 2)),
            ("waited", 6, percent(self.waited())),
            ("model µs", 10, decimal(predicted, 1)),
            ("model/µs", 9, decimal(predicted.map(|predicted| predicted / self.us()), 2)),
            ("engine", -6, self.ranks[0].engine.clone()),
        ]
    }

    /// Remarks below the line.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.op == Op::Spmv {
            let what =
                if self.ranks.len() == 1 { "the same product without ranks" } else { "the local part alone" };
            let (us, spread) = self.local();
            remarks.push(format!("    {what}: {us:.1} µs, spread {:.1}%", spread * 1e2));
        }
        remarks.extend(self.wrong().map(|wrong| format!("    WRONG: {wrong}")));
        remarks
    }

    /// The median of the slowest rank's product without others, and its spread.
    fn local(&self) -> (f64, f64) {
        let times = self.ranks.iter().map(|rank| (median(&rank.local.us), spread(&rank.local.us)));
        times.fold((0.0, 0.0), |slowest, rank| if rank.0 > slowest.0 { rank } else { slowest })
    }

    /// The rate over that of the first row, and that over what as many ranks should do.
    fn scaling_from(&self, (first_ranks, first_rate): (f64, f64)) -> (f64, f64) {
        let speed_up = self.rate() / first_rate;
        (speed_up, speed_up * first_ranks / self.ranks.len() as f64)
    }

    /// Nonzeros per µs.
    pub(crate) fn rate(&self) -> f64 {
        self.nonzeros() as f64 / self.us()
    }

    /// The row as an object.
    pub(crate) fn json(&self, first: (f64, f64)) -> Value {
        let (speed_up, efficiency) = self.scaling_from(first);
        let (volumes, ranks) = (self.volumes, self.ranks);
        let halo: u64 = volumes.elements();
        let (local_us, local_spread) = self.local();
        json!({
            "matrix": self.problem.to_string(),
            "scaling": self.scaling,
            "op": self.op.name(),
            "format": self.format.name(),
            "engine": ranks[0].engine,
            "ranks": ranks.len(),
            "devices": ranks.iter().map(|rank| &*rank.device).collect::<Vec<_>>(),
            "rows": self.problem.nrows(),
            "nonzeros": self.nonzeros(),
            "most_nonzeros": volumes.most(|rank| rank.local_nonzeros + rank.non_local_nonzeros),
            "non_local_nonzeros": volumes.ranks.iter().map(|rank| rank.non_local_nonzeros).sum::<u64>(),
            "halo_elements": halo,
            "halo_bytes": halo * VALUE,
            "most_halo_elements": volumes.most(|rank| rank.received),
            "build_s": self.most(|rank| rank.build_s),
            "plan_s": self.most(|rank| rank.plan_s),
            "us": self.us(),
            "spread": spread(&self.series().us),
            "rounds": self.series().us.len(),
            "gb_s": self.gb_s(),
            "speed_up": speed_up,
            "efficiency": efficiency,
            "waited": self.waited(),
            "dot_us": median(&ranks[0].dot.us),
            "dot_spread": spread(&ranks[0].dot.us),
            "local_us": local_us,
            "local_spread": local_spread,
            "model": self.machine.map(constants),
            "predicted_us": self.predicted(),
            "predicted_over_measured": self.predicted().map(|predicted| predicted / self.us()),
            "wrong": self.wrong(),
        })
    }
}

/// The constants of the model, by the names of `scale`'s options; null where they are infinite or have no say.
fn constants(machine: Machine) -> Value {
    let Machine { latency, bandwidth, memory_rate, product_rate, launch, dot } = machine;
    json!({
        "latency": latency, "bandwidth": bandwidth, "memory_rate": memory_rate, "product_rate": product_rate,
        "launch": launch, "dot": dot,
    })
}
