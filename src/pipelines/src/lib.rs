//! Models as people ship them: parts of ONNX models, changed and joined. Weights stay where they are until a model is written.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | graphs | `index` | what computes and what reads each value |
//! | values | `names`, `types` | the names of values, and their types |
//! | results | `made` | a model that is ready to be written |
//! | places | `places` | values, nodes and modules by name |
//! | parts | `dims`, `part` | dimensions by name; a part of a graph as a model |
//! | commands | `diff`, `edit`, `extract`, `join`, `split` | what users ask for |

pub mod diff;
mod dims;
pub mod edit;
pub mod extract;
mod index;
pub mod join;
mod made;
mod names;
mod part;
mod places;
pub mod split;
mod types;

pub use made::Made;
