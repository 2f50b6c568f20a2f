//! Notes for operators that have several correct results, such as the vectors of a decomposition, which may have either sign.

use aten2onnx_program::{Arg, Graph, Program};
use aten2onnx_rules::effects::{self, Trait};

/// Adds a note for each such operator.
pub fn report(program: &mut Program) {
    let mut notes = Vec::new();
    reported(&program.graph, &mut notes);
    program.notes.append(&mut notes);
}

fn reported(graph: &Graph, notes: &mut Vec<String>) {
    for node in &graph.nodes {
        for (_, arg) in &node.args {
            if let Arg::Graph(nested) = arg {
                reported(nested, notes);
            }
        }
        if effects::is(&node.target, Trait::SeveralAnswers) {
            let line = node.source_line.as_deref().map(|line| format!(", {line}")).unwrap_or_default();
            notes.push(format!(
                "`{}` ({}{line}) has several correct results, such as vectors of either sign; the model may compute others than PyTorch",
                node.name, node.target
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aten2onnx_program::Node;

    fn notes(target: &str) -> Vec<String> {
        let node = Node { name: "a".to_owned(), target: target.to_owned(), ..Node::default() };
        let mut program = Program { graph: Graph { nodes: vec![node], ..Graph::default() }, ..Program::default() };
        report(&mut program);
        program.notes
    }

    #[test]
    fn vectors_are_noted_but_values_are_not() {
        assert_eq!(
            notes("aten::linalg_svd"),
            ["`a` (aten::linalg_svd) has several correct results, such as vectors of either sign; \
              the model may compute others than PyTorch"]
        );
        assert!(notes("aten::linalg_svdvals").is_empty());
    }
}
