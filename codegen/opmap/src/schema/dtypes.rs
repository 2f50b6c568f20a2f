//! The names of dtypes: a copy of the exporter's table in `dtype.rs`, which this crate cannot use. A test compares both.

/// (variant of `Dtype`, ONNX's name, PyTorch's name), in the order of the enum.
pub const DTYPES: [(&str, &str, &str); 27] = [
    ("Float32", "float", "float32"),
    ("Uint8", "uint8", "uint8"),
    ("Int8", "int8", "int8"),
    ("Uint16", "uint16", "uint16"),
    ("Int16", "int16", "int16"),
    ("Int32", "int32", "int32"),
    ("Int64", "int64", "int64"),
    ("String", "string", "string"),
    ("Bool", "bool", "bool"),
    ("Float16", "float16", "float16"),
    ("Float64", "double", "float64"),
    ("Uint32", "uint32", "uint32"),
    ("Uint64", "uint64", "uint64"),
    ("Complex64", "complex64", "complex64"),
    ("Complex128", "complex128", "complex128"),
    ("Bfloat16", "bfloat16", "bfloat16"),
    ("Float8E4M3FN", "float8e4m3fn", "float8_e4m3fn"),
    ("Float8E4M3FNUZ", "float8e4m3fnuz", "float8_e4m3fnuz"),
    ("Float8E5M2", "float8e5m2", "float8_e5m2"),
    ("Float8E5M2FNUZ", "float8e5m2fnuz", "float8_e5m2fnuz"),
    ("Uint4", "uint4", "uint4"),
    ("Int4", "int4", "int4"),
    ("Float4E2M1", "float4e2m1", "float4_e2m1fn_x2"),
    ("Float8E8M0", "float8e8m0", "float8_e8m0fnu"),
    ("Uint2", "uint2", "uint2"),
    ("Int2", "int2", "int2"),
    ("Complex32", "complex32", "complex32"),
];

/// The variant of `Dtype` for PyTorch's name.
pub fn variant(torch_name: &str) -> Option<&'static str> {
    DTYPES.iter().find(|d| d.2 == torch_name).map(|d| d.0)
}

/// The index of the variant of `Dtype` for ONNX's name, which is its bit in a set of types.
pub fn index_of_onnx(onnx_name: &str) -> Option<usize> {
    DTYPES.iter().position(|d| d.1 == onnx_name)
}
