//! What the command `aten2onnx-codegen` prints of operator rules: expansions, the matrix, statistics, and reports of new schemas.
//!
//! The crate `aten2onnx-opmap` reads and proves the rules, `aten2onnx-build` compiles them to Rust.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | packages | `installer` | environments of Python, in which releases are asked |
//! | reports | `expand`, `matrix`, `mentions`, `new_torch`, `snapshot`, `stats`, `upgrade` | what the command prints |
//! | workspaces | `exporter` | exporters for one opset |

pub mod expand;
pub mod exporter;
mod installer;
pub mod matrix;
pub mod mentions;
pub mod new_torch;
pub mod snapshot;
pub mod stats;
pub mod upgrade;
