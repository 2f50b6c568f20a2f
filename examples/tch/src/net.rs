//! A convolutional net that tells horizontal from vertical bars.

use tch::nn::{self, ModuleT, OptimizerConfig, VarStore};
use tch::{Device, Kind, Tensor};

/// Pixels on a side.
const SIDE: i64 = 12;
const STEPS: usize = 60;

/// The layers; the batch norm has running statistics, the dropout is for training.
pub fn net(vs: &nn::Path) -> nn::SequentialT {
    nn::seq_t()
        .add(nn::conv2d(vs / "conv1", 1, 8, 3, nn::ConvConfig { padding: 1, ..Default::default() }))
        .add(nn::batch_norm2d(vs / "norm", 8, Default::default()))
        .add_fn(|xs| xs.relu().max_pool2d_default(2))
        .add(nn::conv2d(vs / "conv2", 8, 8, 3, nn::ConvConfig { stride: 2, ..Default::default() }))
        .add_fn(|xs| xs.gelu("none").flatten(1, -1))
        .add_fn_t(|xs, train| xs.dropout(0.1, train))
        .add(nn::linear(vs / "scores", 32, 2, Default::default()))
}

/// Noisy images, each with a bar, and the directions of the bars.
pub fn batch(size: i64) -> (Tensor, Tensor) {
    let images = Tensor::rand([size, 1, SIDE, SIDE], (Kind::Float, Device::Cpu)) * 0.3;
    let classes = Tensor::randint(2, [size], (Kind::Int64, Device::Cpu));
    for (at, class) in Vec::<i64>::try_from(&classes).unwrap_or_default().into_iter().enumerate() {
        let image = images.get(at as i64).get(0);
        let _ = image.narrow(class, SIDE / 2, 1).fill_(1.0);
    }
    (images, classes)
}

pub fn train(net: &nn::SequentialT, vs: &VarStore) -> anyhow::Result<()> {
    let mut optimizer = nn::Adam::default().build(vs, 1e-2)?;
    for step in 0..STEPS {
        let (images, classes) = batch(32);
        let loss = net.forward_t(&images, true).cross_entropy_for_logits(&classes);
        optimizer.backward_step(&loss);
        if step % 20 == 19 {
            println!("net, step {}: loss {:.3}", step + 1, f64::try_from(&loss)?);
        }
    }
    Ok(())
}
