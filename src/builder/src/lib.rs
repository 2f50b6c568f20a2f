//! The builder, which rules call to make ONNX nodes; type inference is below it, the passes above.
//!
//! It takes calls in the newest form of ONNX and returns values that are native at the target opset: literals become
//! tensors, operators are lowered, dtypes legalized, types inferred, small constants folded, and equal shape arithmetic
//! shared. Only the builder and the `lower` rules know that opsets differ. It knows nothing of rule files or archives.
//!
//! A module imports only modules of lower floors, which a test checks. The lowest floor comes first:
//!
//! | floor | modules | contents |
//! |---|---|---|
//! | inference | `infer` | output types of ONNX operators, contents of small integer tensors |
//! | builder | `build` | values and nodes of the graph under construction |
//! | passes | `passes` | the optimiser: rewrites of the finished graph, run through the builder |

mod build;
pub mod infer;
pub mod passes;

pub use build::{
    AVOIDED, ArgValue, Args, Became, Binding, Builder, Event, ExternRecord, Graph, In, IntoOuts, Known, LowerFn,
    Lowerings, NamedCall, NodeCall, OperatorForm, Out, Outs, Scalar, ScalarOp, SourceNode, Trace, as_stored,
    encode_float, encode_int,
};
