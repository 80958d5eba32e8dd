//! The output of a program: lines of text or one JSON object, and a verdict.

use std::fmt;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use evenpath::csr::Statistics;
use evenpath::device::DeviceKind;
use evenpath::{Csr, Device, Offset, Storage};
use serde_json::{Map, json};

use crate::measure::Measurement;

/// The output of a program. Displays as text or as one JSON object.
#[derive(Debug, Clone)]
pub struct Report {
    as_json: bool,
    is_brief: bool,
    text: String,
    fields: Map<String, serde_json::Value>,
    remarks: Vec<String>,
    verdict: Result<(), String>,
}

impl Report {
    /// Creates an empty report with the verdict of a check.
    pub fn new(as_json: bool, verdict: Result<(), String>) -> Self {
        Self {
            as_json,
            is_brief: false,
            text: String::new(),
            fields: Map::new(),
            remarks: Vec::new(),
            verdict,
        }
    }

    /// Makes the text brief: the size of a matrix instead of its statistics, and one rate instead of three. JSON has
    /// everything in any case.
    #[must_use]
    pub fn brief(self, is_brief: bool) -> Self {
        Self { is_brief, ..self }
    }

    /// Adds the verdict of a check. The first failure is kept.
    pub fn check(&mut self, verdict: Result<(), String>) {
        if self.passed() {
            self.verdict = verdict;
        }
    }

    /// Returns whether all checks passed.
    pub fn passed(&self) -> bool {
        self.verdict.is_ok()
    }

    /// Adds a line of text with a label, and the same content as fields of a JSON object.
    pub fn line(&mut self, label: &str, text: impl fmt::Display, fields: serde_json::Value) {
        self.text(format_args!("{label:<8}{text}\n"));
        self.fields_only(fields);
    }

    /// Adds fields of the JSON object alone.
    fn fields_only(&mut self, fields: serde_json::Value) {
        if let serde_json::Value::Object(fields) = fields {
            self.fields.extend(fields);
        }
    }

    /// Adds a note on how to read the figures.
    pub fn remark(&mut self, remark: impl Into<String>) {
        self.remarks.push(remark.into());
    }

    /// Adds a matrix: name, types, and statistics in the layout of merge-spmv.
    pub fn matrix<V: Storage, O: Offset>(&mut self, name: &str, matrix: &Csr<V, O>) {
        let fields = json!({ "matrix": name, "value": V::NAME, "offset": O::NAME });
        self.line("matrix", format_args!("{name}; {} values, {} row offsets", V::NAME, O::NAME), fields);
        let statistics = matrix.statistics();
        if self.is_brief {
            let Statistics { nrows: rows, ncols: cols, nnz, row_length_mean, row_length_max, .. } =
                statistics;
            let lengths = format!("{row_length_mean:.1} a row, {row_length_max} at most");
            self.text(format_args!("{:<8}{rows} x {cols}, {nnz} nonzeros: {lengths}\n", "size"));
        } else {
            self.text(format_args!("{statistics}\n"));
        }
        self.fields.insert("statistics".into(), statistics_fields(&statistics));
    }

    /// Adds a device.
    pub fn device(&mut self, device: &Device) {
        self.line("device", device, json!({ "device": device.to_string() }));
    }

    /// Adds the time to the first result on the host, including opening the device.
    pub fn first_result(&mut self, opening: Duration, first_result: Duration) {
        let (opening, first_result) = (opening.as_secs_f64() * 1e3, first_result.as_secs_f64() * 1e3);
        self.line(
            "first",
            format_args!(
                "{first_result:.1} ms to the first result on the host, of which {opening:.1} ms to open the device"
            ),
            json!({ "open_ms": opening, "first_result_ms": first_result }),
        );
    }

    /// Adds a measurement, beside the copy rate of the device.
    pub fn measurement(&mut self, device: &Device, measured: &Measurement, copy_gbps: f64) {
        let &Measurement { iterations, ms, gflops, effective_gbps, counted_by, gbps, bytes, .. } = measured;
        let (shortest, longest) = measured.range_ms;
        let copy_share = gbps / copy_gbps;
        self.line(
            "time",
            format_args!("{ms:.4} ms, median of {iterations} (shortest {shortest:.4}, longest {longest:.4})"),
            json!({ "iterations": iterations, "ms": ms, "shortest_ms": shortest, "longest_ms": longest }),
        );
        let rates = json!({ "gflops": gflops, "effective_gbps": effective_gbps });
        let memory =
            json!({ "bytes": bytes, "gbps": gbps, "copy_gbps": copy_gbps, "copy_share": copy_share });
        if self.is_brief {
            let text =
                format!("{gflops:.1} GFLOP/s; {gbps:.0} GB/s, where a copy in memory has {copy_gbps:.0}");
            self.line("rate", text, rates);
            self.fields_only(memory);
        } else {
            let effective = format!("{effective_gbps:.2} effective GB/s, counted as by {counted_by}");
            self.line("rate", format_args!("{gflops:.2} GFLOP/s, {effective}"), rates);
            let share = format!("{copy_share:.3} of the device's copy rate ({copy_gbps:.1} GB/s)");
            self.line("memory", format_args!("{gbps:.2} GB/s with each array counted once, {share}"), memory);
        }
        let fits_l2 = measured.fits_l2(device);
        self.fields.insert("fits_l2".into(), json!(fits_l2));
        if let (Some(true), Some(l2)) = (fits_l2, device.properties().l2_bytes) {
            self.remark(format!(
                "the data, {bytes} bytes, fits in the device's L2 of {l2}: the rate is that of the cache"
            ));
        }
        match device.kind() {
            DeviceKind::Cuda(_) => {}
            DeviceKind::Cpu => self.remark("the copy rate of the CPU is that of one thread"),
            DeviceKind::Simulated => self.remark("times on the simulated GPU are those of the simulation"),
        }
    }

    /// Writes a drawing to a file and adds its path; `what` is the label.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn drawing(&mut self, what: &str, path: &Path, svg: &str) -> Result<(), String> {
        std::fs::write(path, svg).map_err(|error| format!("{}: {error}", path.display()))?;
        self.line(what, path.display(), json!({ what: path }));
        Ok(())
    }

    fn text(&mut self, text: fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.text.write_fmt(text);
    }
}

fn statistics_fields(statistics: &Statistics) -> serde_json::Value {
    json!({
        "rows": statistics.nrows,
        "cols": statistics.ncols,
        "nnz": statistics.nnz,
        "row_length_mean": statistics.row_length_mean,
        "row_length_std_dev": statistics.row_length_std_dev,
        "row_length_variation": statistics.row_length_variation,
        "row_length_skewness": statistics.row_length_skewness,
        "row_length_max": statistics.row_length_max,
        "empty_rows": statistics.empty_rows,
        "degree_histogram": statistics.degree_histogram,
    })
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.as_json {
            let mut fields = self.fields.clone();
            fields.insert("remarks".into(), json!(self.remarks));
            fields.insert("pass".into(), json!(self.passed()));
            fields.insert("difference".into(), json!(self.verdict.as_ref().err()));
            return write!(f, "{}", serde_json::Value::Object(fields));
        }
        f.write_str(&self.text)?;
        for remark in &self.remarks {
            writeln!(f, "{:<8}{remark}", "note")?;
        }
        match &self.verdict {
            Ok(()) => f.write_str("PASS"),
            Err(difference) => write!(f, "FAIL: {difference}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_json_give_the_verdict() {
        let mut report = Report::new(false, Err("y[3] is 1, not 2".into()));
        report.line("answer", 42, json!({ "answer": 42 }));
        report.remark("beware");
        assert_eq!(report.to_string(), "answer  42\nnote    beware\nFAIL: y[3] is 1, not 2");
        assert!(!report.passed());
        report.check(Ok(()));
        report.check(Err("later".into()));
        report.as_json = true;
        let expected =
            json!({ "answer": 42, "remarks": ["beware"], "pass": false, "difference": "y[3] is 1, not 2" });
        assert_eq!(report.to_string().parse::<serde_json::Value>().unwrap(), expected);
    }
}
