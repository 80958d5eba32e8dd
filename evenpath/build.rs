//! Builds the parts for NVIDIA GPUs that are not Rust: a stub of the driver for the linker, and compressed
//! PTX.

use std::path::{Path, PathBuf};
use std::{env, fs, io, thread};

use flate2::Compression;
use flate2::write::DeflateEncoder;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=cuda-stub");
    println!("cargo::rerun-if-changed=ptx");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return Ok(());
    }
    // The empty `libcuda.a` is for `cust`'s `-lcuda` where CUDA is not installed:
    // `src/device/cuda/driver/symbols.rs` defines the driver's functions.
    println!("cargo::rustc-link-search=native={}/cuda-stub/lib64", env!("CARGO_MANIFEST_DIR"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    compress_all(&ptx_files(Path::new("ptx"))?, &out)
}

/// Compresses the kernels' PTX, 22 MB, on all cores.
fn compress_all(texts: &[PathBuf], out: &Path) -> io::Result<()> {
    let workers = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let share = |worker: usize| {
            move || texts.iter().skip(worker).step_by(workers).try_for_each(|path| compress(path, out))
        };
        let running: Vec<_> = (0..workers).map(|worker| scope.spawn(share(worker))).collect();
        running.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })
}

/// Lists the texts of all targets: `ptx/sm_<target>/<module>.ptx`.
fn ptx_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(ptx_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "ptx") {
            files.push(path);
        }
    }
    Ok(files)
}

/// Writes a compressed text to the same place below `out`, for `ptx/modules.rs` to include.
fn compress(path: &Path, out: &Path) -> io::Result<()> {
    let to = out.join(path).with_extension("deflate");
    fs::create_dir_all(to.parent().expect("in a folder"))?;
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    io::copy(&mut fs::File::open(path)?, &mut encoder)?;
    fs::write(to, encoder.finish()?)
}
