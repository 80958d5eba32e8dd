//! `evenpath-bench study` on devices that every machine has.

use std::path::Path;
use std::process::Output;
use std::sync::LazyLock;

use serde_json::Value;

use super::{command, objects};

/// The tables of a study.
fn tables(study: &str, arguments: &[&str]) -> Vec<Value> {
    let tables = objects("study", &[&[study, "--repetitions", "1"], arguments].concat());
    for table in &tables {
        assert_eq!((&table["study"], &table["wrong"]), (&study.into(), &Value::Array(vec![])), "{table}");
        let columns = table["columns"].as_array().expect("columns").len();
        for row in table["rows"].as_array().expect("rows") {
            assert_eq!(row.as_array().expect("a row").len(), columns, "{table}");
        }
    }
    tables
}

fn rows<'t>(tables: &'t [Value], title: &str) -> &'t Vec<Value> {
    let table = tables.iter().find(|table| table["title"].as_str().is_some_and(|text| text.contains(title)));
    table.unwrap_or_else(|| panic!("no table `{title}`"))["rows"].as_array().expect("rows")
}

/// A row by its first cell.
fn row<'t>(tables: &'t [Value], title: &str, name: &str) -> &'t Value {
    let found = rows(tables, title).iter().find(|row| row[0] == name);
    found.unwrap_or_else(|| panic!("no row `{name}` in `{title}`"))
}

const SMALL: [&str; 4] = ["--device", "cpu", "--most-nonzeros", "1500000"];

/// The cell of a row, named by its first cell, in a column.
fn cell<'t>(tables: &'t [Value], title: &str, name: &str, column: &str) -> &'t Value {
    let table = tables.iter().find(|table| table["title"].as_str().is_some_and(|text| text.contains(title)));
    let columns = table.and_then(|table| table["columns"].as_array()).expect("columns");
    let index = columns.iter().position(|heading| heading == column);
    &row(tables, title, name)[index.unwrap_or_else(|| panic!("no column `{column}` in {columns:?}"))]
}

fn positive(tables: &[Value], title: &str, name: &str, column: &str) -> f64 {
    let value = cell(tables, title, name, column).as_f64();
    value.filter(|&value| value > 0.0).unwrap_or_else(|| panic!("{title}, {name}, {column}: {value:?}"))
}

/// The ratio of two columns is in a third.
fn assert_quotient(tables: &[Value], title: &str, name: &str, [above, below, ratio]: [&str; 3]) {
    let [above, below, ratio] = [above, below, ratio].map(|column| positive(tables, title, name, column));
    assert!((above / below / ratio - 1.0).abs() < 1e-12, "{title}, {name}: {above} / {below}, not {ratio}");
}

#[test]
fn merge_path_has_a_row_per_matrix_and_the_published_correlations() {
    // Products of millions of terms take minutes without optimisation: a test of the study has small ones.
    let tables = tables("merge-path", &[&SMALL[..], &["--most-products", "1000"]].concat());
    for title in ["SpMV over", "SpAdd over"] {
        assert_eq!(rows(&tables, title).len(), 2, "{title}: economics and circuit");
        assert!(cell(&tables, title, "circuit", "spread, %").as_f64() >= Some(0.0));
    }
    assert!(rows(&tables, "SpGEMM over").is_empty());
    positive(&tables, "SpMV over", "circuit", "merge path, ms");
    // The CPU does not have the paper's division.
    assert!(cell(&tables, "SpMV over", "circuit", "flat, ms").is_null());
    let quotient = ["one CPU thread, ms", "merge path, CSR, ms", "speed-up, merge path"];
    assert_quotient(&tables, "SpAdd over", "circuit", quotient);
    let method_and_published = |row: &Value| Some((row[1].as_str()?.to_owned(), row[3].as_f64()?));
    let published: Vec<_> = rows(&tables, "Correlation").iter().filter_map(method_and_published).collect();
    let expected = [("flat", 0.97), ("balanced-path", 1.0), ("column sort", 0.98)];
    assert_eq!(published, expected.map(|(method, published)| (method.to_owned(), published)));
    assert!(!rows(&tables, "Union").is_empty());
}

#[test]
fn merge_path_counts_the_cycles_of_one_and_two_passes() {
    let tables = tables("merge-path", &["--device", "simulated", "--most-nonzeros", "10"]);
    let title = "Clock cycles";
    let bits: Vec<_> = rows(&tables, title).iter().map(|row| row[0].as_f64()).collect();
    assert_eq!(bits, [12.0, 16.0, 20.0, 24.0, 28.0].map(Some));
    for row in rows(&tables, title) {
        let cycles = |column: usize| row[column].as_f64().expect("cycles");
        let [two_passes, one_pass, permutation] = [1, 2, 4].map(cycles);
        assert!(two_passes > 0.0 && one_pass > 0.0, "{row}");
        assert!((cycles(5) - one_pass / two_passes).abs() < 1e-12, "{row}");
        assert!((cycles(6) - permutation / one_pass).abs() < 1e-12, "{row}");
    }
}

/// The study of row sorting, for two tests.
static ROW_SORTING: LazyLock<Vec<Value>> = LazyLock::new(|| tables("row-sorting", &SMALL));

#[test]
fn row_sorting_compares_with_the_published_ratios() {
    let tables = &ROW_SORTING;
    assert_quotient(tables, "Longest row", "circuit", ["after", "before", "ratio"]);
    let longest = |column: &str| positive(tables, "Longest row", "circuit", column);
    assert!(longest("before") > longest("after"));
    // 40% in Table 5.
    assert!((longest("published ratio") - 0.40).abs() < 0.005);
    // 40.7% in Table 8.
    let published = positive(tables, "in sequence", "economics", "published");
    assert!((published - 0.407).abs() < 0.0005, "{published}");
    let title = "One thread per row";
    for column in ["ELL", "one CPU thread", "sorting", "CSR, scalar sorted"] {
        positive(tables, title, "economics", column);
    }
    assert_quotient(tables, title, "economics", ["ELL-R sorted", "ELL-R", "sorted over unsorted"]);
    assert!(cell(tables, title, "economics", "CSR, warp per row").is_null(), "the CPU has no warps");
}

#[test]
fn row_sorting_sweeps_synthetic_matrices() {
    let tables = &ROW_SORTING;
    let (density, short) = ("by density", "by share of rows");
    assert_quotient(tables, density, "16384 at 0.1 %", ["ELL-R sorted", "ELL-R", "sorted over unsorted"]);
    assert_quotient(tables, density, "16384 at 0.1 %", ["one CPU thread", "ELL-R", "CPU over ELL-R"]);
    // 0.1 % and 32 in Table 2, 90.0 % of 0.32 ms rounded to two digits.
    let exact = |column: &str| positive(tables, density, "16384 at 0.1 %", column);
    assert!((exact("% of nonzeros") - 0.1).abs() < 0.005);
    assert!((exact("longest row") - 32.0).abs() < 1e-12);
    assert!((exact("published") - 0.27 / 0.32).abs() < 1e-12);
    let row = "16384 with 100 % short rows";
    assert_quotient(tables, short, row, ["ELL-R sorted", "ELL-R", "sorted over unsorted"]);
    assert!((positive(tables, short, row, "published CPU over ELL-R") - 1.25 / 0.32).abs() < 1e-12);
    let notes = tables.iter().map(|table| table["notes"].to_string()).collect::<String>();
    assert!(notes.contains("more than 1500000 nonzeros: 4096 at 10 %"), "{notes}");
}

#[test]
fn merge_spmv_has_threads_and_the_published_times() {
    let tables = tables("merge-spmv", &SMALL);
    let published = row(&tables, "circuit5M", "published: merge CsrMV, Tesla K40");
    // The README says 17.19377.
    assert!((published[2].as_f64().unwrap() - 17.193_77).abs() < 1e-3, "{published}");
    let methods: Vec<_> = rows(&tables, "correlation of time").iter().map(|row| row[0].as_str()).collect();
    assert_eq!(methods, ["merge-path", "direct", "row-parallel", "HYB"].map(Some));
}

#[test]
fn hisparse_has_bytes_and_means() {
    let tables = tables("hisparse", &["--device", "cpu", "--most-nonzeros", "400000"]);
    let bytes = row(&tables, "Bytes", "poisson3da");
    assert!(bytes[4].as_f64().is_some_and(|over_csr| over_csr > 0.3 && over_csr < 1.5), "{bytes}");
    let mean = |column| cell(&tables, "Means", "SpMV with the transpose", column);
    let [matrices, ours, cusparse] = ["matrices", "published HiSparse", "published cuSPARSE"].map(mean);
    assert_eq!((matrices, ours, cusparse), (&1.0.into(), &3.589.into(), &25.058.into()));
    // Both types are measured.
    for value in ["f32", "f64"] {
        positive(&tables, &format!("Bytes per nonzero, {value}"), "poisson3da", "HiSparse");
    }
}

/// A study into a file.
fn into_file(study: &str, path: &Path, most_nonzeros: &str) -> Output {
    command("study")
        .args([study, "--repetitions", "1", "--device", "cpu", "--most-nonzeros", most_nonzeros, "--out"])
        .arg(path)
        .output()
        .expect("the program starts")
}

#[test]
fn hisparse_continues_its_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("study-hisparse.jsonl");
    let lines = || -> Vec<String> {
        std::fs::read_to_string(&path).expect("a file").lines().map(str::to_owned).collect()
    };
    for _ in 0..2 {
        let output = into_file("hisparse", &path, "400000");
        assert!(output.status.success(), "{output:?}");
    }
    let complete = lines();
    // The setting, poisson3da in both types, and the tables: two more of f32, beside published figures.
    assert_eq!(complete.len(), 1 + 1 + 9 + 7);
    // After an interruption in the next case.
    std::fs::write(&path, complete[..2].join("\n") + "\n{\"case\":{").expect("written");
    assert!(into_file("hisparse", &path, "400000").status.success());
    let continued = lines();
    assert_eq!((continued.len(), &continued[..2]), (complete.len(), &complete[..2]));
}

#[test]
fn a_file_of_another_study_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("study-csr-adaptive.jsonl");
    for _ in 0..2 {
        assert!(into_file("csr-adaptive", &path, "1000").status.success());
    }
    let before = std::fs::read(&path).expect("a file");
    let output = into_file("hisparse", &path, "1000");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains("results of the study `csr-adaptive`"), "{text}");
    assert_eq!(std::fs::read(&path).expect("a file"), before);
}

#[test]
fn csr_adaptive_has_the_published_table_and_says_what_a_cpu_has_not() {
    let tables = tables("csr-adaptive", &["--device", "cpu", "--most-nonzeros", "1000"]);
    assert_eq!(rows(&tables, "Published").len(), 6);
    let ratio = rows(&tables, "Published")[0][7].as_f64().unwrap();
    assert!((ratio - 9.3 / 5.8).abs() < 1e-12);
    let difference = cell(&tables, "Published", "af_shell10", "largest difference");
    assert_eq!(difference, "0.2 (LightSpMV)");
    let titles: Vec<_> = tables[1..].iter().map(|table| table["title"].as_str().expect("a title")).collect();
    let expected = ["f32", "f64"].map(|value| {
        [
            format!("Both methods by threads per block, GB/s, {value}"),
            format!("CSR-Adaptive by nonzeros per row block, GB/s, {value}"),
            format!("Methods, milliseconds, {value}"),
        ]
    });
    assert_eq!(titles[..6], expected.concat());
    assert_eq!(titles[6..], ["Rates by nonzeros per row, f64"]);
    for table in &tables[1..3] {
        let headings = table["columns"].to_string();
        assert!(headings.contains("1024") && !headings.contains("2048"), "{headings}");
    }
    let notes = tables[3]["notes"].to_string();
    for name in ["af_shell10", "nlpkkt80", "StocF-1465"] {
        assert!(notes.contains(&format!("{name} is a stand-in")), "{notes}");
    }
    assert!(
        notes.contains("the CPU has no row blocks")
            && notes.contains("left out, with more than 1000 nonzeros: "),
        "{notes}"
    );
}
