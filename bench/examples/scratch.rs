#![allow(warnings)]
use evenpath::assembly::AssemblyPlan;
use evenpath::csr::{Filter, Reduction};
use evenpath::generate::{generate, Kind};
use evenpath::spgemm::{SpgemmMethod, SpgemmOptions};
use evenpath::spmv::SpmvOptions;
use evenpath::vector::{self, Map};
use evenpath::{Csr, Device};
type R<T> = Result<T, Box<dyn std::error::Error>>;
fn time(d: &Device, reps: usize, mut f: impl FnMut() -> R<()>) -> R<(f64, f64)> {
    for _ in 0..3 { f()?; }
    let mut t = Vec::new();
    for _ in 0..reps {
        let s = d.record()?; f()?; let e = d.record()?; d.synchronize()?;
        t.push(e.elapsed_since(&s)?);
    }
    t.sort_by(f64::total_cmp);
    Ok((t[t.len() / 2], t[t.len() * 3 / 4] - t[t.len() / 4]))
}
fn main() -> R<()> {
    let d = Device::best()?;
    println!("{d}");
    // 1. assembly
    for side in [39usize, 100] {
        let n = side + 1;
        let mut nodes = Vec::new();
        for z in 0..side { for y in 0..side { for x in 0..side {
            for c in 0..8 { nodes.push(((x + (c & 1)) + n * ((y + (c >> 1 & 1)) + n * (z + (c >> 2)))) as u32); }
        } } }
        let en = d.upload(&nodes)?;
        let t = nodes.len() * 8;
        let start = std::time::Instant::now();
        let plan: AssemblyPlan = AssemblyPlan::from_elements(n * n * n, 8, &en)?;
        let first = start.elapsed().as_secs_f64() * 1e3;
        let start = std::time::Instant::now();
        let plan: AssemblyPlan = AssemblyPlan::from_elements(n * n * n, 8, &en)?;
        let again = start.elapsed().as_secs_f64() * 1e3;
        let vals = d.upload(&vec![1.0f64; t])?;
        let a = plan.assemble(&vals)?;
        let (ms, sp) = time(&d, 30, || Ok(plan.assemble_into(&vals, &a)?))?;
        let bytes = 12 * t + 12 * a.nnz();
        let half = d.upload(&vec![0u8; bytes / 2])?;
        let mut other = d.zeros::<u8>(bytes / 2)?;
        let (copy, _) = time(&d, 30, || Ok(other.copy_from(&half)?))?;
        println!("assembly side {side}: {t} triplets, {} nnz, plan {first:.2} / {again:.2} ms, new values {ms:.4} ms ({sp:.4}), copy of its {bytes} bytes {copy:.4} ms, ratio {:.2}", a.nnz(), ms / copy);
    }
    // 2. mixed SpMV
    for kind in ["stencil27:100", "fem:400000", "power-law:800000", "uniform:800000", "like:webbase"] {
        let k: Kind = kind.parse()?;
        let a32: Csr<f32> = generate(k, 1)?;
        let a64: Csr<f64> = generate(k, 1)?;
        let (r, c) = a32.shape();
        let (d32, d64) = (d.upload(&a32)?, d.upload(&a64)?);
        let (x32, x64) = (d.upload(&vec![1.0f32; c])?, d.upload(&vec![1.0f64; c])?);
        let (mut y32, mut y64) = (d.zeros::<f32>(r)?, d.zeros::<f64>(r)?);
        let (p32, p64) = (d32.plan_spmv(SpmvOptions::default())?, d64.plan_spmv(SpmvOptions::default())?);
        let m32 = d32.plan_spmv(SpmvOptions::default().with_method(evenpath::spmv::SpmvMethod::MergePath))?;
        let m64 = d64.plan_spmv(SpmvOptions::default().with_method(evenpath::spmv::SpmvMethod::MergePath))?;
        let pm = d32.plan_spmv_mixed::<f64>(SpmvOptions::default())?;
        let t32 = time(&d, 30, || Ok(p32.run(1.0, &x32, 0.0, &mut y32)?))?.0;
        let t64 = time(&d, 30, || Ok(p64.run(1.0, &x64, 0.0, &mut y64)?))?.0;
        let g32 = time(&d, 30, || Ok(m32.run(1.0, &x32, 0.0, &mut y32)?))?.0;
        let g64 = time(&d, 30, || Ok(m64.run(1.0, &x64, 0.0, &mut y64)?))?.0;
        let (tm, sp) = time(&d, 30, || Ok(pm.run(1.0, &x64, 0.0, &mut y64)?))?;
        println!("mixed {kind}: {} nnz; f32 auto {t32:.4} merge {g32:.4}; mixed {tm:.4} ({sp:.4}); f64 merge {g64:.4} auto {t64:.4}", a32.nnz());
        let (rs, _) = time(&d, 20, || Ok(drop(d64.reduce_rows(Reduction::Sum)?)))?;
        let (rn, _) = time(&d, 20, || Ok(drop(d64.reduce_rows(Reduction::Norm2)?)))?;
        let ones = d.upload(&vec![1.0f64; r])?;
        let (sr, _) = time(&d, 20, || Ok(d64.scale_rows(&ones)?))?;
        let onec = d.upload(&vec![1.0f64; c])?;
        let (sc, _) = time(&d, 20, || Ok(d64.scale_columns(&onec)?))?;
        let (mv, _) = time(&d, 20, || Ok(d64.map_values(Map::Scale(1.0))?))?;
        let (dg, _) = time(&d, 20, || Ok(drop(d64.diagonal()?)))?;
        let (tl, _) = time(&d, 20, || Ok(drop(d64.tril(0)?)))?;
        let rows = d.upload(&(0..r as u32).rev().collect::<Vec<_>>())?;
        let (se, _) = time(&d, 20, || Ok(drop(d64.select_rows(&rows)?)))?;
        println!("  rows sum {rs:.4} norm2 {rn:.4}, scale rows {sr:.4} columns {sc:.4}, map {mv:.4}, diagonal {dg:.4}, tril {tl:.4}, select all rows {se:.4}");
    }
    // 3. SpGEMM
    for (n, long, len) in [(200_000usize, 8usize, 100_000usize), (400_000, 1, 300_000), (100_000, 200, 5_000), (50_000, 2, 50_000)] {
        let mut s = 1u64;
        let mut next = || { s ^= s << 13; s ^= s >> 7; s ^= s << 17; s };
        let mut t = Vec::new();
        for i in 0..n {
            let count = if i % (n / long) == 7 { len } else { 6 };
            for _ in 0..count { t.push((i, (next() % n as u64) as usize, 1.0f64)); }
        }
        let a = d.upload(&Csr::<f64>::from_triplets(n, n, t)?)?;
        print!("spgemm n {n}, {long} rows of {len}:");
        for m in [SpgemmMethod::Auto, SpgemmMethod::Mixed, SpgemmMethod::RowWise, SpgemmMethod::TwoLevelSort] {
            let o = SpgemmOptions::default().with_method(m);
            let ms = time(&d, 7, || Ok(drop(a.spgemm(&a, o)?)));
            let plan = a.plan_spgemm(&a, o);
            let Ok(plan) = plan else { print!(" {m} no plan"); continue };
            drop(plan.run()?);
            let ran = time(&d, 7, || Ok(drop(plan.run()?)))?.0;
            let i = plan.info()?;
            match ms { Ok((ms, sp)) => print!(" {m} {ms:.3} ({sp:.3}), again {ran:.3} [{} {}/{}];", i.method, i.sorted_rows, i.sorted_products), Err(e) => print!(" {m} {e};") }
        }
        println!();
    }
    // 4. vectors
    let n = 1 << 26;
    let x = d.upload(&vec![1.5f64; n])?;
    let mut y = d.upload(&vec![0.5f64; n])?;
    let mut one = d.zeros::<f64>(1)?;
    let (copy, _) = time(&d, 20, || Ok(y.copy_from(&x)?))?;
    let (sum, _) = time(&d, 20, || Ok(vector::sum_into(&x, &mut one)?))?;
    let (dot, _) = time(&d, 20, || Ok(vector::dot_into(&x, &x, &mut one)?))?;
    let (mx, _) = time(&d, 20, || Ok(vector::max_into(&x, &mut one)?))?;
    let (n1, _) = time(&d, 20, || Ok(vector::norm1_into(&x, &mut one)?))?;
    let (ex, _) = time(&d, 20, || Ok(vector::map(Map::Log, &mut y)?))?;
    let (fl, _) = time(&d, 20, || Ok(vector::fill(0.5, &mut y)?))?;
    println!("2^26 f64: copy {copy:.4} sum {sum:.4} dot {dot:.4} max {mx:.4} norm1 {n1:.4} log {ex:.4} fill {fl:.4}");
    Ok(())
}
