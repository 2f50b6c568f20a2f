//! Layers of tch and models made of them, at sizes that the trace did not have.

mod python {
    use tch::nn::{self, Module, ModuleT, RNN};
    use tch::{Device, Kind, Tensor};

    use crate::runtime::python::compare;
    use crate::runtime::{randint, randn};

    /// A convolutional net whose weights need gradients.
    #[test]
    fn a_convolutional_net_of_an_unfrozen_store() {
        let vs = nn::VarStore::new(Device::Cpu);
        let root = vs.root();
        let net = nn::seq_t()
            .add(nn::conv2d(&root / "conv1", 1, 4, 3, Default::default()))
            .add(nn::batch_norm2d(&root / "bn", 4, Default::default()))
            .add_fn(|xs| xs.relu().max_pool2d_default(2))
            .add(nn::conv2d(&root / "conv2", 4, 6, 3, nn::ConvConfig { stride: 2, ..Default::default() }))
            .add_fn(|xs| xs.gelu("none").view([-1, 54]))
            .add(nn::linear(&root / "fc", 54, 3, Default::default()));
        let closure = |xs: &[Tensor]| vec![net.forward_t(&xs[0], false).log_softmax(-1, Kind::Float)];
        let inputs = vec![vec![randn(&[1, 1, 18, 18])], vec![randn(&[4, 1, 18, 18])]];
        compare(&vs, &closure, inputs, |model| model.input_names(["image"]).dynamic(0, 0, "batch"));
    }

    struct Block {
        q: nn::Linear,
        k: nn::Linear,
        v: nn::Linear,
        out: nn::Linear,
        norm: nn::LayerNorm,
        embedding: nn::Embedding,
        heads: i64,
    }

    impl Block {
        fn new(vs: &nn::Path, width: i64, heads: i64) -> Block {
            let linear = |name: &str| nn::linear(vs / name, width, width, Default::default());
            Block {
                q: linear("q"),
                k: linear("k"),
                v: linear("v"),
                out: linear("out"),
                norm: nn::layer_norm(vs / "norm", vec![width], Default::default()),
                embedding: nn::embedding(vs / "embedding", 11, width, Default::default()),
                heads,
            }
        }

        /// Sizes are Rust integers: in views, a mask and a scale.
        fn forward(&self, ids: &Tensor) -> Tensor {
            let xs = self.embedding.forward(ids);
            let (batch, length, width) = xs.size3().unwrap();
            let head = width / self.heads;
            let normed = xs.apply(&self.norm);
            let split = |x: Tensor| x.view([batch, length, self.heads, head]).transpose(1, 2);
            let (q, k, v) = (split(normed.apply(&self.q)), split(normed.apply(&self.k)), split(normed.apply(&self.v)));
            let scores = q.matmul(&k.transpose(-2, -1)) * (1.0 / (head as f64).sqrt());
            let mask = Tensor::ones([length, length], (Kind::Float, Device::Cpu)).tril(0).view([1, 1, length, length]);
            let weights = scores.masked_fill(&mask.eq(0.), f64::NEG_INFINITY).softmax(-1, Kind::Float);
            let mixed = weights.matmul(&v).transpose(1, 2).contiguous().view([batch * length, width]);
            xs + mixed.apply(&self.out).view([batch, length, width])
        }
    }

    #[test]
    fn a_transformer_block_that_computes_with_sizes() {
        let vs = nn::VarStore::new(Device::Cpu);
        let block = Block::new(&vs.root(), 8, 2);
        let closure = |xs: &[Tensor]| vec![block.forward(&xs[0])];
        let inputs = [[1, 5], [2, 7], [3, 4]].map(|sizes| vec![randint(11, &sizes)]).into();
        compare(&vs, &closure, inputs, |model| model.dynamic(0, 0, "batch").dynamic(0, 1, "length"));
    }

    #[test]
    fn recurrent_layers_whose_states_have_the_batch() {
        let vs = nn::VarStore::new(Device::Cpu);
        let config = nn::RNNConfig { num_layers: 2, bidirectional: true, ..Default::default() };
        let lstm = nn::lstm(vs.root() / "lstm", 3, 4, config);
        let gru = nn::gru(vs.root() / "gru", 8, 5, Default::default());
        let closure = |xs: &[Tensor]| {
            let (states, last) = lstm.seq(&xs[0]);
            vec![gru.seq(&states).0, last.h()]
        };
        let inputs = vec![vec![randn(&[2, 5, 3])], vec![randn(&[3, 7, 3])]];
        compare(&vs, &closure, inputs, |model| model.dynamic(0, 0, "batch").dynamic(0, 1, "length"));
    }

    /// The length after a convolution with a stride is a number in the trace.
    #[test]
    fn sizes_of_intermediate_tensors() {
        let vs = nn::VarStore::new(Device::Cpu);
        let config = nn::ConvConfig { stride: 2, padding: 1, ..Default::default() };
        let conv = nn::conv1d(vs.root() / "conv", 2, 4, 3, config);
        let closure = |xs: &[Tensor]| {
            let ys = xs[0].apply(&conv).apply_t(&nn::func_t(|xs, _| xs.relu()), false);
            let (batch, channels, length) = ys.size3().unwrap();
            vec![ys.view([batch * length, channels]), ys.view([batch, 1, channels * length]) * 2]
        };
        let inputs = vec![vec![randn(&[1, 2, 9])], vec![randn(&[3, 2, 14])], vec![randn(&[2, 2, 15])]];
        compare(&vs, &closure, inputs, |model| model.dynamic(0, 0, "batch").dynamic(0, 2, "length"));
    }

    /// Results of all shapes and dtypes leave the trace in one carrier.
    #[test]
    fn several_results() {
        let closure = |xs: &[Tensor]| {
            let sum = xs[0].sum(Kind::Float);
            vec![&xs[0] + 1, xs[0].argmax(-1, false), sum, xs[0].gt(0.), xs[0].shallow_clone()]
        };
        let inputs = vec![vec![randn(&[2, 5, 3])], vec![randn(&[4, 5, 3])]];
        compare(&(), &closure, inputs, |model| model.dynamic(0, 0, "batch"));
    }

    #[test]
    fn writes_in_place() {
        let closure = |xs: &[Tensor]| {
            let mut ys = &xs[0] * 2;
            let _ = ys.narrow(2, 0, 1).fill_(7.0);
            let _ = ys.g_add_(&xs[0]);
            vec![ys]
        };
        let inputs = vec![vec![randn(&[2, 5, 3])], vec![randn(&[4, 5, 3])]];
        compare(&(), &closure, inputs, |model| model.dynamic(0, 0, "batch"));
    }
}
