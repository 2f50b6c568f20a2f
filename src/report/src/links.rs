//! The addresses of the explorer's pages.

use aten2onnx_rules::effects;

/// Where the explorer is.
pub const EXPLORER: &str = "https://aten2onnx.github.io/aten2onnx/";

/// The page of an operator in the explorer: `aten/add.Tensor/` for `aten::add.Tensor`, `onnx/Gelu/` for `Gelu`,
/// `onnx/com.microsoft/QuickGelu/` for `com.microsoft::QuickGelu`. An operator that writes in place has the page of its functional form.
pub fn page_of(operator: &str) -> String {
    let operator = effects::writes(operator).and_then(|writes| writes.functional).unwrap_or(operator);
    let safe = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let name = |text: &str| text.chars().map(safe).collect::<String>();
    match operator.split_once("::") {
        // Domains of ONNX have dots, namespaces of PyTorch have none.
        Some((domain, op)) if domain.contains('.') => format!("onnx/{}/{}/", name(domain), name(op)),
        // PyTorch's operators with the names of ONNX.
        Some(("onnx", op)) => format!("torch_onnx/{}/", name(op)),
        Some((namespace, op)) => format!("{}/{}/", name(namespace), name(op)),
        None => format!("onnx/{}/", name(operator)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_by_namespace() {
        assert_eq!(page_of("aten::add.Tensor"), "aten/add.Tensor/");
        assert_eq!(page_of("onnx::RotaryEmbedding.opset23"), "torch_onnx/RotaryEmbedding.opset23/");
        assert_eq!(page_of("_operator::mul"), "_operator/mul/");
        assert_eq!(page_of("com.microsoft::QuickGelu"), "onnx/com.microsoft/QuickGelu/");
        assert_eq!(page_of("a<b"), "onnx/a_b/");
    }
}
