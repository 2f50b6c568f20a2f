//! Sets of dtypes, as bits.

use crate::schema::Schemas;
use crate::schema::dtypes::{DTYPES, index_of_onnx};

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

/// Facts about dtypes as tables over indices.
#[derive(Debug)]
pub(super) struct DtypeFacts {
    /// The dtypes that hold every value of a dtype.
    pub wider: Vec<DtypeSet>,
    /// The common dtype of two dtypes of one category.
    promote: Vec<Vec<DtypeSet>>,
    /// The dtype of operands of two categories, the first one being of the higher one.
    combine: Vec<Vec<DtypeSet>>,
    /// The dtypes that ONNX has at an opset: the index is the opset.
    pub existing: Vec<DtypeSet>,
}

impl DtypeFacts {
    pub fn new(schemas: &Schemas) -> DtypeFacts {
        let index = |name: &str| DTYPES.iter().position(|d| d.2 == name);
        let wider_of = |d: &(&str, &str, &str)| {
            let names = schemas.dtypes.wider.get(d.2).into_iter().flatten();
            names.fold(DtypeSet::NONE, |set, name| set.or(DtypeSet::one(name)))
        };
        let mut promote = vec![vec![DtypeSet::NONE; DTYPES.len()]; DTYPES.len()];
        let mut combine = promote.clone();
        for (table, pairs) in [(&mut promote, &schemas.promotion.promote), (&mut combine, &schemas.promotion.combine)] {
            for ((a, b), c) in pairs {
                let place = index(a).zip(index(b)).and_then(|(a, b)| table.get_mut(a)?.get_mut(b));
                if let Some(place) = place {
                    *place = DtypeSet::one(c);
                }
            }
        }
        let existing_at = |opset: u32| {
            let cast = schemas.onnx.at("Cast", opset);
            let types = cast.and_then(|v| Some(v.allowed(v.outputs.first()?)));
            // Complex numbers are pairs of real ones in the graph.
            types.map_or(DtypeSet::ALL, |types| DtypeSet::of_onnx_types(types).or(DtypeSet::complex()))
        };
        DtypeFacts {
            wider: DTYPES.iter().map(wider_of).collect(),
            promote,
            combine,
            existing: (0..=schemas.opsets.max).map(existing_at).collect(),
        }
    }

    /// The common dtypes of two dtypes of one category.
    pub fn promoted(&self, a: DtypeSet, b: DtypeSet) -> DtypeSet {
        pairs(&self.promote, a, b)
    }

    /// The common dtypes of operands of two categories.
    pub fn combined(&self, higher: DtypeSet, lower: DtypeSet) -> DtypeSet {
        pairs(&self.combine, higher, lower)
    }

    /// The dtypes that ONNX has at an opset.
    pub fn existing_at(&self, opset: u32) -> DtypeSet {
        self.existing.get(opset as usize).copied().unwrap_or(DtypeSet::ALL)
    }

    /// The dtypes that hold every value of each of these.
    pub fn wider_of(&self, index: usize) -> DtypeSet {
        self.wider.get(index).copied().unwrap_or_default()
    }
}

fn pairs(table: &[Vec<DtypeSet>], a: DtypeSet, b: DtypeSet) -> DtypeSet {
    let cell = |i: usize, j: usize| table.get(i).and_then(|row| row.get(j)).copied().unwrap_or_default();
    a.indices().flat_map(|i| b.indices().map(move |j| cell(i, j))).fold(DtypeSet::NONE, DtypeSet::or)
}
