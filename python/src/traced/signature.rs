//! The graph signature: what each input and output of the graph is.

use aten2onnx::frontend::pt2::schema::{
    ConstantValue, Described, DescribedTensor, GraphSignature, InputSpec, OutputSpec, TensorArgument,
};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat, PyInt, PyString};
use serde::de::IgnoredAny;

use super::values::float;
use super::{Read, Stop, text};

pub fn signature(signature: &Bound<'_, PyAny>) -> Read<GraphSignature<'static>> {
    let specs = |name: &str| signature.getattr(name)?.try_iter()?.collect::<PyResult<Vec<_>>>();
    Ok(GraphSignature {
        input_specs: specs("input_specs")?.iter().map(input).collect::<Read<_>>()?,
        output_specs: specs("output_specs")?.iter().map(output).collect::<Read<_>>()?,
    })
}

fn input(spec: &Bound<'_, PyAny>) -> Read<InputSpec<'static>> {
    let arg = spec.getattr("arg")?;
    let tensor = || {
        expect(&arg, &["TensorArgument"])?;
        Ok::<_, Stop>(TensorArgument { name: text(&arg.getattr("name")?)?.into() })
    };
    let target = || Ok::<_, Stop>(text(&spec.getattr("target")?)?.into());
    Ok(match kind(spec)?.as_str() {
        "USER_INPUT" if class(&arg)? == "ConstantArgument" => InputSpec::ConstantInput {
            name: text(&arg.getattr("name")?)?.into(),
            value: constant(&arg.getattr("value")?)?,
        },
        "USER_INPUT" => {
            expect(&arg, &["TensorArgument", "SymIntArgument", "SymFloatArgument"])?;
            InputSpec::UserInput(Described::default())
        }
        "PARAMETER" => InputSpec::Parameter { arg: tensor()?, parameter_name: target()? },
        "BUFFER" => InputSpec::Buffer {
            arg: tensor()?,
            buffer_name: target()?,
            persistent: spec.getattr("persistent")?.extract()?,
        },
        "CONSTANT_TENSOR" => InputSpec::TensorConstant { arg: tensor()?, tensor_constant_name: target()? },
        "TOKEN" => InputSpec::Token(IgnoredAny),
        other => return Err(Stop::unknown(format_args!("an input of the kind {other}"))),
    })
}

fn output(spec: &Bound<'_, PyAny>) -> Read<OutputSpec<'static>> {
    let arg = spec.getattr("arg")?;
    let target = || {
        expect(&arg, &["TensorArgument"])?;
        Ok::<_, Stop>(text(&spec.getattr("target")?)?.into())
    };
    Ok(match kind(spec)?.as_str() {
        "USER_OUTPUT" => {
            // PyTorch's serializer cannot write the last one.
            let classes =
                ["TensorArgument", "SymIntArgument", "SymFloatArgument", "ConstantArgument", "SymBoolArgument"];
            expect(&arg, &classes)?;
            OutputSpec::UserOutput(Described::default())
        }
        "LOSS_OUTPUT" => OutputSpec::LossOutput(DescribedTensor::default()),
        "BUFFER_MUTATION" => OutputSpec::BufferMutation { arg: None, buffer_name: target()? },
        "PARAMETER_MUTATION" => OutputSpec::ParameterMutation { arg: None, parameter_name: target()? },
        "USER_INPUT_MUTATION" => OutputSpec::UserInputMutation { arg: None, user_input_name: target()? },
        "GRADIENT_TO_PARAMETER" => OutputSpec::GradientToParameter(DescribedTensor::default()),
        "GRADIENT_TO_USER_INPUT" => OutputSpec::GradientToUserInput(DescribedTensor::default()),
        "TOKEN" => OutputSpec::Token(IgnoredAny),
        other => return Err(Stop::unknown(format_args!("an output of the kind {other}"))),
    })
}

/// The value of an input that was a constant when the program was captured.
fn constant(value: &Bound<'_, PyAny>) -> Read<ConstantValue<'static>> {
    Ok(if value.is_none() {
        ConstantValue::AsNone(IgnoredAny)
    } else if value.is_exact_instance_of::<PyBool>() {
        ConstantValue::AsBool(value.is_truthy()?)
    } else if value.is_exact_instance_of::<PyInt>() {
        ConstantValue::AsInt(value.extract()?)
    } else if value.is_exact_instance_of::<PyFloat>() {
        ConstantValue::AsFloat(float(value)?)
    } else if value.is_exact_instance_of::<PyString>() {
        ConstantValue::AsString(text(value)?.into())
    } else {
        return Err(Stop::unknown(format_args!("a constant input of the class {}", value.get_type())));
    })
}

/// The name of the kind of an input or output.
fn kind(spec: &Bound<'_, PyAny>) -> Read<String> {
    text(&spec.getattr("kind")?.getattr("_name_")?)
}

fn class(value: &Bound<'_, PyAny>) -> Read<String> {
    Ok(value.get_type().name()?.to_cow()?.into_owned())
}

/// Stops if a value has none of these classes.
fn expect(value: &Bound<'_, PyAny>, classes: &[&str]) -> Read<()> {
    let found = class(value)?;
    if classes.contains(&found.as_str()) {
        Ok(())
    } else {
        Err(Stop::unknown(format_args!("an argument of the class {found}")))
    }
}
