//! Runs the tests with each mutant in turn.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Instant;
use std::{env, fs};

use anyhow::{Context, Result, bail, ensure};

use super::{Mutant, copy};
use crate::{root, target_dir};

/// The profile of the copy. Each mutant runs once, so optimizing host code would take longer than it saves.
const PROFILE: [&str; 4] =
    ["--config", "profile.dev.debug=false", "--config", "profile.dev.package.evenpath.opt-level=0"];

/// A copy of the workspace, and its build folder.
struct Copy {
    tree: PathBuf,
    target: PathBuf,
}

/// Applies each mutant to a copy of the workspace and prints whether the tests find it. The copy and its build products
/// stay in the target folder for the next run.
///
/// # Errors
///
/// If a mutant survives, does not apply or does not compile, or if its tests fail without it.
pub fn run(mutants: &[Mutant]) -> Result<()> {
    let folder = target_dir(&root()).join("mutants");
    let copy = Copy { tree: folder.join("tree"), target: folder.join("build") };
    copy::update(&root(), &copy.tree)?;
    let tests: BTreeSet<&[String]> = mutants.iter().map(|mutant| mutant.test.as_slice()).collect();
    for test in tests {
        copy.check_without_mutants(test)?;
    }
    let (mut survivors, mut failures) = (Vec::new(), 0);
    for mutant in mutants {
        let start = Instant::now();
        let verdict = copy.is_killed(mutant);
        let seconds = start.elapsed().as_secs();
        match verdict {
            Ok(true) => println!("killed    {} ({seconds} s)", mutant.name),
            Ok(false) => {
                println!("SURVIVED  {} ({seconds} s): {}", mutant.name, mutant.mistake);
                survivors.push(mutant.name.as_str());
            }
            Err(error) => {
                println!("ERROR     {}: {error:#}", mutant.name);
                failures += 1;
            }
        }
    }
    ensure!(failures == 0, "{failures} of {} mutants could not be tested", mutants.len());
    ensure!(
        survivors.is_empty(),
        "{} of {} mutants survived: {}",
        survivors.len(),
        mutants.len(),
        survivors.join(", ")
    );
    println!("all {} mutants were killed", mutants.len());
    Ok(())
}

impl Copy {
    /// Checks that the tests pass without mutants, and that there are some.
    fn check_without_mutants(&self, test: &[String]) -> Result<()> {
        let what = test.join(" ");
        self.build(test).with_context(|| format!("without a mutant, `cargo test {what}`"))?;
        let output = self.cargo_test(test, &[])?;
        if !output.status.success() {
            bail!("`cargo test {what}` fails without a mutant:\n{}", text(&output.stdout));
        }
        let count = tests_run(&text(&output.stdout));
        ensure!(count > 0, "`cargo test {what}` runs no test");
        println!("without mutants, `cargo test {what}` passes: {count} tests");
        Ok(())
    }

    /// Returns whether the tests fail with the mutant applied.
    fn is_killed(&self, mutant: &Mutant) -> Result<bool> {
        let path = self.tree.join(&mutant.file);
        let original = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        fs::write(&path, mutant.apply(&original)?)?;
        let verdict = self.build(&mutant.test).and_then(|()| self.cargo_test(&mutant.test, &[]));
        fs::write(&path, original)
            .with_context(|| format!("cannot restore {}, which still has the mutant", path.display()))?;
        Ok(!verdict?.status.success())
    }

    /// Builds tests without running them.
    fn build(&self, test: &[String]) -> Result<()> {
        let output = self.cargo_test(test, &["--no-run"])?;
        ensure!(output.status.success(), "does not compile:\n{}", text(&output.stderr));
        Ok(())
    }

    fn cargo_test(&self, test: &[String], more: &[&str]) -> Result<Output> {
        cargo_test(&self.tree, &self.target, test, more)
    }
}

fn cargo_test(tree: &Path, target: &Path, test: &[String], more: &[&str]) -> Result<Output> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Command::new(cargo)
        .args(["test", "--quiet"])
        .args(PROFILE)
        .args(more)
        .args(test)
        .current_dir(tree)
        .env("CARGO_TARGET_DIR", target)
        .stdin(Stdio::null())
        .output()
        .context("cannot start cargo")
}

/// The number of tests run, from the output of the test programs.
fn tests_run(output: &str) -> u64 {
    let counts = output
        .lines()
        .filter_map(|line| line.strip_prefix("running ")?.split(' ').next()?.parse::<u64>().ok());
    counts.sum()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_counted() {
        let output =
            "\nrunning 0 tests\n\ntest result: ok. 0 passed\n\nrunning 1 test\n.\nrunning 12 tests\n";
        assert_eq!(tests_run(output), 13);
        assert_eq!(tests_run("running away\n"), 0);
    }

    /// A workspace of one crate, with a mutant that its test finds, one that it does not find, and one that does not
    /// compile.
    #[test]
    fn mutants_are_killed_survive_or_do_not_compile() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(tree.join("src")).unwrap();
        fs::write(tree.join("Cargo.toml"), "[package]\nname = \"tiny\"\nedition = \"2024\"\n[workspace]\n")
            .unwrap();
        let source = "pub fn sum(a: u32, b: u32) -> u32 { a + b }\npub fn untested() -> u32 { 1 }\n\
                      #[test]\nfn sums() { assert_eq!(sum(1, 2), 3); }\n";
        fs::write(tree.join("src/lib.rs"), source).unwrap();
        let copy = Copy { tree: tree.clone(), target: folder.path().join("build") };
        let mutant = |find: &str, replace: &str| Mutant {
            name: "m".into(),
            mistake: String::new(),
            file: "src/lib.rs".into(),
            find: find.into(),
            replace: replace.into(),
            test: vec!["--lib".into()],
        };
        copy.check_without_mutants(&["--lib".to_owned()]).unwrap();
        let no_test = copy.check_without_mutants(&["--lib".to_owned(), "nothing".to_owned()]).unwrap_err();
        assert!(no_test.to_string().contains("runs no test"), "{no_test}");
        assert!(copy.is_killed(&mutant("a + b", "a * b")).unwrap());
        assert!(!copy.is_killed(&mutant("{ 1 }", "{ 2 }")).unwrap());
        let error = copy.is_killed(&mutant("{ 1 }", "{ one }")).unwrap_err().to_string();
        assert!(error.contains("does not compile"), "{error}");
        let error = copy.is_killed(&mutant("two", "one")).unwrap_err().to_string();
        assert!(error.contains("0 times"), "{error}");
        assert_eq!(fs::read_to_string(tree.join("src/lib.rs")).unwrap(), source, "the source is restored");
    }
}
