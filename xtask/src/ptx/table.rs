//! The kernel table as the PTX tools use it.

use std::collections::BTreeMap;

use evenpath_simt::kernel::{KernelInfo, ParameterKind};
use serde::{Deserialize, Serialize};

/// What the manifest says of one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the PTX entry.
    pub name: String,
    /// Threads in a block.
    pub block_size: u32,
    /// Blocks that a multiprocessor shall hold at once; 0, and not in the manifest, where the compiler is free.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resident_blocks: u32,
    /// Bytes of statically sized shared memory.
    pub shared_bytes: u32,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
}

/// What the manifest says of one kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The parameter's name in the kernel's source.
    pub name: String,
    /// Its type: a scalar such as `u32`, `[f32]` and `[f32] mut` for views of device memory, or a struct's fields.
    pub kind: String,
    /// The bytes it takes.
    pub bytes: usize,
}

/// For serde, which passes references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Entry {
    /// The directives that the entry has between its parameters and its body.
    pub fn directives(&self) -> String {
        match self.resident_blocks {
            0 => format!(".maxntid {}, 1, 1", self.block_size),
            resident => format!(".maxntid {}, 1, 1\n.minnctapersm {resident}", self.block_size),
        }
    }
}

/// The kernels of each PTX module, in table order.
pub type Modules = BTreeMap<String, Vec<Entry>>;

/// The table that the kernels crate declares.
pub fn modules() -> Modules {
    let mut modules = Modules::new();
    for kernel in evenpath_kernels::kernels() {
        modules.entry(kernel.module.to_owned()).or_default().push(Entry::from(kernel));
    }
    modules
}

/// A parameter's type for the manifest: that of a struct lists its fields.
fn describe(kind: ParameterKind) -> String {
    match kind {
        ParameterKind::Global(scalar) => format!("[{scalar}]"),
        ParameterKind::GlobalMut(scalar) => format!("[{scalar}] mut"),
        ParameterKind::Scalar(scalar) => scalar.to_string(),
        ParameterKind::Struct(fields) => {
            let fields = fields.iter().map(|&(name, kind)| format!("{name}: {}", describe(kind)));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
    }
}

impl From<&KernelInfo> for Entry {
    fn from(kernel: &KernelInfo) -> Self {
        let parameters = kernel.parameters.iter().map(|&(name, kind)| Parameter {
            name: name.to_owned(),
            kind: describe(kind),
            bytes: kind.size(),
        });
        Self {
            name: kernel.name.to_owned(),
            block_size: kernel.block_size,
            resident_blocks: kernel.resident_blocks,
            shared_bytes: kernel.shared_bytes,
            parameters: parameters.collect(),
        }
    }
}
