"""Runs ONNX models in runtimes, each in an environment and a process of its own."""
