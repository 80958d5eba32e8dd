//! Rows by the place where they were measured.

use std::borrow::Cow;

use crate::results::{Row, Setting};

/// The rows measured on one device, beside one set of libraries.
pub(crate) struct Place<'r> {
    /// The first of its settings: all have the same device, driver and peers.
    pub(crate) setting: &'r Setting,
    /// A short name for file names.
    pub(crate) name: String,
    pub(crate) rows: Vec<(&'r Setting, &'r Row)>,
}

impl Place<'_> {
    /// The device and the version that was measured on it: a device may have results of several.
    pub(crate) fn title(&self) -> String {
        format!("{}, evenpath {}", self.setting.device, self.setting.evenpath)
    }
}

/// The rows grouped by device and peers, in their order; of rows with the same key the last counts.
pub(super) fn places<'r>(all: &'r [(&'r Setting, Cow<'r, Row>)]) -> Vec<Place<'r>> {
    let mut places: Vec<Place<'_>> = Vec::new();
    for (setting, row) in all.iter().map(|(setting, row)| (*setting, row.as_ref())) {
        let index =
            places.iter().position(|place| place.setting.agrees(setting).is_ok()).unwrap_or_else(|| {
                let same = places.iter().filter(|place| place.setting.device == setting.device).count();
                let number = if same == 0 { String::new() } else { format!("-{}", same + 1) };
                let name = format!("{}{number}", file_name(&setting.device));
                places.push(Place { setting, name, rows: Vec::new() });
                places.len() - 1
            });
        let rows = &mut places[index].rows;
        match rows.iter().position(|(_, known)| known.key == row.key) {
            Some(known) => rows[known] = (setting, row),
            None => rows.push((setting, row)),
        }
    }
    places
}

/// A device's name as part of a file name.
fn file_name(device: &str) -> String {
    let words = device.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_name_files() {
        assert_eq!(file_name("NVIDIA H200"), "nvidia-h200");
        assert_eq!(file_name("CPU"), "cpu");
    }
}
