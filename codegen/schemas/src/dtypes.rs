//! The names of dtypes, and sets of dtypes as bits. The names are a copy of the exporter's table in `dtype.rs`, which this crate cannot use. A test compares both.

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

/// A set of dtypes. The bit of a dtype is its index in [`DTYPES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct DtypeSet(u32);

impl DtypeSet {
    /// No dtype.
    pub const NONE: DtypeSet = DtypeSet(0);
    /// All dtypes of [`DTYPES`].
    pub const ALL: DtypeSet = DtypeSet((1 << DTYPES.len()) - 1);

    /// The dtypes for which `is` holds, by PyTorch's name.
    pub fn where_name(is: impl Fn(&str) -> bool) -> DtypeSet {
        DtypeSet(DTYPES.iter().enumerate().fold(0, |bits, (i, d)| bits | (u32::from(is(d.2)) << i)))
    }

    /// The set of one dtype by PyTorch's name; empty if there is no such dtype.
    pub fn one(torch_name: &str) -> DtypeSet {
        DtypeSet::where_name(|name| name == torch_name)
    }

    /// The set of one dtype by its index.
    pub fn at(index: usize) -> DtypeSet {
        DtypeSet(1 << index)
    }

    /// The dtype with this number in ONNX; empty if there is none. 0 stands for no dtype.
    pub fn of_code(code: i64) -> DtypeSet {
        let index = usize::try_from(code - 1).ok().filter(|index| *index < DTYPES.len());
        index.map_or(DtypeSet::NONE, DtypeSet::at)
    }

    /// The dtype of an ONNX type: `tensor(float)`, `seq(tensor(int64))`, `float`.
    pub fn of_onnx_type(ty: &str) -> DtypeSet {
        let inner = ty.rsplit('(').next().unwrap_or(ty).trim_end_matches(')');
        index_of_onnx(inner).map_or(DtypeSet::NONE, DtypeSet::at)
    }

    /// The dtypes of the tensors among ONNX types. Sequences and optionals of tensors count as tensors.
    pub fn of_onnx_types(types: &[String]) -> DtypeSet {
        types.iter().map(|ty| DtypeSet::of_onnx_type(ty)).fold(DtypeSet::NONE, DtypeSet::or)
    }

    /// The dtypes that tensors of PyTorch have. Complex ones are not among them: there are special rules for these.
    pub fn real() -> DtypeSet {
        let odd = |name: &str| {
            name.starts_with("complex") || name == "string" || name.ends_with("int4") || name.ends_with("int2")
        };
        DtypeSet::where_name(|name| !odd(name) && name != "float4_e2m1fn_x2")
    }

    /// Complex dtypes.
    pub fn complex() -> DtypeSet {
        DtypeSet::where_name(|name| name.starts_with("complex"))
    }

    /// Floating-point dtypes.
    pub fn float() -> DtypeSet {
        DtypeSet::where_name(|name| name.starts_with("float") || name.starts_with("bfloat"))
    }

    /// Integer dtypes without bool.
    pub fn int() -> DtypeSet {
        DtypeSet::where_name(|name| name.starts_with("int") || name.starts_with("uint"))
    }

    /// Unsigned integer dtypes.
    pub fn unsigned() -> DtypeSet {
        DtypeSet::where_name(|name| name.starts_with("uint"))
    }

    /// The dtypes that `torch.set_default_dtype` takes.
    pub fn default_float() -> DtypeSet {
        DtypeSet::where_name(|name| matches!(name, "float16" | "bfloat16" | "float32" | "float64"))
    }

    /// Whether it has no element.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Both.
    #[must_use]
    pub fn or(self, other: DtypeSet) -> DtypeSet {
        DtypeSet(self.0 | other.0)
    }

    /// What both have.
    #[must_use]
    pub fn and(self, other: DtypeSet) -> DtypeSet {
        DtypeSet(self.0 & other.0)
    }

    /// Without those of the other.
    #[must_use]
    pub fn without(self, other: DtypeSet) -> DtypeSet {
        DtypeSet(self.0 & !other.0)
    }

    /// Whether both have an element in common.
    pub fn meets(self, other: DtypeSet) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether all elements are in the other.
    pub fn is_within(self, other: DtypeSet) -> bool {
        self.0 & !other.0 == 0
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// The indices of the elements in ascending order.
    pub fn indices(self) -> impl Iterator<Item = usize> {
        (0..DTYPES.len()).filter(move |i| self.0 & (1 << i) != 0)
    }

    /// The elements' names in PyTorch.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.indices().filter_map(|i| DTYPES.get(i).map(|d| d.2))
    }
}
