//! y = Ax by methods, or y = Aᵀx by modes.

use std::error::Error;
use std::process::ExitCode;

use evenpath::device::DeviceKind;
use evenpath::spmv::{SpmvMethod, SpmvTransposedMethod};

use super::options::Options;
use crate::operations::Case;
use crate::operations::spmv::{Product, Way};
use crate::peers::Operation;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Methods by name, or `all` of the device; `may-copy`, the choice among those that may copy; with the transpose, modes.
    /// [default: auto; all modes]
    #[arg(long, value_delimiter = ',')]
    method: Vec<String>,
    /// Multiply with the transposed matrices: evenpath in its modes, the peers without forming the transpose.
    #[arg(long)]
    transposed: bool,
    #[command(flatten)]
    options: Options,
}

impl Arguments {
    fn product(&self, kind: DeviceKind) -> Result<Product, String> {
        let operation = if self.transposed { Operation::Transposed } else { Operation::Direct };
        let mut ways = Vec::new();
        for name in &self.method {
            match name.as_str() {
                "all" if self.transposed => ways.extend(SpmvTransposedMethod::ALL.map(Way::transposed)),
                "all" => {
                    let methods = SpmvMethod::ALL.iter().copied();
                    ways.extend(methods.filter(|method| method.runs_on(kind)).map(Way::method));
                }
                name => ways.push(Way::by_name(name, operation)?),
            }
        }
        if ways.is_empty() && self.transposed {
            ways.extend(SpmvTransposedMethod::ALL.map(Way::transposed));
        } else if ways.is_empty() {
            ways.push(Way::method(SpmvMethod::Auto));
        }
        Ok(Product { operation, ..Product::direct(ways) })
    }
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Box<dyn Error>> {
    arguments.options.run(&[], |kind| Ok(vec![Case::Spmv(arguments.product(kind)?)]))
}
