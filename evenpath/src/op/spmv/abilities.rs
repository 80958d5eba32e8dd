//! Devices of methods and their memory, by name.

use super::method::SpmvMethod;
use super::methods;
use super::strategy::{Abilities, Devices, Strategy};
use crate::device::DeviceKind;

impl SpmvMethod {
    /// Returns whether devices of a kind have the method.
    pub fn runs_on(self, kind: DeviceKind) -> bool {
        match self.abilities().devices {
            Devices::Gpus => kind != DeviceKind::Cpu,
            Devices::Cpu => kind == DeviceKind::Cpu,
            Devices::All => true,
        }
    }

    /// Returns whether plans keep another form of the matrix beside it.
    pub fn copies(self) -> bool {
        self.abilities().copies
    }

    /// Abilities are those of the method whatever the types. The automatic choice takes what all have.
    fn abilities(self) -> Abilities {
        methods::find::<f32, u32>(self)
            .map_or(Abilities { devices: Devices::All, ..Abilities::default() }, Strategy::abilities)
    }
}
