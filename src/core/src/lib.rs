//! Types used by all parts of aten2onnx: element types, symbolic sizes, errors, and weights, whose bytes stay in their
//! file.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | values | `axes`, `dtype`, `error`, `sym` | axes, element types, errors with their location, symbolic integers |
//! | weights | `weights` | tensors in mapped files, and their bytes |
//! | files | `foreign` | files of other kinds |

pub mod axes;
pub mod dtype;
pub mod error;
pub mod foreign;
pub mod sym;
pub mod weights;
