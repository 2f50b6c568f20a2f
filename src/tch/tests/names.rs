//! Names, weights, constants and modules.

use aten2onnx::Exporter;
use aten2onnx_tch::trace;
use prost::Message;
use tch::nn::{self, Module};
use tch::{Device, Kind, Tensor};

use crate::runtime::randn;

/// The names of the weights of a model.
fn weights(exported: &aten2onnx::Exported) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    exported.write_file(path.clone(), &mut |_, _| Ok(())).unwrap();
    let model = aten2onnx::proto::ModelProto::decode(std::fs::read(path).unwrap().as_slice()).unwrap();
    let mut names: Vec<String> = model.graph.unwrap().initializer.iter().map(|i| i.name().to_owned()).collect();
    names.sort();
    names
}

/// libtorch merges equal constants into one; inputs of the trace stay apart.
#[test]
fn equal_weights_keep_their_names() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = nn::seq().add(nn::linear(vs.root() / "first", 3, 3, Default::default())).add(nn::linear(
        vs.root() / "second",
        3,
        3,
        Default::default(),
    ));
    tch::no_grad(|| vs.variables().into_values().for_each(|mut tensor| drop(tensor.fill_(0.5))));
    let exported = trace(&vs, &[randn(&[1, 3])], |xs| vec![net.forward(&xs[0])]).read(&Exporter::new()).unwrap();
    assert_eq!(weights(&exported), ["first.bias", "first.weight", "second.bias", "second.weight"]);
}

#[test]
fn several_stores_and_constants() {
    let (one, mut two) = (nn::VarStore::new(Device::Cpu), nn::VarStore::new(Device::Cpu));
    let (first, second) = (
        nn::linear(one.root() / "fc", 3, 4, Default::default()),
        nn::linear(two.root() / "fc", 4, 2, Default::default()),
    );
    let table = Tensor::from_slice(&[0.25f32, 0.75]);
    let closure = |xs: &[Tensor]| vec![xs[0].apply(&first).apply(&second) * &table];
    let exported = trace(&[&one, &two], &[randn(&[1, 3])], closure).read(&Exporter::new()).unwrap();
    let names = weights(&exported);
    assert!(
        ["fc.weight", "fc.bias", "fc.weight_2", "fc.bias_2"].iter().all(|name| names.contains(&(*name).to_owned()))
    );
    assert_eq!(names.len(), 5, "{names:?}");

    // A tensor of a store that is not given is a constant if it needs no gradient, else refused with what to do.
    let error = trace(&one, &[randn(&[1, 3])], closure).program().unwrap_err();
    assert!(error.to_string().contains("needs gradients"), "{error}");
    two.freeze();
    assert_eq!(weights(&trace(&one, &[randn(&[1, 3])], closure).read(&Exporter::new()).unwrap()).len(), 5);
}

#[test]
fn names_of_inputs_and_results() {
    let exported = trace(&(), &[randn(&[2]), randn(&[2])], |xs| vec![&xs[0] + &xs[1], &xs[0] - &xs[1]])
        .input_names(["a"])
        .output_names(["sum", "difference"])
        .dynamic(0, 0, "n")
        .dynamic(1, 0, "n")
        .read(&Exporter::new())
        .unwrap();
    let graph = exported.model.proto.graph.clone().unwrap();
    let names =
        |values: &[aten2onnx::proto::ValueInfoProto]| values.iter().map(|v| v.name().to_owned()).collect::<Vec<_>>();
    assert_eq!(names(&graph.input), ["a", "input_1"]);
    assert_eq!(names(&graph.output), ["sum", "difference"]);
}

/// A weight whose elements do not lie side by side is written in order.
#[test]
fn weights_are_read_through_their_strides() {
    let weight = Tensor::arange(6, (Kind::Float, Device::Cpu)).view([2, 3]).transpose(0, 1);
    let variables = vec![("turned".to_owned(), weight.shallow_clone())];
    let exported = trace(&variables, &[randn(&[3, 2])], |xs| vec![&xs[0] + &weight]).read(&Exporter::new()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    exported.write_file(path.clone(), &mut |_, _| Ok(())).unwrap();
    let bytes = std::fs::read(path).unwrap();
    let wanted: Vec<u8> = [0f32, 3., 1., 4., 2., 5.].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert!(bytes.windows(wanted.len()).any(|window| window == wanted));
}

mod python {
    use aten2onnx::Exporter;
    use tch::{CModule, Tensor};

    use crate::runtime::python::run;
    use crate::runtime::{Case, randn};

    /// A module that `tch` has traced or loaded.
    #[test]
    fn modules() {
        let scale = Tensor::from_slice(&[1f32, 2., 3.]);
        let example = [randn(&[2, 3])];
        let mut closure = |xs: &[Tensor]| vec![(&xs[0] * &scale).relu()];
        let traced = CModule::create_by_tracing("Net", "forward", &example, &mut closure).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("net.pt");
        traced.save(&file).unwrap();
        for module in [traced, CModule::load(&file).unwrap()] {
            let model = folder.path().join("net.onnx");
            let exported = aten2onnx_tch::module(&module, &example).input_names(["x"]).output_names(["y"]);
            exported.dynamic(0, 0, "batch").export(&Exporter::new(), &model).unwrap();
            let inputs = vec![randn(&[5, 3])];
            let case = Case { results: vec![module.forward_ts(&inputs).unwrap()], inputs };
            assert_eq!(run(&model, &[case]), ["y"]);
        }
    }
}
