//! Sizes that vary: what becomes an expression, and what is refused.

use aten2onnx_tch::trace;
use tch::nn;
use tch::{Device, Kind, Tensor};

use crate::runtime::randn;

/// The error of a closure with one input, whose first dimension is `n`.
fn refused(closure: impl FnMut(&[Tensor]) -> Vec<Tensor>) -> String {
    trace(&(), &[randn(&[4, 3])], closure).dynamic(0, 0, "n").program().unwrap_err().to_string()
}

#[test]
fn a_model_that_branches_on_the_size() {
    let error = refused(|xs| match xs[0].size()[0] > 6 {
        true => vec![xs[0].relu()],
        false => vec![xs[0].sigmoid()],
    });
    assert!(error.contains("the model branches on the size"), "{error}");
    assert!(error.contains("torch.sigmoid(argument_1)"), "{error}");
    let error = refused(|xs| {
        let rows: Vec<Tensor> = (0..xs[0].size()[0]).map(|row| xs[0].get(row)).collect();
        vec![Tensor::stack(&rows, 0)]
    });
    assert!(error.contains("the model branches on the size"), "{error}");
}

#[test]
fn a_float_that_depends_on_a_size() {
    let error = refused(|xs| vec![&xs[0] / (xs[0].size()[0] as f64).sqrt()]);
    assert!(error.contains("a number of the model depends on sizes") && error.contains("n = 5"), "{error}");
}

#[test]
fn an_integer_that_is_no_expression_of_sizes() {
    let error = refused(|xs| vec![xs[0].narrow(0, 0, xs[0].size()[0] * xs[0].size()[0] % 4 + 1)]);
    assert!(error.contains("in an unknown way"), "{error}");
}

#[test]
fn a_constant_that_is_chosen_by_the_size() {
    let tables: Vec<Tensor> = (0..20).map(|size| Tensor::full([1], size as f64, (Kind::Float, Device::Cpu))).collect();
    let error = refused(|xs| vec![&xs[0] * &tables[xs[0].size()[0] as usize]]);
    assert!(error.contains("chooses a constant tensor by the size"), "{error}");
}

#[test]
fn dimensions_that_do_not_exist() {
    let closure = |xs: &[Tensor]| vec![xs[0].relu()];
    let error =
        |input, dim| trace(&(), &[randn(&[4, 3])], closure).dynamic(input, dim, "n").program().unwrap_err().to_string();
    assert!(error(1, 0).contains("there is no input 1"));
    assert!(error(0, 2).contains("input 0 has no dimension 2"));
}

#[test]
fn a_size_without_a_name_that_a_reshape_has() {
    let vs = nn::VarStore::new(Device::Cpu);
    let fc = nn::linear(vs.root() / "fc", 6, 2, Default::default());
    let closure = |xs: &[Tensor]| {
        let size = xs[0].size();
        vec![xs[0].view([size[0] * size[1], 6]).apply(&fc).view([size[0], size[1], 2])]
    };
    let example = [randn(&[3, 5, 6])];
    let notes = trace(&vs, &example, closure).program().unwrap().notes;
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(
        notes[0].contains("the number 3 in `aten::view`, which is the size of dimension 0 of `input_0`"),
        "{notes:?}"
    );
    assert!(notes[1].contains("`.dynamic(0, 1, ..)` makes it symbolic"), "{notes:?}");
    // A size with a name is no number any more, and that of the weight cannot vary.
    let notes = trace(&vs, &example, closure).dynamic(0, 0, "batch").program().unwrap().notes;
    assert!(notes.len() == 1 && notes[0].contains("the number 5"), "{notes:?}");
    let notes = trace(&vs, &example, closure).dynamic(0, 0, "batch").dynamic(0, 1, "length").program().unwrap().notes;
    assert!(notes.is_empty(), "{notes:?}");
}

mod python {
    use tch::{Device, Kind, Tensor};

    use crate::runtime::python::compare;
    use crate::runtime::randn;

    /// Linear expressions, products and sums of sizes.
    #[test]
    fn expressions() {
        let closure = |xs: &[Tensor]| {
            let (n, m) = (xs[0].size()[0], xs[1].size()[0]);
            let options = (Kind::Float, Device::Cpu);
            vec![
                Tensor::zeros([2 * n + 1], options),
                Tensor::ones([n * m, 2], options) * xs[0].sum(Kind::Float),
                Tensor::cat(&[&xs[0], &xs[1]], 0).view([n + m, 3, 1]),
                xs[0].narrow(0, n - 2, 2),
                Tensor::arange(n, (Kind::Int64, Device::Cpu)),
            ]
        };
        let inputs = [[4, 6], [2, 3], [9, 5]].map(|[n, m]| vec![randn(&[n, 3]), randn(&[m, 3])]).into();
        compare(&(), &closure, inputs, |model| model.dynamic(0, 0, "n").dynamic(1, 0, "m"));
    }

    /// A table of positions ends at the size of the example: the traces are smaller.
    #[test]
    fn sizes_up_to_that_of_the_example() {
        let table = randn(&[16, 3]);
        let closure = |xs: &[Tensor]| vec![&xs[0] + table.narrow(0, 0, xs[0].size()[0])];
        let inputs = vec![vec![randn(&[16, 3])], vec![randn(&[4, 3])]];
        compare(&(), &closure, inputs, |model| model.dynamic(0, 0, "length"));
    }
}
