import numpy as np
import onnxruntime
import torch

import my_ops  # noqa: F401

x = torch.randn(5, 4)
wanted = torch.export.load("model.pt2").module()(x)
session = onnxruntime.InferenceSession("model.onnx")
(found,) = session.run(None, {"x": x.numpy()})
np.testing.assert_allclose(found, wanted.detach().numpy(), rtol=1e-5, atol=1e-6)
print("the same")
