//! Measurements of primitives, as one JSON object a line.

/// What was measured. The names join with those that measurements of other libraries use.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Primitive {
    /// The operation.
    pub op: String,
    /// The type of keys, or of elements where there are no keys.
    pub key: &'static str,
    /// The type of values; `-` where there are none.
    pub value: &'static str,
    /// Elements.
    pub n: usize,
}

impl Primitive {
    /// Prints the measurement: median time, the bytes that must be moved, and temporary memory.
    pub fn print(&self, ms: f64, bytes: f64, temporary_bytes: u64) {
        let Self { op, key, value, n } = self;
        let line = serde_json::json!({
            "peer": "evenpath", "op": op, "key": key, "value": value, "n": n, "ms": ms,
            "gkeys_s": *n as f64 / ms / 1e6, "gb_s": bytes / ms / 1e6, "temporary_bytes": temporary_bytes,
        });
        println!("{line}");
    }
}
