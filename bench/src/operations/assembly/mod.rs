//! Assembly of matrices of finite elements: the mesh, measurements and checks.

mod measure;
mod mesh;

pub(crate) use measure::measure;
