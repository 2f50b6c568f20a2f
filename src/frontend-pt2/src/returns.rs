//! Whether a nested graph returns a tensor or a tuple of tensors: its own record, and that of the node that calls it, must agree. PyTorch takes
//! rows of a tensor for the results otherwise.

use aten2onnx_core::error::{Error, Result};

use super::schema::{Argument, Graph, Node};

const HELP: &str = "the file is damaged: save the program again";

/// Checks that a graph which returns one tensor has one output.
///
/// # Errors
/// It has another number of outputs.
pub fn of_graph(graph: &Graph<'_>) -> Result<()> {
    match (graph.is_single_tensor_return, graph.outputs.len()) {
        (false, _) | (true, 1) => Ok(()),
        (true, count) => {
            Err(Error::input(format!("it is recorded to return one tensor, but has {count} outputs")).help(HELP))
        }
    }
}

/// The results of a node. PyTorch 2.6 and 2.7 write a higher-order operator that returns a tuple of one tensor as if it returned a list; none returns
/// a list.
pub fn separate<'a>(target: &str, outputs: Vec<Argument<'a>>) -> Vec<Argument<'a>> {
    let is_list = matches!(outputs.as_slice(), [Argument::AsTensors(_)]);
    if !is_list || !target.starts_with("torch.ops.higher_order.") {
        return outputs;
    }
    let lists = outputs.into_iter().filter_map(|output| match output {
        Argument::AsTensors(tensors) => Some(tensors),
        _ => None,
    });
    lists.flatten().map(Argument::AsTensor).collect()
}

/// Checks the graphs whose results are those of the node. Older files do not say what the node returns.
///
/// # Errors
/// One returns a tensor, the other a tuple.
pub fn of_node(node: &Node<'_>) -> Result<()> {
    let Some(of_node) = node.is_hop_single_tensor_return else { return Ok(()) };
    // The first graph of a loop is its condition.
    let left_out = match &*node.target {
        "torch.ops.higher_order.cond" => 0,
        "torch.ops.higher_order.while_loop" => 1,
        _ => return Ok(()),
    };
    let graphs = node.inputs.iter().filter_map(|input| match &input.arg {
        Argument::AsGraph(nested) => Some(nested),
        _ => None,
    });
    match graphs.skip(left_out).find(|nested| nested.graph.is_single_tensor_return != of_node) {
        None => Ok(()),
        Some(nested) => {
            let kind = |is_single: bool| if is_single { "a tensor" } else { "a tuple" };
            let (graph, own) = (kind(nested.graph.is_single_tensor_return), kind(of_node));
            let message = format!("the graph `{}` is recorded to return {graph}, but its node {own}", &*nested.name);
            Err(Error::input(message).help(HELP))
        }
    }
}
