//! Rows by the device on which they were measured.

use std::borrow::Cow;

use crate::results::{Op, Row, Setting};

/// The rows measured on one device with one driver, or on one processor. Each operation has those of the newest version of evenpath only.
pub(crate) struct Place<'r> {
    /// The device's name, with the processor of a CPU.
    pub(crate) device: String,
    /// The setting of its first row.
    setting: &'r Setting,
    /// The name at the beginning of file names.
    pub(crate) name: String,
    rows: Vec<(&'r Setting, &'r Row)>,
}

impl<'r> Place<'r> {
    /// The rows of an operation.
    pub(super) fn operation(&self, op: Op) -> Vec<(&'r Setting, &'r Row)> {
        self.rows.iter().copied().filter(|(_, row)| row.key.op == op).collect()
    }

    /// Adds a row. It replaces one with the same key, and all of the operation that an older version measured.
    fn add(&mut self, setting: &'r Setting, row: &'r Row) {
        let new = version(setting);
        let of_op = |known: &Row| known.key.op == row.key.op;
        if self.rows.iter().any(|(known, other)| of_op(other) && version(known) > new) {
            return;
        }
        self.rows.retain(|(known, other)| !of_op(other) || version(known) == new);
        match self.rows.iter().position(|(_, known)| known.key == row.key) {
            Some(known) => self.rows[known] = (setting, row),
            None => self.rows.push((setting, row)),
        }
    }
}

/// The numbers of a version, which compare as versions do.
fn version(setting: &Setting) -> Vec<u64> {
    setting.evenpath.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// The rows grouped by device and driver, in their order.
pub(super) fn places<'r>(all: &'r [(&'r Setting, Cow<'r, Row>)]) -> Vec<Place<'r>> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for (setting, row) in all.iter().map(|(setting, row)| (*setting, row.as_ref())) {
        let is_it = |place: &Place<'_>| {
            (&place.device, &place.setting.driver) == (&setting.device_name(), &setting.driver)
        };
        let index = places.iter().position(is_it).unwrap_or_else(|| {
            let same = places.iter().filter(|place| place.setting.device == setting.device).count();
            let number = if same == 0 { String::new() } else { format!("-{}", same + 1) };
            places.push(Place {
                device: setting.device_name(),
                setting,
                name: format!("{}{number}", file_name(&setting.device)),
                rows: Vec::new(),
            });
            places.len() - 1
        });
        places[index].add(setting, row);
    }
    places
}

/// A device's name as part of a file name.
pub(super) fn file_name(device: &str) -> String {
    let words = device.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use evenpath::Device;

    use super::*;
    use crate::results::Key;

    fn row(op: Op, matrix: &str) -> Row {
        let (variant, suite, value) = (String::new(), "-".into(), "f64".into());
        Row::failed(Key { op, variant, suite, matrix: matrix.into(), value }, None, "out of memory")
    }

    #[test]
    fn devices_name_files() {
        assert_eq!(file_name("NVIDIA H200"), "nvidia-h200");
        assert_eq!(file_name("CPU"), "cpu");
    }

    #[test]
    fn each_operation_has_the_rows_of_its_newest_version() {
        let setting = |evenpath: &str| Setting {
            evenpath: evenpath.into(),
            ..Setting::new(&Device::cpu(), 1.0, &[], String::new())
        };
        let (old, new) = (setting("0.9.1"), setting("0.10.0"));
        let all = [
            (&old, row(Op::Spmv, "a")),
            (&old, row(Op::Spmm, "a")),
            (&new, row(Op::Spmv, "b")),
            (&old, row(Op::Spmv, "c")),
            (&new, row(Op::Spmv, "b")),
        ];
        let all = all.map(|(setting, row)| (setting, Cow::Owned(row)));
        let [place] = &places(&all)[..] else { panic!("one device") };
        let matrices =
            |op| place.operation(op).iter().map(|(_, row)| row.key.matrix.clone()).collect::<Vec<_>>();
        assert_eq!((matrices(Op::Spmv), matrices(Op::Spmm)), (vec!["b".to_owned()], vec!["a".to_owned()]));
    }
}
