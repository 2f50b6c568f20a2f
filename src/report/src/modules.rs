//! The tree of modules, with the nodes that each calls.

use std::collections::BTreeMap;

use aten2onnx_onnx::graph::{Body, Graph as OnnxGraph};
use aten2onnx_onnx::without_folders;
use aten2onnx_program::{Arg, Graph, Program};

/// Deeper paths are one name from here on.
const DEEPEST: usize = 32;

/// A module.
#[derive(Debug, Clone, Default)]
pub struct Module {
    /// The last part of its path.
    pub name: String,
    /// Its type, if known: `torch.nn.modules.conv.Conv2d`.
    pub class: Option<String>,
    /// The modules in it, in the order of their first nodes.
    pub modules: Vec<Module>,
    /// The nodes that are in no module inside this one.
    pub nodes: Vec<Leaf>,
}

/// A node.
#[derive(Debug, Clone, Default)]
pub struct Leaf {
    /// Its name.
    pub name: String,
    /// `aten::relu`, or the operator of ONNX.
    pub operator: String,
    /// The operators of ONNX that it became, in order.
    pub became: Vec<String>,
    /// The line of the user's source.
    pub source_line: Option<String>,
}

impl Module {
    /// The number of nodes in it.
    pub fn count(&self) -> usize {
        self.nodes.len() + self.modules.iter().map(Module::count).sum::<usize>()
    }

    /// The tree of a program. `built` tells what its nodes became.
    pub fn of_program(program: &Program, built: Option<&OnnxGraph>) -> Module {
        let mut became: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        if let Some(graph) = built {
            graph.body.visit(&mut |node| {
                if let Some(origin) = graph.provenance.get(node.origin as usize) {
                    became.entry(&origin.node_name).or_default().push(node.op.to_owned());
                }
            });
        }
        let mut root = Module::default();
        root.add_graph(&program.graph, &became);
        root
    }

    fn add_graph(&mut self, graph: &Graph, became: &BTreeMap<&str, Vec<String>>) {
        for node in &graph.nodes {
            let leaf = Leaf {
                name: node.name.clone(),
                operator: node.target.clone(),
                became: became.get(node.name.as_str()).cloned().unwrap_or_default(),
                source_line: node.source_line.as_deref().map(without_folders),
            };
            let module = self.at(node.module.as_deref().unwrap_or(""), '.');
            module.class = module.class.take().or_else(|| node.module_type.clone());
            module.nodes.push(leaf);
            for (_, arg) in &node.args {
                if let Arg::Graph(nested) = arg {
                    self.add_graph(nested, became);
                }
            }
        }
    }

    /// The tree of an ONNX model, by the names of its nodes: `/layer1/conv/Conv` or `layer1.conv/Conv`.
    pub fn of_onnx(graph: &OnnxGraph) -> Module {
        let mut root = Module::default();
        root.add_body(&graph.body);
        root
    }

    fn add_body(&mut self, body: &Body) {
        for node in &body.nodes {
            let path = node.name.rsplit_once('/').map_or("", |(path, _)| path.trim_matches('/'));
            let leaf = Leaf { name: node.name.clone(), operator: node.op.to_owned(), ..Leaf::default() };
            let separator = if node.name.starts_with('/') { '/' } else { '.' };
            self.at(path, separator).nodes.push(leaf);
            node.bodies().for_each(|body| self.add_body(body));
        }
    }

    /// The module at a path, which is made if there is none.
    fn at(&mut self, path: &str, separator: char) -> &mut Module {
        let mut module = self;
        for name in path.splitn(DEEPEST, separator).filter(|name| !name.is_empty()) {
            let found = module.modules.iter().rposition(|inner| inner.name == name);
            let i = found.unwrap_or_else(|| {
                module.modules.push(Module { name: name.to_owned(), ..Module::default() });
                module.modules.len() - 1
            });
            module = &mut module.modules[i];
        }
        module
    }
}
