import torch


@torch.library.custom_op("mylib::soft_clip", mutates_args=())
def soft_clip(x: torch.Tensor, low: float, high: float) -> torch.Tensor:
    return low + (high - low) * torch.sigmoid(x)


@soft_clip.register_fake
def _(x, low, high):
    return torch.empty_like(x)


@torch.library.custom_op("mylib::quick_gelu", mutates_args=())
def quick_gelu(x: torch.Tensor, alpha: float = 1.702) -> torch.Tensor:
    return x * torch.sigmoid(alpha * x)


@quick_gelu.register_fake
def _(x, alpha=1.702):
    return torch.empty_like(x)


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 3)

    def forward(self, x):
        return soft_clip(quick_gelu(self.linear(x)), -1.0, 2.0)


if __name__ == "__main__":
    torch.manual_seed(0)
    batch = torch.export.Dim("batch")
    exported = torch.export.export(Model().eval(), (torch.randn(2, 4),), dynamic_shapes=({0: batch},))
    torch.export.save(exported, "model.pt2")
