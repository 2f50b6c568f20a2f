//! Where nodes come from: names and messages derive from it.

use aten2onnx_onnx::graph::Origin;

use crate::build::Builder;

/// The origins of all nodes, by number. Number 0 is the graph itself.
pub(crate) struct Origins {
    pub(crate) all: Vec<Origin>,
    /// That of the nodes that are made now.
    pub(crate) current: u32,
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { all: vec![Origin::default()], current: 0 }
    }
}

impl Builder {
    /// Sets where the nodes that follow come from.
    pub fn set_origin(&mut self, origin: Origin) {
        // The index fits: every origin comes with a node of the input file.
        self.origins.current = u32::try_from(self.origins.all.len()).unwrap_or(u32::MAX);
        self.origins.all.push(origin);
    }

    /// Where the nodes that are made now come from.
    pub fn origin(&self) -> Option<&Origin> {
        self.origins.all.get(self.origins.current as usize)
    }
}
