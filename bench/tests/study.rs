//! `evenpath-bench study` on devices that every machine has.

use std::process::Command;

use serde_json::Value;

/// The tables of a study.
fn tables(study: &str, arguments: &[&str]) -> Vec<Value> {
    let output = Command::new(env!("CARGO_BIN_EXE_evenpath-bench"))
        .args(["study", study, "--repetitions", "1", "--json"])
        .args(arguments)
        .output()
        .expect("the program starts");
    assert!(output.status.success(), "{study}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let tables: Vec<Value> = text.lines().map(|line| line.parse().expect("JSON")).collect();
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

#[test]
fn merge_path_has_a_row_a_matrix_and_the_published_correlations() {
    let tables = tables("merge-path", &SMALL);
    for title in ["SpMV over", "SpAdd over", "SpGEMM over"] {
        assert_eq!(rows(&tables, title).len(), 2, "{title}: economics and circuit");
        assert!(row(&tables, title, "circuit")[2].as_f64() > Some(0.0));
    }
    let published: Vec<_> = rows(&tables, "Correlation").iter().map(|row| row[2].as_f64().unwrap()).collect();
    assert_eq!(published, [0.97, 1.0, 0.98]);
    assert!(!rows(&tables, "Union").is_empty());
}

#[test]
fn row_sorting_compares_with_the_published_ratios() {
    let tables = tables("row-sorting", &SMALL);
    let circuit = row(&tables, "Longest row", "circuit");
    let (before, after, ratio) =
        (circuit[1].as_f64().unwrap(), circuit[2].as_f64().unwrap(), circuit[3].as_f64().unwrap());
    assert!(before > after && (after / before - ratio).abs() < 1e-12, "{circuit}");
    // 40% in Table 5.
    assert!((circuit[6].as_f64().unwrap() - 0.40).abs() < 0.005, "{circuit}");
    // 40.7% in Table 8.
    assert!((row(&tables, "One thread per row", "economics")[9].as_f64().unwrap() - 0.407).abs() < 0.0005);
}

#[test]
fn merge_spmv_has_threads_and_the_published_times() {
    let tables = tables("merge-spmv", &SMALL);
    let published = row(&tables, "circuit5M", "published: merge CsrMV, Tesla K40");
    // The README says 17.19377.
    assert!((published[2].as_f64().unwrap() - 17.193_77).abs() < 1e-3, "{published}");
    assert!(rows(&tables, "correlation of time").len() >= 2);
}

#[test]
fn hisparse_has_bytes_and_means() {
    let tables = tables("hisparse", &["--device", "cpu", "--most-nonzeros", "400000"]);
    let bytes = row(&tables, "Bytes", "poisson3da");
    assert!(bytes[4].as_f64().is_some_and(|over_csr| over_csr > 0.3 && over_csr < 1.5), "{bytes}");
    let means = row(&tables, "Means", "SpMV with the transpose");
    assert_eq!((&means[1], &means[6]), (&1.0.into(), &25.058.into()));
}

#[test]
fn csr_adaptive_has_the_published_table_and_says_what_a_cpu_has_not() {
    let tables = tables("csr-adaptive", &["--device", "cpu", "--most-nonzeros", "1000"]);
    assert_eq!(rows(&tables, "Published").len(), 6);
    let ratio = rows(&tables, "Published")[0][7].as_f64().unwrap();
    assert!((ratio - 9.3 / 5.8).abs() < 1e-12);
    let notes = tables[2]["notes"].to_string();
    assert!(
        notes.contains("the CPU has no row blocks")
            && notes.contains("left out, with more than 1000 nonzeros: "),
        "{notes}"
    );
}
