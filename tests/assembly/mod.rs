//! Assembly of matrices from triplets and elements.

mod elements;
mod fixed;
mod oracle;
mod triplets;
