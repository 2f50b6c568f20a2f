//! The dtypes of a rule in groups that opsets express in the same way.

use aten2onnx_opmap::coverage::by_dtype::{ByDtype, Level};

/// Dtypes with the same level at every opset that has them.
#[derive(Debug)]
pub(super) struct Group {
    /// PyTorch's names; empty for a rule without tensors.
    pub dtypes: Vec<&'static str>,
    /// The level at each opset. `Absent` if the opset has none of the dtypes.
    pub levels: Vec<Level>,
}

impl Group {
    fn takes(&self, levels: &[Level]) -> bool {
        self.levels
            .iter()
            .zip(levels)
            .all(|(own, other)| own == other || *own == Level::Absent || *other == Level::Absent)
    }

    fn add(&mut self, dtype: &'static str, levels: &[Level]) {
        self.dtypes.push(dtype);
        for (own, other) in self.levels.iter_mut().zip(levels) {
            if *own == Level::Absent {
                *own = *other;
            }
        }
    }
}

/// The groups of a rule, the largest first.
pub(super) fn groups(rule: &ByDtype, opsets: &[u32]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (dtype, _) in &rule.rows {
        let levels: Vec<Level> = opsets.iter().map(|opset| rule.level(dtype, *opset)).collect();
        match groups.iter_mut().find(|group| group.takes(&levels)) {
            Some(group) => group.add(dtype, &levels),
            None => groups.push(Group { dtypes: vec![dtype], levels }),
        }
    }
    groups.sort_by_key(|group| std::cmp::Reverse(group.dtypes.len()));
    groups
}
