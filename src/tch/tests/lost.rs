//! What a trace loses is found: each finding about libtorch's tracer is a test.

use aten2onnx::Exporter;
use aten2onnx_tch::trace;
use tch::nn::{self, ModuleT};
use tch::{Device, Kind, Tensor};

use crate::runtime::randn;

/// The error of a closure with one input, and its help.
fn refused(closure: impl FnMut(&[Tensor]) -> Vec<Tensor>) -> String {
    let error = trace(&(), &[randn(&[2, 3])], closure).program().unwrap_err();
    format!("{error}\n{}", error.help.as_deref().unwrap_or_default())
}

#[test]
fn data_of_rust_in_the_closure() {
    let error = refused(|xs| vec![&xs[0] * Tensor::from_slice(&[1f32, 2., 3.])]);
    assert!(error.contains("Rust data") && error.contains("outside of the closure"), "{error}");
    let error = refused(|xs| vec![&xs[0] + Tensor::from(5.0f32)]);
    assert!(error.contains("Rust data"), "{error}");
    // Numbers, and tensors that libtorch fills, are recorded.
    trace(&(), &[randn(&[2, 3])], |xs| vec![&xs[0] * 2.0 + Tensor::zeros([3], (Kind::Float, Device::Cpu))])
        .program()
        .unwrap();
}

#[test]
fn a_panic_leaves_the_tracer_usable() {
    let error = refused(|_| panic!("boom"));
    assert!(error.contains("the closure panics: ") && error.contains("boom"), "{error}");
    let error = refused(|xs| vec![xs[0].view([7])]);
    assert!(error.contains("libtorch") && error.contains("shape '[7]' is invalid"), "{error}");
    assert!(!error.contains("Exception raised from"), "{error}");
    trace(&(), &[randn(&[2, 3])], |xs| vec![xs[0].relu()]).program().unwrap();
}

#[test]
fn a_closure_without_results() {
    assert!(refused(|_| Vec::new()).contains("returns no tensor"));
}

/// The closure keeps a state, so that its trace computes something else than it does the next time.
#[test]
fn a_closure_that_depends_on_more_than_its_inputs() {
    let mut count = 0.0;
    let error = refused(|xs| {
        count += 1.0;
        vec![&xs[0] * count]
    });
    assert!(error.contains("does not compute what the closure does"), "{error}");
    // An element that becomes a number is one of the example.
    let mut model = trace(&(), &[randn(&[2, 3])], |xs| vec![&xs[0] * f64::try_from(xs[0].sum(Kind::Float)).unwrap()]);
    model.verify().unwrap();
}

#[test]
fn training_mode_and_random_operators_are_told() {
    let vs = nn::VarStore::new(Device::Cpu);
    let net = nn::seq_t()
        .add(nn::batch_norm1d(vs.root() / "norm", 3, Default::default()))
        .add_fn_t(|xs, train| xs.dropout(0.5, train));
    let program = trace(&vs, &[randn(&[4, 3])], |xs| vec![net.forward_t(&xs[0], true)]).program().unwrap();
    let notes = program.notes.join("\n");
    assert!(notes.contains("1 dropouts are in training mode"), "{notes}");
    assert!(notes.contains("1 batch norms are in training mode"), "{notes}");
    assert!(notes.contains("the results are random"), "{notes}");
    let program = trace(&vs, &[randn(&[4, 3])], |xs| vec![net.forward_t(&xs[0], false)]).program().unwrap();
    assert_eq!(program.notes, Vec::<String>::new());
}

#[test]
fn errors_leave_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model.onnx");
    trace(&(), &[randn(&[2])], |_| panic!("boom")).export(&Exporter::new(), &model).unwrap_err();
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
}
