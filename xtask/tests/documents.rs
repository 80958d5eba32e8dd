//! Tests of the documents: no link is broken.

use std::fs;
use std::path::{Path, PathBuf};

use xtask::root;

/// The Markdown files in the root of the repository and in `docs`.
fn documents() -> Vec<PathBuf> {
    fn add(folder: &Path, is_recursive: bool, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("the folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() && is_recursive {
                add(&path, true, found);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    add(&root(), false, &mut found);
    add(&root().join("docs"), true, &mut found);
    found
}

/// The lines of a document outside code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_fence && !is_code
    })
}

/// The targets of the links in a line, `](target)`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target)
}

/// The anchor of a heading as Git forges generate it: lower case, hyphens for spaces, without
/// punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
    kept.collect::<String>().trim().to_lowercase().replace(' ', "-")
}

fn has_anchor(document: &Path, wanted: &str) -> bool {
    let text = fs::read_to_string(document).expect("a document");
    let mut headings = prose(&text).filter(|line| line.starts_with('#'));
    headings.any(|heading| anchor(heading.trim_start_matches('#')) == wanted)
}

#[test]
fn links_point_to_files_and_headings() {
    let (mut count, mut broken) = (0, Vec::new());
    for document in documents() {
        let text = fs::read_to_string(&document).expect("a document");
        for target in prose(&text).flat_map(targets).filter(|target| !target.contains("://")) {
            let (path, wanted) = target.split_once('#').unwrap_or((target, ""));
            let file = if path.is_empty() {
                document.clone()
            } else {
                document.parent().unwrap_or(&document).join(path)
            };
            if !file.exists() || !wanted.is_empty() && !has_anchor(&file, wanted) {
                broken.push(format!("{}: {target}", document.display()));
            }
            count += 1;
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    assert!(count > 50, "{count} links found");
}

#[test]
fn anchors_match_those_of_forges() {
    assert_eq!(anchor(" SpGEMM: new values, for `plan`s"), "spgemm-new-values-for-plans");
    assert_eq!(prose("a\n```sh\n# b\n```\nc").collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(targets("[a](b.md#c), ![d](e.svg)").collect::<Vec<_>>(), ["b.md#c", "e.svg"]);
}
