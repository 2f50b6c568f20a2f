//! Facts about dtypes as tables over sets of them.

use aten2onnx_schemas::Schemas;
use aten2onnx_schemas::dtypes::{DTYPES, DtypeSet};

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
            let output = cast.and_then(|version| version.outputs.first());
            // Complex numbers are pairs of real ones in the graph.
            output.map_or(DtypeSet::ALL, |port| port.dtypes.or(DtypeSet::complex()))
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
