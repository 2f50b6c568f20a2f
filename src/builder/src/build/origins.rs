//! Where nodes come from; names and messages use it.

use aten2onnx_onnx::graph::{Node, Origin};

use crate::build::Builder;

/// The origins of all nodes, by number. Number 0 is the graph itself.
pub(crate) struct Origins {
    pub(crate) all: Vec<Origin>,
    /// The origin of new nodes.
    pub(crate) current: u32,
}

impl Default for Origins {
    fn default() -> Origins {
        Origins { all: vec![Origin::default()], current: 0 }
    }
}

impl Builder {
    /// Sets the origin of the nodes that follow.
    pub fn set_origin(&mut self, origin: Origin) {
        // The index fits, because every origin belongs to a node of the input file.
        self.origins.current = u32::try_from(self.origins.all.len()).unwrap_or(u32::MAX);
        self.origins.all.push(origin);
    }

    /// The origin of a node.
    pub(crate) fn origin_of(&self, node: &Node) -> Option<&Origin> {
        self.origins.all.get(node.origin as usize)
    }

    /// The current origin.
    pub fn origin(&self) -> Option<&Origin> {
        self.origins.all.get(self.origins.current as usize)
    }
}
