//! Element types, with their names and numbers in PyTorch and ONNX.

use std::fmt;

/// An element type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Dtype {
    Float32,
    Uint8,
    Int8,
    Uint16,
    Int16,
    Int32,
    Int64,
    String,
    Bool,
    Float16,
    Float64,
    Uint32,
    Uint64,
    Complex64,
    Complex128,
    Bfloat16,
    Float8E4M3FN,
    Float8E4M3FNUZ,
    Float8E5M2,
    Float8E5M2FNUZ,
    Uint4,
    Int4,
    Float4E2M1,
    Float8E8M0,
    Uint2,
    Int2,
    /// PyTorch's half-precision complex type, which ONNX does not have.
    Complex32,
    /// The dtype of a value of which nothing is known.
    Undefined,
}

use Dtype::*;

/// (dtype, ONNX number (`TensorProto.DataType`), ONNX name, PyTorch name, number in `.pt2` files)
const TABLE: &[(Dtype, i32, &str, &str, i64)] = &[
    (Float32, 1, "float", "float32", 7),
    (Uint8, 2, "uint8", "uint8", 1),
    (Int8, 3, "int8", "int8", 2),
    (Uint16, 4, "uint16", "uint16", 28),
    (Int16, 5, "int16", "int16", 3),
    (Int32, 6, "int32", "int32", 4),
    (Int64, 7, "int64", "int64", 5),
    (String, 8, "string", "string", -1),
    (Bool, 9, "bool", "bool", 12),
    (Float16, 10, "float16", "float16", 6),
    (Float64, 11, "double", "float64", 8),
    (Uint32, 12, "uint32", "uint32", 34),
    (Uint64, 13, "uint64", "uint64", 35),
    (Complex64, 14, "complex64", "complex64", 10),
    (Complex128, 15, "complex128", "complex128", 11),
    (Bfloat16, 16, "bfloat16", "bfloat16", 13),
    (Float8E4M3FN, 17, "float8e4m3fn", "float8_e4m3fn", 29),
    (Float8E4M3FNUZ, 18, "float8e4m3fnuz", "float8_e4m3fnuz", 31),
    (Float8E5M2, 19, "float8e5m2", "float8_e5m2", 30),
    (Float8E5M2FNUZ, 20, "float8e5m2fnuz", "float8_e5m2fnuz", 32),
    (Uint4, 21, "uint4", "uint4", -1),
    (Int4, 22, "int4", "int4", -1),
    (Float4E2M1, 23, "float4e2m1", "float4_e2m1fn_x2", -1),
    (Float8E8M0, 24, "float8e8m0", "float8_e8m0fnu", 33),
    (Uint2, 25, "uint2", "uint2", -1),
    (Int2, 26, "int2", "int2", -1),
    (Complex32, -1, "complex32", "complex32", 9),
    (Undefined, 0, "undefined", "undefined", -1),
];

impl Dtype {
    /// All dtypes, in the order of the enum.
    pub const ALL: [Dtype; 28] = {
        let mut all = [Float32; 28];
        let mut i = 0;
        while i < 28 {
            all[i] = TABLE[i].0;
            i += 1;
        }
        all
    };

    fn row(self) -> &'static (Dtype, i32, &'static str, &'static str, i64) {
        &TABLE[self as usize]
    }

    /// The number in `TensorProto.DataType`; -1 if ONNX has no such type.
    pub fn onnx(self) -> i32 {
        self.row().1
    }

    /// The name in ONNX's type strings: `float` of `tensor(float)`.
    pub fn onnx_name(self) -> &'static str {
        self.row().2
    }

    /// PyTorch's name: `float32`.
    pub fn torch_name(self) -> &'static str {
        self.row().3
    }

    /// The dtype with this number in `TensorProto.DataType`.
    pub fn from_onnx(number: i32) -> Option<Dtype> {
        TABLE.iter().find(|r| r.1 == number && number > 0).map(|r| r.0)
    }

    /// The dtype with this name in PyTorch.
    pub fn from_torch_name(name: &str) -> Option<Dtype> {
        TABLE.iter().find(|r| r.3 == name && r.0 != Undefined).map(|r| r.0)
    }

    /// The dtype with this ScalarType number in torch's export schema (`.pt2` files), which differs from c10's.
    pub fn from_pt2(number: i64) -> Option<Dtype> {
        TABLE.iter().find(|r| r.4 == number && number > 0).map(|r| r.0)
    }

    /// That number; None if the schema has no such type.
    pub fn pt2(self) -> Option<i64> {
        Some(self.row().4).filter(|number| *number > 0)
    }

    /// The number of bits of an element; 0 for strings.
    pub fn bits(self) -> u32 {
        match self {
            Uint2 | Int2 => 2,
            Uint4 | Int4 | Float4E2M1 => 4,
            Uint8 | Int8 | Bool | Float8E4M3FN | Float8E4M3FNUZ | Float8E5M2 | Float8E5M2FNUZ | Float8E8M0 => 8,
            Uint16 | Int16 | Float16 | Bfloat16 => 16,
            Float32 | Int32 | Uint32 | Complex32 => 32,
            Float64 | Int64 | Uint64 | Complex64 => 64,
            Complex128 => 128,
            String | Undefined => 0,
        }
    }

    /// The number of bytes of `count` elements, packed as in ONNX and PyTorch.
    pub fn bytes(self, count: u64) -> Option<u64> {
        count.checked_mul(u64::from(self.bits())).map(|bits| bits.div_ceil(8))
    }

    /// Whether it is a floating-point type (complex types are not).
    pub fn is_float(self) -> bool {
        matches!(
            self,
            Float32
                | Float16
                | Float64
                | Bfloat16
                | Float8E4M3FN
                | Float8E4M3FNUZ
                | Float8E5M2
                | Float8E5M2FNUZ
                | Float4E2M1
                | Float8E8M0
        )
    }

    /// Whether it is an integer type (bool is not).
    pub fn is_int(self) -> bool {
        self.is_signed_int() || self.is_unsigned()
    }

    /// Whether it is a signed integer type.
    pub fn is_signed_int(self) -> bool {
        matches!(self, Int8 | Int16 | Int32 | Int64 | Int4 | Int2)
    }

    /// Whether it is an unsigned integer type.
    pub fn is_unsigned(self) -> bool {
        matches!(self, Uint8 | Uint16 | Uint32 | Uint64 | Uint4 | Uint2)
    }

    /// Whether it is a complex type.
    pub fn is_complex(self) -> bool {
        matches!(self, Complex32 | Complex64 | Complex128)
    }

    /// The dtype of the parts of a complex dtype; other dtypes are returned unchanged.
    pub fn real(self) -> Dtype {
        match self {
            Complex32 => Float16,
            Complex64 => Float32,
            Complex128 => Float64,
            real => real,
        }
    }

    /// The complex dtype whose parts have this dtype.
    pub fn complex(self) -> Option<Dtype> {
        match self {
            Float16 => Some(Complex32),
            Float32 => Some(Complex64),
            Float64 => Some(Complex128),
            _ => None,
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.torch_name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_enum() {
        for row in TABLE {
            assert_eq!(row.0.row().0, row.0);
        }
    }
}
