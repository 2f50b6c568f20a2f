//! The signature describes each input and output of the graph a second time. A file where the two differ is damaged: which of them is right is
//! unknown, and PyTorch refuses it too.

use aten2onnx_core::error::{Error, Result};

use super::schema::{Argument, OutputSpec, SymBoolArgument, SymFloatArgument, SymIntArgument};

/// Checks that the signature describes this output of the graph.
///
/// # Errors
/// It describes another one.
pub fn of_output(spec: &OutputSpec<'_>, output: &Argument<'_>) -> Result<()> {
    let tensor = match spec {
        OutputSpec::UserOutput(described) => return same("output", described.arg.as_ref(), output),
        OutputSpec::LossOutput(described)
        | OutputSpec::GradientToParameter(described)
        | OutputSpec::GradientToUserInput(described) => &described.arg,
        OutputSpec::BufferMutation { arg, .. }
        | OutputSpec::ParameterMutation { arg, .. }
        | OutputSpec::UserInputMutation { arg, .. } => arg,
        OutputSpec::Token(_) => return Ok(()),
    };
    match (tensor, shown(output)) {
        (Some(tensor), Some(found)) if *tensor.name != *found => Err(differ("output", &tensor.name, &found)),
        _ => Ok(()),
    }
}

/// Checks that a described input or output is that of the graph.
///
/// # Errors
/// It is another one.
pub fn same(what: &str, described: Option<&Argument<'_>>, found: &Argument<'_>) -> Result<()> {
    match (described.and_then(shown), shown(found)) {
        (Some(described), Some(found)) if described != found => Err(differ(what, &described, &found)),
        _ => Ok(()),
    }
}

fn differ(what: &str, described: &str, found: &str) -> Error {
    Error::input(format!("the signature says that this {what} is `{described}`, but in the graph it is `{found}`"))
        .help("the file is damaged: save the program again")
}

/// The name of a value, or the literal; None of what is not compared.
fn shown(argument: &Argument<'_>) -> Option<String> {
    Some(match argument {
        Argument::AsTensor(tensor) => tensor.name.to_string(),
        Argument::AsSymInt(SymIntArgument::AsName(name))
        | Argument::AsSymFloat(SymFloatArgument::AsName(name))
        | Argument::AsSymBool(SymBoolArgument::AsName(name))
        | Argument::AsString(name) => name.to_string(),
        Argument::AsInt(number) | Argument::AsSymInt(SymIntArgument::AsInt(number)) => number.to_string(),
        Argument::AsFloat(number) | Argument::AsSymFloat(SymFloatArgument::AsFloat(number)) => {
            format!("{:?}", number.0)
        }
        Argument::AsBool(flag) | Argument::AsSymBool(SymBoolArgument::AsBool(flag)) => flag.to_string(),
        Argument::AsNone(_) => "None".to_owned(),
        _ => return None,
    })
}
