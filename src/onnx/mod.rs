//! ONNX files: the messages, from our graph to them, and between them and the disk.
//!
//! [`model::build`] turns a [`crate::graph::Graph`] into messages without the weights; [`write`] lays them out and streams
//! the weights from the mapped archive past memory into the file; [`read`] parses a mapped file. Nothing here knows of ATen.

mod external;
mod fill;
mod gather;
pub mod ir;
mod link;
pub mod model;
mod names;
pub mod pack;
mod payload;
#[rustfmt::skip]
pub mod proto;
mod provenance;
pub mod read;
mod stage;
pub mod write;

pub use external::ExternalData;
pub use model::{Initializer, Model, ModelOptions};
pub use payload::{Payload, Sink};
pub use provenance::{Provenance, without_folders};
pub use stage::discard_all;
pub use write::{Written, write_file, write_to};
