//! ONNX: graphs, the schemas of operators at every opset, and files. Nothing here knows of ATen.
//!
//! [`model::build`] turns a [`graph::Graph`] into messages without the weights; [`write`] lays them out and streams
//! the weights from the mapped archive past memory into the file; [`read`] parses a mapped file.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | graph | `graph` | the graph that the builder makes and the writer writes |
//! | facts | `facts`, `schema`, `proto`, `unpacked` | opsets and dtypes, schemas of operators, protobuf messages and what they leave out |
//! | messages | `model` | from a graph to messages without the bytes of weights |
//! | parts of files | `calls`, `message`, `pieces` | calls of functions; messages of files; names of files on their way |
//! | reading | `targets`, `read` | runtimes by name; models of files |
//! | writing | `write` | from messages to files |
//! | whole models | `adapter`, `pack`, `merge`, `outline`, `exported` | adapters; self-contained copies of models; two models as branches of one; modules as functions; what an export ends in |

pub mod adapter;
mod calls;
mod exported;
pub mod facts;
pub mod graph;
pub mod merge;
mod message;
pub mod model;
pub mod outline;
pub mod pack;
pub mod pieces;
#[rustfmt::skip]
pub mod proto;
pub mod read;
pub mod schema;
pub mod targets;
pub mod unpacked;
pub mod write;

pub use exported::{Exported, Summary};
pub use model::{Initializer, Ir, Model, ModelOptions, Provenance, ir, without_folders};
pub use outline::Functions;
pub use write::{Equal, ExternalData, Written, discard_all, write_file, write_files, write_to};
