//! Correlation of time with work: Figures 6, 8 and 10.

use serde::{Deserialize, Serialize};

use crate::study::figures::correlation;
use crate::study::name::Study;
use crate::study::published::MERGE_PATH_CORRELATION;
use crate::study::table::{Cell, Table};

/// Work and time of an operation with each matrix, for evenpath and cuSPARSE.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Times {
    own: Vec<(f64, f64)>,
    peer: Vec<(f64, f64)>,
}

impl Times {
    pub(super) fn take(&mut self, work: f64, own_ms: Option<f64>, peer_ms: Option<f64>) {
        self.own.extend(own_ms.map(|ms| (work, ms)));
        self.peer.extend(peer_ms.map(|ms| (work, ms)));
    }

    fn extend(&mut self, Self { own, peer }: Self) {
        self.own.extend(own);
        self.peer.extend(peer);
    }
}

/// The times of all operations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Series {
    pub(super) spmv: Times,
    pub(super) spmv_by_merge_path: Times,
    pub(super) spadd: Times,
    pub(super) spgemm: Times,
}

impl Series {
    pub(super) fn extend(&mut self, other: Self) {
        self.spmv.extend(other.spmv);
        self.spmv_by_merge_path.extend(other.spmv_by_merge_path);
        self.spadd.extend(other.spadd);
        self.spgemm.extend(other.spgemm);
    }

    /// The correlations, beside the published ones.
    pub(super) fn table(&self, title: &str) -> Table {
        let mut table = Table::new(
            Study::MergePath,
            title,
            "Figures 6, 8 and 10, GTX Titan; work is nonzeros, nonzeros of both matrices, and products.",
            &["operation", "method", "evenpath", "published", "cuSPARSE, beside"],
        );
        let methods = [("flat", &self.spmv), ("merge path", &self.spadd), ("two-level sort", &self.spgemm)];
        let published = MERGE_PATH_CORRELATION.into_iter().zip(methods);
        let mut rows: Vec<(&str, &str, &Times, Option<f64>)> = published
            .map(|((operation, published), (method, times))| (operation, method, times, Some(published)))
            .collect();
        rows.insert(1, ("SpMV", "merge path", &self.spmv_by_merge_path, None));
        for (operation, method, times, published) in rows {
            table.row([
                operation.into(),
                method.into(),
                correlation(&times.own).into(),
                Cell::from(published),
                correlation(&times.peer).into(),
            ]);
        }
        table.note(
            "by these methods, even if others are faster; the source adds by the balanced path, and its SpMV is flat",
        );
        table
    }
}
