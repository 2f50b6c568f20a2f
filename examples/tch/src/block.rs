//! A transformer block that continues sequences which count upwards, modulo a number.

use tch::nn::{self, Module, OptimizerConfig, VarStore};
use tch::{Device, Kind, Tensor};

const WIDTH: i64 = 32;
const HEADS: i64 = 4;
const TOKENS: i64 = 7;
const POSITIONS: i64 = 32;
const STEPS: usize = 120;

pub struct Block {
    tokens: nn::Embedding,
    positions: nn::Embedding,
    norm1: nn::LayerNorm,
    mixed: nn::Linear,
    out: nn::Linear,
    norm2: nn::LayerNorm,
    up: nn::Linear,
    down: nn::Linear,
    next: nn::Linear,
}

impl Block {
    pub fn new(vs: &nn::Path) -> Block {
        let linear = |name: &str, from, to| nn::linear(vs / name, from, to, Default::default());
        let norm = |name: &str| nn::layer_norm(vs / name, vec![WIDTH], Default::default());
        Block {
            tokens: nn::embedding(vs / "tokens", TOKENS, WIDTH, Default::default()),
            positions: nn::embedding(vs / "positions", POSITIONS, WIDTH, Default::default()),
            norm1: norm("norm1"),
            mixed: linear("mixed", WIDTH, 3 * WIDTH),
            out: linear("out", WIDTH, WIDTH),
            norm2: norm("norm2"),
            up: linear("up", WIDTH, 2 * WIDTH),
            down: linear("down", 2 * WIDTH, WIDTH),
            next: linear("next", WIDTH, TOKENS),
        }
    }

    /// Scores of the next token after each token, `[batch, length, TOKENS]`.
    pub fn forward(&self, tokens: &Tensor) -> Tensor {
        // These sizes are numbers of Rust: the export finds out where they are used.
        let (batch, length) = tokens.size2().unwrap_or_default();
        let positions = Tensor::arange(length, (Kind::Int64, tokens.device()));
        let xs = self.tokens.forward(tokens) + self.positions.forward(&positions);
        let parts = xs.apply(&self.norm1).apply(&self.mixed).chunk(3, -1);
        let heads = |part: &Tensor| part.view([batch, length, HEADS, WIDTH / HEADS]).transpose(1, 2);
        let (q, k, v) = (heads(&parts[0]), heads(&parts[1]), heads(&parts[2]));
        let later = Tensor::ones([length, length], (Kind::Bool, tokens.device())).triu(1);
        let scores = q.matmul(&k.transpose(-2, -1)) / ((WIDTH / HEADS) as f64).sqrt();
        let weights = scores.masked_fill(&later, f64::NEG_INFINITY).softmax(-1, Kind::Float);
        let xs = xs + weights.matmul(&v).transpose(1, 2).reshape([batch, length, WIDTH]).apply(&self.out);
        let ys = &xs + xs.apply(&self.norm2).apply(&self.up).gelu("tanh").apply(&self.down);
        ys.apply(&self.next)
    }
}

/// Sequences that count upwards from random starts, and the same one step later.
pub fn batch(size: i64, length: i64) -> (Tensor, Tensor) {
    let start = Tensor::randint(TOKENS, [size, 1], (Kind::Int64, Device::Cpu));
    let all = (start + Tensor::arange(length + 1, (Kind::Int64, Device::Cpu))).remainder(TOKENS);
    (all.narrow(1, 0, length), all.narrow(1, 1, length))
}

pub fn train(block: &Block, vs: &VarStore) -> anyhow::Result<()> {
    let mut optimizer = nn::Adam::default().build(vs, 3e-3)?;
    for step in 0..STEPS {
        let (tokens, next) = batch(16, 12);
        let scores = block.forward(&tokens).view([-1, TOKENS]);
        let loss = scores.cross_entropy_for_logits(&next.reshape([-1]));
        optimizer.backward_step(&loss);
        if step % 40 == 39 {
            println!("block, step {}: loss {:.3}", step + 1, f64::try_from(&loss)?);
        }
    }
    Ok(())
}
