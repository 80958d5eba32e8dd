//! The kernel table, as used by the PTX tools.

use std::collections::BTreeMap;

use evenpath_simt::kernel::{KernelInfo, ParameterKind};
use serde::{Deserialize, Serialize};

/// The manifest entry of one kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Name of the PTX entry.
    pub name: String,
    /// Threads per block.
    pub block_size: u32,
    /// The minimum number of resident blocks per multiprocessor; 0, and absent from the manifest, if the compiler
    /// may choose.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub resident_blocks: u32,
    /// Bytes of statically sized shared memory.
    pub shared_bytes: u32,
    /// The parameters, in order.
    pub parameters: Vec<Parameter>,
}

/// The manifest entry of one kernel parameter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// The name of the parameter in the source.
    pub name: String,
    /// Its type: a scalar such as `u32`, `[f32]` and `[f32] mut` for views of device memory, or a struct's fields.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: usize,
}

/// For serde, which passes references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl Entry {
    /// The directives between the parameters and the body of the entry.
    pub fn directives(&self) -> String {
        match self.resident_blocks {
            0 => format!(".maxntid {}, 1, 1", self.block_size),
            resident => format!(".maxntid {}, 1, 1\n.minnctapersm {resident}", self.block_size),
        }
    }
}

/// The kernels of each PTX module, in table order.
pub type Modules = BTreeMap<String, Vec<Entry>>;

/// The table declared by the kernels crate.
pub fn modules() -> Modules {
    modules_of(evenpath_kernels::kernels())
}

/// The table of some kernels.
pub fn modules_of(kernels: impl IntoIterator<Item = &'static KernelInfo>) -> Modules {
    let mut modules = Modules::new();
    for kernel in kernels {
        modules.entry(kernel.module.to_owned()).or_default().push(Entry::from(kernel));
    }
    modules
}

/// The type of a parameter, as written in the manifest; structs list their fields.
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
