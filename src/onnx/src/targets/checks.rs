//! Whether a runtime takes a model: its inputs, outputs, constants and dtypes.

use rustc_hash::FxHashSet;

use super::Target;
use crate::graph::{Attr, Graph, Value};
use aten2onnx_core::dtype::Dtype;
use aten2onnx_core::error::{Error, Result};

impl Target {
    /// Checks that the runtime knows the dtypes of all values of a model, loads its constants, and takes and gives its inputs and outputs.
    pub fn check_values(&self, graph: &Graph) -> Result<()> {
        self.check_inputs(graph)?;
        self.check_outside(graph)?;
        self.check_constants(graph)?;
        self.check_outputs(graph)?;
        self.check_dtypes(graph)
    }

    /// Checks that the inputs have dimensions and the dtypes that the runtime keeps, if it needs them.
    fn check_inputs(&self, graph: &Graph) -> Result<()> {
        let mut inputs = graph.body.inputs.iter().map(|value| graph.info(*value));
        if let Some(info) = inputs.find(|info| self.widens_int32 && info.ty.dtype() == Dtype::Int32) {
            return Err(Error::unsupported(format!(
                "{} has no inputs of int32, the dtype of `{}`: it keeps int32 as int64",
                self.name(),
                info.name
            ))
            .help("let the model take int64, for example `x.int()` of an input of int64"));
        }
        let Some(reason) = self.lacks_scalar_inputs else { return Ok(()) };
        let scalar = graph.body.inputs.iter().map(|value| graph.info(*value)).find(|info| info.ty.rank() == Some(0));
        match scalar {
            Some(info) => Err(Error::unsupported(format!(
                "{} has no inputs without dimensions, as `{}` is: {reason}",
                self.name(),
                info.name
            ))
            .help(
                "let the model take a tensor of the shape [1], and use `x.reshape([])`; or make the number a constant",
            )),
            None => Ok(()),
        }
    }

    /// Checks the dtypes of inputs and outputs.
    fn check_outside(&self, graph: &Graph) -> Result<()> {
        let outside = graph.body.inputs.iter().chain(&graph.body.outputs);
        let Some((name, dtype)) = first_of(graph, outside, self.lacks_io_dtypes) else { return Ok(()) };
        let name_of_target = self.name();
        Err(Error::unsupported(format!("{name_of_target} has no inputs or outputs of {dtype}, the dtype of `{name}`"))
            .help("let the model convert its inputs and outputs, for example `output.float()`"))
    }

    /// Checks the dtypes of initializers.
    fn check_constants(&self, graph: &Graph) -> Result<()> {
        let Some((name, dtype)) = first_of(graph, &graph.initializers, self.lacks_constants) else { return Ok(()) };
        Err(Error::unsupported(format!("{} loads no constants of {dtype}, the dtype of `{name}`", self.name()))
            .help("convert the weight or the constant before the model is exported, for example `weight.float()`"))
    }

    /// Checks that outputs follow from inputs, if the runtime needs it. Nodes with bodies may read any value.
    fn check_outputs(&self, graph: &Graph) -> Result<()> {
        let Some(reason) = self.lacks_constant_outputs else { return Ok(()) };
        let mut reached: FxHashSet<Value> = graph.body.inputs.iter().copied().collect();
        for node in &graph.body.nodes {
            let has_body = node.attrs.iter().any(|(_, attr)| matches!(attr, Attr::Graph(_) | Attr::Graphs(_)));
            if has_body || node.inputs.iter().flatten().any(|value| reached.contains(value)) {
                reached.extend(node.outputs.iter().flatten());
            }
        }
        let Some(fixed) = graph.body.outputs.iter().find(|value| !reached.contains(value)) else { return Ok(()) };
        let (target, name) = (self.name(), &graph.info(*fixed).name);
        Err(Error::unsupported(format!("{target} gives no outputs that are constants, as `{name}` is: {reason}"))
            .help("leave it out of the outputs: it is the same in every inference"))
    }

    /// Checks the dtypes of all values.
    fn check_dtypes(&self, graph: &Graph) -> Result<()> {
        let mut used = graph.body.inputs.iter().chain(&graph.initializers).copied().collect::<Vec<_>>();
        graph.body.visit(&mut |node| used.extend(node.outputs.iter().flatten()));
        let mut unknown =
            used.into_iter().map(|value| graph.info(value)).filter(|info| self.lacks_dtypes.contains(&info.ty.dtype()));
        let Some(first) = unknown.next() else { return Ok(()) };
        let dtype = first.ty.dtype();
        Err(Error::unsupported(format!(
            "{} lacks {dtype}, the dtype of `{}` and {} other values",
            self.name(),
            first.name,
            unknown.count()
        ))
        .help("convert the model to float32 or float16 before it is exported: `model.float()`"))
    }
}

/// The name and dtype of the first of some values that has one of these dtypes.
fn first_of<'a>(
    graph: &'a Graph,
    values: impl IntoIterator<Item = &'a Value>,
    dtypes: &[Dtype],
) -> Option<(&'a str, Dtype)> {
    let mut infos = values.into_iter().map(|value| graph.info(*value));
    infos.find(|info| dtypes.contains(&info.ty.dtype())).map(|info| (info.name.as_str(), info.ty.dtype()))
}
