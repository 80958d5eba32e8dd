//! Plain English in documentation: finds phrases that `CONTRIBUTING.md` rules out.
//!
//! Comments of Rust sources and the text of Markdown files are read paragraph by paragraph. Code and quotations
//! do not count.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

/// Files and folders that are checked, relative to the workspace.
pub const CHECKED: [&str; 15] = [
    "CONTRIBUTING.md",
    "README.md",
    "bench",
    "distributed",
    "docs",
    "evenpath/build.rs",
    "evenpath/src",
    "evenpath/tests",
    "examples",
    "fuzz",
    "kernels",
    "simt",
    "solvers",
    "tests",
    "xtask",
];

/// Parts of [`CHECKED`] that are not checked: pages of results, and builds.
const EXCLUDED: [&str; 3] = ["bench/tests/report", "docs/performance", "fuzz/target"];

/// Beginnings of sentences that put a relative clause before the subject.
const BEGINNINGS: [&str; 8] =
    ["What ", "Whatever ", "Whether ", "Who ", "Whose ", "As ", "So many ", "Has a "];

/// Phrases that have a shorter or more common equivalent.
const PHRASES: [&str; 13] = [
    " are no more than ",
    " by way of ",
    " come to be ",
    " comes to be ",
    " for want of ",
    " from which on",
    " in so far as ",
    " is no range",
    " or to do so ",
    " see to it ",
    " sees to it ",
    " so many as ",
    " who makes ",
];

/// Ends of sentences, for the same reason.
const ENDS: [&str; 2] = [" no more", " to be had"];

/// A phrase that is ruled out, and its paragraph.
#[derive(Debug, PartialEq, Eq)]
pub struct Finding {
    /// The file, relative to the workspace.
    pub file: PathBuf,
    /// The paragraph's first line, from 1.
    pub line: usize,
    /// The phrase.
    pub phrase: &'static str,
    /// The text of the paragraph.
    pub text: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { file, line, phrase, text } = self;
        write!(f, "{}:{line}: `{}` in: {text}", file.display(), phrase.trim())
    }
}

/// Returns the findings in [`CHECKED`], in the order of files and lines.
///
/// # Errors
///
/// If a file cannot be read, or an entry of [`CHECKED`] has no file to read.
pub fn check(root: &Path) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    for part in CHECKED {
        let mut files = Vec::new();
        collect(root, Path::new(part), &mut files)?;
        ensure!(!files.is_empty(), "`{part}` has no Rust or Markdown file");
        files.sort_unstable();
        for file in files {
            let text = fs::read_to_string(root.join(&file))
                .with_context(|| format!("cannot read {}", file.display()))?;
            findings.extend(findings_in(&file, &text));
        }
    }
    Ok(findings)
}

/// Adds `path`, or the files of the folder `path`, that have documentation.
fn collect(root: &Path, path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let whole = root.join(path);
    if EXCLUDED.iter().any(|part| path == Path::new(part)) {
        return Ok(());
    }
    if whole.is_dir() {
        let entries = whole.read_dir().with_context(|| format!("cannot list {}", path.display()))?;
        for entry in entries {
            collect(root, &path.join(entry?.file_name()), files)?;
        }
    } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "md") {
        files.push(path.to_owned());
    }
    Ok(())
}

fn findings_in(file: &Path, text: &str) -> Vec<Finding> {
    let is_rust = file.extension().is_some_and(|extension| extension == "rs");
    let finding = |Paragraph { line, text }| {
        let phrase = ruled_out(&text)?;
        Some(Finding { file: file.to_owned(), line, phrase, text })
    };
    paragraphs(text, is_rust).into_iter().filter_map(finding).collect()
}

struct Paragraph {
    line: usize,
    text: String,
}

/// The paragraphs of comments of Rust, or of Markdown. Items of lists, rows of tables and headings are paragraphs.
fn paragraphs(text: &str, is_rust: bool) -> Vec<Paragraph> {
    let mut paragraphs: Vec<Paragraph> = Vec::new();
    let (mut is_inside, mut is_code) = (false, false);
    for (at, line) in text.lines().enumerate() {
        let content = if is_rust { comment(line) } else { Some(line.trim()) };
        is_code &= content.is_some();
        let content = content.unwrap_or_default();
        if content.starts_with("```") {
            is_code = !is_code;
            is_inside = false;
        } else if is_code || content.is_empty() {
            is_inside = false;
        } else {
            let item = without_marker(content);
            match paragraphs.last_mut() {
                Some(last) if is_inside && item == content => last.text = format!("{} {item}", last.text),
                _ => paragraphs.push(Paragraph { line: at + 1, text: item.to_owned() }),
            }
            is_inside = true;
        }
    }
    paragraphs
}

/// The text of a line that is a comment.
fn comment(line: &str) -> Option<&str> {
    let text = line.trim().strip_prefix("//")?;
    Some(text.strip_prefix(['/', '!']).unwrap_or(text).trim())
}

/// The line without the marker of an item of a list, a row of a table, or a heading.
fn without_marker(line: &str) -> &str {
    let unnumbered = line.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let numbered = unnumbered.strip_prefix(". ").filter(|_| unnumbered.len() < line.len());
    let heading = line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'));
    let markers = ["* ", "- ", "| "];
    let marked = markers.iter().find_map(|marker| line.strip_prefix(marker));
    numbered.or(heading).or(marked).unwrap_or(line)
}

/// The first phrase in a paragraph that is ruled out.
fn ruled_out(paragraph: &str) -> Option<&'static str> {
    let text = without_quotations(paragraph);
    let sentences: Vec<&str> = text.split_inclusive(". ").map(|it| it.trim_end_matches([' ', '.'])).collect();
    let beginning = |phrase: &&&str| sentences.iter().any(|sentence| sentence.starts_with(**phrase));
    let end = |phrase: &&&str| sentences.iter().any(|sentence| sentence.ends_with(**phrase));
    let inside = |phrase: &&&str| format!(" {text} ").contains(**phrase);
    let found = BEGINNINGS.iter().find(beginning);
    found.or_else(|| PHRASES.iter().find(inside)).or_else(|| ENDS.iter().find(end)).copied()
}

/// The text with nothing between quotation marks and backticks.
fn without_quotations(text: &str) -> String {
    ['"', '`'].iter().fold(text.to_owned(), |text, mark| {
        let parts: Vec<&str> = text.split(*mark).collect();
        let is_closed = parts.len() % 2 == 1;
        let keep = |(at, part): (usize, &&str)| {
            if is_closed && at % 2 == 1 { "…".into() } else { (*part).to_owned() }
        };
        parts.iter().enumerate().map(keep).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(file: &str, text: &str) -> Vec<(usize, &'static str)> {
        let findings = findings_in(Path::new(file), text);
        findings.iter().map(|finding| (finding.line, finding.phrase.trim())).collect()
    }

    #[test]
    fn checked_folders_are_plain() {
        let findings = check(&crate::root()).expect("the sources");
        let list: Vec<String> = findings.iter().map(Finding::to_string).collect();
        assert!(list.is_empty(), "{}", list.join("\n"));
    }

    #[test]
    fn each_phrase_is_found() {
        for phrase in BEGINNINGS {
            assert_eq!(ruled_out(&format!("{phrase}row")), Some(phrase));
            assert_eq!(ruled_out(&format!("Rows. {phrase}row.")), Some(phrase));
            assert_eq!(ruled_out(&format!("Rows {phrase}row.")), None, "not a beginning");
        }
        for phrase in PHRASES {
            assert_eq!(ruled_out(&format!("the rows{phrase}")), Some(phrase));
        }
        for phrase in ENDS {
            assert_eq!(ruled_out(&format!("Waits{phrase}. Then")), Some(phrase));
            assert_eq!(ruled_out(&format!("Waits{phrase}")), Some(phrase));
            assert_eq!(ruled_out(&format!("Waits{phrase} rows.")), None, "not an end");
        }
    }

    #[test]
    fn rust_is_read_by_its_comments() {
        let text = "//! What it is.\n\nlet a = \"\n    What\";\n    /// Rows, from\n    /// which on.\n    ///\n    /// ```\n    /// // As code\n    /// ```\n    // * As an item\n";
        assert_eq!(lines("a.rs", text), [(1, "What"), (5, "from which on"), (11, "As")]);
    }

    #[test]
    fn an_unclosed_code_block_ends_with_its_comment() {
        let text = "/// ```\nfn a() {}\n/// Who it is.\n";
        assert_eq!(lines("a.rs", text), [(3, "Who")]);
    }

    #[test]
    fn markdown_is_read_by_paragraphs() {
        let text = "# What it is\n\nLines of\nAs text.\n```\nWhat code\n```\n12. So many rows\n| Has a row | no more |\n";
        assert_eq!(lines("a.md", text), [(1, "What"), (8, "So many"), (9, "Has a")]);
    }

    #[test]
    fn quotations_do_not_count() {
        assert_eq!(ruled_out("Not \"from which on\" and ` by way of `."), None);
        assert_eq!(ruled_out("Not \"from which on\", but 5\" from which on."), Some(" from which on"));
    }
}
