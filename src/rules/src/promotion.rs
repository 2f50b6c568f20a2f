//! PyTorch's type promotion tables, generated from `mappings/schemas/promotion.txt`.

#[cfg(not(aten2onnx_single))]
include!(concat!(env!("OUT_DIR"), "/promotion.rs"));
// An exporter for one opset has it beside its rules.
#[cfg(aten2onnx_single)]
include!(concat!(env!("ATEN2ONNX_FACTS"), "/promotion.rs"));
